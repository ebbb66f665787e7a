# A program that reads a file of 1 KB with fopen, fgets and fclose, again and again: nothing to gain.
# Sourced by run.
# shellcheck shell=sh disable=SC2154

helper peak
helper lines
rounds=$(pick 9 3 25)
times=$(pick 100000 10000)
file=$work/lines.txt
awk 'BEGIN { for (i = 0; i < 16; i++) printf "%-63d\n", i }' >"$file"

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	for variant in $(turns $round native coalesced); do
		[ "$(under timed "$variant" "$out/lines.tsv" "$work/lines" "$file" "$times")" = \
			$((times * 1024)) ] || die "lines, $variant: another number of bytes"
	done
done

# instructions VARIANT TIMES: as valgrind counts them, in the program.
instructions() {
	under plain "$1" - valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		"$work/lines" "$file" "$2" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}
if have valgrind; then
	say "instructions"
	printf 'variant\tinstructions\n' >"$out/lines-instructions.tsv"
	for variant in native coalesced; do
		few=$(instructions $variant 100)
		many=$(instructions $variant 1100)
		printf '%s\t%s\n' $variant $(((many - few) / 1000)) >>"$out/lines-instructions.tsv"
	done
fi

cat <<END
A file of 1 KB opened, read line by line and closed $times times, $rounds pairs of runs; mean ratios
with their 95 % confidence interval. Instructions: of the program and its libraries, for each time.

END
set -- "$out/lines.tsv"
[ ! -e "$out/lines-instructions.tsv" ] || set -- "$@" "$out/lines-instructions.tsv"
ci=1 table native,coalesced 'instructions=instructions|user_s=user time, s|sys_s=system time, s|'\
'cpu_s=user and system time, s|wall_s=wall time, s' "$@"
