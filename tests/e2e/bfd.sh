#!/bin/sh
# limit: 150
# The tools of binutils and gdb, which do all their input and output with stdio: on archives, objects,
# an executable and a shared object, and on damaged ones, they say the same, end with the same status
# and leave the same files natively, preloaded, and with tiny windows.
#
# BFD_PLACES=200: so many places at which an input is cut off, and at which its bytes are changed.
. "$(dirname "$0")/../lib.sh"
programs ar nm size readelf objdump objcopy strip ranlib strings addr2line as ld

places=${BFD_PLACES:-3}
test_library=$BUILD/tests/libmapcoalesce-test.so

# Inputs.
mkdir "$tmp/inputs"
for i in 1 2 3 4; do
	cat >"$tmp/inputs/part$i.c" <<-END
	#include <string.h>
	struct of_$i { int a; char text[$i * 10]; double d; };
	static const char words_${i}[] = "some words of part $i";
	int table_${i}[$i * 300] = { 1, 2, $i };
	__attribute__((section(".odd.$i"))) int odd_$i = $i;
	extern int next_$i(struct of_$i *);
	int function_$i(struct of_$i *p, int n)
	{
		for (int k = 0; k < n; k++)
			p->a += table_${i}[k % 7] * (int)strlen(words_$i);
		return p->a + next_$i(p);
	}
	int next_$i(struct of_$i *p) { return p->text[0] + odd_$i; }
	END
done
echo 'int main(int argc, char **argv) { return function_1((void *)argv, argc); }' \
	>"$tmp/inputs/main.c"
# shellcheck disable=SC2086 # CC may hold flags
(cd "$tmp/inputs" && sed -i '1i int function_1(void *, int);' main.c &&
	for i in part1 part2 part3 part4 main; do $CC -g -O1 -fPIC -c $i.c || exit; done &&
	$CC -S -g -O1 -fPIC part3.c && ar rcs lib.a part1.o part2.o part3.o part4.o &&
	ar rcsT thin.a part1.o part2.o &&
	$CC -o program main.o lib.a && $CC -shared -o lib.so part1.o part2.o part3.o part4.o) || {
	case_fail 'inputs' 'not compiled'
	finish
}

# All that is said and made, of an input's copies in the current directory.
cat >"$tmp/battery" <<'END'
exec 2>&1
run() {
	echo "-- $*"
	"$@" </dev/null
	echo "status $?"
	for made in made*; do
		[ -e "$made" ] && cksum "$made"
	done
	rm -f made*
}
END
cat "$tmp/battery" - >"$tmp/whole" <<'END'
for input in lib.a thin.a program lib.so part3.o; do
	run nm $input
	run nm -s -S --special-syms $input
	run size -A $input
	run readelf -aW $input
	run objdump -d -r $input
	run objdump -h -t -S $input
	run strings -a $input
	run objcopy $input made
	run objcopy --only-keep-debug $input made
	run objcopy -O binary -j .text $input made
	run strip -o made $input
	run strip -g -o made $input
done
run nm -D lib.so
run addr2line -f -e lib.so 0x1200 0x1300
run gdb -nx -batch -ex 'info line function_2' -ex 'list function_3' -ex 'disassemble function_1' \
	-ex 'ptype struct of_4' lib.so
run readelf --debug-dump=info,decodedline program
run ar t lib.a
run ar tv thin.a
run ar p lib.a part2.o
run ar rcs made.a part1.o part2.o part3.o
run ar rcsT made.a part1.o part2.o
for change in 'd made.a part2.o' 'r made.a part4.o' 'm made.a part1.o' 's made.a'; do
	cp lib.a made.a
	run ar $change
done
cp lib.a made.a
run ranlib made.a
run ar x lib.a --output .
run as -o made.o part3.s
run ld -r -o made.o part1.o part2.o part3.o part4.o
run ld -r -s -o made.o --whole-archive lib.a
run ld -shared -o made.so --whole-archive lib.a
run ld -shared --gc-sections --build-id=sha1 -Map made.map -o made.so part1.o lib.a
run ld -o made --unresolved-symbols=ignore-all -e main main.o lib.a
run ld -o made -e main main.o nothing.o
END
cat "$tmp/battery" - >"$tmp/damaged" <<'END'
for input in lib.a lib.so part3.o; do
	run nm -s $input
	run readelf -aW $input
	run objdump -x -d $input
	run objcopy $input made
	run strip -o made $input
done
run ar t lib.a
run ld -r -o made.o --whole-archive lib.a
cp lib.a made.a
run ranlib made.a
cp lib.a made.a
run ar r made.a part3.o
END

# in_world WORLD BATTERY INPUTS: on copies of them. What is said, but for names of temporary files and
# an address, goes to $tmp/WORLD.out.
in_world() {
	rm -rf "$tmp/work"
	cp -r "$3" "$tmp/work"
	case $1 in
	native) set -- "$1" "$2" env ;;
	plain) set -- "$1" "$2" env "LD_PRELOAD=$BUILD/libmapcoalesce.so" ;;
	tiny) set -- "$1" "$2" env "LD_PRELOAD=$test_library" MAPCOALESCE_TINY=1 ;;
	esac
	in_world_name=$1
	in_world_battery=$2
	shift 2
	(cd "$tmp/work" && MAPCOALESCE_MODES=all MAPCOALESCE_STATS=$tmp/$in_world_name.stats \
		timeout -s KILL 60 "$@" sh "$in_world_battery" 2>&1) |
		sed -e 's/st[A-Za-z0-9]\{6\}/NAME/g' -e 's/total of [0-9]* bytes/total/' \
			>"$tmp/$in_world_name.out"
}

# compare NAME WORLD
compare() {
	if cmp -s "$tmp/native.out" "$tmp/$2.out"; then
		case_ok "$1, $2"
	else
		case_fail "$1, $2" "$(diff -U 40 "$tmp/native.out" "$tmp/$2.out" |
			grep -a -e '^.-- ' -e '^[-+]' | head -n 8)"
	fi
}

in_world native "$tmp/whole" "$tmp/inputs"
for w in plain tiny; do
	in_world $w "$tmp/whole" "$tmp/inputs"
	compare 'all tools' $w
done
for key in streams_mapped streams_combined; do
	check "tiny has $key" grep -q "\"$key\": *[1-9]" "$tmp/tiny.stats"
done

# damage HOW FILE PLACE: cut_off or change, at so many of all places.
damage() {
	size=$(($(wc -c <"$2")))
	at=$((size * $3 / places))
	if [ "$1" = cut_off ]; then
		truncate -s $at "$2"
		return
	fi
	at=$((at + ($3 * 7919 + 13) % 61))
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\$(printf %o $((($3 * 149 + 71) % 256)))" |
		dd of="$2" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
bad=0
for how in cut_off change; do
	place=0
	while [ $place -lt "$places" ]; do
		rm -rf "$tmp/bad"
		cp -r "$tmp/inputs" "$tmp/bad"
		for file in lib.a lib.so part3.o; do
			damage $how "$tmp/bad/$file" $place
		done
		in_world native "$tmp/damaged" "$tmp/bad"
		for w in plain tiny; do
			in_world $w "$tmp/damaged" "$tmp/bad"
			if ! cmp -s "$tmp/native.out" "$tmp/$w.out"; then
				compare "$how, place $place of $places" $w
				bad=$((bad + 1))
			fi
		done
		place=$((place + 1))
	done
done
check "damaged inputs, $places places" test $bad = 0

finish
