#!/bin/sh
# Limits on address space, from 50 MB to 4 GB in steps of a quarter: linkers, md5sum, sort and sqlite3
# succeed wherever they do natively, with the same output. Each result has its limit, and a checksum of
# what was written or the exit status.
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
for program in as ar ld.gold ld.bfd md5sum sort sqlite3 prlimit; do
	command -v $program >/dev/null || lacks "no $program"
done

mkdir -p objects
i=0
while [ $i -lt 400 ]; do
	printf '.globl f%d\n.text\nf%d: ret\n.data\n.globl d%d\nd%d: .fill 40000,1,%d\n' \
		$i $i $i $i $((i % 256))
	printf '.rept 50\n.quad f%d\n.endr\n' $(((i + 1) % 400))
	i=$((i + 1))
done | awk '/^\.globl f/ { file = "objects/" ++n ".s" } { print > file }'
for source in objects/*.s; do
	as -o "${source%.s}.o" "$source"
done
rm -f library.a numbers base.db
ar rc library.a objects/*.o
seq 1 300000 | sed 's/.*/& &/' | sort -R --random-source=/dev/zero >numbers
sqlite3 base.db 'create table t (a integer primary key, b text);' '.mode list' '.separator " "' \
	'.import numbers t' 'create index i on t (b);'

# one NAME COMMAND...: its result under $limit, with $with in front; @ is its output.
one() {
	name=$1
	shift
	rm -f output
	# shellcheck disable=SC2086 # a command, or nothing
	$with timeout -s KILL 100 prlimit --as=$((limit * 1024)) "$@" >printed 2>/dev/null
	status=$?
	touch output
	if [ $status -eq 0 ]; then
		echo "PASS: $name, $limit KiB, $(cat printed output | cksum)"
	else
		echo "FAIL: $name, $limit KiB, status $status"
	fi
}

all() {
	limit=50000
	while [ $limit -lt 4200000 ]; do
		one 'gold, in pieces' ld.gold --no-map-whole-files --no-keep-files-mapped -r -o output \
			--whole-archive library.a
		one 'gold, of objects' ld.gold --no-map-whole-files -r -o output objects/*.o
		one 'ld.bfd' ld.bfd -r -o output --whole-archive library.a
		one 'md5sum' md5sum library.a
		one 'sort' sort -o output numbers
		one 'sqlite3' sqlite3 base.db 'select sum(a), max(b) from t where a % 7 = 3;' \
			'select count(*) from t x join t y on x.b = y.b where x.a % 5 = 0;'
		limit=$((limit * 5 / 4))
	done
}

with='' && all >native
with=preloaded && all >ours
results native ours addresses
floor addresses "$(summed mmap_views)" mmap_views
finish
