#!/bin/sh
# limit: 200
# Signals: programs that set, ask, raise and suffer them print the same natively, preloaded, with the
# guard in place (and a signal, or a call that re-enters a hook, at each real call). Then runtimes
# that live on faults: the JVM, Python's faulthandler, the address sanitizer, Go.
. "$(dirname "$0")/../lib.sh"

t=$BUILD/tests
test_library=$t/libmapcoalesce-test.so

# guarded COMMAND...: with the guard in place from the start.
guarded() {
	env LD_PRELOAD="$test_library" MAPCOALESCE_TEST_GUARD=1 "$@"
}

# in_world WORLD COMMAND...: what it prints, and its status, go to $tmp/WORLD.out.
in_world() {
	world=$1
	shift
	rm -rf "$tmp/files"
	mkdir "$tmp/files"
	case $world in
	native) set -- env "$@" ;;
	plain) set -- env LD_PRELOAD="$BUILD/libmapcoalesce.so" "$@" ;;
	guard) set -- env LD_PRELOAD="$test_library" MAPCOALESCE_TEST_GUARD=1 "$@" ;;
	*) set -- env LD_PRELOAD="$test_library" MAPCOALESCE_TEST_GUARD=1 \
		MAPCOALESCE_WORLD="$world" "$@" ;;
	esac
	timeout -s KILL 30 "$@" >"$tmp/$world.out" 2>&1
	echo "status $?" >>"$tmp/$world.out"
}

scenario() {
	name=$1
	shift
	in_world native "$@"
	for w in plain guard signal reenter; do
		in_world $w "$@"
		if cmp -s "$tmp/native.out" "$tmp/$w.out"; then
			case_ok "$name, $w"
		else
			case_fail "$name, $w" "$(diff "$tmp/native.out" "$tmp/$w.out" | head -n 5)"
		fi
	done
}

# SIGBUS is bit 6 of the caught ones, SIGSEGV bit 10.
caught=$(guarded sed -n 's/^SigCgt:[^0-9a-f]*//p' /proc/self/status)
check "the guard is in place: $caught" test "$((0x$caught & 0x440))" = "$((0x440))"
caught=$(preload sed -n 's/^SigCgt:[^0-9a-f]*//p' /proc/self/status)
check "the shipped library waits: $caught" test "$((0x$caught & 0x440))" = 0

for seed in 1 3 4 7 12 6; do
	scenario "actions, seed $seed" "$t/sig_actions" $seed 300
done
scenario 'faults' "$t/sig_faults" "$tmp/files"
scenario 'deaths' "$t/sig_deaths" "$tmp/files"
scenario 'jumps and waits' "$t/sig_jumps"
scenario 'starting programs' "$t/sig_exec"

# same NAME COMMAND...: natively and guarded; process numbers and addresses left out.
same() {
	same_name=$1
	shift
	timeout -s KILL 60 "$@" >"$tmp/native.raw" 2>&1
	echo "status $?" >>"$tmp/native.raw"
	guarded timeout -s KILL 60 "$@" >"$tmp/guard.raw" 2>&1
	echo "status $?" >>"$tmp/guard.raw"
	for same_file in native guard; do
		sed -e 's/0x[0-9a-f]*/ADDRESS/g' -e 's/==[0-9]*==/==PID==/' -e 's/[Tt]hread [^ ]*/thread/' \
			"$tmp/$same_file.raw" >"$tmp/$same_file.out"
	done
	if cmp -s "$tmp/native.out" "$tmp/guard.out"; then
		case_ok "$same_name"
	else
		case_fail "$same_name" "$(diff "$tmp/native.out" "$tmp/guard.out" | head -n 6)"
	fi
}

if command -v python3 >/dev/null; then
	# shellcheck disable=SC2086 # words
	for death in _sigsegv _read_null _stack_overflow _sigfpe _sigabrt; do
		same "python faulthandler.$death" \
			python3 -X faulthandler -c "import faulthandler; faulthandler.$death()"
	done
	same 'python, faulthandler and a signal' python3 -X faulthandler -c \
		'import os, signal; os.kill(os.getpid(), signal.SIGBUS)'
	same 'python, faulthandler that chains' python3 -c '
import faulthandler, signal
signal.signal(signal.SIGSEGV, lambda number, frame: print("seen", number, flush=True))
signal.raise_signal(signal.SIGSEGV)
print(signal.getsignal(signal.SIGSEGV) is not signal.SIG_DFL)'
else
	case_skip 'python faulthandler' 'no python3 here'
fi

if command -v java >/dev/null && java -version >/dev/null 2>&1; then
	same 'java -version' java -Xshare:auto -version
	cat >"$tmp/Nulls.java" <<-'JAVA'
	public class Nulls {
		int value = 1;
		static Nulls any(int i) { return i % 1000 == 0 ? null : new Nulls(); }
		public static void main(String[] arguments) {
			long sum = 0, nulls = 0;
			for (int i = 0; i < 2000000; i++) {
				try { sum += any(i).value; } catch (NullPointerException e) { nulls++; }
			}
			System.out.println(sum + " " + nulls);
			try { deep(0); } catch (StackOverflowError e) { System.out.println("deep enough"); }
		}
		static int deep(int n) { return 1 + deep(n + 1); }
	}
	JAVA
	if command -v javac >/dev/null && (cd "$tmp" && javac Nulls.java) >/dev/null 2>&1; then
		same 'java, null pointers and a stack overflow' java -Xcheck:jni -cp "$tmp" Nulls
	else
		case_skip 'java, null pointers' 'no javac here'
	fi
else
	case_skip 'java' 'no java here'
fi

# The sanitizer's library must come first, and so does.
asan=$($CC -print-file-name=libasan.so)
cat >"$tmp/asan.c" <<'EOF_C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *volatile p = malloc(8);
	printf("%d\n", argc);
	fflush(stdout);
	if (argc > 2)
		*(volatile char *)(argc * 16) = 1;
	free(p);
	return p[argc > 1 ? 1 : 0] == argv[0][0] && argc > 7;
}
EOF_C
# shellcheck disable=SC2086 # CC may hold flags
if [ -e "$asan" ] && $CC -g -fsanitize=address -w -o "$tmp/asan" "$tmp/asan.c" 2>/dev/null; then
	for arguments in '' 'a b'; do
		# shellcheck disable=SC2086 # words
		same "address sanitizer, ${arguments:-no fault}" \
			env LD_PRELOAD="$asan:$test_library" ASAN_OPTIONS=detect_leaks=0 \
			setarch -R "$tmp/asan" $arguments
	done
else
	case_skip 'address sanitizer' 'not with this compiler'
fi

cat >"$tmp/fault.go" <<'EOF_GO'
package main

// #include <stdlib.h>
import "C"
import "fmt"

func main() {
	defer func() { fmt.Println("recovered:", recover()) }()
	C.free(C.malloc(8))
	var p *int
	*p = 1
}
EOF_GO
if command -v go >/dev/null && (cd "$tmp" && go build -o fault fault.go) >/dev/null 2>&1; then
	same 'go' "$tmp/fault"
else
	case_skip 'go' 'no go here'
fi
finish
