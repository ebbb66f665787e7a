# A C compiler's run, and a project of 200 files: what is built with the library around costs no more,
# and its link step less. Sourced by run.
# shellcheck shell=sh disable=SC2154

if ! have gcc || ! have make; then
	say "no gcc and make here"
	exit 77
fi
helper peak
files=$(pick 200 30)
rounds=$(pick 3 2 9)

# The project: the functions of each file call those of the next one.
project=$work/project
rm -rf "$project"
mkdir -p "$project"
LC_ALL=C awk -v files="$files" -v folder="$project" 'BEGIN {
	for (i = 0; i < files; i++) {
		name = sprintf("%s/unit%03d.c", folder, i)
		next_one = (i + 1) % files
		print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n" >name
		for (j = 0; j < 20; j++) {
			printf "int call%d_%d(int x);\n", next_one, j >name
			printf "int call%d_%d(int x)\n{\n\tchar line[64];\n\n", i, j >name
			printf "\tsnprintf(line, sizeof line, \"unit %d, %d: %%d\", x);\n", i, j >name
			printf "\treturn x > 0 ? call%d_%d(x - 1) + (int)strlen(line) : atoi(line);\n}\n",
				next_one, j >name
		}
		close(name)
	}
	name = folder "/main.c"
	print "int call0_0(int x);\n" >name
	print "int main(int argc, char **argv) { return argv[0][0] + call0_0(argc); }" >name
	name = folder "/Makefile"
	print "CFLAGS = -O1 -g" >name
	print "prog: $(patsubst %.c,%.o,$(sort $(wildcard *.c)))\n\t$(CC) -o $@ $^" >name
}'
printf '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n' >"$work/hello.c"

# written FILE...: the bytes of what was built.
written() {
	cat "$@" | cksum
}

# pairs NAME ROUNDS BEFORE FILES COMMAND...: alternating runs, BEFORE before each; the FILES must be
# the same after each.
pairs() {
	name=$1 times=$2 before=$3 made=$4
	shift 4
	say "$name"
	$before
	"$@" >/dev/null
	# shellcheck disable=SC2086 # a pattern
	expected=$(cd "$project" && written $made)
	round=0
	while [ $round -lt "$times" ]; do
		round=$((round + 1))
		for variant in $(turns $round native coalesced); do
			$before
			under timed "$variant" "$out/build-$name.tsv" "$@" >/dev/null
			# shellcheck disable=SC2086 # a pattern
			[ "$(cd "$project" && written $made)" = "$expected" ] ||
				die "$name, $variant: another output"
		done
	done
}

clean() {
	rm -f "$project"/*.o "$project/prog"
}

pairs hello $((rounds * 6)) : ../hello gcc -o "$work/hello" "$work/hello.c"
pairs make "$rounds" clean '*.o prog' make -s -j2 -C "$project" CC=gcc
# shellcheck disable=SC2046 # no such name holds a space
pairs link $((rounds * 6)) : prog gcc -o "$project/prog" $(find "$project" -name '*.o' | LC_ALL=C sort)

measures='minflt=minor page faults|user_s=user time, s|sys_s=system time, s|'\
'cpu_s=user and system time, s|wall_s=wall time, s'
for name in hello make link; do
	case $name in
	hello) printf 'gcc hello.c, %d pairs of runs' $((rounds * 6)) ;;
	make) printf '\nmake -j2 of %d C files (-O1 -g) and their link, %d pairs' "$files" "$rounds" ;;
	link) printf '\nThe link step of it alone (gcc -o prog *.o), %d pairs' $((rounds * 6)) ;;
	esac
	printf '; mean ratios with their 95 %% confidence interval; all that is built is the same:\n\n'
	ci=1 table native,coalesced "$measures" "$out/build-$name.tsv"
done
rm -rf "$project"
