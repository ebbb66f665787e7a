/*
 * Calls on the addresses of views (view_calls.c): each leaves every other view whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "fd.h"
#include "program.h"
#include "unit.h"

#define BYTES(pages) ((uint64_t)(pages)*PAGE)

static int file;
static int fd;

/* A file of so many pages, and its descriptor, that will be given views. */
static void open_file(size_t pages)
{
	file = fake_file(BYTES(pages));
	fd = program_open(file, O_RDONLY);
	program_first(fd);
}

static char *view(size_t page, size_t count)
{
	char *p = program_map(fd, page, count);

	assert_non_null(p);
	assert_int_equal(fake_at(p).offset, BYTES(page));
	assert_true(fake_all(p, BYTES(count), FILE_PAGES));
	return p;
}

static void unmap_in_part(void **state)
{
	char *p;

	open_file(20);
	p = view(0, 10);
	assert_int_equal(program_unmap(p + BYTES(3), BYTES(2)), 0);
	assert_int_equal(claimed_pages(p, 10), 8);
	/* The hole can be had again, and no more than the hole. */
	if (!config_program_shares()) {
		assert_ptr_equal(view(3, 2), p + BYTES(3));
		assert_int_equal(program_unmap(p, BYTES(1)), 0);
		assert_int_equal(program_unmap(p + BYTES(9), BYTES(1)), 0);
		assert_int_equal(claimed_pages(p, 10), 8);
	}
	assert_int_equal(program_unmap(p, BYTES(10)), 0);
	assert_int_equal(claimed_pages(p, 10), 0);
	fake_check();
}

static void unmap_many_at_once(void **state)
{
	char *first = NULL;

	for (int i = 0; i < 5; i++) {
		char *p;

		open_file(3);
		p = view(0, 3);
		if (i == 0)
			first = p;
		if (i == 2)
			program_close(fd); /* an orphan in the middle */
		if (i == 3)
			assert_int_equal(view_change(p, PAGE, true), 0);
	}
	/* Five regions side by side, from the first page to the last view's end. */
	assert_int_equal(program_unmap(first, BYTES(4 * region_of(first)->pages + 3)), 0);
	assert_int_equal(claimed_pages(first, 5 * region_of(first)->pages), 0);
	fake_check();
}

static void unmap_with_parts_outside(void **state)
{
	char *base;
	unsigned int before;

	open_file(3);
	base = view(0, 3);
	assert_int_equal(estate_page(base), 0);
	fake_program_map(base - BYTES(2), BYTES(2), 7);
	before = fake.calls;
	assert_int_equal(program_unmap(base - BYTES(2), BYTES(4)), 0);
	assert_int_equal(fake.calls, before + 1);
	assert_true(fake_all(base - BYTES(2), BYTES(2), NOTHING));
	assert_int_equal(claimed_pages(base, 3), 1);
	assert_true(fake_all(base + BYTES(2), PAGE, FILE_PAGES));
	fake_check();
}

static void unmap_all_of_the_estate_and_around(void **state)
{
	char *base;

	open_file(3);
	base = view(0, 3);
	assert_int_equal(program_unmap(base - PAGE, estate.bytes + 2 * PAGE), 0);
	assert_int_equal(claimed_pages(base, 3), 0);
	assert_true(fake_all(base - PAGE, PAGE, NOTHING));
	assert_true(fake_all(base + estate.bytes, PAGE, NOTHING));
	fake_check();
}

/* What lies outside is refused: then nothing may have changed, as natively. */
static void a_refused_outside_part_changes_nothing(void **state)
{
	char *base;

	open_file(3);
	base = view(0, 3);
	fake_program_map(base - BYTES(2), BYTES(2), 7);
	fake_fail(CALL_UNMAP, 1, EINVAL);
	assert_int_equal(program_unmap(base - PAGE, BYTES(3)), -EINVAL);
	fake_mend();
	assert_int_equal(claimed_pages(base, 3), 3);
	assert_true(fake_all(base - BYTES(2), BYTES(2), PROGRAM));
}

