# Small reads: by themselves, in programs that make many, and in programs that make none. Sourced by
# run.
# shellcheck shell=sh disable=SC2154

helper readone
helper peak
rounds=$(pick 3 2 7)
file=$work/reads-file
head -c $((64 << 20)) /dev/urandom >"$file"
cat "$file" >/dev/null
tsv=$out/reads.tsv

# under VARIANT COMMAND...: without the launcher, whose shell would take longer than some of these.
under() {
	if [ "$1" = native ]; then
		shift
		env "$@"
	else
		shift
		env "LD_PRELOAD=$library" "$@"
	fi
}

# row HOW SIZE TIMES
row() {
	say "$1, $2 bytes"
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		for variant in native coalesced; do
			under $variant "$work/readone" -m "$1" -l $variant -s $round -n "$3" "$2" "$file"
		done
		"$work/readone" -m copy -l native -s $round -n "$3" "$2" "$file"
	done >>"$tsv"
}

: >"$tsv"
for size in 16 64 512 4096; do
	row pread $size "$(pick 500000 50000)"
done
row pread 16384 "$(pick 100000 10000)"
row pread 65536 "$(pick 50000 5000)"
row pread 1048576 "$(pick 3000 300)"
row read 64 "$(pick 500000 50000)"
row read 4096 "$(pick 500000 50000)"
rm -f "$file"
cat <<END
At random places of a cached 64 MiB file, one process; $rounds rounds, medians.

END
LC_ALL=C awk -f "$root/tests/bench/stats.awk" -f "$root/tests/bench/reads.awk" "$tsv"

# program NAME COMMAND...: in turn, the outputs compared; counts if there is an strace.
names=
program() {
	name=$1
	shift
	say "$name"
	"$@" >"$work/reads.expected" || die "$name fails"
	round=0
	while [ $round -lt "$program_rounds" ]; do
		round=$((round + 1))
		turns='native coalesced'
		[ $((round % 2)) -eq 0 ] || turns='coalesced native'
		for variant in $turns; do
			under "$variant" "$work/peak" -l "$variant" -o "$out/reads-$name.tsv" "$@" >"$work/reads.out"
			same "$work/reads.expected" "$work/reads.out"
		done
	done
	if can_count; then
		calls "$work/reads.native" "$@"
		calls "$work/reads.coalesced" env "LD_PRELOAD=$library" "$@"
		sed 's/^/native /' "$work/reads.native" >"$out/reads-$name.calls"
		sed 's/^/coalesced /' "$work/reads.coalesced" >>"$out/reads-$name.calls"
	fi
	names="$names $name"
}

# show_programs MEASURE TITLE
show_programs() {
	measure=$1
	printf '\n| %s | native, s | with the library, s | ratio | 95 %% | reads and seeks | with the library |\n' "$2"
	echo '|---|---:|---:|---:|---:|---:|---:|'
	for name in $names; do
		set -- "$out/reads-$name.tsv"
		[ ! -e "$out/reads-$name.calls" ] || set -- "$@" "$out/reads-$name.calls"
		LC_ALL=C awk -v name="$name" -v measure="$measure" -f "$root/tests/bench/stats.awk" -f - "$@" <<'EOT'
FILENAME ~ /calls$/ {
	if ($2 ~ /^(p?readv?(64)?2?|lseek)$/)
		io[$1] += $3
	next
}
FNR == 1 {
	for (i = 1; i <= NF; i++)
		if ($i == measure)
			column = i
	next
}
{ x[$1, ++n[$1]] = $column }
END {
	for (i = 1; i <= n["native"]; i++) {
		native[i] = x["native", i]
		ours[i] = x["coalesced", i]
		ratio[i] = ours[i] / native[i]
	}
	k = n["native"]
	m = mean(ratio, k)
	half = margin(ratio, k)
	sort(native, k)
	sort(ours, k)
	printf "| %s | %s | %s | %.4f | ± %.4f | %s | %s |\n", name, show(median(native, k)),
		show(median(ours, k)), m, half, show(io["native"]), show(io["coalesced"])
}
EOT
	done
}

