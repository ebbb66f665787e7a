#!/bin/sh
# ld.gold, unmodified, mapping its inputs piecemeal: the outputs are the same bytes, under its own
# name with shared addresses and under another with layers.
# shellcheck disable=SC2317 # check calls the functions
. "$(dirname "$0")/../lib.sh"
programs ld.gold strace

archive=$($CC -print-file-name=libstdc++.a)
[ -f "$archive" ] || archive=$($CC -print-file-name=libc.a)

# link LINKER OUTPUT
link() {
	"$1" --no-map-whole-files -r -o "$2" --whole-archive "$archive"
}

check 'native link' link ld.gold "$tmp/native.o"
check 'default mode links the same' ld.gold -r -o "$tmp/default.o" --whole-archive "$archive"
check '  the same bytes' same_bytes "$tmp/native.o" "$tmp/default.o"

coalesced() {
	MAPCOALESCE_STATS=$tmp/stats preload "$1" --no-map-whole-files -r -o "$2" \
		--whole-archive "$archive"
}

at_work() {
	[ "$(stat_of "$tmp/stats" mmap_views)" -gt 100 ] &&
		[ "$(stat_of "$tmp/stats" regions_peak)" -le "$1" ]
}

check 'coalesced link' coalesced ld.gold "$tmp/coalesced.o"
check '  the same bytes' same_bytes "$tmp/native.o" "$tmp/coalesced.o"
check '  one region a file' at_work 1

cp "$(command -v ld.gold)" "$tmp/another-name"
check 'under another name' coalesced "$tmp/another-name" "$tmp/another.o"
check '  the same bytes' same_bytes "$tmp/native.o" "$tmp/another.o"
check '  a few layers' at_work 20

unpack() {
	mkdir "$tmp/members" && (cd "$tmp/members" && ar x "$archive")
}
check 'unpack the members' unpack
find "$tmp/members" -name '*.o' | LC_ALL=C sort >"$tmp/list"
ld.gold --no-map-whole-files -r -o "$tmp/native.o" "@$tmp/list" 2>/dev/null
MAPCOALESCE_STATS=$tmp/stats preload ld.gold --no-map-whole-files -r -o "$tmp/coalesced.o" \
	"@$tmp/list" 2>/dev/null
check 'separate object files' same_bytes "$tmp/native.o" "$tmp/coalesced.o"
check '  one region a file' at_work "$(wc -l <"$tmp/list")"

# With few descriptors gold closes files and opens them again while their pieces live on.
few() (
	# shellcheck disable=SC3045 # every sh here has it
	ulimit -n 40 || exit
	"$@"
)
few ld.gold --no-map-whole-files -r -o "$tmp/native.o" "@$tmp/list" 2>/dev/null
MAPCOALESCE_STATS=$tmp/stats few preload ld.gold --no-map-whole-files -r \
	-o "$tmp/coalesced.o" "@$tmp/list" 2>/dev/null
check 'with 40 descriptors' same_bytes "$tmp/native.o" "$tmp/coalesced.o"
check '  the library was at work' at_work 1000

# The dry run changes nothing, and says what it saw.
MAPCOALESCE_DRY_RUN=1 preload ld.gold --no-map-whole-files -r -o "$tmp/dry.o" --whole-archive \
	"$archive" 2>"$tmp/report"
ld.gold --no-map-whole-files -r -o "$tmp/native.o" --whole-archive "$archive"
check 'dry run' same_bytes "$tmp/native.o" "$tmp/dry.o"
check '  it reports the archive' grep -q "${archive##*/}: .*piecemeal maps" "$tmp/report"

# Fewer calls, as the kernel sees it.
strace -f -e trace=mmap,munmap -o "$tmp/native.calls" ld.gold --no-map-whole-files -r \
	-o "$tmp/o" --whole-archive "$archive"
strace -f -e trace=mmap,munmap -E LD_PRELOAD="$BUILD/libmapcoalesce.so" -o "$tmp/ours.calls" \
	ld.gold --no-map-whole-files -r -o "$tmp/o" --whole-archive "$archive"
check 'at most a third of the mapping calls' \
	[ "$(wc -l <"$tmp/ours.calls")" -le "$(($(wc -l <"$tmp/native.calls") / 3))" ]
finish
