#!/bin/sh
# Each test that tests/HAZARDS.md names exists, and has the case that it names.
. "$(dirname "$0")/../lib.sh"

# The file of a test: unit/NAME, e2e/NAME, diff/FILE …
file_of() {
	for file in "$root/tests/$1" "$root/tests/$1.c" "$root/tests/$1.sh"; do
		[ ! -f "$file" ] || echo "$file"
	done
}

# shellcheck disable=SC2016 # backquotes of the table
grep -o '`[a-z0-9]*/[a-z_.0-9]*\(: [^`]*\)\?`' "$root/tests/HAZARDS.md" | tr -d '`' | sort -u >"$tmp/names"
missing=
while IFS= read -r name; do
	test=${name%%: *}
	file=$(file_of "$test" | head -n 1)
	if [ -z "$file" ]; then
		missing="$missing; no test $test"
	elif [ "$test" != "$name" ] && ! grep -qF -e "${name#*: }" "$file"; then
		missing="$missing; nothing about '${name#*: }' in $test"
	fi
done <"$tmp/names"
check "$(wc -l <"$tmp/names") names of tests$missing" test -z "$missing"
rows=$(grep -c '^| [0-9]* | ' "$root/tests/HAZARDS.md")
check "$rows hazards of others" test "$rows" -eq 48
finish
