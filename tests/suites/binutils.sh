#!/bin/sh
# The tests of binutils and gas: nm, objcopy, readelf, ar, as … as installed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dejagnu.sh"

both binutils binutils
for tool in objcopy readelf nm ar objdump strip; do
	floor "binutils, $tool" "$(summed streams "$tool")" 'stream opened'
done
floor binutils "$(($(summed streams_mapped) + $(summed streams_combined)))" 'stream served'
both gas gas
floor gas "$(summed streams as)" 'stream opened'
finish
