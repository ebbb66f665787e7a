#!/bin/sh
# limit: 150
# Streams in every world: programs that write, seek and read through stdio, in the company of
# whatever else may be done with a FILE, its number and its file, and of those who look, print the
# same natively, preloaded, with tiny windows, and with a signal, or a call that re-enters a hook, at
# each real call. All modes are on, so that writes are combined.
. "$(dirname "$0")/../lib.sh"

t=$BUILD/tests
test_library=$t/libmapcoalesce-test.so
files=$tmp/files
# For a case that is somebody else.
chmod 711 "$tmp"

# in_world WORLD COMMAND...: in a directory of its own; what it prints, and its status, go to
# $tmp/WORLD.out.
in_world() {
	world=$1
	shift
	rm -rf "$tmp/files"
	rm -f "$tmp/$world.stats"
	mkdir "$tmp/files"
	case $world in
	native) set -- env "$@" ;;
	plain) set -- env "LD_PRELOAD=$BUILD/libmapcoalesce.so" "$@" ;;
	tiny) set -- env "LD_PRELOAD=$test_library" MAPCOALESCE_TINY=1 "$@" ;;
	*) set -- env "LD_PRELOAD=$test_library" "MAPCOALESCE_WORLD=$world" "$@" ;;
	esac
	MAPCOALESCE_MODES=all MAPCOALESCE_STATS=$tmp/$world.stats \
		timeout -s KILL 40 "$@" >"$tmp/$world.out" 2>"$tmp/$world.err"
	echo "status $?" >>"$tmp/$world.out"
}

# combined FILE: writes were, in one of the processes at least.
combined() {
	grep -q '"streams_combined": *[1-9]' "$1"
}

# compare NAME WORLD...: what was said in each with what was said natively.
compare() {
	compare_name=$1
	shift
	for w; do
		if ! cmp -s "$tmp/native.out" "$tmp/$w.out"; then
			case_fail "$compare_name, $w" "$(diff "$tmp/native.out" "$tmp/$w.out" | head -n 5)"
		elif ! combined "$tmp/$w.stats"; then
			case_fail "$compare_name, $w" 'no writes were combined'
		else
			case_ok "$compare_name, $w"
		fi
	done
}

# scenario NAME WORLDS PROGRAM [ARGUMENT]...
scenario() {
	scenario_name=$1
	scenario_worlds=$2
	shift 2
	in_world native "$@"
	for w in $scenario_worlds; do
		in_world "$w" "$@"
	done
	# shellcheck disable=SC2086 # words
	compare "$scenario_name" $scenario_worlds
}

every='plain tiny signal reenter'
scenario 'the company of stdio' "$every" "$t/stream_others" "$files" \
	assigned_stdout assigned_stderr inlined ungot buffers buffer_changes opened_again \
	two_of_one_number number_again address_again end_of_file wide large by_number unknown_offset \
	read_only appending positions fixed_errno times times_of_the_last_write odd_files no_files \
	replaced_number mixed no_stream cut_by_number
scenario 'messages' "$every" "$t/stream_looks" "$files" \
	pipe_write pipe_close stream_of_pipe stream_of_pipe_flushed stream_of_pipe_full socket_send \
	socket_shutdown socket_connect signal_kill signal_sigqueue signal_tgkill signal_pidfd \
	lock_fcntl lock_close lock_flock name_unlink name_remove name_mkdir name_symlink \
	name_rename name_open name_chmod posix_semaphore system_v_semaphore system_v_message \
	posix_message event stops pipe_to_command
scenario 'looks' "$every" "$t/stream_looks" "$files" \
	by_ftw by_fts by_wordexp by_setmntent by_dlopen by_received_descriptor by_pidfd_getfd by_dup \
	by_name by_self_fd by_link by_stream by_mapping by_rename by_truncation by_mode by_holes \
	watched neighbours by_deep_library by_destructor
# A core's flag in the status depends on where cores go: it is compared, not known.
scenario 'ends' "$every" "$t/stream_ends" "$files" \
	exit_now Exit exit_group exit exit_looking quick_exit quick_exit_writing abort abort_writing \
	abort_ignored assert err last_thread exit_of_thread seccomp exec failing_exec forks \
	forks_and_leaves vforks spawns system popen signals handlers faults kill
scenario 'limits' "$every" "$t/stream_errors" "$files" limited limit_kills
scenario 'threads' "$every" "$t/stream_threads" "$files" \
	beside_flush_all beside_flush beside_write beside_stat beside_open beside_map beside_print \
	beside_fork forks_beside_opens one_stream one_input many_streams cancelled opened_meanwhile
# Its timer strikes as often as the other worlds do things.
scenario 'handlers' 'plain tiny' "$t/stream_handlers" "$files" \
	torn leaves_others forks writes jumps writes_other_stream dies jumps_within \
	jumps_on_another_stack jumps_from_another_stack

# small_disk SIZE NAME CASE...: files on a file system of that size, which is empty each time.
small_disk() {
	disk_size=$1
	disk_name=$2
	shift 2
	for w in native plain tiny; do
		mkdir -p "$tmp/disk"
		if ! mount -t tmpfs -o "size=$disk_size" none "$tmp/disk" 2>/dev/null; then
			case_skip "$disk_name" 'no file system can be mounted here'
			return
		fi
		in_world $w "$t/stream_errors" "$tmp/disk" "$@"
		umount "$tmp/disk"
	done
	# Where there is not enough room to begin with, nothing is combined.
	[ "$disk_size" = 10m ] && echo '"streams_combined": 1' | tee "$tmp/plain.stats" >"$tmp/tiny.stats"
	compare "$disk_name" plain tiny
}

small_disk 10m 'a small disk' full
small_disk 80m 'a disk' full
small_disk 100m 'a disk that fills up' fills_up fills_up_with_threads

finish
