/*
 * Messages (log.c), and the dry run's report (report.c), which goes the same way.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "advice.h"
#include "config.h"
#include "log.h"
#include "report.h"
#include "unit.h"

static char text[65536];
static int saved_stderr;
static int captured;

/* From here on descriptor 2 is a file. */
static void capture(void)
{
	fflush(NULL);
	saved_stderr = dup(2);
	captured = memfd_create("stderr", 0);
	assert_true(captured >= 0);
	dup2(captured, 2);
	log_begin();
}

static void release(void)
{
	ssize_t n = pread(captured, text, sizeof(text) - 1, 0);

	dup2(saved_stderr, 2);
	assert_true(n >= 0);
	text[n] = '\0';
}

static void silent_unless_asked(void **state)
{
	capture();
	assert_false(log_wanted());
	log_line("nothing");
	release();
	assert_string_equal(text, "");
}

static void lines_name_the_process(void **state)
{
	char expected[100];

	strcpy(config.log, "stderr");
	capture();
	assert_true(log_wanted());
	log_line("a %d %s", 5, "b");
	log_complain("bad %s", "value");
	release();
	snprintf(expected, sizeof(expected), "mapcoalesce[%d]: a 5 b\nmapcoalesce[%d]: bad value\n",
		 (int)getpid(), (int)getpid());
	assert_string_equal(text, expected);
}

static void long_lines_are_cut(void **state)
{
	char long_text[5000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	strcpy(config.log, "stderr");
	capture();
	log_line("%s", long_text);
	release();
	assert_in_range(strlen(text), 500, 1100);
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

/* The program closed its stderr and got the number for a file of its own. */
static void another_file_at_2_is_not_written(void **state)
{
	int other;

	strcpy(config.log, "stderr");
	capture();
	other = memfd_create("other", 0);
	dup2(other, 2);
	log_line("not here");
	log_complain("nor this");
	assert_int_equal(lseek(other, 0, SEEK_END), 0);
	close(2);
	log_line("nor now");
	release();
	assert_string_equal(text, "");
}

static void a_file_is_appended_to(void **state)
{
	char path[] = "/tmp/mapcoalesce-log-XXXXXX";
	int fd = mkstemp(path);
	int lowest;
	ssize_t n;

	assert_int_equal(write(fd, "x", 1), 1);
	strcpy(config.log, path);
	lowest = dup(0);
	close(lowest);
	log_line("one");
	log_line("two");
	/* No descriptor is kept. */
	assert_int_equal(dup(0), lowest);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(text[0], 'x');
	assert_non_null(strstr(text, ": one\n"));
	assert_non_null(strstr(text, ": two\n"));
	unlink(path);
	strcpy(config.log, "/nowhere/at/all");
	log_line("is lost");
}

static void the_report_adds_up(void **state)
{
	int fd = memfd_create("mapped", 0);
	int empty = memfd_create("empty", 0);
	struct view_request request = {NULL, 100, PROT_READ, MAP_PRIVATE, fd, 0};

	assert_int_equal(ftruncate(fd, 10000), 0);
	config.dry_run = true;
	assert_int_equal(advice_mmap(&request, REASON_none), REASON_first);
	assert_int_equal(advice_mmap(&request, REASON_none), REASON_dry_run);
	assert_int_equal(advice_mmap(&request, REASON_none), REASON_dry_run);
	assert_int_equal(advice_mmap(&request, REASON_protection), REASON_protection);
	request.offset = (uint64_t)65536 * 4;
	assert_int_equal(advice_mmap(&request, REASON_none), REASON_past_end);
	request.fd = empty;
	assert_int_equal(advice_mmap(&request, REASON_none), REASON_empty);
	request.fd = -1;
	assert_int_equal(advice_mmap(&request, REASON_anonymous), REASON_anonymous);
	request.fd = 999;
	assert_int_equal(advice_mmap(&request, REASON_none), REASON_none);
	request.fd = fd;
	config.modes = 0;
	request.offset = 0;
	assert_int_equal(advice_mmap(&request, REASON_none), REASON_mode);
	capture();
	report_write();
	report_write(); /* once */
	release();
	assert_non_null(strstr(text, "2 of 7 mmaps of files would have been views"));
	assert_non_null(strstr(text, "    2 of 6 mmaps (600 bytes)"));
	assert_non_null(strstr(text, "protection 1"));
	assert_non_null(strstr(text, "past_end 1"));
	assert_non_null(strstr(text, "empty 1"));
}

static void no_report_unasked(void **state)
{
	capture();
	report_write();
	release();
	assert_string_equal(text, "");
}

static void many_files_are_added_up(void **state)
{
	config.dry_run = true;
	for (int i = 0; i < 1100; i++) {
		int fd = memfd_create("one", 0);
		struct view_request request = {NULL, 100, PROT_READ, MAP_PRIVATE, fd, 0};

		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, 1), 0);
		advice_mmap(&request, REASON_none);
		close(fd);
	}
	capture();
	report_write();
	release();
	assert_non_null(strstr(text, "of 1100 mmaps of files"));
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(silent_unless_asked, NORMAL | REAL_KERNEL),
		CASE(lines_name_the_process, NORMAL | REAL_KERNEL),
		CASE(long_lines_are_cut, NORMAL | REAL_KERNEL),
		CASE(another_file_at_2_is_not_written, NORMAL | REAL_KERNEL),
		CASE(a_file_is_appended_to, NORMAL | REAL_KERNEL),
		CASE(the_report_adds_up, NORMAL | REAL_KERNEL),
		CASE(no_report_unasked, NORMAL | REAL_KERNEL),
		CASE(many_files_are_added_up, NORMAL | REAL_KERNEL),
	};

	return RUN(cases);
}
