# The big link, from the members as separate files, in a response file. Sourced by run.
# shellcheck shell=sh disable=SC2154

# shellcheck source=/dev/null
. "$root/tests/bench/gold.sh"
more_files
unpack
say "$(wc -l <"$objects") object files"
compare_links goldobj "$(pick 3 2 5)" "@$objects"
