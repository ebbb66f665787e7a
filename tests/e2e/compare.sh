#!/bin/sh
# mapfast --compare: runs natively and coalesced in turn, as often as asked, from the same input and
# after the same preparation; tells the exit status, and when the two sides differ in it.
# limit: 60
# shellcheck disable=SC2016 # what stands in single quotes is for the inner shells
# shellcheck disable=SC2317 # check calls the functions
. "$(dirname "$0")/../lib.sh"
unset LD_PRELOAD MAPCOALESCE_STATS MAPCOALESCE_MODES MAPCOALESCE_PROGRAMS MAPCOALESCE_LOG
unset MAPCOALESCE_DRY_RUN

# A foreign library can't be preloaded into the shell.
echo 'int main(void) { return 0; }' >"$tmp/one.c"
$CC -o "$tmp/one" "$tmp/one.c"
if ! "$tmp/one" || [ -n "$("$BUILD/mapfast" sh -c : 2>&1)" ]; then
	case_skip "${0##*/}" "the shell is for another machine"
	exit 0
fi

compare() {
	timeout -s KILL 30 "$BUILD/mapfast" "$@" >"$tmp/out" 2>"$tmp/err"
}
says() {
	grep -q -- "$1" "$tmp/err" || { cat "$tmp/err"; return 1; }
}

side='case ${LD_PRELOAD-} in *libmapcoalesce*) side=coalesced;; *) side=native;; esac'

compare --compare=3 -o "$tmp/runs" sh -c "$side; echo \$side"
check "exit status 0" [ $? -eq 0 ]
check "in turn, and neither side always first" [ "$(tr '\n' ' ' <"$tmp/out")" = \
	"native coalesced native coalesced coalesced native native coalesced " ]
check "a JSON line for each measured run" [ "$(wc -l <"$tmp/runs")" -eq 6 ]
check "the lines are whole" [ "$(grep -c '^{"run":[123],"side":"[a-z]*","status":0,"wall_s":[0-9.]*,.*,"maxrss_kb":[1-9][0-9]*}$' \
	"$tmp/runs")" -eq 6 ]
for row in 'wall time' 'user time' 'system time' 'minor page' 'major page' 'voluntary' 'involuntary' \
	'peak memory' 'mappings at the peak' 'system calls saved'; do
	check "the table has: $row" says "^$row"
done
check "nothing to do is said" says '^It found nothing to do'

compare -c1 sh -c 'exit 7'
check "the command's exit status" [ $? -eq 7 ]
check "no difference, no alarm" [ "$(grep -c DIFFERS "$tmp/err")" -eq 0 ]
compare -c1 sh -c 'kill -TERM $$'
check "a signal's exit status" [ $? -eq 143 ]
compare -c1 sh -c "$side; [ \$side = native ]"
check "the exit status is the native one" [ $? -eq 0 ]
check "a difference is reported" says 'EXIT STATUS DIFFERS: 1 in a coalesced run, 0 in the first'
compare -c1 "$tmp/nothing"
check "a command that is not there" [ $? -eq 127 ]

echo text >"$tmp/input"
compare -c1 cat <"$tmp/input"
check "each run reads the same input" [ "$(grep -c '^text$' "$tmp/out")" -eq 4 ]
# shellcheck disable=SC2002 # it has to be a pipe
cat "$tmp/input" | compare -c1 cat
check "none reads a pipe" [ ! -s "$tmp/out" ]

compare -c1 --prepare="rm -rf $tmp/made; echo prepared" mkdir "$tmp/made"
check "prepared before each run" [ $? -eq 0 ]
check "four times" [ "$(grep -c '^prepared$' "$tmp/out")" -eq 4 ]
compare -c1 --prepare='exit 3' touch "$tmp/touched"
check "a failing preparation ends it" [ $? -eq 2 ]
check "the command is not run then" [ ! -e "$tmp/touched" ]

# Something that the library does serve.
python=$(command -v python3 || :)
if [ -n "$python" ]; then
	head -c 400000 /dev/urandom >"$tmp/file"
	compare -c1 "$python" -c 'import mmap, sys
f = open(sys.argv[1], "rb")
for i in range(2000):
    mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ, offset=i % 90 * 4096).close()' "$tmp/file"
	check "pieces of a file: served by mode mmap" says 'mode mmap did the most'
	saved=$(sed -n 's/^system calls saved *//p' "$tmp/err")
	check "and system calls are saved" [ "${saved:-0}" -gt 3000 ]
else
	case_skip "pieces of a file" "no python3"
fi
finish