static int refuse_above(void *addr, size_t length)
{
	if ((char *)addr >= (char *)estate.base + estate.bytes)
		return -EINVAL;
	return fake_program_unmap(addr, length);
}

/* A length beyond the end of the address space: the kernel says so before it does anything. */
static void a_length_that_reaches_too_far_changes_nothing(void **state)
{
	char *base;

	open_file(3);
	base = view(0, 3);
	fake_program_map(base - BYTES(2), BYTES(2), 7);
	assert_int_equal(view_unmap(base - BYTES(2), SIZE_MAX / 2, refuse_above), -EINVAL);
	assert_true(fake_all(base - BYTES(2), BYTES(2), PROGRAM));
	assert_int_equal(claimed_pages(base, 3), 3);
}

static void unmap_arguments_are_checked_as_by_the_kernel(void **state)
{
	unsigned int before;
	char *p;

	open_file(3);
	p = view(0, 3);
	before = fake.calls;
	assert_int_equal(program_unmap(p, 0), -EINVAL);
	assert_int_equal(program_unmap(p + 1, PAGE), -EINVAL);
	assert_int_equal(program_unmap(p + PAGE / 2, PAGE), -EINVAL);
	assert_int_equal(program_unmap(p, SIZE_MAX), -EINVAL);
	assert_int_equal(program_unmap(p, SIZE_MAX - (uintptr_t)p), -EINVAL);
	assert_int_equal(fake.calls, before);
	assert_int_equal(claimed_pages(p, 3), 3);
	/* An odd length is rounded up. */
	assert_int_equal(program_unmap(p, PAGE + 1), 0);
	assert_int_equal(claimed_pages(p, 3), 1);
	assert_int_equal(program_unmap(p + BYTES(2), 1), 0);
	assert_int_equal(claimed_pages(p, 3), 0);
}

