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

# scenario NAME COMMAND...: in the worlds of $serving something must be served.
serving='plain tiny signal reenter'
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
		elif case $serving in *$w*) ! served "$tmp/$w.stats" ;; *) false ;; esac then
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

# What is read from one end to the other, once, costs less as it is; what is read in crumbs does not.
awk 'BEGIN { for (i = 0; i < 300000; i++) print "line", i }' >"$tmp/long"
for how in read pread fread; do
	for size in 200 6000 20000; do
		name="a file once, $how, $size bytes each"
		in_world native "$t/read_once" $how $size "$tmp/long"
		in_world plain "$t/read_once" $how $size "$tmp/long"
		# libc reads by its buffer.
		case $how$size in
		fread*) expected=no ;;
		*200) expected=yes ;;
		*) expected=no ;;
		esac
		if ! cmp -s "$tmp/native.out" "$tmp/plain.out"; then
			case_fail "$name" "$(cat "$tmp/plain.out")"
		elif served "$tmp/plain.stats"; then
			check "$name" test $expected = yes
		else
			check "$name" test $expected = no
		fi
	done
done
rm "$tmp/long"

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

# Programs that read in small pieces, and that hand their offsets on.
cat >"$tmp/tools.sh" <<'END'
cd "$1" || exit
awk 'BEGIN { for (i = 0; i < 20000; i++) print "line", i, i * 7919 % 10007 }' >f
sed 's/line 19999 .*/another end/' f >g
(head -n 1; cat) <f | cksum
(read -r a; read -r b; echo "$a, $b"; cat) <f | cksum
exec 5<f
i=0
while [ $i -lt 300 ] && read -r line <&5; do i=$((i + 1)); done
head -c 100 <&5
tail -n 2 <&5
exec 5<&-
{ dd bs=10 count=500 2>/dev/null; dd bs=1000 skip=2 count=1 2>/dev/null; cat; } <f | cksum
dd if=f bs=16 skip=100 count=2000 2>/dev/null | cksum
cmp f g
cmp f f && echo same
sort f | cksum
grep -c 77 f
wc f
od -An -tx1 -j 50000 -N 64 f
tac f | head -n 3
tail -c 1000 f | cksum
split -b 3000 -d f part. && cat part.* | cmp - f && echo whole
cp f h && truncate -s 5000 h && cat h | cksum
END
# Hardly any of them reads a place often enough for it to be mapped.
serving=tiny
scenario 'shells and small tools' sh "$tmp/tools.sh" "$tmp/files"
serving='plain tiny signal reenter'

cat >"$tmp/lines.pl" <<'END'
open my $f, '+<', $ARGV[0] or die;
my ($n, $sum) = (0, 0);
while (<$f>) {
	my $at = tell $f;
	seek $f, $at, 0;
	$n++, $sum += length;
}
print "$n $sum\n";
sysseek $f, 0, 0;
my $bytes;
for (1 .. 500) { sysread $f, $bytes, 20; $sum += unpack '%32C*', $bytes; }
print sysseek($f, 0, 1), " $sum\n";
defined(my $child = fork) or die;
if (!$child) { sysread $f, $bytes, 10; print "$bytes\n"; exit }
wait;
sysread $f, $bytes, 10;
print "$bytes\n";
syswrite $f, "written";
sysread $f, $bytes, 10;
print sysseek($f, 0, 1), "\n";
system "head -c 30 <&" . fileno $f;
open my $copy, '<&', $f;
sysread $copy, $bytes, 10;
print sysseek($f, 0, 1), "\n";
END
awk 'BEGIN { for (i = 0; i < 3000; i++) print "line", i }' >"$tmp/lines"
cat >"$tmp/perl.sh" <<'END'
cp "$1" "$2/lines" && perl "$3" "$2/lines"
END
with perl 'perl' sh "$tmp/perl.sh" "$tmp/lines" "$tmp/files" "$tmp/lines.pl"

cat >"$tmp/archives.py" <<'END'
import io, os, random, sys, tarfile, zipfile, zlib
random.seed(5)
os.chdir(sys.argv[1])
data = random.randbytes(300000)
with zipfile.ZipFile('z', 'w', zipfile.ZIP_DEFLATED) as z, tarfile.open('t', 'w') as t:
    for i in range(200):
        part = data[i * 100:i * 1500 + 100]
        z.writestr('m%d' % i, part)
        info = tarfile.TarInfo('m%d' % i)
        info.size = len(part)
        t.addfile(info, io.BytesIO(part))
with zipfile.ZipFile('z') as z:
    names = z.namelist()
    random.shuffle(names)
    print(sum(zlib.crc32(z.read(n)) for n in names), z.testzip())
with tarfile.open('t') as t:
    print(sum(zlib.crc32(t.extractfile(m).read()) for m in reversed(t.getmembers())))
with open('z', 'rb', buffering=0) as f, open('z', 'r+b') as g:
    good = 0
    for i in range(3000):
        at = random.randrange(0, 100000)
        f.seek(at)
        a = f.read(50)
        g.seek(at)
        good += g.read(50) == a and f.tell() == at + 50
    print(good)
    g.seek(1000)
    g.write(b'x' * 10)
    g.flush()
    f.seek(995)
    print(f.read(20)[5:15], f.seek(0, 2) == os.path.getsize('z'), f.read(1))
END
with python3 'archives in python3' python3 "$tmp/archives.py" "$tmp/files"

finish
