# Shell functions shared by the benchmarks and the demo. Sourced with these set:
#   root   the source tree
#   BUILD  the folder with mapfast and libmapcoalesce.so
#   out    where measurements go
#   work   where large temporary files go
# shellcheck shell=sh disable=SC2154

mapfast=$BUILD/mapfast
library=$BUILD/libmapcoalesce.so

# What is going on, to the person who waits.
say() {
	printf '%s\n' "$*" >&2
}

die() {
	say "$0: $*"
	exit 1
}

have() {
	command -v "$1" >/dev/null 2>&1
}

need_library() {
	if ! [ -x "$mapfast" ] || ! [ -e "$library" ]; then
		die "no mapfast and libmapcoalesce.so in $BUILD: run make first"
	fi
}

# CC may be a compiler with flags.
compiler=${CC:-cc}
compiler() {
	# shellcheck disable=SC2086
	$compiler "$@"
}

# helper NAME: compiles NAME.c, of tests/bench or of an example, to $work/NAME.
helper() {
	have "${compiler%% *}" || die "$1.c needs a C compiler (cc)"
	for helper_source in "$root/tests/bench/$1.c" "$root"/examples/*/"$1.c"; do
		[ ! -e "$helper_source" ] || break
	done
	compiler -std=gnu11 -O2 -pthread -o "$work/$1" "$helper_source" -lm ||
		die "$1.c does not compile"
}

# many_members COPIES: an archive of so many copies of a small object, $archive.
many_members() {
	archive=$work/manymembers.$1.a
	[ ! -e "$archive" ] || return 0
	say "writing an archive of $1 members"
	helper manymembers
	cat >"$work/member.c" <<'END'
char fAAAAAAAA[6000] = { 7 };
void gAAAAAAAA (void);
void gAAAAAAAA (void) { fAAAAAAAA[0]++; }
END
	compiler -O1 -fno-asynchronous-unwind-tables -c -o "$work/member.o" "$work/member.c"
	"$work/manymembers" "$1" "$work/member.o" "$archive.part"
	mv "$archive.part" "$archive"
}

# more_files: as many open files as the system allows, up to 20,000, so that a linker need not close
# and reopen.
# shellcheck disable=SC3045 # every sh on Linux knows -S, -H and -n
more_files() {
	for most in 20000 "$(ulimit -H -n)"; do
		ulimit -S -n "$most" 2>/dev/null && return
	done
	return 0
}

# as VARIANT COMMAND...: runs it natively, or under mapfast for any other variant.
as() {
	variant=$1
	shift
	[ "$variant" = native ] || set -- "$mapfast" "$@"
	"$@"
}

# under HOW VARIANT TSV COMMAND...: without the launcher, whose shell would take longer than a small
# command; env goes before either variant.
under() {
	how=$1 variant=$2 tsv=$3
	shift 3
	case $variant in
	native) "$how" "$variant" "$tsv" env "$@" ;;
	*) "$how" "$variant" "$tsv" env "LD_PRELOAD=$library" "$@" ;;
	esac
}

# turns ROUND VARIANT...: the variants, in their order or in the other: so that none of them always
# has the warmer machine.
turns() {
	odd=$(($1 % 2))
	shift
	order=
	for variant; do
		if [ "$odd" -eq 1 ]; then order="$order $variant"; else order="$variant $order"; fi
	done
	echo "$order"
}

# plain LABEL TSV COMMAND...: one run that is not measured.
plain() {
	shift 2
	"$@"
}

# timed LABEL TSV COMMAND...: one run, one row.
timed() {
	label=$1 tsv=$2
	shift 2
	"$work/peak" -l "$label" -o "$tsv" "$@"
}

# sampled LABEL TSV COMMAND...: one run that is watched for its mappings and memory; one row.
sampled() {
	label=$1 tsv=$2
	shift 2
	"$work/peak" -s -l "$label" -o "$tsv" "$@"
}

can_count() {
	have strace && strace -f -c -o /dev/null true 2>/dev/null
}

# calls OUTPUT COMMAND...: one run under strace; its counts go to OUTPUT, one "name count" a line.
calls() {
	counts=$1
	shift
	strace -f -c -o "$work/strace" "$@" >/dev/null || return
	awk '$1 ~ /^[0-9.]+$/ && $NF != "total" { print $NF, $4 }' "$work/strace" >"$counts"
}

# counted LABEL TSV COMMAND...: the same as a row of the calls that matter here.
counted() {
	label=$1 tsv=$2
	shift 2
	calls "$work/calls" "$@" || return
	if ! [ -s "$tsv" ]; then
		printf '%s\t%s_calls\t%s_calls\t%s_calls\t%s_calls\t%s_calls\t%s_calls\n' \
			variant mmap munmap read lseek write other >"$tsv"
	fi
	awk -v label="$label" '
		$1 == "mmap" { mmap += $2; next }
		$1 == "munmap" { munmap += $2; next }
		$1 ~ /^p?readv?(64)?2?$/ { read += $2; next }
		$1 == "lseek" { lseek += $2; next }
		$1 ~ /^p?writev?(64)?2?$/ { write += $2; next }
		{ other += $2 }
		END {
			printf "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", label, mmap, munmap, read, lseek,
				write, other
		}' "$work/calls" >>"$tsv"
}

# statistic KEY FILE: the sum of one number over the lines of a statistics file; 0 if there is none.
statistic() {
	awk -v key="\"$1\"" '
		(at = index($0, key)) {
			rest = substr($0, at + length(key))
			sub(/^[ \t]*:[ \t]*/, "", rest)
			sum += rest + 0
		}
		END { printf "%.0f\n", sum }' "$2" 2>/dev/null || echo 0
}

