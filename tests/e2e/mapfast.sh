#!/bin/sh
#
# Tests of the launcher. Prints one line a case: ok NAME, not ok NAME: reason, skip NAME: reason.
#
# Hermetic: all but the last case use a copy of preload/mapfast.in beside an empty library in a
# scratch directory, so that they need no build and say nothing about the library. The cases of
# world_cases run once in each shell that there is.

# shellcheck disable=SC2016 # what stands in single quotes is for the inner shells
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
build=${BUILD:-build}
case $build in
/*) ;;
*) build=$root/$build ;;
esac

# Of the machine that the shell is for, whatever the library under test is built for.
cc=$(printf '%s' "${CC:-cc}" | sed 's/ -m[36][24]//g')
machine=$(uname -m)-linux-gnu

unset LD_PRELOAD MAPCOALESCE_STATS MAPCOALESCE_MODES MAPCOALESCE_PROGRAMS MAPCOALESCE_LOG
unset MAPCOALESCE_DRY_RUN GLIBC_TUNABLES MALLOC_TOP_PAD_

scratch=$(mktemp -d /tmp/mapfast.XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
failed=0
world='sh'

# ---- verdicts ----

ok()
{
	printf 'ok %s\n' "$world: $1"
}

not_ok()
{
	printf 'not ok %s: %s\n' "$world: $1" "$(printf '%s' "$2" | tr '\n' '|')"
	failed=1
}

skip()
{
	printf 'skip %s: %s\n' "$world: $1" "$2"
}

# same NAME EXPECTED ACTUAL
same()
{
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "expected '$2', got '$3'"; fi
}

# refused NAME STATUS PATTERN WORD...: `run WORD...` ends with STATUS, one line on stderr that
# matches the shell PATTERN, and nothing on stdout.
refused()
{
	name=$1 expected=$2 pattern=$3
	shift 3
	"$run" "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	text=$(cat "$scratch/err")
	if [ "$status" -ne "$expected" ]; then
		not_ok "$name" "exit status $status, not $expected; stderr '$text'"
	elif [ -s "$scratch/out" ]; then
		not_ok "$name" "stdout '$(cat "$scratch/out")'"
	elif [ "$(wc -l <"$scratch/err")" -ne 1 ]; then
		not_ok "$name" "not one line on stderr: '$text'"
	else
		matches "$name" "$pattern" "$text"
	fi
}

# warned NAME STATUS PATTERN COMMAND...: the same of a COMMAND that is run all the same.
warned()
{
	refused "$@"
}

# matches NAME PATTERN TEXT
matches()
{
	# shellcheck disable=SC2254 # a pattern it is
	case $3 in
	$2) ok "$1" ;;
	*) not_ok "$1" "'$3' does not match $2" ;;
	esac
}

# quiet NAME EXPECTED WORD...: `run WORD...` writes EXPECTED, nothing on stderr, and ends well.
quiet()
{
	name=$1 expected=$2
	shift 2
	text=$("$run" "$@" 2>"$scratch/err")
	status=$?
	if [ -s "$scratch/err" ]; then
		not_ok "$name" "stderr '$(cat "$scratch/err")'"
	elif [ "$status" -ne 0 ]; then
		not_ok "$name" "exit status $status"
	else
		same "$name" "$expected" "$text"
	fi
}

# variable NAME VARIABLE EXPECTED OPTION...: what COMMAND finds in its environment.
variable()
{
	name=$1 variable=$2 expected=$3
	shift 3
	quiet "$name" "$expected" "$@" sh -c "printf %s \"\${$variable-unset}\""
}

# ---- the scratch build ----

# launcher DIRECTORY BUILD-LINE: a launcher in DIRECTORY, which is installed to $scratch/lib.
launcher()
{
	mkdir -p "$1"
	sed -e "s|@VERSION@|9.8.7|g" -e "s|@LIBDIR@|$scratch/lib|g" -e "s|@BUILD@|$2|g" \
		-e "s|/sys/kernel/mm/transparent_hugepage|$scratch/thp|" \
		"$root/preload/mapfast.in" >"$1/mapfast"
	chmod 755 "$1/mapfast"
}

# wrapper FILE WORD...: a FILE that becomes WORD... and its own arguments.
wrapper()
{
	file=$1
	shift
	printf '#!/bin/sh\nexec %s "$@"\n' "$*" >"$file"
	chmod 755 "$file"
}

prepare()
{
	cat >"$scratch/library.c" <<-'END'
		/* Tells in which programs it was loaded. */
		#define _GNU_SOURCE
		#include <errno.h>
		#include <stdio.h>
		#include <stdlib.h>
		__attribute__((constructor)) static void tell(void)
		{
			const char *name = getenv("MAPFAST_TEST_LOADED");
			FILE *file = name == NULL ? NULL : fopen(name, "a");

			if (file != NULL) {
				fprintf(file, "%s ", program_invocation_short_name);
				fclose(file);
			}
		}
	END
	cat >"$scratch/program.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		int main(int argc, char **argv)
		{
			const char *value = argc > 1 ? getenv(argv[1]) : NULL;

			if (value != NULL)
				puts(value);
			return 0;
		}
	END
	launcher "$scratch/build" "test build, $machine"
	library=$scratch/build/libmapcoalesce.so
	$cc -shared -fPIC -o "$library" "$scratch/library.c" || exit 1
	cp "$library" "$scratch/other.so"
	cp "$library" "$scratch/libasan.so.8"
	cp "$library" "$scratch/libclang_rt.asan-x86_64.so"
}

