#!/bin/sh
# limit: 120
# examples/integration: each of its ways puts the library into the linker, and links the same.
. "$(dirname "$0")/../lib.sh"
programs gcc make
PATH=$BUILD:$PATH
examples=$root/examples/integration
MAPCOALESCE_STATS=$tmp/stats
export PATH MAPCOALESCE_STATS
mkdir "$tmp/src" "$tmp/home" && cd "$tmp/src" || exit 1
HOME=$tmp/home
export HOME
echo 'int twice(int n) { return 2 * n; }' >twice.c
echo 'int twice(int); int main(void) { return twice(21) - 42; }' >main.c

# linked PROGRAM: it runs, and a linker was under the library; begins anew.
# shellcheck disable=SC2317 # called by check
linked() {
	"$1" && grep -q '"program":"[a-z0-9_-]*ld[.a-z]*"' "$tmp/stats"
}
# try NAME PROGRAM COMMAND...
try() {
	try_name=$1 try_program=$2
	shift 2
	rm -f "$tmp/stats"
	: >"$tmp/said"
	if "$@" >"$tmp/said" 2>&1; then
		check "$try_name" linked "$try_program"
	else
		case_fail "$try_name" "exit status $?: $(cat "$tmp/said")"
	fi
}

gcc -c main.c twice.c || exit 1
try 'gcc -wrapper' ./a gcc -wrapper "mapfast,-p,ld*" -o a main.c twice.c
check '  in the linker only' [ "$(grep -vc '"program":"ld' "$tmp/stats")" = 0 ]
try 'gcc -B' ./b gcc "-B$examples/" -o b main.o twice.o
check '  the same bytes' same_bytes a b
if command -v ld.gold >/dev/null; then
	try 'gcc -B, gold' ./c gcc "-B$examples/" -fuse-ld=gold -o c main.o twice.o
fi

printf 'm: main.o twice.o\n\tgcc -o $@ main.o twice.o\n' >Makefile
try 'GNU make' ./m mapfast -p 'ld*' make m
# shellcheck disable=SC2016 # for make
printf 'LINK.o = mapfast $(CC) $(LDFLAGS)\nmain: main.o twice.o\n' >Makefile
try '  one rule' ./main make main

if command -v ninja >/dev/null; then
	# shellcheck disable=SC2016 # for ninja
	printf 'rule link\n  command = mapfast gcc $in -o $out\nbuild n: link main.o twice.o\n' >build.ninja
	try 'ninja' ./n ninja
	rm n
	sed -i 's/mapfast //' build.ninja
	try '  all of it' ./n mapfast -p 'ld*' ninja
else
	case_skip 'ninja' 'not here'
fi

printf 'cmake_minimum_required(VERSION 3.21)\nproject(p C)\nadd_executable(p main.c twice.c)\n' >CMakeLists.txt
# shellcheck disable=SC2317 # called by try
cmake_build() {
	cmake -S . -B "$@" && cmake --build "$1"
}
if command -v cmake >/dev/null; then
	try 'CMake' ./cm/p cmake_build cm -DCMAKE_C_LINKER_LAUNCHER=mapfast
	if command -v ccache >/dev/null; then
		try '  with ccache' ./cc/p cmake_build cc -DCMAKE_C_LINKER_LAUNCHER=mapfast \
			-DCMAKE_C_COMPILER_LAUNCHER=ccache
	fi
	if command -v ninja >/dev/null; then
		try '  with ninja' ./cn/p cmake_build cn -G Ninja -DCMAKE_C_LINKER_LAUNCHER=mapfast
	fi
else
	case_skip 'CMake' 'not here'
fi

printf "project('p', 'c')\nexecutable('p', 'main.c', 'twice.c')\n" >meson.build
# shellcheck disable=SC2317 # called by try
meson_build() {
	CC='mapfast gcc' meson setup me && ninja -C me
}
if command -v meson >/dev/null && command -v ninja >/dev/null; then
	try 'Meson' ./me/p meson_build
else
	case_skip 'Meson' 'not here'
fi

# What cannot be run here is at least well-formed.
if command -v systemd-analyze >/dev/null; then
	sed "s|/usr/local/bin/mapfast|$BUILD/mapfast|" "$examples/worker.service" >"$tmp/worker.service"
	check 'a systemd unit' systemd-analyze verify --man=no "$tmp/worker.service"
else
	case_skip 'a systemd unit' 'no systemd-analyze'
fi
# What the unit and Bazel do: a clean environment with two variables.
rm -f "$tmp/stats"
env -i PATH="$PATH" MAPCOALESCE_STATS="$tmp/stats" LD_PRELOAD="$BUILD/libmapcoalesce.so" \
	MAPCOALESCE_PROGRAMS='ld*' gcc -o e main.o twice.o
check 'variables only, as for Bazel' linked ./e
check '  the same bytes' same_bytes a e
if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
	check 'a Dockerfile' docker build -q -f "$examples/Dockerfile" "$root"
else
	case_skip 'a Dockerfile' 'no docker'
fi
if command -v bazel >/dev/null; then
	echo 'cc_binary(name = "p", srcs = ["main.c", "twice.c"])' >BUILD
	: >WORKSPACE
	try 'Bazel' ./bazel-bin/p bazel build --action_env=LD_PRELOAD="$BUILD/libmapcoalesce.so" \
		--action_env=MAPCOALESCE_STATS="$tmp/stats" --spawn_strategy=local //:p
else
	case_skip 'Bazel' 'not here'
fi
finish
