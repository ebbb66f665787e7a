#!/bin/sh
# The hook table against the library and libc: the library exports the names of the table and no
# others, each exists in libc, and so does no sibling of one that is missing in the table.
. "$(dirname "$0")/../lib.sh"
here=$root/tests/symbols
tab=$(printf '\t')

"$here/names" >"$tmp/hooked"
"$here/libc" >"$tmp/libc"

# report NAME FILE WHY: a case that is right if the file is empty.
report() {
	if [ -s "$2" ]; then
		case_fail "$1" "$3: $(tr '\n' ' ' <"$2")"
	else
		case_ok "$1"
	fi
}

uniq -d "$tmp/hooked" >"$tmp/list"
report 'each name once' "$tmp/list" 'two rows'

nm -D --defined-only "$BUILD/libmapcoalesce.so" | sed 's/.* //' | sort >"$tmp/exported"
comm -13 "$tmp/hooked" "$tmp/exported" >"$tmp/list"
report 'exports nothing more' "$tmp/list" 'not in the table'
comm -23 "$tmp/hooked" "$tmp/exported" >"$tmp/list"
report 'exports nothing less' "$tmp/list" 'not exported'

# The list for readers is that of x86-64.
if [ "${ARCH:-x86_64}" = x86_64 ]; then
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n '/^<!-- names -->/,/^<!-- names end -->/p' "$root/README.md" | grep -o '`[^`]*`' |
		tr -d '`' | sort | comm -3 - "$tmp/hooked" >"$tmp/list"
	report 'the README lists them' "$tmp/list" 'run tests/symbols/into-readme; it differs in'
fi

comm -23 "$tmp/hooked" "$tmp/libc" >"$tmp/list"
report 'each name exists in libc' "$tmp/list" 'no such function'

# Siblings are the names with the same stem: without leading underscores, _IO_, __libc_ and __isocNN_,
# and without trailing _chk, _2, 64, _time64, _unlocked, _nocancel (preadv64v2: preadv2).
stems() {
	sed -e h -e 's/^_IO_//' -e 's/^_*//' -e 's/^libc_//' -e 's/^isoc[0-9]*_//' -e :again \
		-e 's/_chk$//' -e 's/_2$//' -e 's/_time64$//' -e 's/64$//' -e 's/v64v2$/v2/' \
		-e 's/_unlocked$//' -e 's/_nocancel$//' -e 't again' -e G -e 's/\n/ /' "$1" |
		sort
}
stems "$tmp/hooked" | cut -d ' ' -f 1 | uniq >"$tmp/stems"
stems "$tmp/libc" | join "$tmp/stems" - | cut -d ' ' -f 2 | sort | comm -23 - "$tmp/hooked" \
	>"$tmp/siblings"

# The table of stems itself: what it must find, and what it must keep apart.
printf '%s\n' open64 __open_2 __open64_2 __read_chk __preadv64v2 __fcntl_time64 __isoc99_scanf \
	_IO_fopen64 dup2 fread_unlocked | stems /dev/stdin | cut -d ' ' -f 1 | tr '\n' ' ' >"$tmp/got"
echo 'dup2 fcntl fopen fread open open open preadv2 read scanf ' | tr -d '\n' >"$tmp/want"
check 'stems of names' same_bytes "$tmp/got" "$tmp/want"

grep -v '^#' "$here/excused" | sort >"$tmp/excused"
grep -v "^[^$tab]*$tab..*" "$tmp/excused" >"$tmp/list"
report 'each excuse has a reason' "$tmp/list" 'no reason'
cut -f 1 "$tmp/excused" >"$tmp/excused-names"
comm -23 "$tmp/siblings" "$tmp/excused-names" >"$tmp/list"
report 'each sibling is hooked or excused' "$tmp/list" 'neither'
# An excuse that starts with `elsewhere:` is for other machines or versions of libc.
grep -v "^[^$tab]*${tab}elsewhere:" "$tmp/excused" | cut -f 1 | comm -23 - "$tmp/siblings" \
	>"$tmp/list"
report 'each excuse is needed' "$tmp/list" 'hooked, or no sibling'

finish
