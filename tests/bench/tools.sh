# The tools of binutils on archives and objects of LLVM and clang: readelf, nm, ar, ranlib, size, strip,
# objcopy, objdump, as. Sourced by run.
# shellcheck shell=sh disable=SC2154

llvm=${LLVM_LIBDIR:-/usr/lib/llvm-14/lib}
if [ ! -e "$llvm/libclangSema.a" ] && [ -x "$root/tests/setup" ]; then
	say "installing the archives to look at (tests/setup bench)"
	"$root/tests/setup" bench >&2 || true
fi
for archive in clangSema LLVMCodeGen LLVMAnalysis LLVMSupport; do
	[ -e "$llvm/lib$archive.a" ] || {
		say "no lib$archive.a in $llvm (apt-get install llvm-14-dev libclang-14-dev)"
		exit 77
	}
done
rounds=$(pick 3 2 11)
helper peak
sema=$(pick "$llvm/libclangSema.a" "$llvm/libLLVMSupport.a")
codegen=$llvm/libLLVMCodeGen.a
support=$llvm/libLLVMSupport.a
result=$work/tools.out
text=$work/tools.text

# What ar puts together, and an archive without an index for ranlib.
objects=$work/tools-objects
for archive in LLVMCodeGen LLVMAnalysis LLVMSupport; do
	[ ! -e "$objects/$archive" ] || continue
	mkdir -p "$objects/$archive.part"
	(cd "$objects/$archive.part" && ar x "$llvm/lib$archive.a")
	mv "$objects/$archive.part" "$objects/$archive"
done
objects() {
	find "$objects" -name '*.o' | LC_ALL=C sort
}
bare=$work/tools-bare.a
rm -f "$bare"
# shellcheck disable=SC2046 # no such name holds a space
ar qcSD "$bare" $(objects)

# Something to assemble.
source=$work/tools.s
awk -v functions="$(pick 20000 3000)" 'BEGIN {
	for (i = 0; i < functions; i++)
		printf "int v%d[8]; int f%d(int x) { return x * v%d[x & 7] + %d; }\n", i, i, i, i
}' >"$work/tools.c"
compiler -O1 -g -S -o "$source" "$work/tools.c"

# before NAME: what has to be there before a tool runs.
before() {
	rm -f "$result"
	[ "$1" != ranlib ] || cp "$bare" "$result"
}

# written: what a tool wrote, on its output and into its file.
written() {
	cat "$text" "$result" 2>/dev/null | cksum
}

# tool NAME COMMAND...: all that is measured of it.
tool() {
	name=$1
	shift
	say "$name"
	before "$name"
	under plain native - "$@" >"$text" || die "$name fails"
	expected=$(written)
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		for variant in $(turns $round native coalesced); do
			before "$name"
			under timed "$variant" "$out/tools-$name.tsv" "$@" >"$text"
			[ "$(written)" = "$expected" ] || die "$name, $variant: another output"
		done
	done
	if can_count; then
		for variant in native coalesced; do
			before "$name"
			under counted $variant "$out/tools-calls-$name.tsv" "$@"
		done
	fi
	names="$names $name"
}

names=
tool readelf readelf -aW "$sema"
tool nm nm "$codegen"
tool size size "$codegen"
# shellcheck disable=SC2046 # no such name holds a space
tool ar ar rcsD "$result" $(objects)
tool ranlib ranlib -D "$result"
tool strip strip -D -o "$result" "$codegen"
tool objcopy objcopy -D "$codegen" "$result"
tool objdump objdump -d "$support"
tool as as -o "$result" "$source"
rm -rf "$result" "$text" "$bare" "$objects"

megabytes() {
	echo "$(($(stat -L -c %s "$1") / 1000000)) MB"
}
cat <<END
\`readelf -aW\` of a $(megabytes "$sema") archive; \`nm\`, \`size\`, \`strip\` and \`objcopy\` of one of $(megabytes "$codegen"); \`ar\` and
\`ranlib\` of the objects of three; \`objdump -d\` of $(megabytes "$support"); \`as\` of $(megabytes "$source") of text. $rounds pairs of runs, medians;
all outputs the same. System calls: all of them, and read, lseek and write together.

| | native, s | with the library, s | ratio | range | calls | with the library | read, lseek, write | with the library |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
END
for name in $names; do
	set -- "$out/tools-$name.tsv"
	[ ! -e "$out/tools-calls-$name.tsv" ] || set -- "$@" "$out/tools-calls-$name.tsv"
	LC_ALL=C awk -F '\t' -v name="$name" -f "$root/tests/bench/stats.awk" -f - "$@" <<'EOT'
FNR == 1 {
	for (i = 2; i <= NF; i++)
		column[$i] = i
	calls = FILENAME ~ /-calls-/
	next
}
calls {
	for (i = 2; i <= NF; i++)
		all[$1] += $i
	io[$1] = $column["read_calls"] + $column["lseek_calls"] + $column["write_calls"]
	next
}
{ wall[$1, ++n[$1]] = $column["wall_s"] }
END {
	for (i = 1; i <= n["native"]; i++) {
		native[i] = wall["native", i]
		ours[i] = wall["coalesced", i]
		ratio[i] = ours[i] / native[i]
	}
	rounds = i - 1
	sort(native, rounds)
	sort(ours, rounds)
	sort(ratio, rounds)
	printf "| %s | %.3f | %.3f | %.2f | %.2f-%.2f | %s | %s | %s | %s |\n", name,
		median(native, rounds), median(ours, rounds), median(ratio, rounds), ratio[1],
		ratio[rounds], all["native"], all["coalesced"], io["native"], io["coalesced"]
}
EOT
done
