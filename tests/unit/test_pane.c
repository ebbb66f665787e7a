/*
 * Panes: regions where address space is short. What is served from which, which ends for which,
 * and what is given back when the program needs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "program.h"
#include "unit.h"

#define CELL (config.tiny ? 4 : ((size_t)2 << 20) / PAGE)
#define MARGIN (config.tiny ? 2 : ((size_t)128 << 10) / PAGE)
#define MIB ((size_t)1 << 20)

static struct region *with_view(int fd, size_t page, size_t count)
{
	char *p = program_map(fd, page, count);
	struct fake_mapping m;

	if (p == NULL)
		print_message("# passed: %s\n", stats_reason_name(program_reason));
	assert_non_null(p);
	m = fake_at(p);
	assert_int_equal(m.what, FILE_PAGES);
	assert_int_equal(m.offset, page * PAGE);
	return region_of(p);
}

static int open_cells(size_t cells)
{
	int fd = program_open(fake_file(cells * CELL * PAGE + 5), O_RDONLY);

	program_first(fd);
	return fd;
}

static void a_request_is_served_from_a_pane_that_has_it(void **state)
{
	int fd = open_cells(5);
	struct region *first = with_view(fd, 0, 1);
	struct region *second = with_view(fd, CELL + MARGIN, 1);

	assert_true(estate_is_narrow());
	assert_true(estate.bytes <= 8 * MIB);
	assert_int_equal(first->file_page, 0);
	assert_int_equal(second->file_page, CELL);
	/* Into the margin, and not behind it. */
	assert_ptr_equal(with_view(fd, CELL - 1, 1 + MARGIN), first);
	assert_ptr_equal(with_view(fd, CELL, 1), second);
	assert_null(program_map(fd, 3 * CELL - 1, 2 + MARGIN));
	assert_int_equal(program_reason, REASON_pane);
	assert_int_equal(with_view(fd, 2 * CELL + MARGIN, 1)->file_page, 2 * CELL);
	fake_check();
}

static void a_file_far_behind(void **state)
{
	uint64_t far = (uint64_t)5 << 30;
	int file = fake_file(far);
	int fd = program_open(file, O_RDONLY);

	program_first(fd);
	with_view(fd, far / PAGE - 1, 1);
	assert_null(program_map(fd, far / PAGE, 1));
	assert_int_equal(program_reason, REASON_past_end);
	/* It grows. */
	fake_file_at(file)->stat.size = far + 5;
	fake.tick++;
	with_view(fd, far / PAGE, 1);
	fake_check();
}

static size_t live_panes(struct description *d)
{
	size_t n = 0;

	for (struct region *region = d->layers[KIND_READ_PRIVATE]; region != NULL;
	     region = region->next)
		n++;
	return n;
}

static void the_least_recently_used_ends(void **state)
{
	int fd = open_cells(2000);
	struct region *used = with_view(fd, 0, 1);
	struct description *d = description_at(used->owner);
	void *held = program_map(fd, CELL + MARGIN, 1);
	size_t cells, room;

	/* Until one had to end. */
	for (cells = 2; live_panes(d) == cells || cells == 2; cells++)
		assert_int_equal(program_unmap(program_map(fd, cells * CELL + MARGIN, 1), PAGE), 0);
	room = live_panes(d);
	assert_true(room >= 3);
	/* What has a view, and what was used last, never ends. */
	for (size_t i = 0; i < 3 * room; i++) {
		void *p = program_map(fd, 1, 1);

		assert_ptr_equal(region_of(p), used);
		assert_int_equal(program_unmap(p, PAGE), 0);
		assert_int_equal(
			program_unmap(program_map(fd, (cells + i) % 2000 * CELL + MARGIN, 1), PAGE),
			0);
		fake_check();
	}
	assert_int_equal(region_of(held)->file_page, CELL);
	assert_true(live_panes(d) <= room);
	program_close(fd);
	assert_int_equal(program_unmap(held, PAGE), 0);
	fake_check();
}