# ---- in every shell ----

option_cases()
{
	variable 'no option: no statistics' MAPCOALESCE_STATS unset
	variable 'no option: no modes' MAPCOALESCE_MODES unset
	variable '-s' MAPCOALESCE_STATS stderr -s
	variable '--stats' MAPCOALESCE_STATS stderr --stats
	variable '-o FILE' MAPCOALESCE_STATS "$scratch/f" -o "$scratch/f"
	variable '-oFILE' MAPCOALESCE_STATS "$scratch/f" -o"$scratch/f"
	variable '--stats-file FILE' MAPCOALESCE_STATS "$scratch/f" --stats-file "$scratch/f"
	variable '--stats-file=FILE' MAPCOALESCE_STATS "$scratch/f" --stats-file="$scratch/f"
	variable 'relative FILE' MAPCOALESCE_STATS "$scratch/f" -o f
	variable 'FILE with spaces and =' MAPCOALESCE_STATS "$scratch/a =b" --stats-file='a =b'
	variable '-s -o: the last wins' MAPCOALESCE_STATS "$scratch/f" -s -of
	variable '-o -s: the last wins' MAPCOALESCE_STATS stderr -of -s
	variable '-m LIST' MAPCOALESCE_MODES mmap,read -m mmap,read
	variable '-mLIST' MAPCOALESCE_MODES none -mnone
	variable '--modes LIST' MAPCOALESCE_MODES all --modes all
	variable '--modes=LIST' MAPCOALESCE_MODES stdio,write,anon,plugins \
		--modes=stdio,write,anon,plugins
	variable '-m +MODE,-MODE' MAPCOALESCE_MODES +write,-read -m +write,-read
	variable '-m -MODE' MAPCOALESCE_MODES -read -m -read
	variable '-p GLOB' MAPCOALESCE_PROGRAMS 'ld*,nm' -p 'ld*,nm'
	variable '-pGLOB' MAPCOALESCE_PROGRAMS 'ld*' -p'ld*'
	variable '--programs GLOB' MAPCOALESCE_PROGRAMS '*' --programs '*'
	variable '--programs=GLOB' MAPCOALESCE_PROGRAMS '[a-c]?' --programs='[a-c]?'
	variable '-n' MAPCOALESCE_DRY_RUN 1 -n
	variable '--dry-run' MAPCOALESCE_DRY_RUN 1 --dry-run
	variable '-n asks for no statistics' MAPCOALESCE_STATS unset -n
	variable '-n -o does' MAPCOALESCE_STATS "$scratch/f" -n -o f
	variable '-v' MAPCOALESCE_LOG stderr -v
	variable '--verbose' MAPCOALESCE_LOG stderr --verbose
	variable '--log FILE' MAPCOALESCE_LOG "$scratch/f" --log f
	variable '--log=FILE' MAPCOALESCE_LOG "$scratch/f" --log=f
	variable '-snv: first' MAPCOALESCE_STATS stderr -snv
	variable '-snv: second' MAPCOALESCE_DRY_RUN 1 -snv
	variable '-snv: third' MAPCOALESCE_LOG stderr -snv
	variable '-nmLIST' MAPCOALESCE_MODES all -nvmall
	variable '-nm LIST' MAPCOALESCE_MODES all -snm all
	variable '-- ends options' MAPCOALESCE_STATS stderr -s --
	quiet 'no option after COMMAND' 'unset -s --stats -- -h' \
		sh -c 'echo "${MAPCOALESCE_STATS-unset} $*"' sh -s --stats -- -h
	quiet 'no option after --' 'unset -s' -- sh -c 'echo "${MAPCOALESCE_STATS-unset} $*"' sh -s
	same "the user's variable stays" all \
		"$(MAPCOALESCE_MODES=all "$run" sh -c 'echo "$MAPCOALESCE_MODES"')"
	same "the option overrides the user's" none \
		"$(MAPCOALESCE_MODES=all "$run" -mnone sh -c 'echo "$MAPCOALESCE_MODES"')"
	same 'FILE is not created' '' "$(ls "$scratch/f" 2>/dev/null)"
}

