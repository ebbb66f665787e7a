# What a program pays that has nothing to gain: the start, and a compiler's run. Sourced by run.
# shellcheck shell=sh disable=SC2154

helper startup
helper peak

say "starts of /bin/true"
echo 'int nothing_at_all;' >"$work/empty.c"
compiler -shared -fPIC -Wl,-z,now -o "$work/empty.so" "$work/empty.c"
batches=$(pick 10 10 20)
rounds=$(pick 100 30)
"$work/startup" -n "$rounds" -b "$batches" "coalesced=$library" "empty=$work/empty.so" -- \
	/bin/true >"$out/startup.tsv"

cat <<END
\`/bin/true\`, from posix_spawn to the end of waitpid, natively, with the library in LD_PRELOAD, and
with an empty one, which costs what the loader asks for any; $((rounds * batches)) starts each, by
turns, in $batches batches (medians of the batches; ratios with their range).

END
table native,coalesced,empty 'median_us=median, µs|mean_us=mean, µs' "$out/startup.tsv"
awk -F '\t' -f "$root/tests/bench/stats.awk" -f - "$out/startup.tsv" <<'EOT'
NR > 1 { x[$1, ++n[$1]] = $2 }
END {
	for (i = 1; i <= n["native"]; i++) {
		ours[i] = x["coalesced", i] - x["native", i]
		empty[i] = x["empty", i] - x["native", i]
	}
	printf "\nThe library adds %.1f ± %.1f µs to a start, ", mean(ours, i - 1), margin(ours, i - 1)
	printf "an empty one %.1f ± %.1f µs (95 %%).\n", mean(empty, i - 1), margin(empty, i - 1)
}
EOT

if ! have g++; then
	say "no g++ here: no compile"
	return 0
fi
rounds=$(pick 4 2 25)
source=$root/examples/gc/templates.cc
say "compiles"
round=0
g++ -O1 -c -o "$work/native.o" "$source"
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	for variant in $(turns $round native coalesced); do
		set -- g++ -O1 -c -o "$work/$variant.o" "$source"
		[ "$variant" = native ] || set -- "$mapfast" "$@"
		timed "$variant" "$out/startup-compile.tsv" "$@"
	done
	same "$work/native.o" "$work/coalesced.o"
done
cat <<END

\`g++ -O1 -c\` of a file full of templates, $rounds pairs of runs; mean ratios with their 95 %
confidence interval:

END
measures='minflt=minor page faults|maxrss_kb=memory at the peak, KB|user_s=user time, s|'\
'cpu_s=user and system time, s|wall_s=wall time, s'
ci=1 table native,coalesced "$measures" "$out/startup-compile.tsv"
