#!/bin/sh
# fio writes, trims and reads files back by all of its engines, with checksums of every block.
. "$(dirname "$0")/lib.sh"

command -v fio >/dev/null || lacks 'no fio (apt-get install fio)'

# job RUNNER LIST NAME OPTION...
job() {
	job_runner=$1 job_list=$2 job_name=$3
	shift 3
	truncate -s 8m data.0
	if $job_runner timeout -k 10 120 fio --name=data --directory="$suite_folder" --filename=data.0 --size=4m --verify=crc32c \
		--verify_fatal=1 --verify_state_save=0 --thread=0 --minimal "$@" >"$job_list.output" 2>&1 </dev/null; then
		echo "PASS: $job_name"
	else
		echo "FAIL: $job_name"
		grep -m 1 -i error "$job_list.output" | cut -c 1-160 >&2
	fi >>"$job_list"
}

all() {
	: >"$2"
	for engine in psync sync pvsync pvsync2 mmap posixaio libaio io_uring; do
		for rw in write randwrite randrw; do
			for size in 512 64k; do
				job "$1" "$2" "$engine, $rw by $size" --ioengine=$engine --rw=$rw --bs=$size
			done
		done
		job "$1" "$2" "$engine, four processes" --ioengine=$engine --rw=randwrite --bs=4k --numjobs=4 \
			--offset_increment=2m --size=2m
		job "$1" "$2" "$engine, four threads" --ioengine=$engine --rw=randwrite --bs=1k --numjobs=4 --thread=1 \
			--offset_increment=2m --size=2m
		job "$1" "$2" "$engine, read again" --ioengine=$engine --rw=randwrite --bs=700 --loops=3
	done
	job "$1" "$2" 'trims' --ioengine=psync --rw=randtrimwrite --bs=4k
	job "$1" "$2" 'truncated and filled' --ioengine=psync --rw=write --bs=4k --fallocate=truncate --overwrite=0 --loops=4
	rm -f data.*
}

# shellcheck disable=SC2317 # called by results
again() {
	all env again
}

say natively
all env native
say 'with the library'
all preloaded ours
results native ours fio again
floor fio "$(summed read_mapped)" 'read served'
finish
