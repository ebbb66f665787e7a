# Shell functions shared by the examples. Sourced with `root`, the source tree, set. Makes a folder for
# large files, $work, which goes at the end. Environment: BUILD, the folder with mapfast and
# libmapcoalesce.so (default: build/ of the tree).
# shellcheck shell=sh disable=SC2154

set -eu
LC_ALL=C
export LC_ALL

BUILD=${BUILD:-$root/build}
case $BUILD in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
[ -d "$BUILD" ] || {
	echo "$0: no folder $BUILD: run make first" >&2
	exit 1
}
work=$(mktemp -d "${TMPDIR:-/tmp}/mapfast-demo.XXXXXX")
# shellcheck disable=SC2034 # for lib.sh
out=$work
mapfast=
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck source=/dev/null
. "$root/tests/bench/lib.sh"
need_library
helper peak

# once HOW VARIANT COMMAND...
once() {
	how=$1 variant=$2
	shift 2
	[ "$variant" = native ] || set -- "$mapfast" "$@"
	$how "$variant" "$work/$how.tsv" "$@"
}

# compare PROOF COMMAND...: COMMAND writes $work/result. Runs it once natively, for the bytes to compare
# with, and once with the library, whose statistics must say that there was some PROOF of its work.
compare() {
	proof=$1
	shift
	rm -f "$work"/*.tsv "$work"/*.json "$work/native"
	say "  once natively, for the bytes to compare with, and once with the library's statistics"
	"$@" 2>"$work/log"
	mv "$work/result" "$work/native"
	"$mapfast" -o "$work/stats.json" "$@" 2>"$work/log"
	same "$work/native" "$work/result"
	[ "$(statistic "$proof" "$work/stats.json")" -gt 0 ] ||
		die "the library was not at work (see $BUILD/mapfast -v)"
}

# observe HOW COMMAND...: natively and coalesced, not timed.
observe() {
	how=$1
	shift
	for variant in native coalesced; do
		once "$how" $variant "$@" 2>"$work/log"
		same "$work/native" "$work/result"
	done
}

# time_by_turns COMMAND...
time_by_turns() {
	rounds=3
	done_rounds=0
	while [ $done_rounds -lt "$rounds" ]; do
		done_rounds=$((done_rounds + 1))
		say "  timing, natively and coalesced by turns, $done_rounds of $rounds"
		for variant in $(turns $done_rounds native coalesced); do
			rm -f "$work/result"
			once timed "$variant" "$@" 2>"$work/log"
			same "$work/native" "$work/result"
		done
		# Short ones more often.
		[ $done_rounds -gt 1 ] ||
			rounds=$(awk 'NR == 2 { print $2 < 0.5 ? 9 : 3 }' "$work/timed.tsv")
	done
	rm -f "$work/result"
}

# show_table TITLE MEASURES
show_table() {
	printf '%s (medians of %s runs)\n\n' "$1" "$rounds"
	measures=$2
	set -- "$work/timed.tsv"
	[ ! -e "$work/sampled.tsv" ] || set -- "$work/sampled.tsv" "$@"
	[ ! -e "$work/counted.tsv" ] || set -- "$work/counted.tsv" "$@"
	plain=1 inverse=1 table native,coalesced "$measures" "$@"
	printf '\n'
}

# pair MEASURE: the medians of what was measured last, "12 instead of 345".
pair() {
	measure=$1
	set --
	for file in counted sampled timed; do
		[ ! -e "$work/$file.tsv" ] || set -- "$@" "$work/$file.tsv"
	done
	awk -F '\t' -v measure="$measure" -f "$root/tests/bench/stats.awk" -f - "$@" <<'EOT'
FNR == 1 {
	column = 0
	for (i = 1; i <= NF; i++)
		if ($i == measure)
			column = i
	next
}
column && $1 == "native" { native[++natives] = $column }
column && $1 == "coalesced" { ours[++count] = $column }
END {
	sort(native, natives)
	sort(ours, count)
	printf "%s instead of %s", show(median(ours, count)), show(median(native, natives))
}
EOT
}

# readable NUMBER
readable() {
	awk -v number="$1" -f "$root/tests/bench/stats.awk" -f - <<'EOT'
BEGIN { print show(number + 0) }
EOT
}

# say_so WORD...: a conclusion, in lines.
say_so() {
	echo "$*" | fold -s -w 100
}
