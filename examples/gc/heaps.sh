# Heaps of `gc` and of cc1plus, natively and under mapfast; for the example and the benchmark. Sourced
# after lib.sh, with gc and peak compiled to $work.
# shellcheck shell=sh disable=SC2154

# collector HOW VARIANT NAME COMMAND...: one run; what it prints has to be the same each time.
collector() {
	how=$1 variant=$2 name=$3
	shift 3
	[ "$variant" = native ] || set -- "$mapfast" -m +anon "$@"
	"$how" "$variant" "$out/gc-$name-$how.tsv" "$@" >"$work/gc.out" ||
		die "$name fails, $variant: $(cat "$work/gc.out")"
	# What a counted run prints is lost.
	[ "$how" != counted ] || return 0
	[ -e "$work/gc-$name.expected" ] || cp "$work/gc.out" "$work/gc-$name.expected"
	same "$work/gc-$name.expected" "$work/gc.out"
}

# collectors NAME COMMAND...: all that is measured of one, $rounds times.
collectors() {
	say "$1"
	rm -f "$work/gc-$1.expected"
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		for variant in $(turns $round native coalesced); do
			collector timed "$variant" "$@"
		done
	done
	for variant in native coalesced; do
		collector sampled "$variant" "$@"
		! can_count || collector counted "$variant" "$@"
	done
	heaps="$heaps $1"
}

# measure_heaps ROUNDS MEGABYTES,PAGES|cc1plus...
measure_heaps() {
	rounds=$1
	shift
	heaps=
	for heap; do
		if [ "$heap" != cc1plus ]; then
			collectors "$heap" "$work/gc" "${heap%,*}" "${heap#*,}"
		elif have g++; then
			# The compiler proper: the driver would be what is watched.
			collectors cc1plus "$(g++ -print-prog-name=cc1plus)" -quiet -fsyntax-only \
				"$root/examples/gc/templates.cc"
		fi
	done
}

# show_heaps FORMAT: plain or markdown.
show_heaps() {
	format=$1
	for heap in $heaps; do
		case $heap in
		cc1plus) printf '\ncc1plus -fsyntax-only on a file full of templates:\n\n' ;;
		*) printf '\nA heap of %s MB in chunks of %s page(s):\n\n' "${heap%,*}" "${heap#*,}" ;;
		esac
		set -- "$out/gc-$heap-timed.tsv" "$out/gc-$heap-sampled.tsv"
		[ ! -e "$out/gc-$heap-counted.tsv" ] || set -- "$@" "$out/gc-$heap-counted.tsv"
		plain=$([ "$format" = markdown ] || echo 1) table native,coalesced \
			'mmap_calls=mmap calls|munmap_calls=munmap calls|vmas_peak=mappings at the peak|'\
'minflt=page faults|sys_s=system time, s|cpu_s=user + system time, s|maxrss_kb=memory at the peak, KB' "$@"
	done
}