help_cases()
{
	for option in -h --help -sh; do
		"$run" "$option" >"$scratch/out" 2>"$scratch/err"
		same "$option: exit status" 0 $?
		same "$option: nothing on stderr" '' "$(cat "$scratch/err")"
		same "$option: 80 columns" '' "$(awk 'length > 79' "$scratch/out")"
	done
	for word in --stats --stats-file --modes --programs --dry-run --verbose --log --version \
		--huge-heap --compare --prepare \
		_MODES _PROGRAMS _STATS _LOG _DRY_RUN _MAX_VIEW _MAX_ADDRESS_SPACE _ALIAS _NETWORK_FS \
		126 127; do
		matches "--help tells of $word" "*$word*" "$(cat "$scratch/out")"
	done
	for option in -V --version; do
		matches "$option" "mapfast*9.8.7*$machine*$library*installed for:*modes:*glibc*" "$("$run" "$option" 2>&1)"
	done
}

error_cases()
{
	refused 'no COMMAND' 2 'usage: mapfast *'
	refused 'no COMMAND after options' 2 'usage: mapfast *' -s --
	refused 'unknown long option' 2 "*'--foo'*mapfast --help*" --foo=3 true
	refused 'unknown short option' 2 "*'-x'*mapfast --help*" -sx true
	refused 'abbreviated option' 2 "*'--stat'*" --stat true
	refused 'value for a flag' 2 "*'--stats' takes no value" --stats=1 true
	refused 'value for --huge-heap' 2 "*'--huge-heap' takes no value" --huge-heap=1 true
	for option in -o -m -p -so --stats-file --modes --programs --log; do
		refused "$option without a value" 2 "*option '-*[a-z]' needs a value" "$option"
	done
	for option in -c0 -c3x --compare=0 --compare= --compare=two --compare=1001 --compare=99999; do
		refused "$option" 2 "*is no number of runs (1 to 1000)" "$option" true
	done
	refused '--compare without its helper' 2 '*mapfast-compare is missing' -c true
	for option in -n --huge-heap; do
		refused "--compare with $option" 2 '*not with --dry-run or --huge-heap' -c "$option" true
	done
	refused '--prepare alone' 2 '*only with --compare' --prepare=true true
	for list in foo mmap,foo foo,mmap +foo -foo ++foo; do
		refused "--modes=$list" 2 "mapfast: --modes: unknown mode '*foo'; allowed are mmap, read, *" \
			--modes="$list" true
	done
	for list in '' ',' 'mmap,' ',mmap' 'mmap,,read'; do
		refused "--modes='$list'" 2 "*unknown mode ''*" -m "$list" true
	done
	refused '--programs is empty' 2 '*--programs*' -p '' true
	for option in --stats-file --log; do
		refused "$option is empty" 2 "*$option*" "$option=" true
		refused "$option in no directory" 2 "*$option*$scratch/none/*" "$option=none/f" true
		refused "$option is a directory" 2 "*$option*$scratch is a dir*" "$option=$scratch" true
	done
	refused 'COMMAND not found' 127 'mapfast: no-such-command: not found' no-such-command
	refused 'COMMAND not found, with slash' 127 'mapfast: ./none: not found' ./none
	refused 'COMMAND is empty' 127 'mapfast: : not found' ''
	refused 'COMMAND is a directory' 126 'mapfast: ./build: is a directory' ./build
	refused 'COMMAND not executable' 126 'mapfast: ./program.c: permission denied' ./program.c
	PATH=$scratch:$PATH refused 'COMMAND in PATH not executable' 126 \
		'mapfast: program.c: permission denied' program.c
}