static void unmapping_twice_is_harmless(void **state)
{
	char *p, *q;

	open_file(10);
	p = view(0, 2);
	q = view(2, 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(program_unmap(p, BYTES(2)), 0);
	assert_int_equal(claimed_pages(q, 2), 2);
	/* Where no region is, and where none ever was. */
	assert_int_equal(program_unmap(p + ((size_t)16 << 20), BYTES(2)), 0);
	assert_int_equal(program_unmap((char *)estate.base + estate.bytes - PAGE, PAGE), 0);
	program_unmap(q, BYTES(2));
	program_close(fd);
	assert_int_equal(program_unmap(p, BYTES(2)), 0);
	fake_check();
}

static void views_of_one_page_survive_each_other(void **state)
{
	char *p, *q;

	open_file(4);
	p = view(1, 1);
	q = view(1, 1);
	assert_ptr_not_equal(p, q);
	assert_int_equal(program_unmap(p, PAGE), 0);
	assert_int_equal(claimed_pages(q, 1), 1);
	assert_true(fake_all(q, PAGE, FILE_PAGES));
	p = view(1, 1);
	assert_int_equal(program_unmap(q, PAGE), 0);
	assert_int_equal(claimed_pages(p, 1), 1);
	assert_true(fake_all(p, PAGE, FILE_PAGES));
}

static void changed_pages_are_made_pristine(void **state)
{
	char *p;

	open_file(8);
	p = view(0, 8);
	assert_int_equal(view_change(p + BYTES(2), BYTES(3), true), 0);
	fake_protect_pages(p + BYTES(2), BYTES(3), PROT_NONE);
	assert_int_equal(region_of(p)->marked, 3);
	assert_int_equal(program_unmap(p + BYTES(3), BYTES(5)), 0);
	assert_int_equal(region_of(p)->marked, 1);
	assert_int_equal(fake_at(p + BYTES(2)).prot, PROT_NONE);
	for (size_t page = 3; page < 8; page++) {
		assert_int_equal(fake_at(p + BYTES(page)).prot, PROT_READ);
		assert_int_equal(fake_at(p + BYTES(page)).offset, BYTES(page));
	}
	assert_ptr_equal(view(3, 5), p + BYTES(3));
	program_unmap(p, BYTES(8));
	assert_int_equal(region_of(p)->marked, 0);
	program_close(fd);
	assert_int_equal(fake_file_pages(file), 0);
	fake_check();
}

/* There is no descriptor to map the file from again. */
static void changed_pages_of_an_orphan_are_retired(void **state)
{
	char *p;

	open_file(8);
	p = view(0, 8);
	assert_int_equal(view_change(p + BYTES(2), BYTES(3), true), 0);
	program_close(fd);
	assert_int_equal(program_unmap(p + BYTES(2), BYTES(2)), 0);
	assert_true(fake_all(p + BYTES(2), BYTES(2), RESERVED));
	assert_int_equal(pages_mark_of(estate_page(p + BYTES(2))), MARK_RETIRED);
	assert_int_equal(view_check(p + BYTES(2), PAGE), -ENOMEM);
	assert_int_equal(view_check(p + BYTES(4), PAGE), 0);
	/* Retired pages keep nothing alive. */
	assert_int_equal(program_unmap(p, BYTES(8)), 0);
	assert_int_equal(fake_file_pages(file), 0);
	assert_null(region_of(p));
	assert_int_equal(pages_mark_of(estate_page(p + BYTES(2))), MARK_NONE);
	open_file(8);
	assert_ptr_equal(view(0, 8), p);
	fake_check();
}

static void changed_pages_are_not_restored_from_another_file(void **state)
{
	char *p;

	open_file(4);
	p = view(0, 2);
	assert_int_equal(view_change(p, PAGE, true), 0);
	/* The number is another file's now, and no hook saw it. */
	fake_close(fd);
	assert_int_equal(fake_open(fake_file(BYTES(4)), O_RDONLY), fd);
	assert_int_equal(program_unmap(p, PAGE), 0);
	assert_int_equal(fake_at(p).what, RESERVED);
	assert_int_equal(pages_mark_of(estate_page(p)), MARK_RETIRED);
	fake_check();
}

static void a_failing_restoration_retires(void **state)
{
	for (unsigned int n = 1;; n++) {
		char *p, *q;

		open_file(4);
		p = view(0, 2);
		assert_int_equal(view_change(p, BYTES(2), true), 0);
		fake_fail(CALL_ALL, n, ENOMEM);
		assert_int_equal(program_unmap(p, BYTES(2)), 0);
		if (!fake_mend()) {
			assert_int_equal(region_of(p)->marked, 0);
			break;
		}
		/* Never the changed pages: others, or another layer, or none. */
		q = program_map(fd, 0, 2);
		if (q != NULL)
			assert_int_equal(fake_at(q).prot, PROT_READ);
		fake_check();
		if (q != NULL)
			program_unmap(q, BYTES(2));
		program_close(fd);
		fake_check();
	}
}

/* A shared page that one view changes must not be shared any more. */
static void changed_pages_are_not_shared(void **state)
{
	char *p, *q;

	open_file(4);
	p = view(0, 2);
	assert_int_equal(view_change(p, PAGE, true), 0);
	q = program_map(fd, 0, 1);
	assert_ptr_not_equal(q, p);
	assert_non_null(view(1, 1));
	if (q != NULL) {
		assert_int_equal(program_unmap(q, PAGE), 0);
		assert_int_equal(pages_most_shared(estate_page(p), 1), 1);
	}
	assert_int_equal(program_unmap(p, PAGE), 0);
	assert_int_equal(pages_mark_of(estate_page(p)), MARK_NONE);
	assert_non_null(view(0, 1));
	fake_check();
}

static void retired_and_foreign_pages_are_not_shared(void **state)
{
	char *p, *q;

	open_file(4);
	p = view(0, 4);
	assert_int_equal(view_change(p, PAGE, true), 0);
	fake_fail_always(CALL_MAP, ENOMEM);
	assert_int_equal(program_unmap(p, PAGE), 0);
	fake_mend();
	assert_int_equal(pages_mark_of(estate_page(p)), MARK_RETIRED);
	assert_int_equal(view_cover(p + PAGE, PAGE), 0);
	fake_program_map(p + PAGE, PAGE, 9);
	view_covered(p + PAGE, PAGE, true);
	q = program_map(fd, 0, 1);
	assert_ptr_not_equal(q, p);
	q = program_map(fd, 1, 1);
	assert_ptr_not_equal(q, p + PAGE);
}

static void a_change_of_a_shared_page_is_refused(void **state)
{
	char *p;

	open_file(4);
	p = view(0, 3);
	view(1, 1);
	assert_int_equal(view_change(p, BYTES(3), true), -ENOMEM);
	assert_int_equal(view_change(p, PAGE, true), 0);
	assert_int_equal(view_change(p, BYTES(3), false), 0);
	assert_int_equal(view_cover(p, BYTES(3)), -ENOMEM);
	assert_int_equal(view_cover(p + BYTES(2), PAGE), 0);
	fake_program_map(p + BYTES(2), PAGE, 5);
	view_covered(p + BYTES(2), PAGE, true);
	/* Of the two views of the middle page one ends: then it is the other's alone. */
	assert_int_equal(program_unmap(p + PAGE, PAGE), 0);
	assert_true(fake_all(p + PAGE, PAGE, FILE_PAGES));
	assert_int_equal(view_change(p + PAGE, PAGE, true), 0);
	assert_int_equal(program_unmap(p, BYTES(3)), 0);
	assert_int_equal(claimed_pages(p, 3), 0);
	assert_int_equal(region_of(p)->marked, 0);
	assert_true(fake_all(p, BYTES(3), FILE_PAGES));
	fake_check();
}

static void only_live_pages_can_be_changed(void **state)
{
	char *p;

	open_file(20);
	p = view(1, 4);
	assert_int_equal(view_check(p, BYTES(4)), 0);
	assert_int_equal(view_check(p, BYTES(5)), -ENOMEM);
	assert_int_equal(view_check(p - PAGE, BYTES(2)), -ENOMEM);
	assert_int_equal(view_check(p, 0), 0);
	assert_int_equal(view_change(p - PAGE, BYTES(2), true), -ENOMEM);
	assert_int_equal(view_change(p, BYTES(5), false), -ENOMEM);
	assert_int_equal(region_of(p)->marked, 0);
	assert_int_equal(view_check(p + ((size_t)8 << 20), PAGE), -ENOMEM);
	assert_true(view_none(p + BYTES(4), PAGE));
	assert_false(view_none(p + BYTES(3), BYTES(2)));
	assert_false(view_none(p - PAGE, BYTES(2)));
	assert_true(view_none(p - PAGE, PAGE));
	/* Outside the estate is not our business. */
	assert_int_equal(view_check((char *)estate.base - BYTES(2), BYTES(2)), 0);
	program_unmap(p + PAGE, PAGE);
	assert_int_equal(view_check(p, BYTES(2)), -ENOMEM);
	assert_int_equal(view_check(p, PAGE), 0);
}

static void marks_may_want_memory(void **state)
{
	char *p;

	open_file(4);
	p = view(0, 4);
	fake_fail(CALL_TABLE, 1, ENOMEM);
	assert_int_equal(view_change(p, PAGE, true), -ENOMEM);
	assert_int_equal(region_of(p)->marked, 0);
	fake_fail(CALL_TABLE, 1, ENOMEM);
	assert_int_equal(view_cover(p, PAGE), -ENOMEM);
	fake_mend();
	assert_int_equal(region_of(p)->marked, 0);
	assert_int_equal(claimed_pages(p, 4), 4);
	assert_int_equal(program_unmap(p, BYTES(4)), 0);
	assert_int_equal(claimed_pages(p, 4), 0);
	fake_check();
}

static void map_over(char *p, size_t count, int number)
{
	assert_int_equal(view_cover(p, BYTES(count)), 0);
	fake_program_map(p, BYTES(count), number);
	view_covered(p, BYTES(count), true);
}

static void what_is_mapped_over_a_view_stays_the_programs(void **state)
{
	char *p;

	open_file(8);
	p = view(0, 6);
	map_over(p + BYTES(2), 3, 5);
	assert_int_equal(view_check(p, BYTES(6)), 0);
	/* Other views of the file go elsewhere. */
	if (!config.tiny)
		assert_ptr_not_equal(view(3, 1), p + BYTES(3));
	program_unmap(p, BYTES(3));
	assert_true(fake_all(p, BYTES(3), FILE_PAGES));
	assert_true(fake_all(p + BYTES(3), BYTES(2), PROGRAM));
	program_unmap(p + BYTES(3), BYTES(3));
	assert_true(fake_all(p, BYTES(6), FILE_PAGES));
	assert_int_equal(region_of(p)->marked, 0);
	fake_check();
}

static void what_is_mapped_over_an_idle_region_keeps_its_slot(void **state)
{
	struct region *region;
	char *p, *q;

	open_file(8);
	p = view(0, 1);
	region = region_of(p);
	map_over(p + BYTES(4), 1, 5);
	assert_ptr_not_equal(program_map(fd, 4, 1), p + BYTES(4));
	program_unmap(p, PAGE);
	program_close(fd);
	assert_null(region_of(p));
	assert_int_equal(region->state, REGION_FREE);
	assert_true(fake_all(p + BYTES(4), PAGE, PROGRAM));
	assert_int_equal(view_check(p + BYTES(4), PAGE), 0);
	assert_int_equal(view_check(p + BYTES(3), PAGE), -ENOMEM);
	open_file(8);
	q = view(0, 8);
	/* The slots beside it may be used again, its own may not. */
	assert_true(q > p + BYTES(4) || q + BYTES(8) <= p + BYTES(4));
	assert_int_equal(program_unmap(p + BYTES(4), PAGE), 0);
	assert_true(fake_all(p + BYTES(4), PAGE, RESERVED));
	assert_int_equal(view_check(p + BYTES(4), PAGE), -ENOMEM);
	fake_check();
}

/* shmat over a view, and shmdt. */
static void what_is_detached_leaves_no_hole(void **state)
{
	char *p;

	open_file(8);
	p = view(0, 4);
	map_over(p + PAGE, 2, 5);
	assert_int_equal(fake_program_unmap(p + PAGE, BYTES(2)), 0);
	view_detached(p + PAGE);
	fake_check();
	assert_int_equal(view_check(p + PAGE, PAGE), -ENOMEM);
	assert_int_equal(view_check(p, PAGE), 0);
	assert_int_equal(view_check(p + BYTES(3), PAGE), 0);
	/* What is still mapped was not detached. */
	map_over(p, 1, 6);
	view_detached(p);
	assert_true(fake_all(p, PAGE, PROGRAM));
	assert_int_equal(view_check(p, PAGE), 0);
	fake_check();
}

static void mapping_where_no_region_is(void **state)
{
	char *p, *q;

	open_file(2);
	p = view(0, 1);
	q = p + ((size_t)4 << 20);
	map_over(q, 2, 6);
	assert_int_equal(view_check(q, BYTES(2)), 0);
	assert_int_equal(view_check(q, BYTES(3)), -ENOMEM);
	map_over(q + PAGE, 2, 7);
	assert_int_equal(fake_at(q).file, 6);
	assert_int_equal(program_unmap(q, BYTES(2)), 0);
	assert_true(fake_all(q, BYTES(2), RESERVED));
	assert_true(fake_all(q + BYTES(2), PAGE, PROGRAM));
	assert_int_equal(program_unmap(q, BYTES(3)), 0);
	fake_check();
	/* Nothing of ours was ever placed on it. */
	map_over(q, 1, 8);
	for (int i = 0; i < 100; i++) {
		open_file(8);
		p = view(0, 8);
		assert_true(q >= p + BYTES(8) || q < p);
	}
	fake_check();
}

static void a_cover_that_fails_leaves_all_as_it_was(void **state)
{
	char *p;

	open_file(8);
	p = view(0, 2);
	assert_int_equal(view_cover(p + PAGE, BYTES(3)), 0);
	view_covered(p + PAGE, BYTES(3), false);
	assert_int_equal(view_check(p, BYTES(2)), 0);
	assert_int_equal(view_check(p + BYTES(2), PAGE), -ENOMEM);
	assert_true(view_none(p + BYTES(2), BYTES(2)));
	program_unmap(p, BYTES(2));
	assert_true(view_none(p, BYTES(4)));
	assert_int_equal(view_cover(p + ((size_t)4 << 20), PAGE), 0);
	view_covered(p + ((size_t)4 << 20), PAGE, false);
	assert_int_equal(view_check(p + ((size_t)4 << 20), PAGE), -ENOMEM);
	program_close(fd);
	assert_int_equal(fake_file_pages(file), 0);
	fake_check();
}

/* A page that could not be made pristine must not become a view again by way of a failing cover. */
static void a_retired_page_stays_retired(void **state)
{
	char *p, *q;

	open_file(8);
	p = view(0, 2);
	assert_int_equal(view_change(p, PAGE, true), 0);
	fake_fail_always(CALL_MAP, ENOMEM);
	assert_int_equal(program_unmap(p, PAGE), 0);
	fake_mend();
	assert_int_equal(pages_mark_of(estate_page(p)), MARK_RETIRED);
	assert_int_equal(view_cover(p, PAGE), 0);
	view_covered(p, PAGE, false);
	q = program_map(fd, 0, 1);
	if (q != NULL)
		assert_int_equal(fake_at(q).prot, PROT_READ);
	assert_ptr_not_equal(q, p);
}

/* A MAP_FIXED that fails late has taken the old mapping away. */
static void a_cover_that_fails_late_leaves_no_hole(void **state)
{
	char *p, *q;

	open_file(8);
	p = view(0, 2);
	q = p + ((size_t)4 << 20);
	assert_int_equal(view_cover(p + PAGE, BYTES(3)), 0);
	fake_program_unmap(p + PAGE, BYTES(3));
	view_covered(p + PAGE, BYTES(3), false);
	fake_check();
	assert_int_equal(view_cover(q, BYTES(3)), 0);
	fake_program_unmap(q, BYTES(3));
	view_covered(q, BYTES(3), false);
	fake_check();
	/* Nor is what it left a view for anybody. */
	q = program_map(fd, 2, 1);
	if (q != NULL)
		assert_true(fake_all(q, PAGE, FILE_PAGES));
}

/* The last view of an orphan ends in the same munmap as what stands beside it. */
static void an_orphan_ends_in_the_midst_of_an_unmap(void **state)
{
	char *p;

	open_file(8);
	p = view(0, 3);
	map_over(p + PAGE, 1, 5);
	program_close(fd);
	assert_int_equal(program_unmap(p + BYTES(2), PAGE), 0);
	assert_int_equal(program_unmap(p, BYTES(3)), 0);
	assert_null(region_of(p));
	assert_true(fake_all(p, BYTES(3), RESERVED));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pages_mark_of(estate_page(p + BYTES(i))), MARK_NONE);
	/* It can be mapped over as anything that is not mapped can. */
	map_over(p + PAGE, 1, 6);
	assert_int_equal(program_unmap(p + PAGE, PAGE), 0);
	fake_check();
}

