# The big link, from archives. Sourced by run.
# shellcheck shell=sh disable=SC2154

# shellcheck source=/dev/null
. "$root/tests/bench/gold.sh"
# shellcheck disable=SC2046 # no such name holds a space
compare_links goldbig "$(pick 3 2 5)" $(archives)
