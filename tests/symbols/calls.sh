#!/bin/sh
# What the library itself calls: never a hooked name, except through the table of next definitions,
# and of libc only what tests/symbols/calls lists. A call of a hooked name would come back to our
# own hook, or to another preload's; most of the rest of libc allocates, locks or sets errno.
. "$(dirname "$0")/../lib.sh"
here=$root/tests/symbols
tab=$(printf '\t')

"$here/names" >"$tmp/hooked"
set -- "$BUILD"/objs/*.o
nm --defined-only "$@" | sed -n 's/.* [A-Zuvw] //p' | sort -u >"$tmp/defined"
for object; do
	nm -u "$object" | sed 's/.* //' | sort -u >"$tmp/undefined"
	comm -23 "$tmp/undefined" "$tmp/defined" >>"$tmp/called-all"

	# Relocations, and not undefined names alone, since a hook calls the exported hook beside it
	# through its name too. In readelf's table: offset, info, type, value, name. Debug information
	# names the functions of assembly files.
	name=$(basename "$object" .o)
	readelf -rW "$object" | sed '/^Relocation section .*\.debug_/,/^$/d' | tr -s ' ' |
		grep '^[0-9a-f]* [0-9a-f]* R_' | cut -d ' ' -f 3,5 |
		sort -u >"$tmp/relocations"
	cut -d ' ' -f 2 "$tmp/relocations" >>"$tmp/relocations-all"
	# next.c compares what it found with our own definitions: it takes their addresses, but does
	# not call them.
	if [ "$name" = next ]; then
		grep -E '_(PLT|CALL|JUMP|PC)[0-9]+ ' "$tmp/relocations"
	else
		cat "$tmp/relocations"
	fi | cut -d ' ' -f 2 | sort -u | comm -12 - "$tmp/hooked" >"$tmp/list"
	if [ -s "$tmp/list" ]; then
		case_fail "$name calls no hook" "$(tr '\n' ' ' <"$tmp/list")"
	else
		case_ok "$name calls no hook"
	fi
done

# The reading of readelf's table, which differs between machines: each call must have been in it.
# Left out are the linker's own name, and the atomic operations that libgcc has for aarch64.
sort -u "$tmp/called-all" | comm -23 - "$tmp/hooked" |
	grep -vE '^(_GLOBAL_OFFSET_TABLE_|__aarch64_[a-z0-9_]*)$' >"$tmp/called"
sort -u "$tmp/relocations-all" | comm -23 "$tmp/called" - >"$tmp/list"
if [ -s "$tmp/list" ]; then
	case_fail 'relocations are read' "without one: $(tr '\n' ' ' <"$tmp/list")"
else
	case_ok 'relocations are read'
fi

grep -v '^#' "$here/calls" | sort >"$tmp/allowed"
cut -f 1 "$tmp/allowed" | comm -23 "$tmp/called" - >"$tmp/list"
if [ -s "$tmp/list" ]; then
	while read -r name; do
		users=$(nm -Au "$@" | sed -n "s|.*/\(.*\)\.o:.* $name\$|\1|p" | tr '\n' ' ')
		case_fail 'calls of libc' "$name, by $users"
	done <"$tmp/list"
else
	case_ok 'calls of libc'
fi
# `elsewhere:` marks what only some compiler, machine or version calls.
grep -v "^[^$tab]*${tab}elsewhere:" "$tmp/allowed" | cut -f 1 | comm -23 - "$tmp/called" >"$tmp/list"
if [ -s "$tmp/list" ]; then
	case_fail 'the list is no longer than needed' "$(tr '\n' ' ' <"$tmp/list")"
else
	case_ok 'the list is no longer than needed'
fi
finish