preload_cases()
{
	variable 'the library' LD_PRELOAD "$library"
	for before in other.so:third.so 'other.so third.so'; do
		same "prepended to '$before'" "$library:$before" "$(preload_of "$before")"
	done
	same 'already first' "$library" "$(preload_of "$library")"
	same 'already first of two' "$library:other.so" "$(preload_of "$library:other.so")"
	same 'already first, space' "$library other.so" "$(preload_of "$library other.so")"
	same 'not first' "$library:other.so:$library" "$(preload_of "other.so:$library")"
	same 'a longer name is not ours' "$library:$library.1" "$(preload_of "$library.1")"
	for asan in libasan.so.99 "$scratch/libasan.so.8" "$scratch/libclang_rt.asan-x86_64.so"; do
		same "after $asan" "$asan:$library" "$(preload_of "$asan")"
		same "after $asan, others" "x.so:$asan:$library:y.so:z.so" \
			"$(preload_of "x.so $asan:y.so:z.so")"
		same "after $asan, again" "$asan:$library:y.so" "$(preload_of "$asan:$library:y.so")"
		same "after $asan, was before" "$asan:$library" "$(preload_of "$library:$asan")"
	done
	same 'asan in a directory only' "$library:/asan/x.so" "$(preload_of /asan/x.so)"
	quiet 'mapfast mapfast' "$library stderr" \
		-s "$run" sh -c 'echo "$LD_PRELOAD $MAPCOALESCE_STATS"'
	# By its full name: a static busybox has programs of its own for the short ones.
	env=$(command -v env)
	rm -f "$scratch/loaded"
	MAPFAST_TEST_LOADED=$scratch/loaded "$run" "$env" >"$scratch/out"
	same 'loaded in COMMAND only' 'env ' "$(cat "$scratch/loaded")"
	MAPFAST_TEST_LOADED=$scratch/loaded "$run" "$run" "$env" >"$scratch/out"
	case $(cat "$scratch/loaded") in
	*od* | *dirname* | *readlink*) not_ok 'not loaded in helpers' "$(cat "$scratch/loaded")" ;;
	*' env ') ok 'not loaded in helpers' ;;
	*) not_ok 'loaded by mapfast mapfast' "$(cat "$scratch/loaded")" ;;
	esac
}

# What COMMAND's LD_PRELOAD is where it was $1. (ld.so complains of those that do not exist.)
preload_of()
{
	LD_PRELOAD=$1 "$run" sh -c 'echo "$LD_PRELOAD"' 2>/dev/null
}

argument_cases()
{
	# By its full name: some cases have a PATH without it.
	wrapper "$scratch/bin/show" "$(dirname "$(command -v env)")/printf '<%s>'"
	same 'arguments intact' "<><a  b><c
d><*><\$x><\\n><-s><--><a'b\"c>" \
		"$("$run" "$scratch/bin/show" '' 'a  b' 'c
d' '*' "\$x" '\n' -s -- "a'b\"c")"
	for command in a=b 'a b' -dash '*' ; do
		cp "$scratch/bin/show" "$scratch/bin/$command"
		same "COMMAND '$command' in PATH" '<1><2 3>' \
			"$(PATH=$scratch/bin:$PATH "$run" -- "$command" 1 '2 3')"
		same "COMMAND '$command' by name" '<1><2 3>' \
			"$("$run" -- "$scratch/bin/$command" 1 '2 3')"
	done
	same 'PATH is no pattern' right "$(PATH="$scratch/glob[1]:$PATH" "$run" chosen)"
	PATH="$scratch/glob*:$PATH" refused 'PATH is no pattern, none there' 127 \
		'mapfast: chosen: not found' chosen
	mkdir -p "$scratch/-dir"
	cp "$scratch/bin/show" "$scratch/-dir"
	quiet 'COMMAND -dir/show' '<1>' -- -dir/show 1
	(
		cd "$scratch/bin" || exit
		same 'empty element of PATH, first' '<1>' "$(PATH=:/usr/bin:/bin "$run" show 1)"
		same 'empty element of PATH, last' '<1>' "$(PATH=/usr/bin:/bin: "$run" show 1)"
		same 'empty element of PATH, inside' '<1>' "$(PATH=/usr/bin::/bin "$run" show 1)"
		same 'PATH without the helpers' '<1> ' \
			"$(PATH=$scratch/bin "$run" show 1 2>&1) $(PATH=$scratch/none "$run" /bin/true 2>&1)"
		same 'the first of two in PATH' '<1>' \
			"$(PATH=$scratch:$scratch/bin:$scratch/second "$run" show 1)"
		exit "$failed"
	) || failed=1
	same 'the environment is intact' "PATH=/usr/bin:/bin
