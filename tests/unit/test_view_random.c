/*
 * Random programs against a naive model: what each page of the estate is to the program. Whatever
 * the library does, the program must find what it put there, and every answer must be the one that
 * the model gives.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "program.h"
#include "unit.h"

#define MOST_PAGES ((size_t)1 << 20)
#define FILES 5
#define MOST_OPEN 8
#define RUN_MS 350

enum is { IS_NOTHING, IS_VIEW, IS_FOREIGN };

/* A page, as the program sees it. */
struct page {
	uint8_t is;
	bool changed; /* it did something to the page that must not reach a later view */
	uint16_t views;
	int file;
	int number;
	size_t file_page;
};

struct distribution {
	const char *name;
	unsigned int map, unmap, open, change, cover, look, fail; /* weights */
	size_t longest;
	size_t file_pages;
};

struct open_file {
	int fd;
	int file;
};

static struct page pages[MOST_PAGES];
static size_t top; /* no page from here on was ever anything */
static struct open_file opened[MOST_OPEN];
static size_t open_count;
static int file_ids[FILES];
static int next_number = 1;
static struct rng rng;

static size_t below(size_t n)
{
	return rng_below(&rng, n);
}

static size_t last_page(void)
{
	return (estate.bytes >> estate.page_shift) - 1;
}

/* A page near something that is there. */
static size_t some_page(void)
{
	size_t page = below(top + 2);

	for (int tries = 0; tries < 30 && pages[page].is == IS_NOTHING; tries++)
		page = below(top + 2);
	page = page > 2 && below(4) == 0 ? page - below(3) : page;
	/* A narrow estate is small. */
	return estate.base == 0 || page < last_page() ? page : last_page();
}

static void raise_top(size_t end)
{
	top = end > top ? end : top;
	assert_true(top < MOST_PAGES - 4096);
}

static void check_page(size_t page)
{
	struct fake_mapping m = fake_at(estate_address(page));

	switch (pages[page].is) {
	case IS_VIEW:
		assert_int_equal(m.what, FILE_PAGES);
		assert_int_equal(m.file, pages[page].file);
		assert_int_equal(m.offset, (uint64_t)pages[page].file_page * PAGE);
		if (!pages[page].changed)
			assert_int_equal(m.prot, PROT_READ);
		break;
	case IS_FOREIGN:
		assert_int_equal(m.what, PROGRAM);
		assert_int_equal(m.file, pages[page].number);
		break;
	default:
		assert_int_not_equal(m.what, PROGRAM);
		break;
	}
}

static void check_all(void)
{
	if (estate.base == 0)
		return;
	for (size_t page = 0; page < top; page++)
		check_page(page);
	fake_check();
}

static void do_open(void)
{
	size_t i = below(MOST_OPEN);

	if (i < open_count) {
		program_close(opened[i].fd);
		opened[i] = opened[--open_count];
	} else if (open_count > 0 && below(3) == 0) {
		opened[open_count].fd = program_dup(opened[0].fd);
		opened[open_count++].file = opened[0].file;
	} else {
		opened[open_count].file = file_ids[below(FILES)];
		opened[open_count].fd = program_open(opened[open_count].file, O_RDONLY);
		open_count++;
	}
	if (below(4) == 0)
		fake.tick++;
}

static void note_view(void *p, int file, size_t file_page, size_t count)
{
	size_t first = estate_page(p);

	raise_top(first + count);
	for (size_t i = 0; i < count; i++) {
		struct page *page = &pages[first + i];

		if (config_program_shares()) {
			assert_int_not_equal(page->is, IS_FOREIGN);
			if (page->is == IS_VIEW) {
				assert_int_equal(page->file, file);
				assert_int_equal(page->file_page, file_page + i);
			}
		} else {
			assert_int_equal(page->is, IS_NOTHING);
		}
		if (page->is == IS_NOTHING)
			page->changed = false;
		page->is = IS_VIEW;
		page->views++;
		page->file = file;
		page->file_page = file_page + i;
		check_page(first + i);
	}
}

static void do_map(const struct distribution *how)
{
	const struct open_file *of;
	size_t page = below(how->file_pages);
	size_t count = 1 + below(how->longest);
	int flags = below(2) ? MAP_SHARED : MAP_PRIVATE;
	void *p;

	if (open_count == 0)
		return;
	of = &opened[below(open_count)];
	p = program_mmap(of->fd, (uint64_t)page * PAGE, count * PAGE - below(PAGE), PROT_READ,
			 flags);
	if (p != NULL) {
		assert_int_equal(fake_at(p).flags, flags);
		note_view(p, of->file, page, count);
	}
}

static void forget_page(struct page *page)
{
	if (page->is == IS_VIEW && --page->views > 0)
		return;
	memset(page, 0, sizeof(*page));
}

static void do_unmap(const struct distribution *how)
{
	size_t first = some_page();
	size_t count = 1 + below(below(8) == 0 ? 200 : how->longest);

	assert_int_equal(program_unmap(estate_address(first), count * PAGE - below(PAGE)), 0);
	for (size_t i = first; i < first + count; i++)
		forget_page(&pages[i]);
}

static bool any_shared(size_t first, size_t count)
{
	bool shared = false;

	for (size_t i = first; i < first + count; i++)
		shared = shared || pages[i].views > 1;
	return shared;
}

static bool all_live(size_t first, size_t count)
{
	bool live = true;

	for (size_t i = first; i < first + count; i++)
		live = live && pages[i].is != IS_NOTHING;
	return live;
}

static void change(size_t page)
{
	if (pages[page].is == IS_FOREIGN)
		return;
	fake_protect_pages(estate_address(page), PAGE, PROT_READ | PROT_WRITE);
	pages[page].changed = true;
}

