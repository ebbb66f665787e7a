# GNU ld on the big link, from archives and from separate files, and on an archive of many members.
# Sourced by run.
# shellcheck shell=sh disable=SC2154

have ld.bfd || {
	say "no ld.bfd here (apt-get install binutils)"
	exit 77
}
# shellcheck source=/dev/null
. "$root/tests/bench/llvm.sh"
helper peak
rounds=$(pick 3 1 5)
# What mapfast --huge-heap adds.
tunables=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216

few_measures='minflt=page faults|maxrss_kb=memory, KB|user_s=user time, s|sys_s=system time, s|wall_s=wall time, s'
linkers='native=ld.bfd|coalesced=ld.bfd, mapfast|ld.gold=ld.gold|gold-pieces=ld.gold, pieces|'\
'gold-pieces+mapfast=ld.gold, pieces, mapfast|ld.lld=ld.lld|mold=mold'

# commas WORD...: joined by commas.
commas() {
	echo "$*" | tr ' ' ','
}

# linked HOW VARIANT TSV COMMAND...
linked() {
	how=$1 variant=$2 tsv=$3
	shift 3
	case $variant:$how in
	coalesced:sampled) set -- "$mapfast" -o "$out/$name-stats.json" "$@" ;;
	coalesced:*) set -- "$mapfast" "$@" ;;
	coalesced+huge:*) set -- "$mapfast" --huge-heap "$@" ;;
	native+huge:*) set -- env "GLIBC_TUNABLES=$tunables" "$@" ;;
	esac
	"$how" "$variant" "$tsv" "$@"
}

# shared HOW VARIANT TSV LINKER OUTPUT INPUT...: a shared object of all, as the compiler's driver
# would, but without the driver, which adds a plugin.
shared() {
	how=$1 variant=$2 tsv=$3 linker=$4 output=$5
	shift 5
	set -- -shared --hash-style=gnu --build-id=none -z muldefs --unresolved-symbols=ignore-all \
		-o "$output" "$crt" "$crt_begin" --whole-archive "$@" --no-whole-archive \
		"$crt_end" "$crt_last"
	case $linker in
	# mold leaves its work to a child that is not waited for.
	mold) set -- mold --no-fork "$@" ;;
	gold-pieces) set -- ld.gold --no-map-whole-files "$@" ;;
	gold-pieces+mapfast) set -- "$mapfast" ld.gold --no-map-whole-files "$@" ;;
	*) set -- "$linker" "$@" ;;
	esac
	rm -f "$output"
	linked "$how" "$variant" "$tsv" "$@"
}

# relocatable HOW VARIANT TSV LINKER OUTPUT INPUT...: one object of all.
relocatable() {
	how=$1 variant=$2 tsv=$3 linker=$4 output=$5
	shift 5
	rm -f "$output"
	linked "$how" "$variant" "$tsv" "$linker" -r -o "$output" --whole-archive "$@"
}

# warm INPUT...: reads them, so that no run has to wait for a disk.
warm() {
	case $1 in
	@*) tr '\n' '\0' <"${1#@}" | xargs -0 cat >/dev/null ;;
	*) cat "$@" >/dev/null ;;
	esac
}

