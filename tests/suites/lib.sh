# shellcheck shell=sh
# For the suites: `. "$(dirname "$0")/lib.sh"`. A suite runs other people's tests natively and with the
# library, and compares result by result. tests/suites/run starts it, in an empty folder. It gets
#
#   $root, $BUILD, $CC     the tree, what was built, the compiler
#   $PWD                   a folder of its own, build/suites/NAME, where logs and lists stay
#   say TEXT...            progress, on stderr
#   lacks REASON           leaves: what it needs is not here
#   preloaded COMMAND...   with the library and all its modes; statistics in ./stats.json
#   summed KEY [PROGRAM]   what the processes of the last `preloaded` runs have counted, in sum
#   results NATIVE OURS PART [AGAIN...]
#                          compares two lists of results, one a line, `RESULT: NAME`; prints the row; what
#                          differs goes to PART.differences. AGAIN: a command that makes ./again, the same
#                          list natively once more: what changes there is flaky, and listed in PART.flaky
#   floor PART COUNT WHAT  the library has to have been at work: at least one of WHAT
#   finish                 the last line of a suite: exits with 1 if something differed
#
# The rows have, separated by tabs: suite, tests, passed natively, passed with the library, differences,
# views, reads served, streams served.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "${BUILD:-$root/build}" && pwd) || exit 2
CC=${CC:-gcc}
export BUILD CC
# shellcheck disable=SC2034 # for those who source this
library=$BUILD/libmapcoalesce.so
suite_failures=0
suite_folder=$PWD

say() {
	echo "$*" >&2
}

lacks() {
	say "left out: $*"
	exit 77
}

# What the processes find of us is the library, not the suite's own variables.
preloaded() {
	env LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}" MAPCOALESCE_MODES=all \
		MAPCOALESCE_STATS="$suite_folder/stats.json" "$@"
}

summed() {
	[ -e stats.json ] || echo 0
	[ ! -e stats.json ] || awk -v key="\"$1\":" -v program="${2:+\"program\":\"$2\"}" '
		(program == "" || index($0, program)) && (i = index($0, key)) {
			sum += substr($0, i + length(key)) + 0
		}
		END { print sum + 0 }' stats.json
}

# count FILE WORD: results of that kind.
count() {
	grep -c "^$2: " "$1" || :
}

# A name that was seen with another result natively, too, says nothing.
drop_flaky() {
	sed 's/^[A-Z0-9 ]*: //' "$3.flaky" | sort -u >"$3.names"
	for list in "$1" "$2"; do
		# Not NR == FNR: while nothing is flaky, the first file is empty.
		awk 'FILENAME == ARGV[1] { flaky[$0]; next }
			{ name = $0; sub(/^[A-Z0-9 ]*: /, "", name) }
			!(name in flaky)' "$3.names" "$list" >"$list.steady"
	done
}

results() {
	native=$1 ours=$2 part=$3
	shift 3
	: >"$part.flaky"
	tries=0
	drop_flaky "$native" "$ours" "$part"
	while ! cmp -s "$native.steady" "$ours.steady" && [ $# -gt 0 ] && [ $tries -lt 2 ]; do
		tries=$((tries + 1))
		say "$part: results differ; natively once more ($tries of 2)"
		"$@"
		diff "$native" again | sed -n 's/^[<>] //p' >>"$part.flaky"
		drop_flaky "$native" "$ours" "$part"
	done
	diff "$native.steady" "$ours.steady" >"$part.differences"
	differences=$(grep -c '^[<>]' "$part.differences" || :)
	[ "$differences" -eq 0 ] || suite_failures=$((suite_failures + 1))
	[ -s "$part.flaky" ] || rm "$part.flaky"
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$part" "$(wc -l <"$native")" \
		"$(count "$native" PASS)" "$(count "$ours" PASS)" "$differences" \
		"$(summed mmap_views)" "$(summed read_mapped)" \
		"$(($(summed streams_mapped) + $(summed streams_combined)))"
}

floor() {
	[ "$2" -gt 0 ] || {
		say "$1: no $3 at all: the library was not at work"
		suite_failures=$((suite_failures + 1))
	}
}

finish() {
	[ "$suite_failures" -eq 0 ]
	exit
}