dir=e
file=f
lib=a
mode=d
name=b
path=g
value=c" "$(env -i PATH=/usr/bin:/bin lib=a name=b value=c mode=d dir=e file=f path=g \
		"$run" env | grep -v -e ^PWD= -e ^OLDPWD= -e ^SHLVL= -e ^_= -e ^LD_PRELOAD= | LC_ALL=C sort)"
}

exec_cases()
{
	pids=$("$scratch/pid" "$run" sh -c 'echo $$' | tr '\n' ' ')
	same 'pid is the same' "${pids%% *} ${pids%% *} " "$pids"
	for expected in 0 3 126 127 255; do
		"$run" sh -c "exit $expected"
		same "exit status $expected" "$expected" $?
	done
	(
		"$run" sh -c 'kill -TERM $$'
		exit $?
	) 2>/dev/null
	same 'death by signal' 143 $?
	same 'ignored signals stay ignored' alive \
		"$(trap '' TERM; "$run" sh -c 'kill -TERM $$; echo alive')"
	same 'stdin is whole' 'a
b' "$(printf 'a\nb\n' | "$run" cat)"
	# (busybox 1.35 leaves that of the script open, in every script.)
	same 'no descriptor is left open' "$("$plain" ls /proc/self/fd)" "$("$run" ls /proc/self/fd)"
	same 'umask and directory' "$(umask) $scratch/bin" \
		"$(cd bin && "$run" sh -c 'echo "$(umask) $(pwd)"')"
}

# tunables NAME EXPECTED SETTING... : what COMMAND finds in GLIBC_TUNABLES.
tunables()
{
	name=$1 expected=$2
	shift 2
	same "$name" "$expected" \
		"$(env "$@" "$run" --huge-heap sh -c 'echo "${GLIBC_TUNABLES-unset}"' 2>&1)"
}

huge_heap_cases()
{
	h=glibc.malloc.hugetlb p=glibc.malloc.top_pad
	pad=$p=16777216
	echo 'always [madvise] never' >thp/enabled
	tunables '--huge-heap' $h=1:$pad A=b
	tunables '--huge-heap, empty tunables' $h=1:$pad GLIBC_TUNABLES=
	tunables '--huge-heap appends' glibc.malloc.check=3:$h=1:$pad \
		GLIBC_TUNABLES=glibc.malloc.check=3
	tunables "--huge-heap overrides nothing of the user's" $p=5:$h=2 \
		GLIBC_TUNABLES=$p=5:$h=2
	tunables '--huge-heap, one is set' $p=5:$h=1 GLIBC_TUNABLES=$p=5
	tunables '--huge-heap, a longer name' x$p=5:${p}s=5:$h=1:$pad \
		GLIBC_TUNABLES=x$p=5:${p}s=5
	tunables '--huge-heap, the older variable' $h=1 MALLOC_TOP_PAD_=4096
	variable 'no --huge-heap' GLIBC_TUNABLES unset
	variable 'a dry run has no huge heap' GLIBC_TUNABLES unset -n --huge-heap
	variable '--huge-heap and the library' LD_PRELOAD "$library" --huge-heap
	echo '[always] madvise never' >thp/enabled
	variable '--huge-heap, always' GLIBC_TUNABLES $h=1:$pad --huge-heap
	echo 'always madvise [never]' >thp/enabled
	warned '--huge-heap, huge pages are off' 0 '*--huge-heap*switched off*thp*never*true*' \
		--huge-heap true
	"$run" --huge-heap sh -c 'exit 3' 2>/dev/null
	same '--huge-heap, huge pages are off: runs' 3 $?
	rm thp/enabled
	warned '--huge-heap, no huge pages' 0 '*--huge-heap*no transparent huge pages*true*' \
		--huge-heap true
	echo 'always [madvise] never' >thp/enabled
	for version in 2.26 2.34 2.9; do
		wrapper old/getconf "echo glibc $version #"
		PATH=$scratch/old:$PATH warned "--huge-heap, glibc $version" 0 \
			"*--huge-heap*glibc $version*2.35*true*" --huge-heap true
	done
	for version in 2.35 2.40 3.1; do
		wrapper old/getconf "echo glibc $version #"
		PATH=$scratch/old:$PATH variable "--huge-heap, glibc $version" GLIBC_TUNABLES \
			$h=1:$pad --huge-heap
	done
	wrapper old/getconf 'false'
	PATH=$scratch/old:$PATH variable '--huge-heap, no getconf' GLIBC_TUNABLES \
		$h=1:$pad --huge-heap
}

