/*
 * Regions (region.c): made, claimed, orphaned, ended, used again.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "budget.h"
#include "config.h"
#include "estate.h"
#include "program.h"
#include "unit.h"

#define OWNER 77
#define BYTES(pages) ((uint64_t)(pages)*PAGE)

static enum reason reason;

static struct region *make(int fd, uint64_t size)
{
	struct region_request request = {
		.owner = OWNER,
		.fd = fd,
		.kind = KIND_READ_PRIVATE,
		.shared = config_program_shares(),
		.size = size,
	};

	return region_create(&request, &reason);
}

static int new_fd(size_t pages)
{
	return fake_open(fake_file(BYTES(pages)), O_RDONLY);
}

static void a_claim_is_checked(void **state)
{
	struct region *region = make(new_fd(10), BYTES(10));
	size_t all;
	char *p;

	assert_non_null(region);
	assert_ptr_equal(region_at(region->index), region);
	assert_null(region_at(0));
	all = region->pages;
	p = region_claim(region, OWNER, 0, all);
	assert_ptr_equal(p, estate_address(region->first));
	assert_ptr_equal(estate_owner(region->first), region);
	assert_ptr_equal(estate_owner(region->first + all - 1), region);
	assert_ptr_not_equal(estate_owner(region->first + all), region);
	region_unclaim(region, region->first, all);
	assert_null(region_claim(region, OWNER + 1, 0, 1));
	assert_null(region_claim(region, OWNER, 0, all + 1));
	assert_null(region_claim(region, OWNER, 1, all));
	assert_null(region_claim(region, OWNER, all, 1));
	assert_null(region_claim(region, OWNER, SIZE_MAX / 2, 1));
	assert_null(region_claim(region, OWNER, 1, SIZE_MAX));
	assert_null(region_claim(region, OWNER, SIZE_MAX, 1));
	assert_ptr_equal(region_claim(region, OWNER, all - 1, 1), p + BYTES(all - 1));
	assert_int_equal(claimed_pages(p, all), 1);
}

static void an_idle_region_ends_at_once(void **state)
{
	int fd = new_fd(10);
	struct region *region = make(fd, BYTES(10));
	uint32_t version = region->version;
	size_t first = region->first;

	region_orphan(region);
	assert_int_equal(region->state, REGION_FREE);
	assert_int_not_equal(region->version, version);
	assert_int_equal(fake_description_pages(fd), 0);
	assert_null(estate_owner(first));
	assert_null(region_claim(region, OWNER, 0, 1));
	assert_int_equal(claimed_pages(estate_address(first), 10), 0);
	fake_check();
}

static void an_orphan_ends_with_its_last_view(void **state)
{
	int fd = new_fd(10);
	struct region *region = make(fd, BYTES(10));
	size_t first = region->first;

	assert_non_null(region_claim(region, OWNER, 2, 3));
	assert_non_null(region_claim(region, OWNER, 8, 1));
	region_orphan(region);
	assert_int_equal(region->state, REGION_ORPHAN);
	/* Nothing new from it. */
	assert_null(region_claim(region, OWNER, 0, 1));
	region_unclaim(region, first + 8, 1);
	assert_int_equal(region->state, REGION_ORPHAN);
	region_unclaim(region, first + 2, 2);
	assert_int_equal(region->state, REGION_ORPHAN);
	region_unclaim(region, first + 4, 1);
	assert_int_equal(region->state, REGION_FREE);
	assert_int_equal(fake_description_pages(fd), 0);
	fake_check();
}

static void records_and_places_are_used_again(void **state)
{
	struct region *regions[40];
	struct region *again;

	for (size_t i = 0; i < LENGTH(regions); i++) {
		regions[i] = make(new_fd(3), BYTES(3));
		assert_non_null(regions[i]);
		assert_int_equal(regions[i]->index, i + 1);
	}
	region_orphan(regions[7]);
	again = make(new_fd(3), BYTES(3));
	assert_ptr_equal(again, regions[7]);
	assert_ptr_equal(estate_owner(again->first), again);
	for (size_t i = 0; i < LENGTH(regions); i++)
		region_orphan(regions[i]);
	assert_int_equal(stats_sum(COUNT_regions_made), LENGTH(regions) + 1);
	fake_check();
}

/* Whoever still stands on a record that begins again must not take it for the old one. */
static void a_record_that_begins_again_has_another_version(void **state)
{
	struct region *region = make(new_fd(3), BYTES(3));
	uint32_t live = region->version;
	uint32_t free;
	uint32_t again;

	region_orphan(region);
	free = region->version;
	assert_ptr_equal(make(new_fd(3), BYTES(3)), region);
	again = region->version;
	assert_int_not_equal(live, free);
	assert_int_not_equal(free, again);
	assert_int_not_equal(live, again);
}

static void each_failing_call_leaves_nothing(void **state)
{
	int fd = new_fd(3);

	for (unsigned int n = 1;; n++) {
		struct region *region;

		fake_fail(CALL_ALL & ~(unsigned int)CALL_PROTECT, n, ENOMEM);
		region = make(fd, BYTES(3));
		if (!fake_mend()) {
			assert_non_null(region);
			assert_int_equal(region->first, 0);
			assert_int_equal(region->index, 1);
			break;
		}
		if (region != NULL) {
			/* Only a smaller estate. */
			region_orphan(region);
			continue;
		}
		assert_true(reason == REASON_memory || reason == REASON_refused ||
			    reason == REASON_address_space);
		assert_int_equal(fake_description_pages(fd), 0);
		fake_check();
	}
}

