#!/bin/sh
# The comparison that tests/suites is made of sees what differs, and tells what is flaky natively.
. "$(dirname "$0")/../lib.sh"

# compared NAME STATUS DIFFERENCES NATIVE OURS AGAIN: lists of results, with `;` for the end of a line.
compared() {
	mkdir -p "$tmp/suite"
	for list in "native $4" "ours $5" "later $6"; do
		echo "${list#* }" | tr ';' '\n' >"$tmp/suite/${list%% *}"
	done
	cat >"$tmp/suite.sh" <<END
. "$root/tests/suites/lib.sh"
results native ours part cp later again
finish
END
	(cd "$tmp/suite" && sh "$tmp/suite.sh" >row 2>said)
	status=$?
	check "$1: exit status" [ $status -eq "$2" ]
	check "$1: differences" [ "$(cut -f 5 "$tmp/suite/row")" = "$3" ]
}

one='PASS: a;PASS: b;FAIL 3: c'
compared 'the same' 0 0 "$one" "$one" "$one"
compared 'another result' 1 2 "$one" 'PASS: a;FAIL: b;FAIL 3: c' "$one"
compared 'another number' 1 2 "$one" 'PASS: a;PASS: b;FAIL 2: c' "$one"
compared 'one is missing' 1 1 "$one" 'PASS: a;FAIL 3: c' "$one"
compared 'flaky natively' 0 0 "$one" 'PASS: a;FAIL: b;FAIL 3: c' 'PASS: a;FAIL: b;FAIL 3: c'
compared 'flaky natively, with numbers' 0 0 "$one" 'PASS: a;PASS: b;FAIL 2: c' 'PASS: a;PASS: b;PASS: c'
compared 'one is flaky, another differs' 1 2 "$one" 'FAIL: a;FAIL: b;FAIL 3: c' 'PASS: a;FAIL: b;FAIL 3: c'
finish
