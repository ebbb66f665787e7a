# The static archives of this machine, for the examples that link. Sourced after lib.sh with `linker`, the
# linker and its options, set. Environment: DEMO_MEGABYTES, how much to link.
# shellcheck shell=sh disable=SC2154

megabytes=${DEMO_MEGABYTES:-110} # of archives
more_files

# Folders that may hold static archives: the compiler's own, the C library's, and larger packages'.
folders() {
	dirname "$(compiler -print-libgcc-file-name)"
	dirname "$(compiler -print-file-name=libc.a)"
	for folder in /usr/lib/"$(uname -m)"-linux-gnu /usr/lib64 /usr/lib /usr/local/lib \
		/usr/lib/llvm-*/lib; do
		[ ! -d "$folder" ] || echo "$folder"
	done
}

# sized NAME [TEST]...: such files of those folders, "size name", the largest first, each once.
sized() {
	pattern=$1
	folders | while read -r folder; do
		(cd "$folder" 2>/dev/null && pwd -P) || :
	done | sort -u | while read -r folder; do
		find "$folder" -maxdepth 1 -name "$pattern" -type f -exec stat -c '%s %n' {} + || :
	done | sort -k 1,1rn -k 2
}

# The archives to link, one a line: the toolchain's, then the largest others, up to $megabytes.
# libgcc.a and libgo.a are left out: gold does not mix their split-stack objects with others.
archives() {
	sized 'lib*.a' | awk -v most=$((megabytes * 1000000)) '
		{
			name = $2
			sub(/.*\//, "", name)
			if (name ~ /^lib(gcc|go)\.a$/ || $1 < 20000 || seen[name]++)
				next
			line[++n] = $2
			size[n] = $1
			first[n] = name ~ /^lib(stdc\+\+|supc\+\+|c|m|m-.*|[a-z]*san|gomp|gfortran)\.a$/
		}
		END {
			for (turn = 1; turn >= 0; turn--)
				for (i = 1; i <= n; i++)
					if (first[i] == turn && sum + size[i] <= most) {
						sum += size[i]
						print line[i]
					}
		}' | while read -r archive; do
		# libm.a may be a script for the linker.
		[ "$(dd if="$archive" bs=7 count=1 2>/dev/null)" != '!<arch>' ] || echo "$archive"
	done
}

# join OUTPUT INPUT...: one relocatable object of all, the way of linking that takes any object. The
# linker, $linker, may have an option.
join() {
	output=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	$linker -r -z muldefs -o "$output" --whole-archive "$@" 2>"$work/log"
}

# choose: fills $work/archives with those that the linker can put together; says which. False if there
# are none.
choose() {
	say "Looking for static archives to link"
	archives >"$work/archives"
	[ -s "$work/archives" ] || return 1
	tr '\n' ' ' <"$work/archives" >"$work/list"
	if ! join "$work/probe" "@$work/list"; then
		say "one of these archives is not for this linker: trying each"
		while read -r archive; do
			! join "$work/probe" "$archive" || echo "$archive"
		done <"$work/archives" >"$work/good"
		mv "$work/good" "$work/archives"
		tr '\n' ' ' <"$work/archives" >"$work/list"
		[ -s "$work/archives" ] && join "$work/probe" "@$work/list" || return 1
	fi
	rm -f "$work/probe"
	count=$(wc -l <"$work/archives")
	size=$(($(xargs cat <"$work/archives" | wc -c) / 1000000))
	some=$(sed -n '1,4s|.*/||p' "$work/archives" | tr '\n' ' ')
	say "Found $count archives, $size MB: ${some}..."
}
