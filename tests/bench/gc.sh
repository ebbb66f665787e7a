# A garbage collector that maps its heap page by page, and cc1plus. Sourced by run.
# shellcheck shell=sh disable=SC2154

. "$root/examples/gc/heaps.sh"
helper gc
helper peak
if $quick; then
	measure_heaps 1 5,1 5,32 cc1plus
else
	measure_heaps "$(pick 1 1 5)" 25,1 25,32 200,1 200,32 400,1 400,32 cc1plus
fi
echo "Natively and with the library (\`-m +anon\`); medians, ratios with their range. What is computed is the same."
show_heaps markdown
