#!/bin/sh
# One program that touches whatever has machine code of its own in the library, on every machine: where
# programs of it need an emulator ($RUNNER), in that. It prints the same with the library, which is at
# work; so it does in panes.
# limit: 120
# shellcheck disable=SC2317 # check calls the function
. "$(dirname "$0")/../lib.sh"

# smoke WORLD [VAR=VALUE]...
smoke() {
	world=$1
	shift
	mkdir -p "$tmp/files"
	if [ -n "${RUNNER:-}" ]; then
		for setting; do
			shift
			set -- "$@" -E "$setting"
		done
		# shellcheck disable=SC2086 # words
		timeout -s KILL 50 $RUNNER "$@" "$BUILD/tests/smoke" "$tmp/files" >"$tmp/$world" 2>&1
	else
		timeout -s KILL 50 env "$@" "$BUILD/tests/smoke" "$tmp/files" >"$tmp/$world" 2>&1
	fi
}

check 'natively' smoke native
check 'with the library' smoke ours "LD_PRELOAD=$BUILD/libmapcoalesce.so" "MAPCOALESCE_STATS=$tmp/stats"
check '  the same' same_bytes "$tmp/native" "$tmp/ours"
for count in mmap_views read_mapped lseek_virtual streams_mapped; do
	check "  $count" test "$(stat_of "$tmp/stats" "$count")" -gt 0
done
check 'in panes' smoke panes "LD_PRELOAD=$BUILD/libmapcoalesce.so" "MAPCOALESCE_STATS=$tmp/stats" \
	MAPCOALESCE_MAX_ADDRESS_SPACE=4M
check '  the same' same_bytes "$tmp/native" "$tmp/panes"
check '  mmap_views' test "$(stat_of "$tmp/stats" mmap_views)" -gt 0
finish
