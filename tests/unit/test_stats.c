/*
 * Counting and the report (stats.c).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "stats.h"
#include "unit.h"

static char path[64];
static char text[16384];

static void to_file(void)
{
	int fd;

	strcpy(path, "/tmp/mapcoalesce-stats-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	strcpy(config.stats, path);
	strcpy(config.invoked, "pro\"gram");
	stats_forked();
}

static void read_back(void)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	unlink(path);
}

static void sums_are_of_all_kinds(void **state)
{
	stats_forked();
	for (enum counter c = 0; c < COUNTER_COUNT; c++)
		stats_add(c, c + 1);
	for (enum reason r = REASON_none + 1; r < REASON_COUNT; r++) {
		for (unsigned int i = 0; i < r; i++)
			stats_pass(r);
	}
	for (enum counter c = 0; c < COUNTER_COUNT; c++) {
		/* Reads that are served are reads. */
		uint64_t more = c == COUNT_read_calls    ? COUNT_read_mapped + 1
				: c == COUNT_lseek_calls ? COUNT_lseek_virtual + 1
							 : 0;

		assert_int_equal(stats_sum(c), c + 1 + more);
	}
	for (enum reason r = REASON_none + 1; r < REASON_COUNT; r++)
		assert_int_equal(stats_passed(r), r);
	assert_string_equal(stats_reason_name(REASON_first), "first");
	stats_add(COUNT_bytes_mapped, (uint64_t)1 << 40);
	assert_int_equal(stats_sum(COUNT_bytes_mapped),
			 COUNT_bytes_mapped + 1 + ((uint64_t)1 << 40));
	stats_forked();
	assert_int_equal(stats_sum(COUNT_bytes_mapped), 0);
}

static void live_views_have_a_peak(void **state)
{
	stats_forked();
	for (int i = 0; i < 10; i++)
		stats_view_begins(100);
	for (int i = 0; i < 4; i++)
		stats_view_ends();
	stats_view_begins(50);
	assert_int_equal(stats_views_live(), 7);
	assert_int_equal(stats_views_peak(), 10);
	assert_int_equal(stats_sum(COUNT_mmap_views), 11);
	assert_int_equal(stats_sum(COUNT_munmap_views), 4);
	assert_int_equal(stats_sum(COUNT_bytes_mapped), 1050);
}

static void count(unsigned int number)
{
	for (int i = 0; i < 10000; i++) {
		stats_add(COUNT_mmap_calls, number);
		stats_pass(REASON_first);
		stats_view_begins(1);
		stats_view_ends();
	}
}

/* A view may end on another thread than it began on. */
static void begin_or_end(unsigned int number)
{
	for (int i = 0; i < 1000; i++) {
		if (number % 2 == 0)
			stats_view_begins(1);
		else
			stats_view_ends();
	}
}

static void threads_count_exactly(void **state)
{
	unit_threads(16, count);
	unit_threads(8, count);
	assert_int_equal(stats_sum(COUNT_mmap_calls), 10000 * (120 + 28));
	assert_int_equal(stats_passed(REASON_first), 10000 * 24);
	assert_int_equal(stats_views_live(), 0);
	unit_threads(4, begin_or_end);
	assert_int_equal(stats_views_live(), 0);
}

static void a_line_has_every_key(void **state)
{
	static const char *const keys[] = {
		"program",         "pid",
		"modes",           "wall_s",
		"user_s",          "sys_s",
		"minflt",          "majflt",
		"nvcsw",           "nivcsw",
		"maxrss_kb",       "mmap_calls",
		"mmap_views",      "munmap_calls",
		"munmap_views",    "views_peak",
		"regions_peak",    "vmas_peak",
		"vmas_saved_peak", "read_calls",
		"read_mapped",     "lseek_calls",
		"lseek_virtual",   "streams",
		"streams_mapped",  "streams_combined",
		"syscalls_saved",  "bytes_mapped",
		"passed",
	};

	to_file();
	stats_add(COUNT_mmap_calls, 1234);
	stats_pass(REASON_hint);
	stats_pass(REASON_hint);
	stats_pass(REASON_first);
	stats_report();
	stats_report(); /* once */
	read_back();
	assert_int_equal(text[0], '{');
	assert_string_equal(text + strlen(text) - 3, "}}\n");
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	for (size_t i = 0; i < LENGTH(keys); i++) {
		char quoted[40];

		snprintf(quoted, sizeof(quoted), "\"%s\":", keys[i]);
		assert_non_null(strstr(text, quoted));
	}
	assert_non_null(strstr(text, "\"program\":\"pro\\\"gram\""));
	assert_non_null(strstr(text, "\"modes\":\"mmap\""));
	assert_non_null(strstr(text, "\"mmap_calls\":1234"));
	assert_non_null(strstr(text, "\"passed\":{\"hint\":2,\"first\":1}"));
	assert_null(strstr(text, "\"vmas_peak\":0,"));
}

static void the_longest_line_fits(void **state)
{
	to_file();
	memset(config.invoked, '\n', sizeof(config.invoked) - 1);
	config.modes = (1U << MODE_COUNT) - 1;
	for (enum counter c = 0; c < COUNTER_COUNT; c++)
		stats_add(c, UINT64_MAX);
	for (enum reason r = REASON_none + 1; r < REASON_COUNT; r++)
		stats_pass(r);
	stats_report();
	read_back();
	assert_string_equal(text + strlen(text) - 3, "}}\n");
}

static void nothing_unasked(void **state)
{
	to_file();
	config.active = false;
	stats_report();
	config.active = true;
	config.stats[0] = '\0';
	assert_false(stats_wanted());
	stats_report();
	read_back();
	assert_string_equal(text, "");
}

static void a_child_reports_its_own(void **state)
{
	to_file();
	stats_add(COUNT_mmap_calls, 5);
	stats_report();
	stats_forked(); /* as in the child of a fork */
	stats_add(COUNT_mmap_calls, 7);
	stats_report();
	read_back();
	assert_non_null(strstr(text, "\"mmap_calls\":5"));
	assert_non_null(strstr(text, "\"mmap_calls\":7"));
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(sums_are_of_all_kinds, NORMAL | REAL_KERNEL),
		CASE(live_views_have_a_peak, NORMAL | REAL_KERNEL),
		CASE(threads_count_exactly, NORMAL | REAL_KERNEL),
		CASE(a_line_has_every_key, NORMAL | REAL_KERNEL),
		CASE(the_longest_line_fits, NORMAL | REAL_KERNEL),
		CASE(nothing_unasked, NORMAL | REAL_KERNEL),
		CASE(a_child_reports_its_own, NORMAL | REAL_KERNEL),
	};

	return RUN(cases);
}
