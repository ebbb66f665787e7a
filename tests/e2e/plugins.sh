#!/bin/sh
# Linker plugins that stay loaded: dlopen is as without the library in all its ways, the BFD tools
# say and write the same of archives with and without link-time objects, by gcc and by clang, whole
# and damaged, and the loader has next to nothing to do.
# limit: 180
# shellcheck disable=SC2317 # check calls the functions
. "$(dirname "$0")/../lib.sh"
library=$BUILD/libmapcoalesce.so

# ---- dlopen ----

files=$tmp/files
mkdir -p "$files/hidden" "$files/xbfd-plugins" "$files/bfd-plugins/deeper"
for name in one.so two.so three.so liblto_plugin.so hidden/libfound.so xbfd-plugins/liblto_plugin.so \
	bfd-plugins/liblto_plugin.so.0 \
	bfd-plugins/other.so bfd-plugins/liblto_plugin.so bfd-plugins/liblto_plugin.sox \
	bfd-plugins/xliblto_plugin.so bfd-plugins/deeper/liblto_plugin.so; do
	cp "$BUILD/tests/load_so.so" "$files/$name"
done
echo 'no library' >"$files/bfd-plugins/liblto_plugin.so.text"

# load OUTPUT SETTING... PROGRAM ARGUMENT...
load() {
	out=$1
	shift
	timeout -s KILL 20 env "$@" >"$out" 2>&1
}
calls=$BUILD/tests/load_calls
load "$tmp/native" "$calls" "$files"
check "dlopen natively" grep -q '^six threads: 0 failures$' "$tmp/native"
check '  where the caller counts' grep -q '^by its name, from a library with a RUNPATH: loaded$' \
	"$tmp/native"
load "$tmp/preloaded" LD_PRELOAD="$library" "$calls" "$files"
check 'dlopen, preloaded' same_bytes "$tmp/native" "$tmp/preloaded"
load "$tmp/preloaded" LD_PRELOAD="$library" MAPCOALESCE_TINY=1 "$calls" "$files"
check 'dlopen, tiny' same_bytes "$tmp/native" "$tmp/preloaded"
load "$tmp/preloaded" LD_PRELOAD="$library:$BUILD/tests/proc_hooks_so.so" "$calls" "$files"
check 'dlopen, another library behind' same_bytes "$tmp/native" "$tmp/preloaded"

# counts NAME PLUGIN COUNTS SETTING... PROGRAM: what a plugin with a counter counts to, loaded and
# unloaded three times.
counts() {
	name=$1 plugin=$2 expected="$2: $3"
	shift 3
	load "$tmp/counts" LD_PRELOAD="$library" "$@" "$files" "$plugin"
	check "$name" [ "$(head -n 1 "$tmp/counts")" = "$expected" ]
}
cp "$calls" "$tmp/x86_64-linux-gnu-nm"
cp "$calls" "$tmp/xnm"
plugin=bfd-plugins/liblto_plugin.so
counts 'a plugin that is kept is not unloaded' "$plugin" '1 2 3' "$calls"
counts '  nor with a version behind its name' "$plugin.0" '1 2 3' "$calls"
counts '  other modes do not do that' "$plugin" '1 1 1' MAPCOALESCE_MODES=-plugins "$calls"
counts '  nor a dry run' "$plugin" '1 1 1' MAPCOALESCE_DRY_RUN=1 "$calls"
counts '  nor where not wanted' "$plugin" '1 1 1' MAPCOALESCE_PROGRAMS=other "$calls"
counts '  elsewhere only in programs of libbfd' liblto_plugin.so '1 2 3' "$tmp/x86_64-linux-gnu-nm"
counts '  and in no others' liblto_plugin.so '1 1 1' "$tmp/xnm"
counts 'a plugin of another name is left alone' bfd-plugins/other.so '1 1 1' \
	"$tmp/x86_64-linux-gnu-nm"

# ---- the tools ----

if [ "${ARCH:-x86_64}" != "$(uname -m)" ]; then
	case_skip 'the tools' "they are not of $ARCH"
	finish
fi
programs nm ar ranlib objdump size strip ld.bfd strace

