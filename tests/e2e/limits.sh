#!/bin/sh
# More mappings than vm.max_map_count allows: what dies of it natively lives, with the same bytes, and
# with few mappings. And anonymous memory by the page (mode anon), in the worlds of mappings.sh.
# limit: 120
. "$(dirname "$0")/../lib.sh"

many=$BUILD/tests/map_many
test_library=$BUILD/tests/libmapcoalesce-test.so
mkdir "$tmp/files"

# lives NAME MOST VARIABLE=VALUE COMMAND...: no more than MOST mappings at the end, nothing wrong.
lives() {
	name=$1
	most=$2
	shift 2
	if ! MAPCOALESCE_STATS=$tmp/stats preload "$@" >"$tmp/out" 3>"$tmp/mappings"; then
		case_fail "$name" "exit status $?: $(cat "$tmp/out")"
	elif [ "$(sed 's/ .*//' "$tmp/mappings")" -gt "$most" ]; then
		case_fail "$name" "$(cat "$tmp/mappings")"
	else
		case_ok "$name ($(cat "$tmp/mappings"))"
	fi
}

limit=$(cat /proc/sys/vm/max_map_count)
if [ "$limit" -le 66000 ]; then
	n=$((limit + 2000))
	lives 'pages of a file each' "$limit" A= "$many" different "$tmp/files" "$n"
	check '  of which some are copies' test "$(stat_of "$tmp/stats" copies)" -gt 0
	lives 'the same page again and again' "$limit" A= "$many" same "$tmp/file" $((n + 50000))
	check '  which is shared' test "$(stat_of "$tmp/stats" shared_views)" -gt 0
else
	case_skip 'more mappings than are allowed' 'vm.max_map_count is too high'
fi
lives 'many pages of one file' 100 A= "$many" pages "$tmp/file" 100000
lives 'memory with holes' 100 MAPCOALESCE_MODES=+anon "$many" memory . 300000
check '  which is the arena'\''s' test "$(stat_of "$tmp/stats" anonymous_views)" -eq 300000

# Whatever is done to it must do what it does natively.
"$BUILD/tests/map_memory" >"$tmp/native" 2>&1 || case_fail 'memory, natively' "$(tail -n 3 "$tmp/native")"
for world in plain tiny signal reenter; do
	set -- "LD_PRELOAD=$test_library" MAPCOALESCE_MODES=+anon "MAPCOALESCE_STATS=$tmp/stats"
	case $world in
	plain) ;;
	tiny) set -- "$@" MAPCOALESCE_TINY=1 ;;
	*) set -- "$@" "MAPCOALESCE_WORLD=$world" ;;
	esac
	rm -f "$tmp/stats"
	if ! timeout -s KILL 50 env "$@" "$BUILD/tests/map_memory" >"$tmp/out" 2>&1; then
		case_fail "memory, $world" "exit status $?: $(tail -n 3 "$tmp/out")"
	elif ! cmp -s "$tmp/native" "$tmp/out"; then
		case_fail "memory, $world" "$(diff "$tmp/native" "$tmp/out" | head -n 5)"
	elif [ "$(stat_of "$tmp/stats" anonymous_views)" -eq 0 ]; then
		case_fail "memory, $world" 'the library was not at work'
	else
		case_ok "memory, $world"
	fi
done
finish
