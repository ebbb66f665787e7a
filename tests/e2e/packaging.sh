#!/bin/sh
# limit: 200
# examples/packaging: dpkg-buildpackage builds it from a copy of the tree, and what the package holds
# is at work.
. "$(dirname "$0")/../lib.sh"
programs dpkg-buildpackage dh dpkg-deb
source=$tmp/mapfast-0.1.0
mkdir "$source" && (cd "$root" && cp -a COPYING Makefile README.md preload tests "$source") &&
	cp -r "$root/examples/packaging/debian" "$source" || exit 1

# shellcheck disable=SC2317 # called by check
build() (
	unset CC CFLAGS ARCH BUILD MAKEFLAGS MFLAGS MAKELEVEL
	cd "$source" || exit
	if ! DEB_BUILD_OPTIONS='noopt parallel=2' dpkg-buildpackage -us -uc -d >"$tmp/log" 2>&1; then
		tail -n 30 "$tmp/log"
		exit 1
	fi
)
check 'dpkg-buildpackage' build
check '  a source package' [ -s "$tmp/mapfast_0.1.0.dsc" ]
deb=$(find "$tmp" -maxdepth 1 -name 'mapfast_0.1.0_*.deb')
check '  a package' dpkg-deb -x "$deb" "$tmp/root"
library=$(find "$tmp/root/usr/lib" -name libmapcoalesce.so)
check '  its library' [ -n "$library" ]
check '  and no list of directories' [ ! -e "$tmp/root/usr/libexec/mapfast/directories" ]
for file in bin/mapfast libexec/mapfast/mapfast-compare share/man/man1/mapfast.1.gz \
	share/man/man7/libmapcoalesce.7.gz share/bash-completion/completions/mapfast \
	share/zsh/vendor-completions/_mapfast; do
	check "  $file" [ -s "$tmp/root/usr/$file" ]
done
check '  the launcher looks where it will be' \
	grep -q "'${library#"$tmp/root"}'" "$tmp/root/usr/bin/mapfast"
env LD_PRELOAD="$library" MAPCOALESCE_STATS="$tmp/stats" true
check '  it is at work' grep -q '"program":"true"' "$tmp/stats"
dpkg-deb -f "$deb" Depends >"$tmp/depends"
check '  it asks for libc' grep -q 'libc6 (>=' "$tmp/depends"
finish
