#!/bin/sh
# Numbers that come to mean another file, in every way there is: little programs that know nothing
# of the library say the same with it as without, and their mappings were views.
# limit: 240
. "$(dirname "$0")/../lib.sh"
library=${MC_LIBRARY:-$BUILD/libmapcoalesce.so}

# compare NAME PROGRAM ARGUMENT...: natively, preloaded, and in the tiny mode; each in a fresh folder,
# which is the program's first argument. $extra: settings for the preloaded runs.
extra=
compare() {
	name=$1
	program=$2
	shift 2
	mkdir "$tmp/$name"
	timeout -s KILL 20 "$program" "$tmp/$name" "$@" >"$tmp/$name.native" 2>&1
	native=$?
	rm -rf "${tmp:?}/$name"
	for world in preloaded tiny; do
		mkdir "$tmp/$name"
		tiny=
		[ $world = preloaded ] || tiny=MAPCOALESCE_TINY=1
		# shellcheck disable=SC2086 # lists of settings
		timeout -s KILL 20 env LD_PRELOAD="$library" $tiny $extra \
			MAPCOALESCE_STATS="$tmp/$name.stats" \
			"$program" "$tmp/$name" "$@" >"$tmp/$name.all" 2>&1
		status=$?
		# What a 32-bit program starts may have 64 bits.
		grep -v 'cannot be preloaded' "$tmp/$name.all" >"$tmp/$name.$world"
		rm -rf "${tmp:?}/$name"
		if [ $status != $native ]; then
			case_fail "$name, $world" "status $status, natively $native"
		elif ! same_bytes "$tmp/$name.native" "$tmp/$name.$world"; then
			diff "$tmp/$name.native" "$tmp/$name.$world" | head -n 5 | sed 's/^/# /'
			case_fail "$name, $world" 'another transcript'
		else
			case_ok "$name, $world"
		fi
	done
	# The program's own lines; what it starts has lines too.
	base=$(basename "$program")
	grep "\"program\":\"$base\"" "$tmp/$name.stats" >"$tmp/$name.own"
	views=$(stat_of "$tmp/$name.own" mmap_views)
	check "$name: ${views:-0} views" test "${views:-0}" -gt 0
}

check 'the transcript says something' sh -c "mkdir '$tmp/proof' &&
	'$BUILD/tests/fd_reuse' '$tmp/proof' | grep -c 'A, then B, later B' | grep -q '[3-9][0-9]'"
compare reuse "$BUILD/tests/fd_reuse"
compare threads "$BUILD/tests/fd_threads"

# The same program as other builds of it call libc: checking names, names with 64.
source=$root/tests/programs/fd_reuse.c
build() { # build NAME FLAG...: says so if the compiler can't
	name=$1
	shift
	# shellcheck disable=SC2086 # CC may hold flags
	if ! $CC -w -O2 -pthread "$@" -o "$tmp/fd_$name" "$source" -lutil 2>"$tmp/errors"; then
		case_skip "$name" "$(head -n 1 "$tmp/errors")"
		return 1
	fi
}
if build fortified -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2; then
	check 'fortified: calls __open_2' sh -c "nm -D '$tmp/fd_fortified' | grep -q ' __open_2'"
	compare fortified "$tmp/fd_fortified"
fi
if build large -D_FILE_OFFSET_BITS=64; then
	check 'large: calls mmap64' sh -c "nm -D '$tmp/fd_large' | grep -q ' mmap64'"
	compare large "$tmp/fd_large"
fi
# AddressSanitizer has hooks of its own, and must come first.
if build sanitized -fsanitize=address; then
	# shellcheck disable=SC2086
	runtime=$($CC -print-file-name=libasan.so)
	runtime=$(readlink -f "$runtime")
	extra="LD_PRELOAD=$runtime:$library ASAN_OPTIONS=detect_leaks=0"
	ASAN_OPTIONS=detect_leaks=0
	export ASAN_OPTIONS
	compare sanitized "$tmp/fd_sanitized"
	extra=
fi

# A close that no hook sees: at once, it may not be noticed; a clock tick later it must be.
"$BUILD/tests/fd_unseen" "$tmp" >"$tmp/native" 2>&1
timeout -s KILL 20 env LD_PRELOAD="$library" "$BUILD/tests/fd_unseen" "$tmp" \
	>"$tmp/preloaded" 2>&1
check 'a close that is not seen' same_bytes "$tmp/native" "$tmp/preloaded"

if [ -n "$(preload true 2>&1)" ]; then
	case_skip stderr "no programs for $ARCH here"
	finish
fi
# Statistics on stderr survive a program that closes stderr before it ends, and one that lends it.
preload MAPCOALESCE_STATS=stderr ls / >"$tmp/out" 2>"$tmp/err"
check 'report of a program that closes stderr' grep -q 'mapcoalesce\[.*ls' "$tmp/err"
# shellcheck disable=SC2016 # the inner shell expands
preload MAPCOALESCE_STATS=stderr bash -c 'for i in 1 2 3; do { echo $i; } 2>/dev/null; done; echo 4 >&2' \
	>"$tmp/out" 2>"$tmp/err"
check 'a shell that lends stderr reports last' sh -c "sed -n 1p '$tmp/err' | grep -q '^4$'"
check 'and once' test "$(grep -c 'mapcoalesce\[' "$tmp/err")" = 1
finish