# compare NAME KIND VARIANTS OTHERS INPUT...: all that is measured of a link, KIND, and its table.
# OTHERS are linkers that write something else, natively; the rest must write the same bytes.
compare() {
	name=$1 kind=$2 variants=$3 others=$4
	shift 4
	native=$work/$name.native
	result=$work/$name.out

	say "$name: the reference"
	"$kind" plain native - ld.bfd "$native" "$@"
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		say "$name: round $round of $rounds"
		# shellcheck disable=SC2086 # a list of words
		for variant in $(turns $round $variants); do
			warm "$@"
			"$kind" timed "$variant" "$out/$name.tsv" ld.bfd "$result" "$@"
			same "$native" "$result"
		done
		for linker in $others; do
			"$kind" timed "$linker" "$out/$name.tsv" "$linker" "$result" "$@"
		done
	done
	say "$name: memory and system calls"
	for variant in $variants; do
		"$kind" sampled "$variant" "$out/$name-peak.tsv" ld.bfd "$result" "$@"
		same "$native" "$result"
	done
	[ "$(statistic lseek_virtual "$out/$name-stats.json")" -gt 0 ] ||
		die "the library served no stream"
	# Under strace a link takes a minute: once, unless there is time.
	if can_count && { $long || [ "$name" = ld ]; }; then
		for variant in native coalesced; do
			warm "$@"
			"$kind" counted "$variant" "$out/$name-calls.tsv" ld.bfd "$result" "$@"
			same "$native" "$result"
		done
	fi
	rm -f "$native" "$result"
	set -- "$out/$name.tsv" "$out/$name-peak.tsv"
	[ ! -e "$out/$name-calls.tsv" ] || set -- "$@" "$out/$name-calls.tsv"
	# shellcheck disable=SC2086 # lists of words
	{
		table "$(commas $variants)" "$all_measures" "$@"
		explain "$@"
		[ -n "$others" ] || return 0
		printf "\nBeside other linkers, each as it comes, and gold in pieces (\`--no-map-whole-files\`); medians:\n\n"
		medians markdown "$linkers" "$few_measures" "$out/$name.tsv"
	}
	bars "$name" "One link by several linkers" "$linkers" 'user_s=user, s|sys_s=system, s|wall_s=wall, s' "$out/$name.tsv"
}

# explain FILE...: what has become of the calls, and what of the time is not the kernel's.
explain() {
	awk -F '\t' -f "$root/tests/bench/stats.awk" -f - "$@" <<'EOT'
FNR == 1 {
	for (i = 1; i <= NF; i++)
		column[$i] = i
	timed = FILENAME !~ /-(calls|peak)\.tsv$/
	next
}
FILENAME ~ /-calls\.tsv$/ {
	io[$1] = $column["lseek_calls"] + $column["read_calls"] + $column["write_calls"]
}
timed && $1 == "native" {
	own[++n] = $column["user_s"] / $column["cpu_s"]
	faults[n] = $column["minflt"]
}
timed && $1 ~ /huge/ { huge[++asked] = $column["minflt"] }
END {
	sort(own, n)
	sort(faults, n)
	for (i = 1; i <= asked; i++)
		used += huge[i] < median(faults, n) / 2
	if (io["native"])
		printf "\nLseek, read and write calls: %s instead of %s (%.2f %%).", show(io["coalesced"]),
			show(io["native"]), 100 * io["coalesced"] / io["native"]
	printf "\nNatively %.0f %% of the processor time is user time: ", 100 * median(own, n)
	print "no change of input and output gets below that."
	if (asked)
		printf "Huge pages were used in %d of %d runs that asked for them.\n", used, asked
}
EOT
}

others=
for linker in ld.gold ld.lld mold; do
	! have "$linker" || others="$others $linker"
done
! have ld.gold || others="$others gold-pieces gold-pieces+mapfast"
variants='native coalesced'
both='natively and with the library'
if $long; then
	variants='native coalesced coalesced+huge native+huge'
	both="$both, and both with huge pages for malloc (--huge-heap)"
fi
cat <<END
\`ld.bfd -shared --whole-archive\` on all of LLVM and clang: $both.
$rounds rounds, medians; ratios with their range. All outputs of ld.bfd are the same, byte for byte.

END
# shellcheck disable=SC2046 # no such name holds a space
compare ld shared "$variants" "$others" $(archives)

unpack
cat <<END

The same from $(wc -l <"$objects") object files, with 1,024 descriptors at most, for which libbfd closes files and
opens them again:

END
(
	# shellcheck disable=SC3045 # every sh on Linux knows -S and -n
	ulimit -S -n 1024
	compare ld-objects shared 'native coalesced' '' "@$objects"
)

many_members "$(pick 70000 5000)"
cat <<END

\`ld.bfd -r --whole-archive\` on an archive of $(pick 70,000 5,000) members ($(($(wc -c <"$archive") / 1000000)) MB):

END
compare ld-members relocatable 'native coalesced' '' "$archive"
$quick || rm -f "$archive"
