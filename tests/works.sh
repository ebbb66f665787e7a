# shellcheck shell=sh
# Real programs that map files, each with a piece of work: for the tests (e2e/real.sh), which compare
# what comes out, and for the benchmarks (bench/real.sh), which compare what it costs. Sourced, with
# $BUILD and $CC set.
#
#   $works                 their names
#   work_lacks NAME        prints what of it is not installed here; true if something is
#   work_make NAME SIZE    makes what the work needs, in the current, empty folder
#   work_run NAME COMMAND... the work, once, in that folder; the program is started by COMMAND (env …,
#                          perhaps). What it prints goes to the file `text`, what it makes to `made/`.
#                          Its exit status is the program's.
#
# SIZE is 1 for a second or less, and the work grows with it.

# shellcheck disable=SC2034 # for those who source this
works='lmdb git objdump gdb lld mold eu-nm valgrind protect'

# The interpreter that Debian's modules are for.
work_python=/usr/bin/python3

work_lacks() {
	case $1 in
	lmdb)
		"$work_python" -c 'import lmdb' 2>/dev/null && return 1
		echo 'no lmdb for python3'
		return 0
		;;
	lld) set -- ld.lld ;;
	protect) set -- "$BUILD/tests/map_protect" ;;
	esac
	command -v "$1" >/dev/null && return 1
	echo "no $1"
}

# A program of many functions, with -g, that does something.
work_program() {
	awk -v n="$1" 'BEGIN {
		print "#include <stdio.h>"
		for (i = 0; i < n; i++) {
			printf "struct s%d { int a; char b[%d]; struct s%d *next; };\n", i, i % 50 + 1, i
			printf "static int f%d(struct s%d *x)\n{\n\tint n = 0;\n\n", i, i
			printf "\tfor (; x != NULL; x = x->next)\n\t\tn += x->a * %d + x->b[0];\n", i
			printf "\treturn n;\n}\n"
		}
		print "int main(void)\n{\n\tlong n = 0;\n"
		for (i = 0; i < n; i++)
			printf "\tstruct s%d x%d = {%d, {1}, NULL};\n\tn += f%d(&x%d);\n", i, i, i, i, i
		print "\tprintf(\"%ld\\n\", n);\n\treturn 0;\n}"
	}' >program.c
	# shellcheck disable=SC2086 # CC may hold flags
	${CC:-gcc} -g -O0 -o program program.c
}

# An archive of as many members.
work_archive() {
	work_program 8 && ${CC:-gcc} -g -O1 -c -o program.o program.c && mkdir members || return
	i=0
	while [ "$i" -lt "$1" ]; do
		i=$((i + 1))
		cp program.o members/$i.o
	done
	ar cr archive.a members/*.o
	rm -r members
}

# As many commits, of files that change bit by bit, in one pack.
work_repository() {
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++) {
			printf "commit refs/heads/main\nmark :%d\n", i + 1
			printf "committer A <a@example.org> %d +0000\ndata 2\nc\n", 1000000000 + i * 100
			for (f = i % 3; f < 30; f += 3) {
				text = ""
				for (l = 0; l < 60; l++)
					text = text l " of " f ", " (l + i) % 7 * l ", " (i * l) % 1013 "\n"
				printf "M 644 inline d%d/f%d\ndata %d\n%s\n", f % 5, f, length(text), text
			}
		}
	}' >stream
	git init -q --bare repository && git -C repository fast-import --quiet <stream &&
		git -C repository repack -q -a -d
	rm stream
}

# Grows, maps again through the same descriptor, with and without a writable mapping, and copies.
work_lmdb_script() {
	cat <<'END'
import hashlib, lmdb, os, sys
for writable in (False, True):
    folder = 'made/%d' % writable
    size = 1 << 20
    env = lmdb.open(folder, map_size=size, writemap=writable)
    for n in range(10 * int(sys.argv[1])):
        while True:
            try:
                with env.begin(write=True) as t:
                    for i in range(300):
                        k = b'%08d' % ((i * 7919 + n * 104729) % 100000)
                        t.put(k, hashlib.sha256(k + b'%d' % n).digest() * (1 + i % 40))
                    if n % 3 == 2:
                        for k, v in list(t.cursor())[::5]:
                            t.delete(k)
                break
            except lmdb.MapFullError:
                size += 1 << 20
                env.set_mapsize(size)
        env.set_mapsize(size)
        with env.begin() as t:
            h = hashlib.sha256()
            for k, v in t.cursor():
                h.update(k + v)
            print(writable, n, size, h.hexdigest())
    os.mkdir(folder + '.copy')
    env.copy(folder + '.copy')
    print(env.stat())
    env.close()
    os.remove(folder + '/lock.mdb')
END
}

work_make() {
	case $1 in
	lmdb)
		work_lmdb_script >script
		echo "$2" >size
		;;
	git) work_repository "$((100 * $2))" ;;
	objdump) work_program "$((500 * $2))" ;;
	gdb) work_program "$((1000 * $2))" ;;
	eu-nm) work_archive "$((80 * $2))" ;;
	lld | mold)
		work_inputs "$2" && work_program 500 &&
			${CC:-gcc} -g -fPIC -c -o program.o program.c
		;;
	protect) echo "$((150 * $2))" >size ;;
	valgrind) echo "$((10 * $2 * $2 * $2))" >size ;;
	esac
}

# work_link OPTION COMMAND...
work_link() {
	option=$1
	shift
	"$@" "$option" -shared -o made/out.so -z undefs --whole-archive inputs/*.a program.o
}

# Archives to link: what the compiler has and, for a long work, what LLVM has.
work_inputs() {
	mkdir inputs
	cp "$(${CC:-gcc} -print-file-name=libstdc++.a)" inputs
	[ "$1" -eq 1 ] || cp /usr/lib/llvm-14/lib/libLLVM[A-DX]*.a inputs || :
}

work_run() {
	name=$1
	shift
	rm -rf made
	mkdir made
	case $name in
	lmdb) "$@" "$work_python" script "$(cat size)" ;;
	git)
		"$@" git -C repository -c core.packedGitWindowSize=4096 \
			-c core.packedGitLimit=65536 log -p -M main
		;;
	objdump) "$@" objdump -d -S -l program ;;
	gdb)
		"$@" gdb -batch -nx -ex 'info types s1.*' -ex 'info functions f' \
			-ex 'disassemble /s f7' -ex 'list main' -ex 'ptype struct s11' program
		;;
	eu-nm) "$@" eu-nm archive.a ;;
	lld) work_link --threads=1 "$@" ld.lld ;;
	# Without a child that outlives it, so that all of its time is counted.
	mold) work_link --no-fork "$@" mold --thread-count=1 ;;
	valgrind) "$@" valgrind -q "$BUILD/tests/map_protect" made "$(cat size)" ;;
	protect) "$@" "$BUILD/tests/map_protect" made "$(cat size)" ;;
	esac >text 2>&1
}
