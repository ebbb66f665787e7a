# Mappings of one page each, up to a million. Sourced by run.
# shellcheck shell=sh disable=SC2154

. "$root/examples/maps/cases.sh"
helper maps
all=$(pick 1000000 50000)
# The kernel keeps what is mapped of the file, though all of it is a hole.
page=$(getconf PAGESIZE)
memory=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
[ "$memory" -gt $((all * page / 512)) ] || all=200000
file=$work/maps.file
rm -f "$file"
truncate -s $((all * page)) "$file"
cat "$file" >/dev/null
measure_cases "$all" $((all / 5)) "$file" "$out/maps"
rm -f "$file"

cat <<END
Up to $all mappings of one page, each touched, natively and with the library (\`-m +anon\`); vm.max_map_count
is $(cat /proc/sys/vm/max_map_count). Calls of mmap and munmap until all were made or one failed, microseconds for each call, and
the mappings that the process had in the end.

| | native | | | with the library | | |
|---|---:|---:|---:|---:|---:|---:|
END
show_cases markdown "$out/maps" | sed 2d

# lines COLUMN: of gnuplot's plot command, native and coalesced.
lines() {
	color=0
	for case in up each anonymous-second; do
		color=$((color + 1))
		case $case in
		up) what='kept' ;;
		each) what='unmapped at once' ;;
		*) what='anonymous, half unmapped' ;;
		esac
		printf "'%s' using (strcol(1) eq 'native' ? \$2 : 1/0):%s with lines lw 2 lc %s dt 2 title '%s', " \
			"$out/maps-$case.tsv" "$1" $color "$what"
		printf "'%s' using (strcol(1) eq 'coalesced' ? \$2 : 1/0):%s with lines lw 2 lc %s title '… mapfast', " \
			"$out/maps-$case.tsv" "$1" $color
	done
	echo "1/0 notitle"
}
plot maps-time "Milliseconds for each 10,000 calls of mmap and munmap" <<END
set logscale y
set format x '%.0s%c'
set xlabel 'calls made'
plot $(lines 3)
END
plot maps-mappings "Mappings that the kernel has" <<END
set logscale y
set format x '%.0s%c'
set xlabel 'calls made'
plot $(lines 4)
END