world_cases()
{
	huge_heap_cases
	option_cases
	help_cases
	error_cases
	preload_cases
	argument_cases
	exec_cases
}

# ---- where the launcher is ----

place_cases()
{
	run=$scratch/build/mapfast
	mkdir -p "$scratch/link/deep" "$scratch/path with space" "$scratch/a:b" "$scratch/lib" \
		"$scratch/alone"
	ln -s "$run" "$scratch/link/absolute"
	ln -s ../build/mapfast "$scratch/link/relative"
	ln -s ../relative "$scratch/link/deep/chain"
	ln -s "$scratch/build" "$scratch/link/directory"
	for link in absolute relative deep/chain directory/mapfast; do
		run=$scratch/link/$link
		quiet "link: $link" yes sh -c "[ \"\$LD_PRELOAD\" -ef '$library' ] && echo yes"
	done
	run=$scratch/build/mapfast
	quiet 'COMMAND changes directory' "$library" sh -c 'cd / && echo "$LD_PRELOAD"'
	for how in "build/mapfast" "./build/mapfast" "build/../build/mapfast" "sh build/mapfast"; do
		same "as $how" yes "$($how sh -c "cd / && [ \"\$LD_PRELOAD\" -ef '$library' ] && echo yes")"
	done
	same 'as ./mapfast' "$library" "$(cd build && ./mapfast sh -c 'echo "$LD_PRELOAD"')"
	same 'as sh mapfast' "$library" "$(cd build && sh mapfast sh -c 'echo "$LD_PRELOAD"')"
	same 'by PATH' "$library" "$(PATH=$scratch/build:$PATH && mapfast sh -c 'echo "$LD_PRELOAD"')"

	for place in 'path with space' a:b; do
		cp build/mapfast "$library" "$place"
		run="$scratch/$place/mapfast"
		warned "in '$place': says so" 0 "*$place/libmapcoalesce.so*spaces or colons*true*" true
		same "in '$place': runs" unset "$("$run" sh -c 'echo "${LD_PRELOAD-unset}"' 2>/dev/null)"
		same "in '$place': others stay" other.so \
			"$(LD_PRELOAD=other.so "$run" sh -c 'echo "$LD_PRELOAD"' 2>/dev/null)"
	done

	cp build/mapfast alone
	run=$scratch/alone/mapfast
	warned 'no library: says so' 0 "*$scratch/lib/libmapcoalesce.so: not found*make*true*" true
	"$run" sh -c 'exit 5' 2>/dev/null
	same 'no library: runs' 5 $?
	cp "$library" lib
	variable 'installed' LD_PRELOAD "$scratch/lib/libmapcoalesce.so"
	if [ "$(id -u)" -ne 0 ]; then
		chmod 0 lib/libmapcoalesce.so
		warned 'unreadable library: says so' 0 '*cannot be read*' true
	else
		skip 'unreadable library' 'root reads everything'
	fi
	rm -f lib/libmapcoalesce.so
	run=$scratch/build/mapfast
}

# ---- what cannot be preloaded ----

obstacle_cases()
{
	run=$scratch/build/mapfast
	if $cc -o dynamic program.c; then
		quiet 'dynamic program' '' ./dynamic
	fi
	if $cc -static -o static program.c 2>/dev/null; then
		warned 'static program' 0 '*./static*statically linked*' ./static
		same 'static program: preloaded for its children' "$library" \
			"$("$run" ./static LD_PRELOAD 2>/dev/null)"
		printf '#! \t%s -x\n' "$scratch/static" >script
		chmod 755 script
		warned 'script with a static interpreter' 0 \
			"*./script*interpreter $scratch/static is statically*" ./script
	else
		skip 'static program' "$cc -static does not work here"
	fi
	if $cc -static-pie -o static-pie program.c 2>/dev/null; then
		warned 'static-pie program' 0 '*./static-pie*statically linked*' ./static-pie
	else
		skip 'static-pie program' "$cc -static-pie does not work here"
	fi
	for script in '#!/bin/sh' '#! /bin/sh -e' '#!/usr/bin/env sh' '# no interpreter'; do
		printf '%s\necho "$LD_PRELOAD"\n' "$script" >script
		chmod 755 script
		quiet "script: $script" "$library" ./script
	done
	printf '#!%s/none\n' "$scratch" >script
	./script 2>/dev/null
	expected=$?
	"$run" ./script 2>/dev/null
	same 'script without its interpreter: exit status' "$expected" $?
	loader=$(awk '/\/ld-.*\.so/ { print $NF; exit }' /proc/self/maps)
	if [ -x "$loader" ]; then
		quiet 'ld.so itself' "$library" "$loader" /bin/sh -c 'echo "$LD_PRELOAD"'
	else
		skip 'ld.so itself' 'not found'
	fi
	if $cc -Wl,-dynamic-linker,/lib/ld-musl-x86_64.so.1 -o musl program.c 2>/dev/null; then
		matches 'musl program' '*./musl*linked with musl*' "$("$run" ./musl 2>&1)"
	else
		skip 'musl program' "$cc -Wl,-dynamic-linker does not work here"
	fi
	class_cases
	both_classes_cases
	header_cases
	secure_cases
}

