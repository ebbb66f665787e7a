/*
 * What is known of each page (pages.c): claims, counts, marks, owners.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "estate.h"
#include "fake_kernel.h"
#include "unit.h"

#define RUN_MS 300

/* Where pages stand to words of 64 bits and to chunks of a GiB. */
static const size_t edges[] = {0, 1, 62, 63, 64, 65, 127, 128, 129};
static const size_t counts[] = {1, 2, 63, 64, 65, 127, 128, 129, 200};

static size_t chunk_pages(void)
{
	return ((size_t)1 << 30) / PAGE;
}

static void prepare(size_t first, size_t count)
{
	assert_true(estate_reserve());
	assert_true(pages_prepare(first, count, true, true));
}

static void claim_all_or_none_at(size_t first, size_t count)
{
	assert_true(pages_claim(first, count));
	assert_int_equal(pages_find(first, count, false, false), first + count);
	assert_int_equal(pages_find(first, count, true, false), first);
	if (first > 0)
		assert_int_equal(pages_find(first - 1, 1, true, false), first);
	assert_int_equal(pages_find(first + count, 1, true, false), first + count + 1);
	/* One page in common is one too many, and leaves nothing behind. */
	assert_false(pages_claim(first + count - 1, 130));
	assert_int_equal(pages_find(first + count, 130, true, false), first + count + 130);
	if (first >= 70) {
		assert_false(pages_claim(first - 70, 71));
		assert_int_equal(pages_find(first - 70, 70, true, false), first);
	}
	pages_unclaim(first + count / 2, 1);
	assert_int_equal(pages_find(first, count, false, false), first + count / 2);
	assert_true(pages_claim(first + count / 2, 1));
	pages_unclaim(first, count);
	assert_int_equal(pages_find(first, count, true, false), first + count);
}

static void claims_at_every_edge(void **state)
{
	prepare(0, 2 * chunk_pages());
	for (size_t i = 0; i < LENGTH(edges); i++) {
		for (size_t j = 0; j < LENGTH(counts); j++) {
			claim_all_or_none_at(edges[i], counts[j]);
			claim_all_or_none_at(chunk_pages() - edges[i], counts[j]);
		}
	}
}

static void finds_nothing_in_nothing(void **state)
{
	prepare(0, 1000);
	assert_int_equal(pages_find(100, 0, true, false), 100);
	assert_int_equal(pages_find(100, 0, false, true), 100);
	assert_true(pages_claim(100, 0));
	assert_true(pages_share(100, 0));
	assert_int_equal(pages_most_shared(100, 0), 0);
}

static void counts_views(void **state)
{
	size_t first = chunk_pages() - 3;

	prepare(0, 2 * chunk_pages());
	for (unsigned int n = 1; n <= 300; n++) {
		assert_true(pages_share(first, 6));
		assert_int_equal(pages_most_shared(first, 6), n);
	}
	pages_unshare(first + 1, 2);
	assert_int_equal(pages_most_shared(first + 1, 2), 299);
	assert_int_equal(pages_most_shared(first, 6), 300);
	for (unsigned int n = 0; n < 300; n++)
		pages_unshare(first, 6);
	assert_int_equal(pages_most_shared(first, 6), 0);
	/* A program may unmap once too often. */
	pages_unshare(first, 6);
	assert_int_equal(pages_most_shared(first, 6), 0);
	assert_int_equal(pages_find(first, 6, true, true), first + 6);
	assert_true(pages_share(first + 4, 1));
	assert_int_equal(pages_find(first, 6, true, true), first + 4);
	assert_int_equal(pages_find(first + 4, 2, false, true), first + 5);
}

