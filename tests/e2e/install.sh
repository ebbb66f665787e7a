#!/bin/sh
# limit: 150
# make install and uninstall, of both word sizes, and what is installed: the launcher, completion.
. "$(dirname "$0")/../lib.sh"
programs make nm
tree=$tmp/tree
mkdir "$tree" && cp -a "$root/Makefile" "$root/preload" "$root/tests" "$tree" &&
	cp -a "$BUILD" "$tree/build" && rm -rf "$tree/build/i386" || exit 1

# shellcheck disable=SC2317 # called by check
installs() {
	make -s -C "$tree" CC="${CC%% *}" BUILD=build PREFIX="$tmp/a/prefix" "$@" >"$tmp/said" 2>&1 || {
		cat "$tmp/said"
		return 1
	}
}
# All that there is, as names below a directory.
listing() (
	cd "$1" && find . | LC_ALL=C sort
)
completes() {
	bash --norc -c '. /usr/share/bash-completion/bash_completion; . "$0"
		COMP_LINE=$1 COMP_POINT=${#1} COMP_CWORD=$2; shift 2; COMP_WORDS=("$@")
		compopt() { :; }
		_mapfast; printf "%s " "${COMPREPLY[@]}"' \
		"$tmp/a/prefix/share/bash-completion/completions/mapfast" "$@"
}

check 'install' installs install
launcher=$tmp/a/prefix/bin/mapfast
library=$(find "$tmp/a/prefix/lib" -name libmapcoalesce.so)
# shellcheck disable=SC2016 # for that shell
check '  the launcher finds the library' [ "$("$launcher" sh -c 'echo $LD_PRELOAD')" = "$library" ]
"$launcher" --version >"$tmp/said"
check '  --version names it' grep -qx "library: $library" "$tmp/said"
check '  and the glibc it needs' grep -qE '^glibc: [0-9.]+ or newer' "$tmp/said"
check '  and machines' grep -qE '^installed for: [a-z0-9_]+$' "$tmp/said"
check '  --compare finds its helper' "$launcher" --compare=1 true 2>/dev/null
check '  again' installs install
check '  uninstall' installs uninstall
check '  nothing is left' [ ! -e "$tmp/a" ]

# What stood there before stays, empty or not.
mkdir -p "$tmp/a/prefix/share/man/man1" "$tmp/a/prefix/bin"
listing "$tmp/a" >"$tmp/before"
check 'install into what is there' installs install
check '  uninstall' installs uninstall
listing "$tmp/a" >"$tmp/after"
check '  what was there stays' diff "$tmp/before" "$tmp/after"
check 'below DESTDIR' installs DESTDIR="$tmp/stage" install
check '  it is there' [ -x "$tmp/stage$launcher" ]
check '  uninstall' installs DESTDIR="$tmp/stage" uninstall
check '  nothing is left' [ ! -e "$tmp/stage" ]

# Both word sizes: ld.so chooses. 32-bit programs need a second C library.
echo 'int main(void) { return 0; }' >"$tmp/empty.c"
if [ -n "$(${CC%% *} -print-multiarch 2>/dev/null)" ] && [ "$(uname -m)" = x86_64 ] &&
	gcc -m32 -o "$tmp/empty32" "$tmp/empty.c" 2>/dev/null; then
	check 'for 32-bit programs' installs ARCH=i386 BUILD=build/i386 CFLAGS=-O0 build/i386/libmapcoalesce.so
	check '  install' installs install
	check '  --version' [ "$("$launcher" --version | grep -c 'the other word size (')" = 1 ]
	"$launcher" -o "$tmp/stats" true 2>"$tmp/said"
	check '  a 64-bit program is served, without a word' \
		[ "$(grep -c '"program"' "$tmp/stats") $(wc -c <"$tmp/said")" = '1 0' ]
	if "$tmp/empty32" 2>/dev/null; then
		"$launcher" -o "$tmp/stats" "$tmp/empty32" 2>"$tmp/said"
		check '  and a 32-bit one' \
			[ "$(grep -c '"program"' "$tmp/stats") $(wc -c <"$tmp/said")" = '2 0' ]
	else
		case_skip '  and a 32-bit one' 'this kernel runs none'
	fi
else
	case_skip 'for 32-bit programs' 'no gcc -m32'
	check 'install' installs install
fi

# Completion.
sed -n 's/^  *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' "$root/preload/mapfast.in" >"$tmp/options"
check 'there are options' [ "$(wc -l <"$tmp/options")" -gt 10 ]
while read -r option; do
	grep -q -- "$option" "$root/preload/completion/mapfast" || case_fail "bash: $option" 'not completed'
	grep -q -- "$option" "$root/preload/completion/_mapfast" || case_fail "zsh: $option" 'not completed'
done <"$tmp/options"
if [ -e /usr/share/bash-completion/bash_completion ]; then
	check 'bash: an option' [ "$(completes 'mapfast --dr' 1 mapfast --dr)" = '--dry-run ' ]
	check '  a mode' [ "$(completes 'mapfast -m mm' 2 mapfast -m mm)" = 'mmap ' ]
	check '  a further mode' [ "$(completes 'mapfast -m mmap,-st' 2 mapfast -m mmap,-st)" = 'mmap,-stdio ' ]
	touch "$tmp/some-file"
	check '  a file' [ "$(completes "mapfast -o $tmp/some-" 2 mapfast -o "$tmp/some-")" = "$tmp/some-file " ]
	check '  a COMMAND' [ "$(completes 'mapfast -s dpkg-quer' 2 mapfast -s dpkg-quer | cut -d ' ' -f 1)" = dpkg-query ]
else
	case_skip 'bash completion' 'no bash-completion'
fi
if command -v zsh >/dev/null; then
	check 'zsh: well-formed' zsh -n "$root/preload/completion/_mapfast"
else
	case_skip 'zsh completion' 'no zsh'
fi
check 'uninstall' installs uninstall
listing "$tmp/a" >"$tmp/after"
check '  all of it' diff "$tmp/before" "$tmp/after"
finish