# Where both word sizes are installed each program gets its own. (That each ld.so knows its folder is
# Debian's way.)
both_classes_cases()
{
	if [ "$machine" != x86_64-linux-gnu ] || ! $cc -m32 -shared -fPIC -o other32.so library.c 2>/dev/null; then
		skip 'both word sizes' "$cc -m32 does not work here"
		return
	fi
	mkdir -p both/bin both/lib/x86_64-linux-gnu both/lib/i386-linux-gnu
	sed -e "s|@LIBDIR@|$scratch/both/lib/x86_64-linux-gnu|g" -e "s|@BUILD@|test build, $machine|g" \
		"$root/preload/mapfast.in" >both/bin/mapfast
	chmod 755 both/bin/mapfast
	cp "$library" both/lib/x86_64-linux-gnu/
	run=$scratch/both/bin/mapfast
	quiet 'one word size' "$scratch/both/lib/x86_64-linux-gnu/libmapcoalesce.so" ./dynamic LD_PRELOAD
	cp other32.so both/lib/i386-linux-gnu/libmapcoalesce.so
	case $(LD_PRELOAD="$scratch/both/\$LIB/libmapcoalesce.so" LD_TRACE_LOADED_OBJECTS=1 /bin/sh) in
	*"$scratch/both/lib/x86_64-linux-gnu/libmapcoalesce.so "*) ;;
	*)
		skip 'both word sizes' 'ld.so has other folders here'
		run=$scratch/build/mapfast
		return
		;;
	esac
	# shellcheck disable=SC2016 # ld.so expands it
	quiet 'both word sizes' "$scratch"'/both/$LIB/libmapcoalesce.so' ./dynamic LD_PRELOAD
	rm -f both/loaded
	MAPFAST_TEST_LOADED=$scratch/both/loaded "$run" ./dynamic
	same 'both word sizes: preloaded' 'dynamic ' "$(cat both/loaded)"
	if $cc -m32 -o program32 program.c 2>/dev/null && ./program32 >/dev/null 2>&1; then
		# shellcheck disable=SC2016 # the same
		quiet 'both word sizes, 32-bit program' "$scratch"'/both/$LIB/libmapcoalesce.so' \
			./program32 LD_PRELOAD
	fi
	run=$scratch/build/mapfast
}

class_cases()
{
	if ! $cc -m32 -o program32 program.c 2>/dev/null; then
		skip '32-bit program' "$cc -m32 does not work here"
		return
	fi
	if ! ./program32 >/dev/null 2>&1; then
		skip '32-bit program' 'this kernel does not run it'
		return
	fi
	warned '32-bit program' 0 "*./program32*32-bit and $library is 64-bit*" ./program32
	same '32-bit program: not preloaded' '' "$("$run" ./program32 LD_PRELOAD 2>/dev/null)"
	# A launcher that does not know what it was built for asks the library.
	launcher build32 'test build, somewhere'
	run=$scratch/build32/mapfast
	cp "$library" build32
	quiet 'machine unknown, 64-bit program' '' ./dynamic
	warned 'machine unknown, 32-bit program' 0 '*32-bit and*' ./program32
	$cc -m32 -shared -fPIC -o build32/libmapcoalesce.so library.c || return
	quiet '32-bit library, 32-bit program' '' ./program32
	warned '32-bit library, 64-bit program' 0 '*./dynamic*64-bit and*is 32-bit*' ./dynamic
	run=$scratch/build/mapfast
}