static void where_all_are_in_use_it_passes(void **state)
{
	int fd = open_cells(2000);
	size_t cells = 0;

	while (program_map(fd, cells * CELL + MARGIN, 1) != NULL)
		cells++;
	assert_int_equal(program_reason, REASON_address_space);
	assert_true(cells >= 3);
	fake_check();
}

static void near_half_of_the_limit_all_goes_back(void **state)
{
	int fd;
	char *p;

	config.max_address_space = 0;
	fake.address_limit = 512 * MIB;
	fake.address_taken = 100 * MIB;
	fd = open_cells(8);
	p = program_map(fd, CELL, 1);
	assert_non_null(p);
	assert_true(estate_is_narrow());
	assert_true(estate.bytes <= 32 * MIB);
	assert_int_equal(program_unmap(program_map(fd, 0, 1), PAGE), 0);
	/* Looked at once a tick. */
	fake.address_taken = 257 * MIB;
	assert_int_equal(program_unmap(program_map(fd, 0, 1), PAGE), 0);
	fake.tick++;
	assert_null(program_map(fd, 0, 1));
	fake.tick++;
	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_retreat);
	/* The view stays, and goes back when it ends. */
	assert_int_equal(fake_at(p).what, FILE_PAGES);
	for (size_t page = 0; page < estate.bytes / PAGE - 64; page++) {
		if (estate_owner(page) == NULL)
			assert_int_equal(fake_at(estate_address(page)).what, NOTHING);
	}
	assert_int_equal(program_unmap(p, PAGE), 0);
	program_close(fd);
	assert_int_equal(fake_at(p).what, NOTHING);
	assert_true(estate_is_shed(estate_page(p)));
	fake_check();
}

static void at_enomem_all_goes_back(void **state)
{
	int fd;
	char *p;

	config.max_address_space = 0;
	fake.address_limit = 512 * MIB;
	fd = open_cells(8);
	p = program_map(fd, CELL, 1);
	assert_non_null(p);
	errno = EBUSY;
	assert_false(view_relieve());
	assert_false(region_has_retreated());
	errno = ENOMEM;
	assert_true(view_relieve());
	assert_int_equal(errno, ENOMEM);
	assert_true(region_has_retreated());
	assert_false(view_relieve());
	assert_int_equal(program_unmap(p, PAGE), 0);
	assert_true(view_relieve());
	assert_int_equal(fake_at(p).what, NOTHING);
	fake_check();
}

static void a_limit_that_is_set_later(void **state)
{
	int fd, other;
	char *p;

	config.max_address_space = 0;
	fd = program_open(fake_file(8 * CELL * PAGE), O_RDONLY);
	program_first(fd);
	p = program_map(fd, CELL, 1);
	assert_false(estate_is_narrow());
	fake.address_limit = 512 * MIB;
	description_narrow(fake.address_limit);
	assert_true(estate_is_narrow());
	fake_check();
	/* What is mapped stays as it was. */
	assert_int_equal(region_of(p)->file_page, 0);
	other = open_cells(100);
	for (size_t i = 0; i < 100; i++) {
		char *q = program_map(other, i * CELL, 1);

		assert_non_null(q);
		assert_true((uintptr_t)q < estate.base + 32 * MIB);
		assert_int_equal(program_unmap(q, PAGE), 0);
	}
	assert_int_equal(program_unmap(p, PAGE), 0);
	program_close(fd);
	fake_check();
	if (estate_page(p) >= 32 * MIB / PAGE)
		assert_int_equal(fake_at(p).what, NOTHING);
	description_retreat();
	fake_check();
	assert_null(program_map(other, 0, 1));
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(a_request_is_served_from_a_pane_that_has_it, NARROW_WORLDS),
		CASE(a_file_far_behind, NARROW_WORLDS),
		CASE(the_least_recently_used_ends, NARROW_WORLDS),
		CASE(where_all_are_in_use_it_passes, NARROW_WORLDS),
		CASE(near_half_of_the_limit_all_goes_back, NARROW_WORLDS),
		CASE(at_enomem_all_goes_back, NARROW_WORLDS),
		CASE(a_limit_that_is_set_later, NARROW_WORLDS),
	};

	return RUN(cases);
}
