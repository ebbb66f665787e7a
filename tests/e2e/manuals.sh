#!/bin/sh
# The manuals: well-formed, and they name exactly the options and variables that there are.
. "$(dirname "$0")/../lib.sh"

strip_roff='s/\\-/-/g; s/Fl Fl /--/g'
sed -n 's/^  *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' "$root/preload/mapfast.in" | sort -u >"$tmp/helped"
sed -n "/^\\.It Fl/{$strip_roff; s/.*\\(--[a-z-]*\\).*/\\1/p;}" "$root/preload/mapfast.1" | sort -u >"$tmp/described"
check "mapfast(1) has the options of --help" diff "$tmp/helped" "$tmp/described"
check "and there are some" [ "$(wc -l <"$tmp/helped")" -gt 10 ]

grep -ho 'MAPCOALESCE_[A-Z_]*[A-Z]' "$root/preload/mapfast.in" | sort -u >"$tmp/helped"
sed -n 's/^\.It Ev \(MAPCOALESCE_\)/\1/p' "$root/preload/libmapcoalesce.7" | sort -u >"$tmp/described"
check "libmapcoalesce(7) has the variables" diff "$tmp/helped" "$tmp/described"

for page in mapfast.1 libmapcoalesce.7; do
	if command -v mandoc >/dev/null; then
		mandoc -Tlint -W warning "$root/preload/$page" >"$tmp/said" 2>&1
		check "mandoc -Tlint $page" [ ! -s "$tmp/said" ]
		cat "$tmp/said"
	else
		case_skip "mandoc -Tlint $page" "no mandoc"
	fi
	if command -v groff >/dev/null; then
		groff -ww -mdoc -Tutf8 -z "$root/preload/$page" >"$tmp/said" 2>&1
		check "groff -ww $page" [ ! -s "$tmp/said" ]
		cat "$tmp/said"
	else
		case_skip "groff -ww $page" "no groff"
	fi
done
finish
