#!/bin/sh
# Random sequences of operations on files and mappings, in every world, for a bounded time
# (tests/diff/run); and for a few seconds with another process that changes the files meanwhile.
# limit: 90
. "$(dirname "$0")/../lib.sh"

log=$tmp/log

# case_of NAME ARGUMENT...: one case, and what was found if it fails.
case_of() {
	name=$1
	shift
	if "$root/tests/diff/run" "$@" >"$log" 2>&1; then
		case_ok "$name: $(tail -n 1 "$log")"
	else
		sed 's/^ok /is ok /; s/^not ok /differs: /' "$log"
		case_fail "$name" 'see above'
	fi
}

# The same seeds each time, so that a failure is a change's; `make fuzz` takes fresh ones.
case_of 'many seeds' -f 1 -s 30
case_of 'long sequences' -f 100001 -s 5 -n 3000
case_of 'a file that changes meanwhile' -f 200001 -F -c 1 -w 'plain tiny'
# Faults that can no longer be put in would prove nothing.
check 'each fault of tests/mutants can be put in' "$root/tests/mutants/run" -n
finish
