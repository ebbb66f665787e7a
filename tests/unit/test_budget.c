/*
 * Counting mappings (budget.c): the library's own, the program's, and those in /proc/self/maps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "budget.h"
#include "config.h"
#include "stats.h"
#include "unit.h"

static long read_limit(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	long limit = 65530;

	if (file != NULL && fscanf(file, "%ld", &limit) != 1)
		limit = 65530;
	if (file != NULL)
		fclose(file);
	return limit;
}

static void half_of_the_limit_is_ours(void **state)
{
	long allowed = read_limit() / 2;

	assert_true(budget_allows_region());
	budget_regions(allowed - 1);
	assert_true(budget_allows_region());
	budget_regions(1);
	assert_false(budget_allows_region());
	budget_regions(-1);
	assert_true(budget_allows_region());
	budget_regions(1 - allowed);
	assert_true(budget_allows_region());
}

/* Mappings that can't become one: every other page has another protection. */
static char *many_mappings(size_t n)
{
	char *p = mmap(NULL, 2 * n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(mprotect(p + 2 * i * PAGE, PAGE, PROT_READ), 0);
	return p;
}

/* A program that makes and ends mappings for ever is looked at a few times. */
static void a_steady_program_is_looked_at_rarely(void **state)
{
	int looks = 0;

	for (int i = 0; i < 999; i++)
		assert_false(budget_mapped(i % 2 == 0 ? 1 : -1));
	for (int i = 0; i < 1000000; i++) {
		if (budget_mapped(i % 2 == 0 ? 1 : -1)) {
			assert_in_range(budget_look(), 1, BUDGET_MANY);
			assert_false(budget_is_near());
			looks++;
		}
	}
	assert_in_range(looks, 1, 2 + 1000000 / (read_limit() / 4));
}

/* However it is done, four fifths of the limit are not passed unseen. */
static void the_limit_does_not_come_unseen(void **state)
{
	size_t enough = (size_t)read_limit() / 10 * 9;
	char *p;
	size_t n = 0;
	bool seen = false;

	if (enough > 100000)
		skip();
	p = mmap(NULL, enough * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	for (; n < enough / 2 && !seen; n++) {
		assert_int_equal(mprotect(p + 2 * n * PAGE, PAGE, PROT_READ), 0);
		if (budget_split()) {
			assert_in_range(budget_look(), 2 * n, 2 * n + 500);
			seen = budget_is_near();
		}
	}
	assert_in_range(2 * n, (size_t)read_limit() / 10 * 8 - 500,
			(size_t)read_limit() / 10 * 8 + (size_t)read_limit() / 32 + 500);
}

static void a_crowd_that_has_gone_is_no_crowd(void **state)
{
	budget_set_crowded();
	assert_true(budget_is_crowded());
	budget_look();
	assert_false(budget_is_crowded());
}

/* The number that the statistics line gives for a key. */
static long reported(const char *key)
{
	static char text[16384];
	char quoted[40];
	FILE *file;
	size_t n;

	snprintf(config.stats, sizeof(config.stats), "/tmp/mapcoalesce-budget-%p", (void *)&n);
	stats_report();
	file = fopen(config.stats, "re");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	remove(config.stats);
	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	assert_non_null(strstr(text, quoted));
	return strtol(strstr(text, quoted) + strlen(quoted), NULL, 10);
}

static void the_peak_is_measured_while_it_lasts(void **state)
{
	char *p;

	strcpy(config.stats, "wanted");
	stats_forked();
	p = many_mappings(1000);
	for (int i = 0; i < 2000; i++)
		budget_mapped(1);
	munmap(p, 2000 * PAGE);
	budget_mapped(-2000);
	assert_in_range(reported("vmas_peak"), 2000, 2200);
}

static void nothing_is_measured_unasked(void **state)
{
	char *p;

	stats_forked();
	p = many_mappings(1000);
	for (int i = 0; i < 2000; i++)
		budget_mapped(1);
	munmap(p, 2000 * PAGE);
	assert_in_range(reported("vmas_peak"), 1, 1000);
}

static void regions_have_a_peak(void **state)
{
	stats_forked();
	budget_regions(7);
	budget_regions(-5);
	budget_regions(1);
	assert_int_equal(reported("regions_peak"), 7);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(half_of_the_limit_is_ours, NORMAL | REAL_KERNEL),
		CASE(a_steady_program_is_looked_at_rarely, NORMAL | REAL_KERNEL),
		CASE(the_limit_does_not_come_unseen, NORMAL | REAL_KERNEL),
		CASE(a_crowd_that_has_gone_is_no_crowd, NORMAL | REAL_KERNEL),
		CASE(the_peak_is_measured_while_it_lasts, NORMAL | REAL_KERNEL),
		CASE(nothing_is_measured_unasked, NORMAL | REAL_KERNEL),
		CASE(regions_have_a_peak, NORMAL | REAL_KERNEL),
	};

	return RUN(cases);
}
