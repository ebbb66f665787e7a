#!/bin/sh
# What the dynamic linker sees of the library.
. "$(dirname "$0")/../lib.sh"
library=$BUILD/libmapcoalesce.so

readelf -dW "$library" >"$tmp/dynamic"
readelf -lW "$library" >"$tmp/segments"
readelf -VW "$library" >"$tmp/versions"

# A version of ours on the names would keep them from standing in for libc's.
check 'no version definitions' test "$(grep -ci 'version definition section' "$tmp/versions")" = 0
nm -D --defined-only "$library" | grep '@' >"$tmp/list"
check 'names without version' test ! -s "$tmp/list"

needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$tmp/dynamic" |
	grep -vE '^(libc\.so\.6|libdl\.so\.2|ld-linux.*)$')
check "needs libc only $needed" test -z "$needed"
check 'has a soname' grep -q 'SONAME.*\[libmapcoalesce\.so\]' "$tmp/dynamic"
check 'no search path' test "$(grep -cE 'RPATH|RUNPATH' "$tmp/dynamic")" = 0
check 'bound at once' grep -qE 'BIND_NOW|FLAGS_1.*NOW' "$tmp/dynamic"
check 'no text relocations' test "$(grep -c TEXTREL "$tmp/dynamic")" = 0
# An executable stack would be forced upon every program.
check 'stack not executable' grep -qE 'GNU_STACK .* RW +0x' "$tmp/segments"

# Hooks run on whatever stack the program has, a signal handler's too. What only writes messages, when
# they were asked for, has a line's room. (gcc says file:line:column:name, clang file:line:name, and
# that the name is what it is exported as.)
sed 's/^[^:]*:[0-9]*:\([0-9]*:\)\{0,1\}//' "$BUILD"/objs/*.su >"$tmp/frames"
check 'frames are known' grep -qE '^(mc_)?munmap' "$tmp/frames"
awk '$2 > ($1 ~ /^(write_line|write_row|log_line|log_complain)$/ ? 1400 : 1024)' "$tmp/frames" >"$tmp/list"
check "no large frame $(tr '\n\t' '; ' <"$tmp/list")" test ! -s "$tmp/list"

# Initial-exec, so that it is part of the static block and is reached without a call; a few dozen
# bytes, because that block has little room to spare when the library is loaded by dlopen.
size=$(sed -n 's/^ *TLS  *0x[0-9a-f]*  *0x[0-9a-f]*  *0x[0-9a-f]*  *0x[0-9a-f]*  *\(0x[0-9a-f]*\) .*/\1/p' \
	"$tmp/segments")
check "thread-local storage of ${size:-0} bytes" test "$((${size:-0}))" -le 48
check 'thread-local storage is static' \
	test "$(nm -D "$library" | grep -c __tls_get_addr)" = 0
finish
