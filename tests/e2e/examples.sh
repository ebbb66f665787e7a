#!/bin/sh
# The examples that are no links (those are the demo): each runs, and prints its table.
# limit: 60
# shellcheck disable=SC2317 # check calls the function
. "$(dirname "$0")/../lib.sh"
unset LD_PRELOAD

# A foreign library can't be preloaded into the shell.
echo 'int main(void) { return 0; }' >"$tmp/one.c"
$CC -o "$tmp/one" "$tmp/one.c"
if ! "$tmp/one" || [ -n "$("$BUILD/mapfast" sh -c : 2>&1)" ]; then
	case_skip "${0##*/}" "the shell is for another machine"
	exit 0
fi

# example NAME ROWS ARG...: its table has so many rows.
example() {
	name=$1 rows=$2
	shift 2
	TMPDIR=$tmp "$root/examples/$name/run" "$@" >"$tmp/out" 2>"$tmp/err" &&
		[ "$(grep -c '[0-9]  *[0-9.,]*$' "$tmp/out")" -ge "$rows" ] && return
	cat "$tmp/out" "$tmp/err"
	return 1
}
check 'many mappings' example maps 7 2000
check 'a garbage collector' example gc 4 2,1
check 'requests of several sizes' example reads 8 4096 65536
finish