# member NUMBER: a source with what symbols there are: functions, data, common, weak, undefined, hidden.
member() {
	cat <<-END
		int data_$1 = $1;
		int common_$1[10];
		__attribute__((weak)) int weak_$1(int x) { return x; }
		__attribute__((visibility("hidden"))) int hidden_$1(void) { return $1; }
		extern int from_elsewhere_$1(int);
		static int own(int x) { return x * $1; }
		int function_$1(int x) { return own(x) + hidden_$1() + from_elsewhere_$1(x); }
	END
}

# archive KIND COMPILER FLAG...: six members
archive() {
	kind=$1
	shift
	mkdir -p "$tmp/$kind"
	for number in 1 2 3 4 5 6; do
		member $number >"$tmp/$kind/m$number.c"
		"$@" -fcommon -c -o "$tmp/$kind/m$number.o" "$tmp/$kind/m$number.c" || return
	done
	ar rcs "$tmp/$kind.a" "$tmp/$kind"/m?.o
	kinds="$kinds $kind"
}
kinds=
archive plain gcc -O1 -g
archive gcc-slim gcc -O1 -flto
archive gcc-fat gcc -O1 -flto -ffat-lto-objects
if command -v clang >/dev/null; then
	archive clang-slim clang -O1 -flto
	archive clang-thin clang -O1 -flto=thin
	archive clang-fat clang -O1 -fembed-bitcode=all
else
	case_skip 'archives by clang' 'no clang here'
fi
mkdir "$tmp/mixed"
for kind in $kinds; do
	for number in 1 4; do
		cp "$tmp/$kind/m$number.o" "$tmp/mixed/$kind-m$number.o"
	done
done
ar rcs "$tmp/mixed.a" "$tmp/mixed"/*.o
kinds="$kinds mixed"

# tool WORLD COMMAND...: what it says, how it ends, and what it leaves in the directory.
tool() {
	world=$1
	shift
	rm -rf "$tmp/work"
	cp -r "$tmp/inputs" "$tmp/work"
	(
		cd "$tmp/work" || exit
		case $world in
		native) timeout 20 "$@" ;;
		ours) LD_PRELOAD=$library timeout 20 "$@" ;;
		esac >"$tmp/text" 2>&1
		{
			echo "exit status $?"
			cat -- * | cksum
			ls
		} >>"$tmp/text"
		# Random natively too: names of temporary files, and where the heap begins.
		sed -e 's/st[A-Za-z0-9]\{6\}\(\/\|$\)/TEMPORARY\1/' -e 's/after a total of .*//' \
			"$tmp/text" >"$tmp/$world.text"
	)
}

# compare NAME: each tool, on the file `a` of inputs, and objects beside it if there are any.
compare() {
	different=
	while read -r line; do
		# shellcheck disable=SC2086 # words
		set -- $line
		if ! command -v "$1" >/dev/null; then
			continue
		fi
		tool native "$@"
		tool ours "$@"
		cmp -s "$tmp/native.text" "$tmp/ours.text" || {
			different="$different; $line"
			diff -a "$tmp/native.text" "$tmp/ours.text" | head -n 5 | sed 's/^/# /'
		}
	done
	if [ -n "$different" ]; then
		case_fail "$name" "differs: $different"
	else
		case_ok "$name"
	fi
}

