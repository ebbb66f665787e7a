/*
 * The estate's address space (estate.c): reserving, slots, shedding.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "config.h"
#include "estate.h"
#include "fake_kernel.h"
#include "unit.h"

#define HUGE ((size_t)2 << 20)
#define RUN_MS 400

static size_t slot_pages(void)
{
	return (size_t)1 << (estate.slot_shift - estate.page_shift);
}

static void is_reserved_once(void **state)
{
	size_t mappings;

	assert_false(estate_touches((void *)1, SIZE_MAX - 1));
	assert_true(estate_reserve());
	assert_int_equal(estate.base % HUGE, 0);
	assert_int_equal(estate.bytes & (estate.bytes - 1), 0);
	assert_int_equal(estate.slot_shift, config.tiny ? estate.page_shift + 1 : 16);
	mappings = fake_mapping_count();
	assert_true(estate_reserve());
	assert_int_equal(fake_mapping_count(), mappings);
	fake_check();
}

static void shrinks_until_it_fits(void **state)
{
	bool wide = sizeof(void *) == 8;

	fake_fail(CALL_RESERVE, 1, ENOMEM);
	fake.fail_count = wide ? 3 : 2;
	assert_true(estate_reserve());
	assert_int_equal(estate.bytes, (size_t)1 << (wide ? 37 : 26));
	fake_check();
}

static void does_without_if_it_must(void **state)
{
	size_t mappings = fake_mapping_count();

	fake_fail_always(CALL_RESERVE, ENOMEM);
	assert_false(estate_reserve());
	fake_mend();
	/* Half of what there is is taken, or would be; or nothing worth having is left. */
	fake.address_limit = (uint64_t)1 << 30;
	fake.address_taken = (uint64_t)(512 - 63) << 20;
	assert_false(config.tiny ? false : estate_reserve());
	fake.address_taken = (uint64_t)1 << 29;
	assert_false(estate_reserve());
	fake.address_taken = 0;
	fake.address_limit = (uint64_t)15 << 20;
	assert_false(estate_reserve());
	fake.address_limit = UINT64_MAX;
	/* No memory for the slots: the reservation is given back. */
	fake_fail_always(CALL_TABLE, ENOMEM);
	assert_false(estate_reserve());
	assert_true(fake_mend());
	assert_int_equal(fake_mapping_count(), mappings);
	assert_int_equal(estate.base, 0);
	assert_true(estate_reserve());
	fake_check();
}

static void touches_is_exact(void **state)
{
	char *base, *end;

	assert_true(estate_reserve());
	base = (char *)estate.base;
	end = base + estate.bytes;
	assert_true(estate_has(base));
	assert_true(estate_has(end - 1));
	assert_false(estate_has(base - 1));
	assert_false(estate_has(end));
	assert_true(estate_touches(base - 1, 2));
	assert_false(estate_touches(base - 1, 1));
	assert_false(estate_touches(base - 10, 10));
	assert_true(estate_touches(base - 10, SIZE_MAX));
	assert_false(estate_touches(end, SIZE_MAX - (uintptr_t)end));
	assert_false(estate_touches(NULL, estate.base));
	assert_true(estate_touches(NULL, estate.base + 1));
	assert_int_equal(estate_page(base + 5 * PAGE + 3), 5);
	assert_ptr_equal(estate_address(7), base + 7 * PAGE);
	assert_int_equal(estate_pages(0), 0);
	assert_int_equal(estate_pages(1), 1);
	assert_int_equal(estate_pages(PAGE), 1);
	assert_int_equal(estate_pages(PAGE + 1), 2);
}

static void takes_whole_slots(void **state)
{
	size_t slot, first, pages, next;

	assert_true(estate_reserve());
	slot = slot_pages() * PAGE;
	assert_true(estate_take(1, PLACE_PACKED, &first, &pages));
	assert_int_equal(first, 0);
	assert_int_equal(pages, slot_pages());
	assert_true(estate_take(slot + 1, PLACE_PACKED, &next, &pages));
	assert_int_equal(next, slot_pages());
	assert_int_equal(pages, 2 * slot_pages());
	estate_give(first, slot_pages());
	assert_true(estate_take(slot, PLACE_PACKED, &next, &pages));
	assert_int_equal(next, 0);
	assert_false(estate_take(0, PLACE_PACKED, &next, &pages));
	assert_false(estate_take(estate.bytes + 1, PLACE_PACKED, &next, &pages));
	assert_false(estate_take(estate.bytes, PLACE_PACKED, &next, &pages));
	assert_false(estate_take(SIZE_MAX, PLACE_CONGRUENT, &next, &pages));
}

static void places_as_asked(void **state)
{
	size_t first, pages;

	assert_true(estate_reserve());
	assert_true(estate_take(HUGE + 1, PLACE_CONGRUENT, &first, &pages));
	assert_int_equal((uintptr_t)estate_address(first) % HUGE, 0);
	assert_int_equal(pages * PAGE, 2 * HUGE);
	/* Behind it are the 2 MiB of the ballast. */
	assert_int_equal((first + pages) * PAGE, estate.bytes - HUGE);
	for (int i = 0; i < 50; i++) {
		assert_true(estate_take(HUGE, PLACE_INCONGRUENT, &first, &pages));
		assert_int_not_equal((uintptr_t)estate_address(first) % HUGE, 0);
	}
}

/* A byte a slot, to compare with. */

struct taken {
	size_t first;
	size_t pages;
};

static uint8_t *model;
static struct taken held[2000];
static size_t held_count;

static void model_set(size_t first, size_t pages, uint8_t from, uint8_t to)
{
	size_t unit = slot_pages();

	assert_int_equal(first % unit, 0);
	assert_int_equal(pages % unit, 0);
	for (size_t slot = first / unit; slot < (first + pages) / unit; slot++) {
		assert_int_equal(model[slot], from);
		model[slot] = to;
	}
}

