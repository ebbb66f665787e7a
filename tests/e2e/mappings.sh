#!/bin/sh
# Mapping programs in every world: natively, preloaded, tiny, in tiny panes, with a signal at each real call that
# the library makes, and with a call that re-enters it there. What they print must not differ, and
# the library must have been at work.
# limit: 240
. "$(dirname "$0")/../lib.sh"

test_library=$BUILD/tests/libmapcoalesce-test.so

# in_world WORLD COMMAND...: in a directory of its own; what it prints goes to $tmp/WORLD.out.
in_world() {
	world=$1
	shift
	rm -rf "$tmp/files"
	mkdir "$tmp/files"
	rm -f "$tmp/$world.stats"
	case $world in
	native) set -- env "$@" ;;
	plain) set -- env "LD_PRELOAD=$BUILD/libmapcoalesce.so" "$@" ;;
	tiny) set -- env "LD_PRELOAD=$test_library" MAPCOALESCE_TINY=1 "$@" ;;
	panes)
		set -- env "LD_PRELOAD=$test_library" MAPCOALESCE_TINY=1 \
			MAPCOALESCE_MAX_ADDRESS_SPACE=1M "$@"
		;;
	*) set -- env "LD_PRELOAD=$test_library" "MAPCOALESCE_WORLD=$world" "$@" ;;
	esac
	MAPCOALESCE_STATS=$tmp/$world.stats timeout -s KILL 50 "$@" >"$tmp/$world.out" 2>&1
}

worlds='plain tiny panes signal reenter'
scenario() {
	name=$1
	shift
	if ! in_world native "$@"; then
		case_fail "$name, native" "exit status $?: $(tail -n 3 "$tmp/native.out")"
		return
	fi
	for w in $worlds; do
		if ! in_world "$w" "$@"; then
			case_fail "$name, $w" "exit status $?: $(tail -n 3 "$tmp/$w.out")"
		elif ! cmp -s "$tmp/native.out" "$tmp/$w.out"; then
			case_fail "$name, $w" "$(diff "$tmp/native.out" "$tmp/$w.out" | head -n 5)"
		elif [ "$(stat_of "$tmp/$w.stats" mmap_views)" -eq 0 ]; then
			case_fail "$name, $w" "the library was not at work"
		else
			case_ok "$name, $w"
		fi
	done
}

t=$BUILD/tests
scenario 'pieces' "$t/map_pieces" "$tmp/files" 1 20000
scenario 'pieces, another seed' "$t/map_pieces" "$tmp/files" 77 5000
scenario 'two mappings of one page' "$t/map_twice" "$tmp/files"
scenario 'edges and errors' "$t/map_edges" "$tmp/files"
scenario 'writable mappings' "$t/map_write" "$tmp/files"
scenario 'loading, protecting, freezing' "$t/map_protect" "$tmp/files" 20
scenario 'locks and leases' "$t/map_locks" "$tmp/files"
scenario 'limits and locked memory' "$t/map_limits" "$tmp/files"
scenario 'a crowd of foreign mappings' "$t/map_crowd" "$tmp/files"
scenario 'threads, forks, a timer' "$t/map_threads" "$tmp/files"

# The signals of the other worlds would take some of its stack.
worlds='plain tiny'
scenario 'a narrow stack' "$t/map_narrow" "$tmp/files"
worlds='plain tiny signal reenter'

# Where a store finds no room on the disk: in a name space of its own, since it mounts.
# shellcheck disable=SC2016 # the inner shell expands
on_small='mount -t tmpfs -o size=80k small "$1" && shift && exec "$@"'
mkdir -p "$tmp/files"
if unshare -m sh -c "$on_small" sh "$tmp/files" true 2>/dev/null; then
	scenario 'a full disk' unshare -m sh -c "$on_small" sh "$tmp/files" "$t/map_full" "$tmp/files"
else
	case_skip 'a full disk' "nothing can be mounted here"
fi

# At the mapping limit: only where it is low enough to be reached soon.
if [ "$(cat /proc/sys/vm/max_map_count)" -le 70000 ]; then
	scenario 'a crowd at the mapping limit' "$t/map_crowd" "$tmp/files" limit
else
	case_skip 'a crowd at the mapping limit' 'vm.max_map_count is too high'
fi
finish
