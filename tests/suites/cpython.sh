#!/bin/sh
# CPython's own tests of what it does with files, mappings, descriptors, processes and signals.
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3.11
[ -x $python ] || lacks 'no python3.11'
$python -c 'import test.test_mmap' 2>/dev/null || lacks 'no tests (apt-get install libpython3.11-testsuite)'

tests='test_mmap test_io test_fileio test_os test_posix test_fcntl test_subprocess test_shutil test_zipfile
	test_tarfile test_sqlite3 test_dbm test_dbm_dumb test_dbm_gnu test_dbm_ndbm test_tempfile test_largefile
	test_select test_signal test_threading test_multiprocessing_fork test_multiprocessing_spawn
	test_faulthandler test_asyncio test_ctypes'

cat >list.py <<'END'
import sys, xml.etree.ElementTree as tree
for case in tree.parse(sys.argv[1]).iter('testcase'):
    kinds = {child.tag for child in case}
    result = 'ERROR' if 'error' in kinds else 'FAIL' if 'failure' in kinds else \
        'SKIP' if 'skipped' in kinds or case.get('result') == 'skipped' else 'PASS'
    print('%s: %s' % (result, case.get('name')))
END

# in_python RUNNER NAME TEST: its results are in ./NAME.list. A test that was cut short has one, too.
in_python() {
	mkdir -p "$2"
	rm -f "$2/results.xml"
	(cd "$2" && $1 timeout -k 10 600 $python -m test -v --timeout 300 --junit-xml results.xml "$3") \
		>"$2/$3.output" 2>&1 </dev/null
	status=$?
	{
		[ ! -s "$2/results.xml" ] || $python list.py "$2/results.xml" 2>/dev/null | sort
		case $status in
		0) echo "PASS: exit status of $3" ;;
		*) echo "FAIL: exit status of $3" ;;
		esac
	} >"$2.list"
}

# shellcheck disable=SC2317 # called by results
again() {
	in_python env "$1-again" "$1"
	mv "$1-again.list" again
}

for test in $tests; do
	say "$test"
	in_python env "$test-native" "$test"
	rm -f stats.json
	in_python preloaded "$test-ours" "$test"
	results "$test-native.list" "$test-ours.list" "$test" again "$test"
	[ ! -e stats.json ] || cat stats.json >>all.json
done
mv all.json stats.json
floor cpython "$(summed read_mapped)" 'read served'
floor cpython "$(summed mmap_views)" 'view'
finish
