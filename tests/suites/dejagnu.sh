# shellcheck shell=sh
# For the suites of binutils: their tests out of Debian's binutils-source, against the tools that are
# installed. Sourced after lib.sh.

source_archive=
for archive in /usr/src/binutils/binutils-*.tar.xz; do
	[ ! -e "$archive" ] || source_archive=$archive
done
[ -n "$source_archive" ] || lacks 'no /usr/src/binutils (apt-get install binutils-source)'
command -v runtest >/dev/null || lacks 'no runtest (apt-get install dejagnu)'

say 'unpacking the tests'
tar xf "$source_archive" --strip-components=1 --wildcards '*/binutils/testsuite' '*/gas/testsuite' \
	'*/ld/testsuite' '*/config' '*/include'

# dejagnu RUNNER TOOL FOLDER [TCL]: runs the tool's tests, by `env` natively or by `preloaded`. The results
# are in ./FOLDER.list.
dejagnu() {
	mkdir -p "$3"
	cat >"$3/site.exp" <<END
set development false
set experimental false
set enable_libctf yes
set host_triplet $(gcc -dumpmachine | sed 's/-linux/-pc-linux/')
set build_triplet \$host_triplet
set target_triplet \$host_triplet
set target_alias $(gcc -dumpmachine)
${4:-}
END
	rm -f stats.json
	runner=$1 tool=$2 folder=$3 top=$PWD
	(cd "$folder" && $runner runtest --tool "$tool" --srcdir "$top/$tool/testsuite") >"$folder.output" 2>&1 </dev/null
	# Names may hold the folder.
	grep -E '^(PASS|FAIL|XPASS|XFAIL|KPASS|KFAIL|UNRESOLVED|UNTESTED|UNSUPPORTED|ERROR|WARNING): ' \
		"$3/$2.sum" | sed "s|$PWD/$3/||g; s|$3/||g" >"$3.list"
	[ -s "$3.list" ] || tail -n 5 "$3.output" >&2
}

# both PART TOOL [TCL]
both() {
	say "$1: natively"
	dejagnu env "$2" "$1-native" "${3:-}"
	say "$1: with the library"
	dejagnu preloaded "$2" "$1-ours" "${3:-}"
	results "$1-native.list" "$1-ours.list" "$1" again_natively "$1" "$2" "${3:-}"
}

again_natively() {
	dejagnu env "$2" "$1-again" "$3"
	mv "$1-again.list" again
}