# Headers that no compiler here makes. The files are never good programs: only what is said counts.
header_cases()
{
	launcher build64 'test build, x86_64'
	cp "$library" build64
	run=$scratch/build64/mapfast
	elf64 far-static 1 0
	elf64 far-dynamic 3 0
	matches 'program headers far away, none for ld.so' '*statically linked*' \
		"$(said ./far-static)"
	case $(said ./far-dynamic) in
	*mapfast:\ ./*) not_ok 'program headers far away, one for ld.so' 'called static' ;;
	*) ok 'program headers far away, one for ld.so' ;;
	esac
	for size in 0 1 33 377; do
		elf64 odd 1 "$size"
		case $(said ./odd) in
		*parameter* | *shift* | *arithmetic* | *unset*)
			not_ok "program header of $size bytes" 'the launcher stumbles'
			;;
		*) ok "program header of $size bytes" ;;
		esac
	done
	for bytes in 1 2 3 4 17 18 63 64 65 100; do
		head -c "$bytes" far-static >short
		chmod 755 short
		case $(said ./short) in
		*parameter* | *shift* | *arithmetic* | *unset*)
			not_ok "$bytes bytes of a program" 'the launcher stumbles'
			;;
		*) ok "$bytes bytes of a program" ;;
		esac
	done
	: >empty
	chmod 755 empty
	quiet 'empty file' '' ./empty
	run=$scratch/build/mapfast
}

# The test shell's own report of a crash is caught too.
said()
{
	{ "$run" "$@"; } 2>&1
}

# elf64 FILE TYPE SIZE: an x86-64 header, and at 4096 one program header of that type. SIZE is what
# the header calls the size of one, octal, 0 for the true one.
elf64()
{
	octal=${3#0}
	# shellcheck disable=SC2059 # octal numbers
	{
		printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\076\0\1\0\0\0\0\0\0\0\0\0\0\0'
		printf '\0\020\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\100\0'
		printf "\\${octal:-70}\\0\\1\\0\\0\\0\\0\\0\\0\\0"
		head -c 4032 /dev/zero
		printf "\\$2\\0\\0\\0"
		head -c 52 /dev/zero
	} >"$1"
	chmod 755 "$1"
}

secure_cases()
{
	# Set-group-ID to one's own group, set-user-ID to oneself: nothing changes, so no ld.so minds.
	cp ./dynamic own
	chmod 6755 own
	chgrp "$(id -g)" own && chmod 6755 own
	quiet 'set-user-ID to oneself' '' ./own
	if [ "$(id -u)" -ne 0 ] || ! chown nobody own; then
		skip 'set-user-ID' 'needs root'
		return
	fi
	cp ./dynamic user
	cp ./dynamic group
	chown nobody user
	chgrp 65534 group
	chmod 4755 user
	chmod 2755 group
	chmod 755 .
	warned 'set-user-ID' 0 '*./user*set-user-ID*' ./user
	warned 'set-group-ID' 0 '*./group*set-group-ID*' ./group
	chmod 2745 group
	quiet 'set-group-ID without x is a lock bit' '' ./group
	printf '#!/bin/sh\n' >script
	chown nobody script
	chmod 4755 script
	quiet 'a set-user-ID script is none' '' ./script
}

# ---- the program ----

prepare
cd "$scratch" || exit 1
mkdir thp old bin second 'glob[1]' glob1
wrapper second/show 'echo wrong'
wrapper glob1/chosen 'echo wrong'
wrapper 'glob[1]/chosen' 'echo right'
printf '#!/bin/sh\necho $$\nexec "$@"\n' >pid
chmod 755 pid
wrapper plain ''

run=$scratch/build/mapfast
plain=$scratch/plain
world_cases
for shell in dash 'busybox sh' 'bash --posix' mksh yash; do
	world=${shell%% *}
	if ! path=$(command -v "$world"); then
		skip 'all cases' "no $world"
		continue
	fi
	run=$scratch/bin/$world-mapfast
	plain=$scratch/bin/$world-plain
	wrapper "$run" "$path ${shell#"$world"} $scratch/build/mapfast"
	wrapper "$plain" "$path ${shell#"$world"} $scratch/plain"
	world_cases
done
world='sh'
place_cases
obstacle_cases

# Its COMMAND is made by the same compiler: the library may be a 32-bit one.
name='build/mapfast runs a program'
if [ ! -x "$build/mapfast" ]; then
	not_ok "$name" "there is no $build/mapfast"
elif ! ${CC:-cc} -o same program.c || ! ./same; then
	skip "$name" "${CC:-cc} makes programs for another machine"
elif text=$("$build/mapfast" ./same 2>&1) && [ -z "$text" ]; then
	ok "$name"
else
	not_ok "$name" "it says '$text'"
fi
exit "$failed"
