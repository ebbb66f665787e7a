# shellcheck shell=sh
# For the tests that are scripts: `. "$(dirname "$0")/../lib.sh"`. Gives them
#
#   $root, $BUILD, $CC     the tree, what was built, the compiler (with the flags for the machine)
#   $tmp                   an empty directory, removed at the end (kept if KEEP is set)
#   case_ok NAME           one line for tests/run to count
#   case_fail NAME REASON
#   case_skip NAME REASON
#   check NAME COMMAND...  case_ok if the command succeeds, else case_fail
#   finish                 the last line of a test: exits with 1 if a case failed
#   preload [VAR=VALUE]... COMMAND...     runs it with the library ($MC_LIBRARY, if that is set)
#   stat_of FILE KEY       the number that the last line of a statistics file gives for KEY
#   same_bytes FILE FILE   whether they are the same; says where they differ if not
#   programs NAME...       skips the whole test unless all these commands exist
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
CC=${CC:-gcc}
export BUILD CC
case_failures=0

tmp=$(mktemp -d) || exit 1
[ -n "${KEEP:-}" ] && echo "# kept: $tmp"
clean_up() {
	[ -n "${KEEP:-}" ] || rm -rf "$tmp"
}
trap clean_up EXIT
# Without these, dash would leave at a signal and not run the trap above.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

case_ok() {
	echo "ok $1"
}

case_fail() {
	echo "not ok $1: ${2:-}"
	case_failures=$((case_failures + 1))
}

case_skip() {
	echo "skip $1: ${2:-}"
}

check() {
	check_name=$1
	shift
	if "$@"; then
		case_ok "$check_name"
	else
		case_fail "$check_name" "exit status $? of: $*"
	fi
}

finish() {
	[ "$case_failures" -eq 0 ]
	exit
}

preload() {
	env LD_PRELOAD="${MC_LIBRARY:-$BUILD/libmapcoalesce.so}${LD_PRELOAD:+:$LD_PRELOAD}" "$@"
}

stat_of() {
	sed -n '$s/.*"'"$2"'": *\(-\{0,1\}[0-9][0-9]*\).*/\1/p' "$1"
}

same_bytes() {
	cmp "$1" "$2"
}

programs() {
	for program_name; do
		if ! command -v "$program_name" >/dev/null; then
			case_skip "${0##*/}" "no $program_name here"
			exit 0
		fi
	done
}
