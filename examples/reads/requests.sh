# Requests of `scan`, by read, by mmap, and by read with the library; for the example and the benchmark.
# Sourced after lib.sh, with scan compiled to $work/scan.
# shellcheck shell=sh disable=SC2154

# text BYTES: lines, some of them with what is searched for.
text() {
	awk 'BEGIN {
		for (i = 0; ; i++)
			printf "line %d of some text%s to search in, %d\n", i, i % 1000 ? "" : " mapfast",
				i * 7919 % 1000003
	}' 2>/dev/null | head -c "$1"
}

# scanned LABEL ARG...: one run of scan.
scanned() {
	case $1 in
	coalesced) set -- env "LD_PRELOAD=$library" "$work/scan" -l "$@" ;;
	*) set -- "$work/scan" -l "$@" ;;
	esac
	"$@" 2>>"$out/requests.tsv"
}

# measure_requests ROUNDS [BYTES]...
measure_requests() {
	rounds=$1
	shift
	[ $# -gt 0 ] || set -- 16 64 256 1024 4096 16384 65536 1048576
	text 16777216 >"$work/text"
	# What is not written out can't be dropped from memory.
	sync "$work/text"
	: >"$out/requests.tsv"
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		for what in fgrep md5; do
			say "$what, round $round of $rounds"
			expected=$("$work/scan" mmap $what 4096 "$work/text" 2>/dev/null)
			for size; do
				for cold in '' -c; do
					# shellcheck disable=SC2086 # it may be nothing
					for way in 'read read' 'mmap mmap' 'coalesced read'; do
						found=$(scanned ${way% *} $cold ${way#* } $what "$size" "$work/text")
						[ "$found" = "$expected" ] || die "$what by $way finds $found"
					done
				done
			done
		done
	done
	rm -f "$work/text"
}

# show_requests FORMAT: their table, plain or markdown.
show_requests() {
	awk -v format="$1" -f "$root/tests/bench/stats.awk" -f "$root/examples/reads/requests.awk" \
		"$out/requests.tsv"
}
