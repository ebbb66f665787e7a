# Programs that gain little or nothing: none may be slower (tests/works.sh). Sourced by run.
# shellcheck shell=sh disable=SC2154

. "$root/tests/works.sh"
helper peak
make -s -C "$root" BUILD="$BUILD" test-programs >&2
rounds=$(pick 4 3 40)
size=$(pick 4 1)

printf '%s\n\n' "Natively and with the library in LD_PRELOAD, $rounds pairs of runs each, in turn; mean ratios with
their 95 % confidence interval. What they print and make is the same."

for work_name in $works; do
	if lack=$(work_lacks "$work_name"); then
		say "$work_name: $lack here"
		continue
	fi
	say "$work_name"
	folder=$work/real.$work_name
	rm -rf "$folder" "$out/real-$work_name.tsv"
	mkdir "$folder"
	(
		cd "$folder" || exit
		work_make "$work_name" "$size" >&2
		round=0
		while [ $round -lt "$rounds" ]; do
			round=$((round + 1))
			# Which goes first changes, so that neither always has the warmer machine.
			turns='native coalesced'
			[ $((round % 2)) -eq 0 ] || turns='coalesced native'
			for variant in $turns; do
				preloaded=
				[ "$variant" = native ] || preloaded=$library
				work_run "$work_name" "$work/peak" -l "$variant" \
					-o "$out/real-$work_name.tsv" env LD_PRELOAD="$preloaded"
				mv text "$variant.text"
			done
			same native.text coalesced.text
		done
	)
	printf '### %s\n\n' "$work_name"
	ci=1 table native,coalesced 'minflt=minor page faults|cpu_s=user and system time, s|wall_s=wall time, s' \
		"$out/real-$work_name.tsv"
	echo
	rm -rf "$folder"
done
