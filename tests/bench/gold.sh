# The big link of the benchmarks goldbig and goldobj. Sourced by both.
# shellcheck shell=sh disable=SC2154

have ld.gold || {
	say "no ld.gold here (apt-get install binutils, or binutils-gold)"
	exit 77
}
# shellcheck source=/dev/null
. "$root/tests/bench/llvm.sh"

# link HOW VARIANT TSV OUTPUT INPUT...: as the compiler's driver would, but without the driver,
# which adds a plugin.
link() {
	how=$1 variant=$2 tsv=$3 output=$4
	shift 4
	mapping=--no-map-whole-files
	[ "$variant" != whole ] || mapping=--map-whole-files
	set -- ld.gold $mapping -shared --hash-style=gnu --build-id=none \
		-z muldefs --unresolved-symbols=ignore-all -o "$output" \
		"$crt" "$crt_begin" --whole-archive "$@" --no-whole-archive "$crt_end" "$crt_last"
	case $variant:$how in
	coalesced:sampled) set -- "$mapfast" -o "$out/$name-stats.json" "$@" ;;
	coalesced:*) set -- "$mapfast" "$@" ;;
	esac
	"$how" "$variant" "$tsv" "$@"
}

# compare_links NAME ROUNDS INPUT...: all that is measured of a link, and its table.
compare_links() {
	name=$1 rounds=$2
	shift 2
	helper peak
	native=$work/$name.native
	result=$work/$name.out

	say "the reference"
	link plain piecemeal - "$native" "$@"
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		say "round $round of $rounds"
		for variant in piecemeal whole coalesced; do
			link timed $variant "$out/$name.tsv" "$result" "$@"
			same "$native" "$result"
		done
	done
	say "mappings at the peak"
	for variant in piecemeal whole coalesced; do
		link sampled $variant "$out/$name-peak.tsv" "$result" "$@"
	done
	same "$native" "$result"
	[ "$(statistic mmap_views "$out/$name-stats.json")" -gt 0 ] ||
		die "the library served no view"
	if can_count; then
		say "system calls"
		for variant in piecemeal whole coalesced; do
			link counted $variant "$out/$name-calls.tsv" "$result" "$@"
		done
	fi
	rm -f "$result" "$native"

	cat <<END
\`ld.gold -shared --whole-archive\`: natively in pieces (\`--no-map-whole-files\`), natively with
whole files (gold's own default on 64-bit hosts), and in pieces with the library. $rounds rounds,
medians; ratios with their range. All outputs the same, byte for byte.

END
	set -- "$out/$name.tsv" "$out/$name-peak.tsv"
	[ ! -e "$out/$name-calls.tsv" ] || set -- "$@" "$out/$name-calls.tsv"
	table piecemeal,whole,coalesced "$all_measures" "$@"
	bars "$name" 'One link by ld.gold' \
		'piecemeal=in pieces|whole=whole files|coalesced=in pieces, mapfast' \
		'wall_s=real, s|user_s=user, s|sys_s=system, s' "$out/$name.tsv"
}