static void bad_descriptors_are_refused(void **state)
{
	int fd = new_fd(3);

	assert_null(make(500, BYTES(3)));
	assert_int_equal(reason, REASON_refused);
	assert_null(make(fake_open(fake_file(1), O_WRONLY), 1));
	assert_int_equal(reason, REASON_refused);
	assert_non_null(make(fd, BYTES(3)));
	assert_null(make(fd, UINT64_MAX));
	assert_int_equal(reason, REASON_address_space);
	assert_null(make(fd, (uint64_t)SIZE_MAX / 2));
	assert_int_equal(reason, REASON_address_space);
	fake_check();
}

static void an_end_that_is_refused_hides_the_pages(void **state)
{
	int fd = new_fd(3);
	struct region *region = make(fd, BYTES(3));
	struct region *again;
	size_t first = region->first;

	fake_fail_always(CALL_MAP, ENOMEM);
	region_orphan(region);
	fake_mend();
	assert_int_equal(fake_at(estate_address(first)).prot, PROT_NONE);
	assert_null(estate_owner(first));
	fake_check();
	/* … until the next one is placed there. */
	again = make(new_fd(3), BYTES(3));
	assert_int_equal(again->first, first);
	assert_int_equal(fake_description_pages(fd), 0);
}

static void marks_are_counted(void **state)
{
	int fd = new_fd(10);
	struct region *region = make(fd, BYTES(10));
	size_t first = region->first;

	assert_non_null(region_claim(region, OWNER, 0, 10));
	assert_true(region_mark(region, first + 1, 4, MARK_CHANGED));
	assert_int_equal(region->marked, 4);
	assert_true(region_mark(region, first + 3, 4, MARK_FOREIGN));
	assert_int_equal(region->marked, 6);
	assert_true(region_mark(region, first, 10, MARK_NONE));
	assert_int_equal(region->marked, 0);
	assert_true(region_mark(region, first + 1, 4, MARK_CHANGED));
	fake_protect_pages(estate_address(first + 1), BYTES(4), PROT_NONE);
	assert_true(region_restore(region, first + 1, 3, fd));
	assert_int_equal(region->marked, 1);
	assert_int_equal(fake_at(estate_address(first + 3)).prot, PROT_READ);
	assert_int_equal(fake_at(estate_address(first + 3)).offset, BYTES(3));
	fake_fail_always(CALL_MAP, ENOMEM);
	assert_false(region_restore(region, first + 4, 1, fd));
	fake_mend();
	assert_int_equal(region->marked, 1);
	region_retire(region, first + 4, 1);
	assert_int_equal(region->marked, 1);
	assert_int_equal(fake_at(estate_address(first + 4)).what, RESERVED);
	/* What is retired is no view. */
	region_unclaim(region, first, 4);
	region_unclaim(region, first + 5, 5);
	region_orphan(region);
	assert_int_equal(region->state, REGION_FREE);
	assert_int_equal(pages_mark_of(first + 4), MARK_NONE);
	assert_int_equal(pages_find(first + 4, 1, true, region->shared), first + 5);
	fake_check();
}

/* Half of vm.max_map_count, and no more. */
static void the_budget_is_kept(void **state)
{
	int fd = new_fd(1);
	size_t made = 0;
	struct region *region = NULL;
	struct region *next;

	while (made < 3000000 && (next = make(fd, 1)) != NULL) {
		region = next;
		made++;
	}
	/* No limit to speak of on this system, or fewer slots than that. */
	if (made == 3000000 || sizeof(void *) == 4)
		return;
	assert_int_equal(reason, REASON_budget);
	assert_true(made > 10);
	region_orphan(region);
	assert_non_null(make(fd, 1));
	assert_null(make(fd, 1));
}

static void idle_regions_can_be_ended(void **state)
{
	int fd = new_fd(5);
	struct region *region = make(fd, BYTES(5));

	assert_non_null(region_claim(region, OWNER, 1, 1));
	assert_false(region_end_idle(region));
	assert_int_equal(region->state, REGION_LIVE);
	assert_non_null(region_claim(region, OWNER, 2, 1));
	region_unclaim(region, region->first + 1, 2);
	assert_int_equal(region->state, REGION_LIVE);
	assert_true(region_end_idle(region));
	assert_int_equal(region->state, REGION_FREE);
	assert_int_equal(fake_description_pages(fd), 0);
	fake_check();
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(a_claim_is_checked, ALL_WORLDS),
		CASE(an_idle_region_ends_at_once, ALL_WORLDS),
		CASE(an_orphan_ends_with_its_last_view, ALL_WORLDS),
		CASE(records_and_places_are_used_again, ALL_WORLDS),
		CASE(a_record_that_begins_again_has_another_version, NORMAL),
		CASE(each_failing_call_leaves_nothing, ALL_WORLDS),
		CASE(bad_descriptors_are_refused, EXCLUSIVE_WORLDS),
		CASE(an_end_that_is_refused_hides_the_pages, ALL_WORLDS),
		CASE(marks_are_counted, ALL_WORLDS),
		CASE(the_budget_is_kept, NORMAL),
		CASE(idle_regions_can_be_ended, ALL_WORLDS),
	};

	return RUN(cases);
}
