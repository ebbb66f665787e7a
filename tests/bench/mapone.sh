# One small mapping at a time: 4 KiB at a random place in a cached file of 64 MiB. Sourced by run.
# shellcheck shell=sh disable=SC2154

rounds=$(pick 4 3 7)
times=$(pick 100000 20000)
helper mapone
cd "$work" || exit
a=mapone.a
b=mapone.b
"$work/mapone" -c 64 "$a" "$b"
tsv=$out/mapone.tsv
printf 'variant\tthreads\tfiles\ttimes\tns_wall\tns_cpu\tops_s\n' >"$tsv"

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	say "round $round of $rounds"
	for variant in native coalesced; do
		for threads in "-t 1 $a" "-t 2 $a $b" "-t 2 $a"; do
			# shellcheck disable=SC2086 # several words
			as $variant "$work/mapone" -l $variant -n "$times" -s $round $threads
		done
	done
done >>"$tsv"

cat <<END
Map 4 KiB of a cached 64 MiB file at a random place, read one byte, unmap; $times times a thread,
$rounds rounds, medians (range). The rate is that of all threads together, in operations a second;
the last column compares it with one thread's, natively and coalesced.

END
LC_ALL=C awk -f "$root/tests/bench/stats.awk" -f "$root/tests/bench/mapone.awk" "$tsv"

if can_count; then
	# The steady state: what n more operations add.
	printf '\nSystem calls for each operation in the steady state:\n\n'
	for variant in native coalesced; do
		for n in 10000 20000; do
			set -- "$work/mapone" -q -n $n "$a"
			[ $variant = native ] || set -- "$mapfast" "$@"
			calls "$work/calls.$n" "$@"
		done
		awk -v variant=$variant '
			NR == FNR { before[$1] = $2; next }
			{ more = $2 - before[$1] }
			$1 == "mmap" { mmap = more; next }
			$1 == "munmap" { munmap = more; next }
			{ other += more }
			END {
				printf "* %s: %.4f mmap, %.4f munmap, %.4f other\n", variant,
					mmap / 10000, munmap / 10000, other / 10000
			}' "$work/calls.10000" "$work/calls.20000"
	done
fi
