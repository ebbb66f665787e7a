#!/bin/sh
# stress-ng's stressors of memory, files, descriptors, locks and processes, each verifying what it does.
. "$(dirname "$0")/lib.sh"

command -v stress-ng >/dev/null || lacks 'no stress-ng (apt-get install stress-ng)'
seconds=2

stressors='mmap mmapaddr mmapfixed mmapfork mmaphuge mmapmany mremap munmap madvise mprotect msync mincore mlock
	mlockmany misaligned fault userfaultfd sigbus sigsegv sigfpe bad-altstack remap shm shm-sysv stack stackmmap
	vm vm-rw vm-splice dup close fd-race fd-fork fork vfork vforkmany clone exec spawn daemon seek readahead
	pipe pipeherd splice sendfile copy-file vm-addr locka lockf lockofd flock lease file-ioctl fpunch fallocate
	hdd iomix io io-uring aio aiol memfd opcode open dentry dir rename link unlink truncate utime xattr fstat
	inotify zero full sync-file tmpfs malloc brk bigheap env get itimer timer sigq sigpending sigrt sigsuspend
	tee touch metamix null loadavg eventfd epoll poll pidfd prctl procfs ptrace rlimit'

known=$(stress-ng --stressors)

# stressed RUNNER STRESSOR LIST
stressed() {
	if $1 timeout -k 10 120 stress-ng --temp-path "$suite_folder" --verify --oomable --quiet --timeout $seconds \
		"--$2" 2 >"$3.output" 2>&1 </dev/null; then
		echo "PASS: $2"
	else
		# 3 and 4: not possible here; that is a result, too.
		echo "FAIL $?: $2"
		sed "s/^/$2: /" "$3.output" >&2
	fi >>"$3"
}

# shellcheck disable=SC2317 # called by results
again() {
	# What is not tried again is as it was.
	for again_name in $tried; do echo "$again_name"; done >names
	awk 'FILENAME == ARGV[1] { tried[$0]; next }
		{ name = $0; sub(/^[A-Z0-9 ]*: /, "", name) }
		!(name in tried)' names native >again
	for again_name in $tried; do
		stressed env "$again_name" again
	done
}

: >native
: >ours
tried=
for name in $stressors; do
	case " $known " in
	*" $name "*) ;;
	*) continue ;;
	esac
	say "$name"
	tried="$tried $name"
	stressed env "$name" native
	stressed preloaded "$name" ours
done
# What differs is tried again, and only that.
tried=$(diff native ours | sed -n 's/^[<>] [A-Z0-9 ]*: //p' | sort -u)
results native ours stress-ng again
floor stress-ng "$(summed mmap_views)" view
finish
