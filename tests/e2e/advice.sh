#!/bin/sh
# The dry run as an advisor: it changes nothing, and what it says of a program's calls, those inside
# stdio too, is what the kernel saw.
. "$(dirname "$0")/../lib.sh"
programs strace ld.bfd ld.gold dd

dry() {
	"$BUILD/mapfast" --dry-run "$@"
}

# counted CALL FILE: how often it was called on it.
counted() {
	grep -c "^[0-9]* *$1([0-9]*<[^>]*$2>" "$tmp/calls"
}

# near NUMBER NUMBER: within a fiftieth, or 8.
# shellcheck disable=SC2317 # called by check
near() {
	[ "$(($1 > $2 ? $1 - $2 : $2 - $1))" -le "$(($2 / 50 + 8))" ]
}

# said FILE WORDS: the number that stands before the words in the file's part of the report.
said() {
	sed -n "\\|^  [^ ]*$1: |,\\|^  [^ ]*: |{/^  [^ ]*: / {/$1: /!d;}; s/.*[ :]\\([0-9][0-9]*\\) $2.*/\\1/p;}" \
		"$tmp/report" | head -n 1
}

# GNU ld: all of it is inside stdio.
libc=$($CC -print-file-name=libc.a)
archive=$tmp/libc.a
mkdir "$tmp/members" && (cd "$tmp/members" && ar x "$libc" &&
	find . -name '*.o' | LC_ALL=C sort | head -n 500 >../list && ar rc "$archive" "@../list")
link="--whole-archive -r $archive"
# shellcheck disable=SC2086 # words
{
	strace -f -y -e trace=read,lseek,write -o "$tmp/calls" ld.bfd $link -o "$tmp/native.o"
	dry ld.bfd $link -o "$tmp/dry.o" 2>"$tmp/report"
}
check 'ld.bfd links the same' same_bytes "$tmp/native.o" "$tmp/dry.o"
check '  reads are counted' near "$(said libc.a reads)" "$(counted read libc.a)"
check '  seeks are counted' near "$(said libc.a seeks)" "$(counted lseek libc.a)"
check '  the output is' near "$(said dry.o writes)" "$(counted write native.o)"
check '  with its reads' near "$(said dry.o reads)" "$(counted read native.o)"
check '  and its seeks' near "$(said dry.o seeks)" "$(counted lseek native.o)"
check '  the pattern is seen' grep -q 'libc.a: .*; seek thrash; [0-9]* bytes read again' "$tmp/report"
check '  what stdio would save' grep -qE '^  mode stdio would save about [0-9]{3,} system calls and' "$tmp/report"
check '  what write would save' grep -qE '^  mode write would save about [0-9]{3,} system calls and' "$tmp/report"
cp "$tmp/report" "$tmp/whole"

# In another program `write` is off, and that is said.
cp "$(command -v ld.bfd)" "$tmp/linker"
# shellcheck disable=SC2086 # words
dry "$tmp/linker" $link -o "$tmp/dry.o" 2>"$tmp/report"
check 'a mode that is off is named' grep -q '^  mode write (off) would save' "$tmp/report"

# gold: pieces.
# shellcheck disable=SC2086 # words
{
	strace -f -y -e trace=mmap,pread64,readv -o "$tmp/calls" \
		ld.gold --no-map-whole-files $link -o "$tmp/native.o"
	dry ld.gold --no-map-whole-files $link -o "$tmp/dry.o" 2>"$tmp/report"
}
check 'ld.gold links the same' same_bytes "$tmp/native.o" "$tmp/dry.o"
check '  the pattern is seen' grep -q 'libc.a: .*; piecemeal maps' "$tmp/report"
check '  reads are counted' near "$(said libc.a reads)" \
	"$(($(counted pread64 libc.a) + $(counted readv libc.a)))"
check '  what mmap would save' grep -qE '^  mode mmap would save about [0-9]{2,} system calls and' "$tmp/report"

# A reader of small pieces.
head -c 65536 /dev/zero >"$tmp/data"
dry dd if="$tmp/data" of="$tmp/copy" bs=16 2>"$tmp/report"
check 'dd copies the same' same_bytes "$tmp/data" "$tmp/copy"
check '  4097 reads' grep -q '^    4097 reads (65536 bytes), ' "$tmp/report"
check '  what read would save' grep -qE '^  mode read would save about [0-9]{4} system calls and' "$tmp/report"
check '  no other mode would' [ "$(grep -c '^  mode' "$tmp/report")" = 1 ]

# Memory by the page.
cat >"$tmp/memory.c" <<'END'
#include <sys/mman.h>
int main(void)
{
	for (int i = 0; i < 1000; i++)
		munmap(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	return 0;
}
END
# shellcheck disable=SC2086 # CC may hold flags
$CC -w -o "$tmp/memory" "$tmp/memory.c" && dry "$tmp/memory" 2>"$tmp/report"
check 'what anon would save' grep -q '^  mode anon (off) would save about 199[0-9] system calls and' "$tmp/report"

# One text with one write; a program that makes no such call hears that too.
strace -s 4096 -e trace=write -E MAPCOALESCE_DRY_RUN=1 -E LD_PRELOAD="$BUILD/libmapcoalesce.so" \
	-o "$tmp/calls" true 2>"$tmp/report"
check 'one write' [ "$(grep -c 'dry run, nothing' "$tmp/calls")" = 1 ]
check '  of all' [ "$(grep -c 'write(' "$tmp/calls")" = 1 ]
dry cat "$tmp/data" >/dev/null 2>"$tmp/report"
check 'nothing to save' [ "$(grep -c '^  mode' "$tmp/report")" = 0 ]

# A child tells of its own calls only.
cat >"$tmp/forks.c" <<'END'
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char c;
	int fd = open(argv[argc - 1], O_RDONLY);
	for (int i = 0; i < 7; i++)
		pread(fd, &c, 1, i);
	if (fork() == 0)
		pread(fd, &c, 1, 0);
	wait(NULL);
	return 0;
}
END
# shellcheck disable=SC2086 # CC may hold flags
$CC -w -o "$tmp/forks" "$tmp/forks.c" && dry "$tmp/forks" "$tmp/data" 2>"$tmp/report"
check 'a child tells of its own calls' [ "$(grep -o '[0-9]* reads ([0-9]* bytes)' "$tmp/report" | tr '\n' ' ')" = \
	'1 reads (1 bytes) 7 reads (7 bytes) ' ]
finish