gcc_plugin=$(gcc -print-file-name=liblto_plugin.so)
for kind in $kinds; do
	name="tools on $kind"
	rm -rf "$tmp/inputs"
	cp -r "$tmp/$kind" "$tmp/inputs"
	rm -f "$tmp/inputs"/*.c
	cp "$tmp/$kind.a" "$tmp/inputs/a"
	objects=$(cd "$tmp/inputs" && echo *.o)
	compare <<-END
		nm a
		nm -s -S a
		nm $objects
		nm --plugin $gcc_plugin a
		nm --plugin $tmp/files/bfd-plugins/other.so a
		gcc-nm a
		ar t a
		ar rcs new.a $objects
		ar rcs a $objects
		ar qc new.a $objects
		ar d a ${objects%% *}
		gcc-ar rcs new.a $objects
		ranlib a
		gcc-ranlib a
		objdump -t -h a
		size a
		size $objects
		strip -o new.a a
		objcopy a new.a
		readelf -sW a
		addr2line -e ${objects%% *} 0
		strings -a a
		ld.bfd -r -o new.o $objects
		ld.bfd -r -o new.o --whole-archive a
	END
done

for damage in 0 1 2 3 4 5 6 7 8 9; do
	for kind in $kinds; do
		name="tools on $kind, damaged, $damage"
		rm -rf "$tmp/inputs"
		mkdir "$tmp/inputs"
		bytes=$(wc -c <"$tmp/$kind.a")
		cp "$tmp/$kind.a" "$tmp/inputs/a"
		if [ $((damage % 2)) -eq 0 ]; then
			head -c $((bytes * (damage + 1) / 11)) "$tmp/$kind.a" >"$tmp/inputs/a"
		else
			# A run of bytes in a member's beginning, middle or end.
			head -c 40 /dev/zero | tr '\0' "\\$((damage + 130))" |
				dd of="$tmp/inputs/a" bs=1 conv=notrunc \
					seek=$((bytes * damage / 11)) 2>/dev/null
		fi
		compare <<-END
			nm a
			ranlib a
			objdump -t a
		END
	done
done

# A link through gcc's driver, with its plugin and that of the linker.
mkdir "$tmp/link"
echo 'int function_1(int); int main(void) { return function_1(3) != 9; }' >"$tmp/link/main.c"
echo 'int from_elsewhere_1(int x) { return x + 2; }' >"$tmp/link/else.c"
link() {
	gcc -O1 -flto -fuse-ld=bfd -save-temps=obj -frandom-seed=1 -o "$tmp/link/program" \
		"$tmp/link/main.c" "$tmp/link/else.c" "$tmp/gcc-slim.a"
}
check 'link-time optimisation' link
cp "$tmp/link/program" "$tmp/link/native"
LD_PRELOAD=$library link
check '  the same program' same_bytes "$tmp/link/native" "$tmp/link/program"
check '  which works' "$tmp/link/program"

# ---- what it is for ----

count=100
mkdir "$tmp/many"
echo 'int variable;' >"$tmp/many/m.c"
gcc -c -o "$tmp/many/m.o" "$tmp/many/m.c"
for number in $(seq $count); do
	cp "$tmp/many/m.o" "$tmp/many/m$number.o"
done
ar rcs "$tmp/many.a" "$tmp/many"/m?*.o
MAPCOALESCE_STATS=$tmp/stats preload nm "$tmp/many.a" >"$tmp/ours"
nm "$tmp/many.a" >"$tmp/native"
check "nm of $count members" same_bytes "$tmp/native" "$tmp/ours"
opens=$(stat_of "$tmp/stats" plugin_opens)
if [ "$opens" -eq 0 ]; then
	case_skip '  plugins stay loaded' 'nm loads no known plugin here'
	finish
fi
check "  $opens times a plugin was opened" [ "$opens" -ge "$count" ]
check '  and found loaded but for the first times' \
	[ "$((opens - $(stat_of "$tmp/stats" plugins_kept)))" -le 4 ]
strace -f -e trace=mmap -o "$tmp/native.calls" nm "$tmp/many.a" >/dev/null
strace -f -e trace=mmap -E LD_PRELOAD="$library" -o "$tmp/ours.calls" nm "$tmp/many.a" >/dev/null
check '  so the loader maps a third at most' \
	[ "$(wc -l <"$tmp/ours.calls")" -le "$(($(wc -l <"$tmp/native.calls") / 3))" ]
MAPCOALESCE_STATS=stderr preload nm "$tmp/many.a" 2>"$tmp/summary" >/dev/null
check '  and the summary says so' grep -q ' of [0-9]* opens of linker plugins' "$tmp/summary"
MAPCOALESCE_DRY_RUN=1 preload nm "$tmp/many.a" 2>"$tmp/summary" >/dev/null
check '  as does the dry run' grep -q 'opens of linker plugins would have' "$tmp/summary"
finish