/* So many pages, but not beyond the estate. */
static size_t some_count(const struct distribution *how, size_t first)
{
	size_t left = last_page() - first + 1;
	size_t count = 1 + below(how->longest);

	return count < left ? count : left;
}

static void do_change(const struct distribution *how)
{
	size_t first = some_page();
	size_t count = some_count(how, first);
	bool excludes = below(3) != 0;
	int expected =
		all_live(first, count) && !(excludes && any_shared(first, count)) ? 0 : -ENOMEM;

	assert_int_equal(view_change(estate_address(first), count * PAGE, excludes), expected);
	for (size_t i = first; i < first + count && expected == 0 && excludes; i++)
		change(i);
}

static void do_cover(const struct distribution *how)
{
	size_t first = some_page();
	size_t count = some_count(how, first);
	void *addr = estate_address(first);
	bool succeeds = below(3) != 0;
	int expected = any_shared(first, count) ? -ENOMEM : 0;

	assert_int_equal(view_cover(addr, count * PAGE), expected);
	if (expected != 0)
		return;
	if (succeeds)
		fake_program_map(addr, count * PAGE, next_number);
	view_covered(addr, count * PAGE, succeeds);
	raise_top(first + count);
	for (size_t i = first; i < first + count && succeeds; i++)
		pages[i] = (struct page){.is = IS_FOREIGN, .number = next_number, .views = 1};
	next_number++;
}

static void do_look(const struct distribution *how)
{
	size_t first = some_page();
	size_t count = some_count(how, first);
	void *addr = estate_address(first);
	bool none = true;

	for (size_t i = first; i < first + count; i++)
		none = none && pages[i].is == IS_NOTHING;
	assert_int_equal(view_check(addr, count * PAGE), all_live(first, count) ? 0 : -ENOMEM);
	assert_int_equal(view_none(addr, count * PAGE), none);
}

static void step(const struct distribution *how)
{
	unsigned int sum = how->map + how->unmap + how->open + how->change + how->cover +
			   how->look + how->fail;
	size_t n = below(sum);

	if (n < how->map)
		do_map(how);
	else if ((n -= how->map) < how->open)
		do_open();
	else if (estate.base == 0)
		return;
	else if ((n -= how->open) < how->unmap)
		do_unmap(how);
	else if ((n -= how->unmap) < how->change)
		do_change(how);
	else if ((n -= how->change) < how->cover)
		do_cover(how);
	else if ((n -= how->cover) < how->look)
		do_look(how);
	else
		fake_fail(CALL_MAP | CALL_PROTECT | CALL_STAT, 1 + (unsigned int)below(4), ENOMEM);
}

/* In the end nothing is left but what could not be made to go. */
static void wind_up(const struct distribution *how)
{
	fake_mend();
	for (int round = 0; round < 2 * UINT16_MAX && top > 0; round++) {
		bool left = false;

		for (size_t page = 0; page < top; page++) {
			if (pages[page].is == IS_NOTHING)
				continue;
			left = true;
			assert_int_equal(program_unmap(estate_address(page), PAGE), 0);
			forget_page(&pages[page]);
		}
		if (!left)
			break;
	}
	while (open_count > 0)
		program_close(opened[--open_count].fd);
	for (int i = 0; i < FILES && how->fail == 0; i++)
		assert_int_equal(fake_file_pages(file_ids[i]), 0);
	for (size_t page = 0; page < top; page++) {
		assert_null(estate_owner(page));
		assert_int_equal(pages_mark_of(page), MARK_NONE);
	}
	fake_check();
}

static void run(const struct distribution *how)
{
	uint64_t end = unit_ms() + RUN_MS;
	unsigned int steps = 0;

	rng = unit_rng();
	for (int i = 0; i < FILES; i++)
		file_ids[i] = fake_file((how->file_pages - (size_t)i) * PAGE - below(PAGE));
	while (unit_ms() < end && top < MOST_PAGES / 2) {
		step(how);
		if (++steps % 64 == 0)
			check_all();
	}
	check_all();
	wind_up(how);
	printf("# %s: %u steps, %llu regions, %llu views, %zu pages\n", how->name, steps,
	       (unsigned long long)stats_sum(COUNT_regions_made),
	       (unsigned long long)stats_sum(COUNT_mmap_views), top);
}

static void small_and_crowded(void **state)
{
	static const struct distribution how = {"small", 50, 45, 3, 0, 0, 5, 0, 4, 12};

	run(&how);
}

static void long_ranges(void **state)
{
	static const struct distribution how = {"long", 40, 25, 3, 3, 3, 5, 0, 90, 150};

	run(&how);
}

static void much_is_done_to_pages(void **state)
{
	static const struct distribution how = {"marks", 30, 25, 3, 20, 15, 5, 0, 5, 20};

	run(&how);
}

static void files_come_and_go(void **state)
{
	static const struct distribution how = {"files", 30, 30, 20, 5, 3, 5, 0, 5, 20};

	run(&how);
}

static void calls_fail(void **state)
{
	static const struct distribution how = {"failures", 30, 30, 10, 10, 5, 5, 15, 5, 20};

	run(&how);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(small_and_crowded, ALL_WORLDS | NARROW_WORLDS),
		CASE(long_ranges, ALL_WORLDS | NARROW_WORLDS),
		CASE(much_is_done_to_pages, ALL_WORLDS | NARROW_WORLDS),
		CASE(files_come_and_go, ALL_WORLDS | NARROW_WORLDS),
		CASE(calls_fail, ALL_WORLDS | NARROW_WORLDS),
	};

	return RUN(cases);
}
