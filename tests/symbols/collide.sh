#!/bin/sh
# A program may have functions and variables of any names that are ours inside the library. One that
# defines all of them, and exports them as a program built with -rdynamic does, must run with the
# library as without it, and none of its functions may be called and none of its variables changed.
. "$(dirname "$0")/../lib.sh"
here=$root/tests/symbols

if [ -n "${RUNNER:-}" ]; then
	case_skip collide "programs of $ARCH need $RUNNER here"
	finish
fi

# libc's names and those of the table would be replaced for the program itself.
{ "$here/names"; "$here/libc"; } | sort -u >"$tmp/taken"
nm --defined-only "$BUILD"/objs/*.o | sed -n 's/^[0-9a-f]* [A-Za-z] \([A-Za-z][A-Za-z0-9_]*\)$/\1/p' |
	sort -u | comm -23 - "$tmp/taken" | grep -vx main >"$tmp/names"
count=$(wc -l <"$tmp/names")
check "found $count names of ours" test "$count" -gt 0

{
	echo 'extern int collisions;'
	sed 's/.*/int &(void) { return ++collisions; }/' "$tmp/names"
} >"$tmp/functions.c"
# Longer than any variable of ours may be short of, so that a stray store lands inside.
{
	sed 's/.*/long &[64];/' "$tmp/names"
	echo 'static long *const all[] = {'
	sed 's/$/,/' "$tmp/names"
	echo '};'
	echo 'int names_changed(void) { int n = 0;'
	echo 'for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)'
	echo 'for (int k = 0; k < 64; k++) n += all[i][k] != 0;'
	echo 'return n; }'
} >"$tmp/variables.c"

for kind in functions variables; do
	# shellcheck disable=SC2086 # CC may hold flags
	if ! $CC -w -fno-builtin -O1 -pthread -rdynamic -o "$tmp/$kind" \
		"$root/tests/programs/collide.c" "$tmp/$kind.c" 2>"$tmp/errors"; then
		case_fail "$kind" "$(head -n 3 "$tmp/errors")"
		continue
	fi
	first=$(head -n 1 "$tmp/names")
	check "$kind are exported" sh -c "nm -D '$tmp/$kind' | grep -q ' $first\$'"
	"$tmp/$kind" "$tmp/scratch" >"$tmp/native" 2>&1
	native=$?
	preload MAPCOALESCE_MODES=all "$tmp/$kind" "$tmp/scratch" >"$tmp/preloaded" 2>&1
	preloaded=$?
	check "$kind: same output" same_bytes "$tmp/native" "$tmp/preloaded"
	check "$kind: status $preloaded" test "$native/$preloaded" = 0/0
done
finish
