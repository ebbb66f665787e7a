# The cases of `maps`, run natively and under mapfast; for the example and the benchmark. Sourced after
# lib.sh, with maps compiled to $work/maps.
# shellcheck shell=sh disable=SC2154

cases='up same down each same-each anonymous anonymous-second'

# options CASE: of maps; FILE stands for the file.
options() {
	case $1 in
	up | down | same) echo "-p $1 FILE" ;;
	each) echo '-u each FILE' ;;
	same-each) echo '-p same -u each FILE' ;;
	anonymous) ;;
	anonymous-second) echo '-u second' ;;
	esac
}

# title CASE
title() {
	case $1 in
	up) echo 'pages of a file, ascending' ;;
	down) echo 'pages of a file, descending' ;;
	same) echo 'one page of a file again and again' ;;
	each) echo 'pages of a file, each unmapped at once' ;;
	same-each) echo 'one page, each time unmapped at once' ;;
	anonymous) echo 'anonymous pages' ;;
	anonymous-second) echo 'anonymous pages, then every second unmapped' ;;
	esac
}

# measure_cases TIMES FEWER FILE TSV...: rows of all cases go to TSV-CASE.tsv. FEWER is enough where the
# time does not change, or anonymous memory is made.
measure_cases() {
	most=$1 fewer=$2 file=$3 tsv=$4
	for case in $cases; do
		case $case in
		*each | anonymous*) times=$fewer ;;
		*) times=$most ;;
		esac
		say "$times times: $(title "$case")"
		printf 'variant\tcalls\tms\tmappings\tfailed\n' >"$tsv-$case.tsv"
		for variant in native coalesced; do
			# shellcheck disable=SC2046 # several words
			set -- "$work/maps" -n "$times" -l "$variant" $(options "$case" | sed "s|FILE|$file|")
			[ "$variant" = native ] || set -- "$mapfast" -m +anon "$@"
			# It may run out of mappings, and its rows say so.
			"$@" >>"$tsv-$case.tsv" 2>/dev/null || :
		done
	done
}

# show_cases FORMAT TSV: their table, FORMAT as for cases.awk.
show_cases() {
	format=$1 tsv=$2
	set --
	for case in $cases; do
		set -- "$@" "title=$(title "$case")" "$tsv-$case.tsv"
	done
	awk -v format="$format" -f "$root/tests/bench/stats.awk" -f "$root/examples/maps/cases.awk" "$@"
}
