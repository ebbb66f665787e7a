#!/bin/sh
# Real programs that map files: the same text, the same files and the same exit status with the
# library as without. How many views there were is said; some map each file once, and have none.
# limit: 240
. "$(dirname "$0")/../lib.sh"
. "$root/tests/works.sh"

# in_world NAME WORLD [VAR=VALUE]...: in the work's folder; $tmp/NAME.WORLD has what came out.
in_world() (
	cd "$tmp/$1" || exit
	out=$tmp/$1.$2
	name=$1
	shift 2
	work_run "$name" env MAPCOALESCE_STATS="$out.stats" "$@"
	echo "exit status $?" >>text
	mkdir "$out"
	mv text made "$out"
)

# views NAME: of all processes in the tiny world.
views() {
	awk 'match($0, /"mmap_views":[0-9]*/) {
		n += substr($0, RSTART + 13, RLENGTH - 13)
	} END { print n + 0 }' "$tmp/$1.$2.stats"
}

# shellcheck disable=SC2154 # works.sh has it
for work in $works; do
	if lack=$(work_lacks "$work"); then
		case_skip "$work" "$lack here"
		continue
	fi
	mkdir "$tmp/$work"
	if ! (cd "$tmp/$work" && work_make "$work" 1) >"$tmp/errors" 2>&1; then
		case_skip "$work" "can't be made: $(tail -n 1 "$tmp/errors")"
		continue
	fi
	in_world "$work" native
	in_world "$work" plain LD_PRELOAD="$BUILD/libmapcoalesce.so"
	in_world "$work" tiny LD_PRELOAD="$BUILD/tests/libmapcoalesce-test.so" MAPCOALESCE_TINY=1 MAPCOALESCE_MODES=+mmap
	for world in plain tiny; do
		if diff -rq "$tmp/$work.native" "$tmp/$work.$world" >"$tmp/difference" 2>&1; then
			case_ok "$work, $world: $(views "$work" $world) views"
		else
			diff "$tmp/$work.native/text" "$tmp/$work.$world/text" | head -n 5 |
				sed 's/^/# /'
			case_fail "$work, $world" "$(head -n 1 "$tmp/difference")"
		fi
	done
	[ -n "${KEEP:-}" ] || rm -rf "${tmp:?}/$work" "$tmp/$work".*
done
finish
