#!/bin/sh
# Tools that read in small pieces, pack, copy and look things up: the same text and the same exit
# status with the library, all of its modes on, as without.
# limit: 240
# shellcheck disable=SC2016 # what stands in quotes is for the shell that runs it
. "$(dirname "$0")/../lib.sh"

# in_world WORLD SCRIPT: in a folder of its own; what it prints goes to $tmp/WORLD.out.
in_world() {
	world=$1
	script=$2
	rm -rf "$tmp/files"
	mkdir "$tmp/files"
	set -- env
	case $world in
	plain) set -- env MAPCOALESCE_MODES=all "LD_PRELOAD=$BUILD/libmapcoalesce.so" ;;
	tiny) set -- env MAPCOALESCE_MODES=all MAPCOALESCE_TINY=1 \
		"LD_PRELOAD=$BUILD/tests/libmapcoalesce-test.so" ;;
	esac
	(cd "$tmp/files" && timeout -s KILL 50 "$@" TZ=UTC sh -c "$input
$script") >"$tmp/$world.out" 2>&1
	echo "exit status $?" >>"$tmp/$world.out"
}

# tool NAME SCRIPT: ends with the exit status 0, and alike in every world.
tool() {
	if ! command -v "$1" >/dev/null; then
		case_skip "$1" 'not here'
		return
	fi
	in_world native "$2"
	if ! grep -qx 'exit status 0' "$tmp/native.out"; then
		case_fail "$1, native" "$(tail -n 3 "$tmp/native.out")"
		return
	fi
	for w in plain tiny; do
		in_world $w "$2"
		if cmp -s "$tmp/native.out" "$tmp/$w.out"; then
			case_ok "$1, $w"
		else
			case_fail "$1, $w" "$(diff "$tmp/native.out" "$tmp/$w.out" | head -n 5)"
		fi
	done
}

# What all of them work on: a text and a folder of small files with fixed times.
input='set -e
awk "BEGIN { for (i = 0; i < 6000; i++) print \"line\", i, i * 7919 % 10007 }" >f
mkdir d && split -l 100 f d/part.
touch -d @1000000000 f d/* d'

tool tail 'head -n 100 f >log && : >seen
tail -n +1 -s 0.02 -F log >seen 2>/dev/null & tail=$!
until [ "$(wc -l <seen)" = 100 ]; do sleep 0.02; done
cp log log.1 && : >log
sleep 0.3
echo after >>log
until [ "$(wc -l <seen)" = 101 ]; do sleep 0.02; done
kill $tail
cksum seen log.1'
tool zip 'zip -qr z d f && unzip -tqq z && unzip -p z d/part.am f | cksum
echo more >>d/part.aa && zip -q z d/part.aa && unzip -p z | cksum && unzip -l z | tail -n 1'
tool 7z '7z a -bd -mtm- z.7z d f >/dev/null && 7z e -so z.7z d/part.am f | cksum
7z t z.7z >/dev/null && 7z d -bd z.7z d/part.ab >/dev/null && 7z x -so z.7z | cksum'
tool tar 'tar cf t d f && tar tf t | cksum && tar xOf t d/part.am | cksum
tar rf t f && tar df t && tar --delete -f t d/part.ab && tar tf t | wc -l && cksum <t'
tool bsdtar 'bsdtar cf t d f && bsdtar tf t | cksum && bsdtar xOf t d/part.am | cksum
bsdtar --format zip -cf z d && bsdtar xOf z | cksum && bsdtar rf t f && bsdtar tf t | wc -l'
tool rsync 'cp f g && sed "s/line 3000 /another /" f >h && touch -d @1100000000 h
rsync --inplace --no-whole-file -B 700 h g && cmp g h && rsync -a --checksum d/ e && diff -r d e
echo more >>e/part.aa && rsync -an -i --checksum d/ e'
tool logrotate 'chmod 600 f && printf "%s {\n copytruncate\n rotate 2\n size 1\n}\n" "$PWD/f" >c
chmod 600 c && logrotate -s "$PWD/state" c && wc -c <f && cksum <f.1
cat f.1 >>f && logrotate -s "$PWD/state" c && cksum <f.2'
tool ccache 'export CCACHE_DIR=$PWD/cache; echo "int main(void) { return 0; }" >m.c
for i in 1 2 3; do ccache gcc -g -c m.c -o m$i.o; done
cmp m1.o m2.o && cmp m2.o m3.o && ccache --print-stats | grep -E "^(direct_cache_hit|cache_miss)"'
tool gdbmtool 'awk "{ print \"store k\" \$2, \$3 }" f >c && gdbmtool -n -q db <c >/dev/null
echo count | gdbmtool -r db; for i in 1 77 5999; do echo "fetch k$i" | gdbmtool -r db; done
echo list | gdbmtool -r db | sort | cksum'
tool db_load 'awk "{ print \"k\" \$2; print \$3 }" f | db_load -T -t btree b.db
awk "{ print \"k\" \$2; print \$3 }" f | db_load -T -t hash h.db
db_verify b.db && db_verify h.db && db_dump -p b.db | cksum; db_dump -p h.db | sort | cksum'
tool h5dump 'awk "{ print \$2, \$3 }" f >n && h5import n -d 2,6000 -p g/n -t TEXTFP -s 64 -o n.h5
h5dump n.h5 | cksum && h5ls -r n.h5 && h5repack -l CHUNK=1x100 n.h5 m.h5 && h5diff n.h5 m.h5'
tool samtools 'awk "BEGIN { for (c = 0; c < 20; c++) { print \">c\" c; for (i = 0; i < 100; i++) {
	s = \"\"; for (j = 0; j < 60; j++) s = s substr(\"ACGT\", (i * j + c * i + j * j) % 4 + 1, 1)
	print s } } }" >s.fa
awk "BEGIN { for (i = 0; i < 5000; i++) { a = i * 7919 % 5900 + 1
	print \"c\" i % 20 \":\" a \"-\" a + i % 97 } }" >r
samtools faidx s.fa && cksum <s.fa.fai && samtools faidx -r r s.fa | cksum'
tool git 'export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD GIT_AUTHOR_DATE="1000000000 +0000"
export GIT_COMMITTER_DATE="1000000000 +0000"
git init -q . 2>/dev/null && git config user.name A && git config user.email a@example.org
git config core.packedGitWindowSize 4k && git config core.packedGitLimit 64k
for i in 1 2 3 4 5; do echo $i >>d/part.aa; echo $i >>f; git add . && git commit -qm $i; done
git repack -qad && git fsck --full 2>/dev/null; git log -p | cksum; git status --short
git cat-file --batch-check --batch-all-objects | cksum'
tool valgrind 'valgrind -q --error-exitcode=3 cksum f'
tool gdb 'gdb -q -nx -batch -ex "info line main" -ex "disassemble main" "$BUILD/tests/read_edges" |
	cksum'
tool java 'echo "public class M { public static void main(String[] a) throws Exception {
var f = new java.io.RandomAccessFile(\"f\", \"rw\"); long n = 0;
for (int i = 0; i < 3000; i++) { f.seek(i * 7919L % f.length()); n = n * 31 + f.read(); }
var c = f.getChannel(); var b = java.nio.ByteBuffer.allocate(40);
for (int i = 0; i < 1000; i++) { b.clear(); c.read(b, i * 61L); n = n * 31 + b.get(3); }
f.seek(0); System.out.println(n + f.readLine()); } }" >M.java && java -Xshare:auto M.java'
finish
