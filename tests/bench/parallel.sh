# GNU ld alone, and several at once while the kernel is short of memory for the files. Sourced by run.
# shellcheck shell=sh disable=SC2154

have ld.bfd || {
	say "no ld.bfd here (apt-get install binutils)"
	exit 77
}
# shellcheck source=/dev/null
. "$root/tests/bench/llvm.sh"
helper peak
rounds=$(pick 3 1 9)
links=4
inputs=$(few_archives | tr '\n' ' ')

# at_once LINKS OUTPUT COMMAND...: so many at the same time, to OUTPUT.1, OUTPUT.2 ...
cat >"$work/at_once" <<'END'
#!/bin/sh
links=$1 output=$2 all=
shift 2
while [ "$links" -gt 0 ]; do
	"$@" -o "$output.$links" &
	all="$all $!"
	links=$((links - 1))
done
for link in $all; do
	wait "$link" || exit
done
END
chmod 755 "$work/at_once"

# measured VARIANT LINKS TSV [LIMITER...]
measured() {
	variant=$1 count=$2 tsv=$3
	shift 3
	rm -f "$work/parallel.out".*
	linker=ld.bfd
	[ "$variant" = native ] || linker="$mapfast ld.bfd"
	# shellcheck disable=SC2086 # lists of words
	"$@" "$work/peak" -l "$variant" -o "$tsv" "$work/at_once" "$count" "$work/parallel.out" \
		$linker -r -z muldefs --whole-archive $inputs
	for output in "$work/parallel.out".*; do
		same "$work/parallel.native" "$output"
	done
}

# drop: what the kernel holds of the files and nobody has mapped goes, again and again.
drop() {
	while :; do
		for input in $inputs; do
			dd if="$input" iflag=nocache count=0 2>/dev/null
		done
		sleep 0.1
	done
}

# shellcheck disable=SC2086 # a list of words
ld.bfd -r -z muldefs -o "$work/parallel.native" --whole-archive $inputs
# shellcheck disable=SC2086 # a list of words
"$work/peak" -s -o "$work/parallel.peak" ld.bfd -r -z muldefs -o "$work/parallel.out" --whole-archive $inputs
own=$(awk -F '\t' 'NR == 2 { print int($3 / 1000) }' "$work/parallel.peak")
rm -f "$work/parallel.peak" "$work/parallel.out"
# What the links need for themselves, and little for files.
limit=$((links * own + 64))
# systemd can say to the kernel how much; else a neighbour takes the files away.
if systemd-run --quiet --scope -p MemoryMax=${limit}M true 2>/dev/null; then
	limiter="systemd-run --quiet --scope -p MemoryMax=${limit}M -p MemorySwapMax=0"
	how="in a control group with $limit MB of memory"
else
	limiter=
	how='while another process has the kernel drop from memory, ten times a second, the files that nobody
has mapped (no systemd here to set a limit)'
fi

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	say "round $round of $rounds"
	# shellcheck disable=SC2086 # a list of words
	for variant in $(turns $round native coalesced); do
		cat $inputs >/dev/null
		measured "$variant" 1 "$out/parallel-one.tsv"
		[ -n "$limiter" ] || {
			drop &
			neighbour=$!
		}
		measured "$variant" $links "$out/parallel-all.tsv" $limiter
		[ -n "$limiter" ] || kill $neighbour
	done
done
rm -f "$work/parallel."*

measures='user_s=user time, s|sys_s=system time, s|cpu_s=user and system time, s|wall_s=wall time, s|'\
'nvcsw=voluntary switches|nivcsw=involuntary switches|minflt=minor faults|majflt=major faults'
cat <<END
\`ld.bfd -r --whole-archive\` of $(echo "$inputs" | wc -w) archives; a link needs $own MB for itself. $rounds rounds, medians, ratios with
their range; all outputs are the same. One link, the files in memory:

END
table native,coalesced "$measures" "$out/parallel-one.tsv"
printf '\n%s links at once, %s; sums over all:\n\n' $links "$how"
table native,coalesced "$measures" "$out/parallel-all.tsv"
bars parallel "$links links by GNU ld at once, short of memory" 'native=natively|coalesced=mapfast' \
	'wall_s=real, s|user_s=user, s|sys_s=system, s' "$out/parallel-all.tsv"