# table ORDER MEASURES FILE... (variables ci, inverse, plain as for table.awk)
table() {
	order=$1 measures=$2
	shift 2
	LC_ALL=C awk -v order="$order" -v measures="$measures" \
		-v ci="${ci:-0}" -v inverse="${inverse:-0}" -v plain="${plain:-0}" \
		-f "$root/tests/bench/stats.awk" -f "$root/tests/bench/table.awk" "$@"
}

# medians FORMAT VARIANTS MEASURES FILE...: variants below each other (medians.awk).
medians() {
	format=$1 variants=$2 measures=$3
	shift 3
	LC_ALL=C awk -v format="$format" -v variants="$variants" -v measures="$measures" \
		-f "$root/tests/bench/stats.awk" -f "$root/tests/bench/medians.awk" "$@"
}

# plot NAME TITLE: gnuplot's commands from the input; draws $out/NAME.svg. about says where figures come
# from, and the plot says so too. plot_height: 480 if not set.
plot() {
	have gnuplot || {
		say "no gnuplot here: no $1.svg"
		return 0
	}
	{
		cat <<END
set terminal svg size 860,${plot_height:-480} dynamic background 'white' font 'sans,13' name '$(echo "$1" | tr - _)'
set output '$out/$1.svg'
set datafile separator "\t"
set title "$2" noenhanced
set label 1 "$(about)" at screen 0.01,0.025 left font ',9' noenhanced
set bmargin 5
set key outside right top noenhanced
set grid ytics
END
		cat
	} | gnuplot
}

# bars NAME TITLE VARIANTS MEASURES FILE...: a plot of medians, one group of bars a variant.
bars() {
	name=$1 title=$2 data=$work/$1.data
	shift 2
	medians data "$@" >"$data"
	plot "$name" "$title" <<END
set style data histogram
set style histogram clustered gap 1
set style fill solid 0.8 noborder
set yrange [0:*]
set xtics noenhanced rotate by -15 nomirror
set bmargin 7
plot for [i=2:*] '$data' using i:xtic(1) title columnheader(i)
END
}

# same REFERENCE FILE: byte for byte.
same() {
	cmp "$1" "$2" >&2 || die "the outputs $1 and $2 differ"
}

# What a table shows, as far as its files have it.
# shellcheck disable=SC2034 # for those who source this
all_measures='mmap_calls=mmap calls|munmap_calls=munmap calls|read_calls=read calls|'\
'lseek_calls=lseek calls|write_calls=write calls|other_calls=other system calls|vmas_peak=mappings at the peak|'\
'minflt=minor page faults|majflt=major page faults|nivcsw=involuntary switches|'\
'own_peak_kb=memory that is no file'\''s at the peak, KB|maxrss_kb=memory at the peak, KB|user_s=user time, s|sys_s=system time, s|'\
'cpu_s=user and system time, s|wall_s=wall time, s'
