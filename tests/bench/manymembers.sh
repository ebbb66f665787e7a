# An archive of so many members that gold, mapping in pieces, runs out of mappings. Sourced by run.
# shellcheck shell=sh disable=SC2154

have ld.gold || {
	say "no ld.gold here (apt-get install binutils, or binutils-gold)"
	exit 77
}
copies=$(pick 150000 20000)
helper peak
many_members "$copies"
whole=$work/manymembers.whole
result=$work/manymembers.out

# merge HOW VARIANT TSV OUTPUT
merge() {
	how=$1 variant=$2 tsv=$3 output=$4
	rm -f "$output"
	set -- --no-map-whole-files -r --whole-archive "$archive" -o "$output"
	case $variant in
	whole) set -- ld.gold "$@" --map-whole-files ;;
	piecemeal) set -- ld.gold "$@" ;;
	coalesced) set -- "$mapfast" -o "$out/manymembers-stats.json" ld.gold "$@" ;;
	esac
	"$how" "$variant" "$tsv" "$@"
}

native='ends well, with the same bytes'
say "the reference"
merge plain whole - "$whole"
for how in timed sampled; do
	say "$how: whole files, in pieces, in pieces with the library"
	tsv=$out/manymembers-$how.tsv
	merge "$how" whole "$tsv" "$result"
	same "$whole" "$result"
	if merge "$how" piecemeal "$tsv" "$result" 2>"$work/manymembers.log"; then
		same "$whole" "$result"
	else
		native="fails: $(sed -n 's/^.*ld\.gold: //p' "$work/manymembers.log" | tail -n 1)"
	fi
	merge "$how" coalesced "$tsv" "$result" || die "gold fails with the library"
	same "$whole" "$result"
done
size=$(wc -c <"$archive")
rm -f "$whole" "$result"
[ "$copies" -lt 100000 ] || rm -f "$archive"

cat <<END
\`ld.gold -r --whole-archive\` on an archive of $copies members ($((size / 1000000)) MB), one timed
run each and one watched for its mappings; vm.max_map_count is $(cat /proc/sys/vm/max_map_count).
Natively in pieces (\`--no-map-whole-files\`) it $native.
With the library it writes the bytes that it writes natively with whole files.

END
table piecemeal,whole,coalesced "status=exit status|$all_measures" "$out/manymembers-timed.tsv" \
	"$out/manymembers-sampled.tsv"
