#!/bin/sh
# Children of every kind, signal handlers, and libraries that come before us: the same transcript
# with the library as without, and never a program that hangs.
# limit: 300
. "$(dirname "$0")/../lib.sh"
library=${MC_LIBRARY:-$BUILD/libmapcoalesce.so}

# run FILE SETTING... COMMAND...
run() {
	out=$1
	shift
	timeout -s KILL 20 env "$@" >"$out" 2>&1
}

# compare NAME PROGRAM ARGUMENT...: natively, preloaded, in the tiny mode. $behind: another library.
behind=
compare() {
	name=$1
	program=$BUILD/tests/$2
	shift 2
	for world in native preloaded tiny; do
		mkdir "$tmp/work"
		case $world in
		native) set -- "$program" "$tmp/work" "$@" ;;
		preloaded) set -- LD_PRELOAD="$library$behind" MAPCOALESCE_STATS="$tmp/$name.stats" "$@" ;;
		tiny) set -- MAPCOALESCE_TINY=1 "$@" ;;
		esac
		run "$tmp/$name.$world" "$@"
		status=$?
		rm -rf "$tmp/work"
		if [ $world = native ]; then
			native=$status
		elif [ "$status" != "$native" ]; then
			case_fail "$name, $world" "status $status, natively $native"
		elif ! same_bytes "$tmp/$name.native" "$tmp/$name.$world"; then
			diff "$tmp/$name.native" "$tmp/$name.$world" | head -n 5 | sed 's/^/# /'
			case_fail "$name, $world" 'another transcript'
		else
			case_ok "$name, $world"
		fi
	done
	# Children have lines too, and some of them are all there is.
	views=$(sed -n 's/.*"mmap_views":\([0-9]*\).*/\1/p' "$tmp/$name.stats" | sort -n | tail -n 1)
	check "$name: ${views:-0} views" test "${views:-0}" -gt 0
}

compare vfork proc_vfork
compare fork proc_fork 100
compare clone proc_clone
compare terminal proc_tty
compare signal proc_signal 1000

# The last word on what is a child's: numbers in the report are those of the process that made it.
lines=$(grep -c '"program":"proc_fork"' "$tmp/fork.stats")
check "each of $lines processes reports" test "$lines" -gt 500

# Libraries that are loaded after us, and so begin before us. bash forks, has handlers, and allocates.
hooks=$BUILD/tests/proc_hooks_so.so
allocator=$BUILD/tests/proc_malloc_so.so
# shellcheck disable=SC2016 # the inner shell expands
script='for i in 1 2 3; do (echo $(ls / | wc -l)); done; cat <(echo end)'
bash -c "$script" >"$tmp/wanted"
orders='first last'
if [ -n "$(preload true 2>&1)" ]; then
	case_skip shells "no programs for $ARCH here"
	orders=
fi
for order in $orders; do
	for other in "$hooks" "$allocator" "$hooks:$allocator"; do
		case $order in
		first) both=$library:$other ;;
		last) both=$other:$library ;;
		esac
		name="ours $order, with $(basename "${other%.so}" _so)"
		[ "$other" != "$hooks:$allocator" ] || name="ours $order, with both"
		if run "$tmp/got" LD_PRELOAD="$both" bash -c "$script" &&
			same_bytes "$tmp/wanted" "$tmp/got"; then
			case_ok "$name"
		else
			case_fail "$name" "$(head -n 1 "$tmp/got") (killed if it took 20 seconds)"
		fi
	done
done
behind=:$hooks
compare 'fork with handlers' proc_fork 30
behind=:$allocator
compare 'fork with an allocator' proc_fork 30

if [ -n "$(preload true 2>&1)" ]; then
	finish
fi
# In the middle of a pipe, in the background, in a subshell that is replaced.
# shellcheck disable=SC2016
for script in 'yes | head -n 3 | wc -l' 'sleep 0.01 & wait $!; echo $?' '(exec ls / >&2) 2>&1 | wc -l' \
	'trap "echo bye" EXIT; (exit 3); echo $?' 'kill -TERM $$' 'echo $(echo $(echo deep))' \
	'exec 3<&0 0</dev/null 4>&1 1>&-; exec 1>&4 4>&-; echo $?'; do
	for shell in bash dash; do
		command -v $shell >/dev/null || continue
		run "$tmp/wanted" $shell -c "$script"
		wanted=$?
		run "$tmp/got" LD_PRELOAD="$library" $shell -c "$script"
		check "$shell: $script" test "$?/$(cat "$tmp/got")" = "$wanted/$(cat "$tmp/wanted")"
	done
done
finish
