# The big link, from the members as separate files, in a response file. Sourced by run.
# shellcheck shell=sh disable=SC2154

# shellcheck source=/dev/null
. "$root/tests/bench/gold.sh"
more_files
members=$work/members$(pick '' -quick)
if [ ! -e "$members/list" ]; then
	say "unpacking the archives"
	rm -rf "$members"
	archives | while read -r archive; do
		folder=$members/$(basename "$archive" .a)
		mkdir -p "$folder"
		(cd "$folder" && ar x "$archive")
	done
	find "$members" -name '*.o' | LC_ALL=C sort >"$members/list.part"
	mv "$members/list.part" "$members/list"
fi
say "$(wc -l <"$members/list") object files"
compare_links goldobj "$(pick 5 2)" "@$members/list"