static void counts_end_before_they_overflow(void **state)
{
	unsigned int most = 0;

	prepare(0, 100);
	while (pages_share(10, 1))
		most++;
	assert_in_range(most, 32000, 65535);
	assert_int_equal(pages_most_shared(10, 1), most);
	/* All or none. */
	assert_false(pages_share(8, 5));
	assert_int_equal(pages_most_shared(8, 2), 0);
	assert_int_equal(pages_most_shared(11, 2), 0);
	pages_unshare(10, 1);
	assert_true(pages_share(8, 5));
	for (unsigned int n = 0; n < most; n++)
		pages_unshare(10, 1);
	assert_int_equal(pages_find(10, 1, true, true), 11);
}

static void marks_come_in_runs(void **state)
{
	size_t first = chunk_pages() - 10;

	prepare(0, 2 * chunk_pages());
	assert_int_equal(pages_mark_of(first), MARK_NONE);
	assert_true(pages_mark(first, 20, MARK_NONE));
	assert_int_equal(pages_mark_run(first, first + 100), first + 100);
	assert_true(pages_mark(first + 5, 10, MARK_CHANGED));
	assert_int_equal(pages_mark_of(first + 4), MARK_NONE);
	assert_int_equal(pages_mark_of(first + 5), MARK_CHANGED);
	assert_int_equal(pages_mark_of(first + 14), MARK_CHANGED);
	assert_int_equal(pages_mark_of(first + 15), MARK_NONE);
	assert_int_equal(pages_mark_run(first, first + 100), first + 5);
	assert_int_equal(pages_mark_run(first + 5, first + 100), first + 15);
	assert_int_equal(pages_mark_run(first + 7, first + 9), first + 9);
	assert_true(pages_mark(first + 10, 1, MARK_RETIRED));
	assert_int_equal(pages_mark_run(first + 5, first + 100), first + 10);
	assert_true(pages_mark(first, 20, MARK_NONE));
	assert_int_equal(pages_mark_run(first, first + 100), first + 100);
}

static void tables_may_be_refused(void **state)
{
	unsigned int n;

	assert_true(estate_reserve());
	for (n = 1;; n++) {
		fake_fail(CALL_TABLE, n, ENOMEM);
		if (pages_prepare(chunk_pages() - 1, 2, true, true))
			break;
		assert_true(fake_mend());
	}
	assert_false(fake_mend());
	/* What was got is kept: it ends when three tables of two chunks are there. */
	assert_true(n <= 6);
	assert_true(pages_claim(chunk_pages() - 1, 2));
	assert_true(pages_share(chunk_pages() - 1, 2));
	fake_fail(CALL_TABLE, 1, ENOMEM);
	assert_false(pages_mark(5, 1, MARK_CHANGED));
	assert_true(fake_mend());
	assert_int_equal(pages_mark_of(5), MARK_NONE);
}

static void owners_are_of_whole_slots(void **state)
{
	size_t slot;

	prepare(0, 2 * chunk_pages());
	slot = (size_t)1 << (estate.slot_shift - estate.page_shift);
	assert_null(estate_owner(0));
	assert_null(estate_owner(5 * chunk_pages()));
	assert_null(estate_owner(estate.bytes / PAGE - 1));
	pages_set_owner(chunk_pages() - slot, 2 * slot, 0);
	assert_null(estate_owner(chunk_pages()));
}

/* One model for bits and one for counts, each a plain array. */
static void random_claims(void **state)
{
	enum { SPAN = 1000 };
	struct rng rng = unit_rng();
	uint64_t end = unit_ms() + RUN_MS;
	static bool model[SPAN];
	size_t base = chunk_pages() - SPAN / 2;

	prepare(base, SPAN);
	while (unit_ms() < end) {
		size_t first = rng_below(&rng, SPAN);
		size_t most = rng_below(&rng, 4) == 0 ? 200 : 8;
		size_t count = 1 + rng_below(&rng, most);
		bool wanted = rng_below(&rng, 2) != 0;
		bool free = true;
		size_t found;

		count = first + count > SPAN ? SPAN - first : count;
		for (found = first; found < first + count && model[found] != wanted; found++) {
		}
		assert_int_equal(pages_find(base + first, count, wanted, false), base + found);
		for (size_t i = first; i < first + count; i++)
			free = free && !model[i];
		if (rng_below(&rng, 2)) {
			assert_int_equal(pages_claim(base + first, count), free);
			for (size_t i = first; free && i < first + count; i++)
				model[i] = true;
		} else {
			pages_unclaim(base + first, count);
			memset(&model[first], 0, count);
		}
	}
	for (size_t i = 0; i < SPAN; i++)
		assert_int_equal(pages_find(base + i, 1, true, false) == base + i, model[i]);
}