static void the_shed_part_is_the_kernels(void **state)
{
	char *p, *q;

	open_file(8);
	p = view(0, 2);
	description_retreat();
	q = p + ((size_t)32 << 20);
	assert_true(estate_is_shed(estate_page(q)));
	assert_true(estate_touches(q, PAGE));
	/* The kernel puts something of the program's there. */
	fake_program_map(q, BYTES(2), 5);
	assert_int_equal(view_check(q, BYTES(2)), 0);
	assert_int_equal(view_change(q, BYTES(2), true), 0);
	assert_int_equal(view_cover(q, PAGE), 0);
	view_covered(q, PAGE, true);
	/* Whether it is taken is for the kernel to say. */
	assert_false(view_none(q, PAGE));
	assert_int_equal(program_unmap(q, PAGE), 0);
	assert_int_equal(fake_at(q).what, NOTHING);
	assert_int_equal(fake_at(q + PAGE).what, PROGRAM);
	assert_int_equal(program_unmap(p, BYTES(2)), 0);
	fake_check();
}

/* At the limit of mappings even giving back may be refused; nothing may break. */
static void at_the_mapping_limit(void **state)
{
	char *views[30];
	int fds[30];

	for (int i = 0; i < 30; i++) {
		open_file(3);
		fds[i] = fd;
		views[i] = view(0, 3);
	}
	fake.limit = fake_mapping_count();
	for (int i = 0; i < 30; i += 2) {
		program_unmap(views[i], BYTES(3));
		program_close(fds[i]);
		fake_check();
	}
	for (int i = 1; i < 30; i += 2) {
		assert_true(fake_all(views[i], BYTES(3), FILE_PAGES));
		assert_int_equal(view_change(views[i] + PAGE, PAGE, true), 0);
		program_unmap(views[i], BYTES(3));
		fake_check();
	}
	fake.limit = 0;
	for (int i = 1; i < 30; i += 2)
		program_close(fds[i]);
	fake_check();
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(unmap_in_part, ALL_WORLDS),
		CASE(unmap_many_at_once, ALL_WORLDS),
		CASE(unmap_with_parts_outside, ALL_WORLDS),
		CASE(unmap_all_of_the_estate_and_around, NORMAL),
		CASE(a_refused_outside_part_changes_nothing, ALL_WORLDS),
		CASE(a_length_that_reaches_too_far_changes_nothing, NORMAL),
		CASE(unmap_arguments_are_checked_as_by_the_kernel, ALL_WORLDS),
		CASE(unmapping_twice_is_harmless, ALL_WORLDS),
		CASE(views_of_one_page_survive_each_other, NORMAL),
		CASE(changed_pages_are_made_pristine, EXCLUSIVE_WORLDS),
		CASE(changed_pages_of_an_orphan_are_retired, ALL_WORLDS),
		CASE(changed_pages_are_not_restored_from_another_file, ALL_WORLDS),
		CASE(a_failing_restoration_retires, EXCLUSIVE_WORLDS),
		CASE(changed_pages_are_not_shared, SHARED_WORLDS),
		CASE(retired_and_foreign_pages_are_not_shared, ALL_WORLDS),
		CASE(a_change_of_a_shared_page_is_refused, SHARED_WORLDS),
		CASE(only_live_pages_can_be_changed, ALL_WORLDS),
		CASE(marks_may_want_memory, ALL_WORLDS),
		CASE(what_is_mapped_over_a_view_stays_the_programs, ALL_WORLDS),
		CASE(what_is_detached_leaves_no_hole, ALL_WORLDS),
		CASE(what_is_mapped_over_an_idle_region_keeps_its_slot, ALL_WORLDS),
		CASE(mapping_where_no_region_is, ALL_WORLDS),
		CASE(a_cover_that_fails_leaves_all_as_it_was, ALL_WORLDS),
		CASE(a_retired_page_stays_retired, ALL_WORLDS),
		CASE(a_cover_that_fails_late_leaves_no_hole, ALL_WORLDS),
		CASE(an_orphan_ends_in_the_midst_of_an_unmap, ALL_WORLDS),
		CASE(the_shed_part_is_the_kernels, ALL_WORLDS),
		CASE(at_the_mapping_limit, ALL_WORLDS),
	};

	return RUN(cases);
}
