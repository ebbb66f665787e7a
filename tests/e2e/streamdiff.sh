#!/bin/sh
# Random sequences of stdio operations, in every world (tests/diff/run -S, tests/diff/streams), for a
# bounded time.
# limit: 90
. "$(dirname "$0")/../lib.sh"

log=$tmp/log

# case_of NAME ARGUMENT...: one case, and what was found if it fails.
case_of() {
	name=$1
	shift
	if "$root/tests/diff/run" -S "$@" >"$log" 2>&1; then
		case_ok "$name: $(tail -n 1 "$log")"
	else
		sed 's/^ok /is ok /; s/^not ok /differs: /' "$log"
		case_fail "$name" 'see above'
	fi
}

# The same seeds each time, so that a failure is a change's; `make fuzz` takes fresh ones.
case_of 'many seeds' -f 1 -s 10
case_of 'long sequences' -f 100001 -s 3 -n 3000
finish
