#!/bin/sh
# The tests of ld: with GNU ld, with gold, and with gold that maps files in pieces.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dejagnu.sh"

both ld.bfd ld
floor ld.bfd "$(($(summed streams_mapped ld) + $(summed streams_combined ld)))" 'stream served'
if command -v ld.gold >/dev/null; then
	gold=$(command -v ld.gold)
	both ld.gold ld "set ld $gold; set LD $gold"
	printf '#!/bin/sh\nexec %s --no-map-whole-files "$@"\n' "$gold" >ld.pieces
	chmod +x ld.pieces
	both gold-in-pieces ld "set ld $PWD/ld.pieces; set LD $PWD/ld.pieces"
	floor gold-in-pieces "$(summed mmap_views ld.gold)" view
fi
finish
