#!/bin/sh
# Positional reads in every world (mappings.sh): what the programs print must not differ, and reads
# must have been served.
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
	*) set -- env "LD_PRELOAD=$test_library" "MAPCOALESCE_WORLD=$world" "$@" ;;
	esac
	MAPCOALESCE_STATS=$tmp/$world.stats timeout -s KILL 50 "$@" >"$tmp/$world.out" 2>&1
}

# served FILE: in one of the processes at least.
served() {
	grep -q '"read_mapped": *[1-9]' "$1"
}

scenario() {
	name=$1
	shift
	if ! in_world native "$@"; then
		case_fail "$name, native" "exit status $?: $(tail -n 3 "$tmp/native.out")"
		return
	fi
	for w in plain tiny signal reenter; do
		if ! in_world $w "$@"; then
			case_fail "$name, $w" "exit status $?: $(tail -n 3 "$tmp/$w.out")"
		elif ! cmp -s "$tmp/native.out" "$tmp/$w.out"; then
			case_fail "$name, $w" "$(diff "$tmp/native.out" "$tmp/$w.out" | head -n 5)"
		elif ! served "$tmp/$w.stats"; then
			case_fail "$name, $w" "no read was served"
		else
			case_ok "$name, $w"
		fi
	done
}

# with PROGRAM SCENARIO...: only where there is such a program.
with() {
	if command -v "$1" >/dev/null; then
		shift
		scenario "$@"
	else
		case_skip "$2" "no $1 here"
	fi
}

t=$BUILD/tests
scenario 'edges and errors' "$t/read_edges" "$tmp/files"
scenario 'a file that is cut off and grows' "$t/read_race" "$tmp/files" 20000
scenario 'offsets' "$t/read_offset" "$tmp/files"
scenario 'threads, numbers, handlers, children' "$t/read_threads" "$tmp/files" 1500

# Files that are not in memory: no more is read from the disk than natively, or hardly.
for order in random forward; do
	in_world native "$t/read_cold" "$tmp/files" $order
	natively=$(cat "$tmp/native.out")
	in_world plain "$t/read_cold" "$tmp/files" $order
	ours=$(cat "$tmp/plain.out")
	if [ "$natively" = 0 ] || [ "$natively" = -1 ]; then
		case_skip "a file on the disk, $order" "$tmp is not on a disk that counts"
	elif [ "$ours" -le $((natively + natively / 10)) ]; then
		case_ok "a file on the disk, $order"
	else
		case_fail "a file on the disk, $order" "$ours KiB were read instead of $natively"
	fi
done

cat >"$tmp/lookups.sh" <<'END'
cd "$1" || exit
sqlite3 db 'pragma journal_mode=wal; create table t(id integer primary key, a text, b int);
	with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into t select i, printf("row %d of many, %d", i, i * 7919), i % 97 from n;' >/dev/null
for writer in 1 2 3; do
	(for i in 1 2 3 4 5 6 7 8; do
		echo "pragma busy_timeout=30000;
			insert into t select id + 100000 * $writer + 30000 * $i, a, id from t
			where id < 20000 and id % 611 = $i;
			update t set b = b + 1 where id < 20000 and id % 400 = $writer;"
	done | sqlite3 db >/dev/null) &
done
wait
sqlite3 -cmd 'pragma cache_size=20' db 'pragma integrity_check;
	select count(*), sum(b), sum(length(a)) from t;
	with recursive n(i, x) as (select 1, 1 union all select i + 1, (x * 7919 + 13) % 20000 + 1
	from n where i < 4000) select sum(t.b), sum(length(t.a)) from n join t on t.id = n.x;'
sqlite3 db 'pragma journal_mode=delete; update t set b = 5 where id < 50; select sum(b) from t;'
END
with sqlite3 'sqlite3, three writers' sh "$tmp/lookups.sh" "$tmp/files"

cat >"$tmp/reads.py" <<'END'
import os, sys, random
random.seed(3)
name = sys.argv[1] + '/file'
data = random.randbytes(500000)
with open(name, 'wb') as f: f.write(data)
fd = os.open(name, os.O_RDWR)
good = 0
for i in range(3000):
    n, at = random.randrange(1, 3000), random.randrange(0, 500000)
    good += os.pread(fd, n, at) == data[at:at + n]
    a, b = bytearray(100), bytearray(200)
    got = os.preadv(fd, [a, b], at)
    good += (bytes(a) + bytes(b))[:got] == data[at:at + 300]
print(good)
END
with python3 'python3' python3 "$tmp/reads.py" "$tmp/files"

finish