static void random_take(struct rng *rng, size_t largest)
{
	size_t bytes = 1 + rng_below(rng, largest);
	enum placement placement = (enum placement)rng_below(rng, 3);
	struct taken *taken = &held[held_count];
	size_t address;

	if (held_count == LENGTH(held) ||
	    !estate_take(bytes, placement, &taken->first, &taken->pages))
		return;
	address = (uintptr_t)estate_address(taken->first);
	assert_true(taken->pages * PAGE >= bytes);
	assert_true(taken->pages * PAGE <
		    bytes + (placement == PLACE_CONGRUENT ? HUGE : slot_pages() * PAGE));
	assert_true((taken->first + taken->pages) * PAGE <= estate.bytes);
	if (placement == PLACE_CONGRUENT)
		assert_int_equal(address % HUGE, 0);
	if (placement == PLACE_INCONGRUENT)
		assert_int_not_equal(address % HUGE, 0);
	model_set(taken->first, taken->pages, 0, 1);
	held_count++;
}

static void random_give(struct rng *rng)
{
	size_t i = rng_below(rng, held_count);

	model_set(held[i].first, held[i].pages, 1, 0);
	estate_give(held[i].first, held[i].pages);
	held[i] = held[--held_count];
}

static void run_random(size_t largest, unsigned int take_weight, bool small_estate)
{
	struct rng rng = unit_rng();
	uint64_t end = unit_ms() + RUN_MS;
	uint64_t turn = 0;

	if (small_estate) {
		fake_fail(CALL_RESERVE, 1, ENOMEM);
		fake.fail_count = sizeof(void *) == 8 ? 14 : 2;
	}
	assert_true(estate_reserve());
	model = calloc(estate.bytes >> estate.slot_shift, 1);
	assert_non_null(model);
	while (unit_ms() < end) {
		/* Grows and shrinks in turn. */
		unsigned int weight = turn++ / 5000 % 2 ? 100 - take_weight : take_weight;

		if (held_count == 0 || rng_below(&rng, 100) < weight)
			random_take(&rng, largest);
		else
			random_give(&rng);
	}
	while (held_count > 0)
		random_give(&rng);
	assert_true(estate_take(PAGE, PLACE_PACKED, &held[0].first, &held[0].pages));
	assert_int_equal(held[0].first, 0);
	free(model);
}

static void random_small(void **state)
{
	run_random(200000, 65, false);
}

static void random_large(void **state)
{
	run_random((size_t)20 << 20, 60, false);
}

static void random_until_full(void **state)
{
	run_random((size_t)3 << 20, 80, true);
}

static void spoiled_slots_are_not_handed_out(void **state)
{
	size_t unit, first, pages;

	assert_true(estate_reserve());
	unit = slot_pages();
	estate_spoil(3 * unit + 1, 1);
	estate_spoil(5 * unit - 1, 2);
	estate_spoil(estate.bytes / PAGE - 1, 1);
	assert_true(estate_take(3 * unit * PAGE, PLACE_PACKED, &first, &pages));
	assert_int_equal(first, 0);
	assert_true(estate_take(PAGE, PLACE_PACKED, &first, &pages));
	assert_int_equal(first, 6 * unit);
	assert_true(estate_take(PAGE, PLACE_CONGRUENT, &first, &pages) == false ||
		    (first + pages) * PAGE <= estate.bytes - HUGE);
	estate_shed();
	/* Spoiled ones are not shed either. */
	assert_false(estate_is_shed(3 * unit));
	assert_false(estate_is_shed(5 * unit));
	assert_false(estate_is_shed(estate.bytes / PAGE - 1));
	fake_check();
}

static void what_is_shed_is_gone(void **state)
{
	size_t low, high, pages, given, given_pages;

	estate_shed();
	assert_true(estate_reserve());
	assert_true(estate_take(PAGE, PLACE_PACKED, &low, &pages));
	assert_true(estate_take(HUGE, PLACE_CONGRUENT, &high, &pages));
	/* What was in use once is shed too. */
	assert_true(estate_take((size_t)1 << 26, PLACE_CONGRUENT, &given, &given_pages));
	estate_give(given, given_pages);
	estate_shed();
	assert_true(estate_is_shed(given));
	assert_false(estate_is_shed(low));
	assert_false(estate_is_shed(high));
	assert_true(estate_is_shed(high / 2));
	assert_true(fake_all(estate_address(low), slot_pages() * PAGE, RESERVED));
	assert_true(fake_all(estate_address(high), HUGE, RESERVED));
	assert_true(fake_all(estate_address(low + slot_pages()), (high - low - slot_pages()) * PAGE,
			     NOTHING));
	assert_false(estate_take(PAGE, PLACE_PACKED, &low, &pages));
	fake_check();
	estate_shed();
	fake_check();
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(is_reserved_once, EXCLUSIVE_WORLDS),
		CASE(shrinks_until_it_fits, EXCLUSIVE_WORLDS),
		CASE(does_without_if_it_must, EXCLUSIVE_WORLDS),
		CASE(touches_is_exact, NORMAL),
		CASE(takes_whole_slots, EXCLUSIVE_WORLDS),
		CASE(places_as_asked, EXCLUSIVE_WORLDS),
		CASE(random_small, EXCLUSIVE_WORLDS),
		CASE(random_large, EXCLUSIVE_WORLDS),
		CASE(random_until_full, EXCLUSIVE_WORLDS),
		CASE(spoiled_slots_are_not_handed_out, EXCLUSIVE_WORLDS),
		CASE(what_is_shed_is_gone, EXCLUSIVE_WORLDS),
	};

	return RUN(cases);
}