program_rounds=$(pick 5 2 11)
if have sqlite3; then
	rm -f "$work/reads.db"
	rows=$(pick 150000 20000)
	sqlite3 "$work/reads.db" "create table t(id integer primary key, a text, b int);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < $rows)
		insert into t select i, printf('row %d of many, %d, and some more text to fill it up', i, i * 7919),
		i % 97 from n;"
	program sqlite3 sqlite3 "$work/reads.db" "with recursive n(i, x) as (select 1, 1 union all
		select i + 1, (x * 7919 + 13) % $rows + 1 from n where i < $(pick 30000 3000))
		select sum(length(t.a)) from n join t on t.id = n.x;"
fi
if have h5dump && have h5import; then
	rm -f "$work/reads.h5"
	echo '1 2 3 4' >"$work/reads.numbers"
	group=0
	while [ $group -lt "$(pick 2000 200)" ]; do
		set --
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			group=$((group + 1))
			printf '%s\n' "PATH g$group/d" 'INPUT-CLASS TEXTIN' 'RANK 1' 'DIMENSION-SIZES 4' \
				>"$work/reads.dataset$i"
			set -- "$@" "$work/reads.numbers" -c "$work/reads.dataset$i"
		done
		h5import "$@" -o "$work/reads.h5" >&2
	done
	program h5dump h5dump "$work/reads.h5"
fi
if have samtools; then
	LC_ALL=C awk -v parts="$(pick 4000 400)" -v regions="$work/reads.regions" 'BEGIN {
		for (i = 0; i < parts; i++) {
			print ">part" i
			for (k = 0; k < 50; k++)
				print substr("ACGTTGCAACCGGTTAACGTGCATTACGGCTAACGTTGCAACCGGTTAACGTGCATTACG", k % 7 + 1, 50)
		}
		for (i = 0; i < 5000; i++)
			printf "part%d:%d-%d\n", i * 7919 % parts, i % 900 + 1, i % 900 + 120 >regions
	}' >"$work/reads.fa"
	samtools faidx "$work/reads.fa"
	program samtools samtools faidx -r "$work/reads.regions" "$work/reads.fa"
fi
if have perl; then
	awk -v n="$(pick 300000 30000)" 'BEGIN { for (; i < n; i++) print "line", i, i * 7919 }' >"$work/reads.txt"
	# shellcheck disable=SC2016 # perl's variables
	program perl perl -e 'open my $f, "<", $ARGV[0] or die; my $n = 0;
		while (<$f>) { my $at = tell $f; seek $f, $at, 0; $n += length }
		print "$n\n"' "$work/reads.txt"
fi
mib=$(pick 200 20)
head -c $((mib << 20)) /dev/urandom | od -An -v -tx1 -w32 | head -c $((mib << 20)) >"$work/reads.a"
cp "$work/reads.a" "$work/reads.b"
program cmp cmp "$work/reads.a" "$work/reads.b"
cat <<END

Programs that make many small reads: \`sqlite3\` with random look-ups by rowid, \`h5dump\` of small datasets, \`perl\` with tell and
seek after each line, \`cmp\` of two $mib MB files; $program_rounds pairs of runs, outputs compared.
END
show_programs wall_s 'wall time'

names=
program_rounds=$(pick 7 2 21)
program cat cat "$work/reads.a"
program grep grep -c 77 "$work/reads.a"
program md5sum md5sum "$work/reads.a"
program wc wc -l "$work/reads.a"
head -c $((mib << 18)) "$work/reads.a" >"$work/reads.b"
program sort sort "$work/reads.b"
! have python3 || program python3 python3 -c 'import json, re, os, sys, socket, decimal, email, http.client, argparse, csv'
if have git && git -C "$root" rev-parse HEAD >/dev/null 2>&1; then
	program git-log git -C "$root" log -p -n 100
	program git-status git -C "$root" status --short
fi
cat <<END

Programs with nothing to gain; processor time, $program_rounds pairs of runs.
END
show_programs cpu_s 'processor time'
rm -f "$work"/reads.*
