#!/bin/sh
# Under limits on address space: what works natively works with the library, with the same output and
# the same status, and where there is room it is at work.
# limit: 120
. "$(dirname "$0")/../lib.sh"
programs as ld.gold ld.bfd md5sum sort prlimit

# Forty objects of 400 KB, each with a table of addresses.
i=0
while [ $i -lt 40 ]; do
	printf '.globl f%d\n.text\nf%d: ret\n.data\n.globl d%d\nd%d: .fill 400000,1,%d\n' $i $i $i $i $i
	printf '.rept 50\n.quad f%d\n.endr\n' $(((i + 1) % 40))
	i=$((i + 1))
	echo '---'
done | csplit -s -z -f "$tmp/o" -b '%02d.s' --suppress-matched - '/^---$/' '{*}'
for source in "$tmp"/o*.s; do
	as -o "${source%.s}.o" "$source"
done
ar rc "$tmp/lib.a" "$tmp"/o*.o
seq 1 60000 | sort -R --random-source=/dev/zero >"$tmp/numbers"

# under LIMIT OUTPUT COMMAND...: @ stands for the output; what it prints is compared too.
under() {
	kib=$1
	output=$2
	shift 2
	for word; do
		[ "$word" = @ ] && word=$output
		set -- "$@" "$word"
		shift
	done
	timeout -s KILL 30 prlimit --as=$((kib * 1024)) "$@" >"$output.out" 2>"$output.err"
	echo "status $?" >>"$output.out"
}

# both NAME LIMIT COMMAND...
both() {
	name=$1
	kib=$2
	shift 2
	rm -f "$tmp"/native* "$tmp"/ours* "$tmp/stats"
	under "$kib" "$tmp/native" "$@"
	under "$kib" "$tmp/ours" env "LD_PRELOAD=$BUILD/libmapcoalesce.so" MAPCOALESCE_STATS="$tmp/stats" "$@"
	touch "$tmp/native" "$tmp/ours"
	if ! cmp -s "$tmp/native.out" "$tmp/ours.out"; then
		case_fail "$name, $kib KiB" "$(diff "$tmp/native.out" "$tmp/ours.out"; cat "$tmp/ours.err")"
	elif grep -qx 'status 0' "$tmp/native.out" && ! cmp -s "$tmp/native" "$tmp/ours"; then
		case_fail "$name, $kib KiB" 'the outputs differ'
	else
		case_ok "$name, $kib KiB: $(tail -n 1 "$tmp/ours.out")"
	fi
}

for kib in 20000 30000 50000 100000 300000 4000000; do
	both 'gold, in pieces' "$kib" ld.gold --no-map-whole-files --no-keep-files-mapped -r -o @ \
		--whole-archive "$tmp/lib.a"
	[ "$kib" -lt 100000 ] || check "  in panes" test "$(stat_of "$tmp/stats" mmap_views)" -gt 5
	both 'ld.bfd' "$kib" ld.bfd -r -o @ --whole-archive "$tmp/lib.a"
	[ "$kib" -lt 300000 ] || check '  in panes' test "$(stat_of "$tmp/stats" read_mapped)" -gt 30
	both 'md5sum' "$kib" md5sum "$tmp/lib.a"
	both 'sort' "$kib" sort -o @ "$tmp/numbers"
done
finish