/* Threads claim overlapping ranges; each page remembers who has it. */
enum { CROWD_PAGES = 300 };
static uint32_t holders[CROWD_PAGES];
static uint64_t crowd_end;
static uint64_t crowd_claims;
static size_t crowd_base;

static void crowd(unsigned int number)
{
	struct rng rng = {number * 7919 + 1};
	uint64_t claims = 0;

	while (unit_ms() < crowd_end) {
		size_t first = rng_below(&rng, CROWD_PAGES);
		size_t count = 1 + rng_below(&rng, number % 2 ? 5 : 150);

		count = first + count > CROWD_PAGES ? CROWD_PAGES - first : count;
		if (!pages_claim(crowd_base + first, count))
			continue;
		claims++;
		for (size_t i = first; i < first + count; i++)
			EXPECT(__atomic_exchange_n(&holders[i], number + 1, __ATOMIC_RELAXED) == 0);
		for (size_t i = first; i < first + count; i++)
			EXPECT(__atomic_exchange_n(&holders[i], 0, __ATOMIC_RELAXED) == number + 1);
		pages_unclaim(crowd_base + first, count);
	}
	__atomic_fetch_add(&crowd_claims, claims, __ATOMIC_RELAXED);
}

static void no_page_is_ever_owned_twice(void **state)
{
	crowd_base = chunk_pages() - CROWD_PAGES / 2;
	prepare(crowd_base, CROWD_PAGES);
	crowd_end = unit_ms() + RUN_MS;
	unit_threads(4, crowd);
	assert_int_not_equal(crowd_claims, 0);
	assert_int_equal(pages_find(crowd_base, CROWD_PAGES, true, false),
			 crowd_base + CROWD_PAGES);
}

static void share_in_a_crowd(unsigned int number)
{
	struct rng rng = {number * 104729 + 1};

	while (unit_ms() < crowd_end) {
		size_t first = rng_below(&rng, CROWD_PAGES - 20);
		size_t count = 1 + rng_below(&rng, 20);

		EXPECT(pages_share(crowd_base + first, count));
		EXPECT(pages_find(crowd_base + first, count, false, true) ==
		       crowd_base + first + count);
		EXPECT(pages_most_shared(crowd_base + first, count) <= 4);
		pages_unshare(crowd_base + first, count);
	}
}

static void counts_are_exact_in_a_crowd(void **state)
{
	crowd_base = chunk_pages() - CROWD_PAGES / 2;
	prepare(crowd_base, CROWD_PAGES);
	crowd_end = unit_ms() + RUN_MS;
	unit_threads(4, share_in_a_crowd);
	assert_int_equal(pages_most_shared(crowd_base, CROWD_PAGES), 0);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(claims_at_every_edge, EXCLUSIVE_WORLDS),
		CASE(finds_nothing_in_nothing, NORMAL),
		CASE(counts_views, NORMAL),
		CASE(counts_end_before_they_overflow, NORMAL),
		CASE(marks_come_in_runs, NORMAL),
		CASE(tables_may_be_refused, EXCLUSIVE_WORLDS),
		CASE(owners_are_of_whole_slots, EXCLUSIVE_WORLDS),
		CASE(random_claims, NORMAL),
		CASE(no_page_is_ever_owned_twice, NORMAL),
		CASE(counts_are_exact_in_a_crowd, NORMAL),
	};

	return RUN(cases);
}
