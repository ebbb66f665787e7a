/*
 * The arena (arena.c): memory by the page, and copies of what can't be mapped any more.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "budget.h"
#include "config.h"
#include "description.h"
#include "estate.h"
#include "lock.h"
#include "unit.h"
#include "view.h"

static int real_unmap(void *addr, size_t length)
{
	return munmap(addr, length) == 0 ? 0 : -1;
}

static unsigned char *memory(size_t length)
{
	struct view_request request = {
		NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0};

	config.modes |= MODE_anon;
	return view_map_crowded(&request, REASON_anonymous);
}

static bool all_are(const unsigned char *p, size_t length, unsigned char byte)
{
	for (size_t i = 0; i < length; i++) {
		if (p[i] != byte)
			return false;
	}
	return true;
}

struct piece {
	unsigned char *p;
	size_t pages;
	unsigned char byte;
};

/* One more, or a part of one less, or one that is protected for a while. */
static void change(struct piece *piece, struct rng *rng, unsigned char byte)
{
	size_t part;

	if (piece->p == NULL) {
		piece->pages = 1 + rng_below(rng, rng_below(rng, 10) == 0 ? 200 : 6);
		piece->p = memory(piece->pages * PAGE);
		if (piece->p == NULL)
			return;
		assert_true(all_are(piece->p, piece->pages * PAGE, 0));
		piece->byte = byte;
		memset(piece->p, byte, piece->pages * PAGE);
		return;
	}
	assert_true(all_are(piece->p, piece->pages * PAGE, piece->byte));
	if (rng_below(rng, 4) == 0) {
		assert_int_equal(view_change(piece->p, PAGE, true), 0);
		assert_int_equal(mprotect(piece->p, PAGE, PROT_NONE), 0);
	}
	/* What is protected goes first, and its protection must not reach the next. */
	part = 1 + rng_below(rng, piece->pages);
	assert_int_equal(view_unmap(piece->p, part * PAGE, real_unmap), 0);
	piece->pages -= part;
	piece->p = piece->pages > 0 ? piece->p + part * PAGE : NULL;
}

static void memory_is_zero_and_ones_own(void **state)
{
	static struct piece pieces[64];
	struct rng rng = unit_rng();
	uint64_t end = unit_ms() + 500;
	unsigned int n = 0;

	while (unit_ms() < end) {
		for (int i = 0; i < 100; i++)
			change(&pieces[rng_below(&rng, LENGTH(pieces))], &rng,
			       (unsigned char)(1 + n++ % 255));
	}
	for (size_t i = 0; i < LENGTH(pieces); i++)
		assert_true(pieces[i].p == NULL ||
			    all_are(pieces[i].p, pieces[i].pages * PAGE, pieces[i].byte));
}

static void unmapped_is_not_mapped(void **state)
{
	unsigned char *p = memory(3 * PAGE);
	bool live;

	assert_non_null(p);
	assert_int_equal(view_check(p, 3 * PAGE), 0);
	assert_int_equal(view_unmap(p + PAGE, PAGE, real_unmap), 0);
	assert_int_equal(view_run(p, 3 * PAGE, &live), PAGE);
	assert_true(live);
	assert_int_not_equal(view_check(p, 3 * PAGE), 0);
	assert_true(view_none(p + PAGE, PAGE));
	p[0] = p[2 * PAGE] = 1;
}

static size_t resident(unsigned char *p, size_t pages)
{
	unsigned char *vector = malloc(pages);
	size_t n = 0;

	assert_int_equal(mincore(p, pages * PAGE, vector), 0);
	for (size_t i = 0; i < pages; i++)
		n += vector[i] & 1;
	free(vector);
	return n;
}

/* However it is given back, most of it is the kernel's again. */
static void what_is_unmapped_takes_no_memory(void **state)
{
	enum { PAGES = 8192 };
	static unsigned char *p[PAGES];

	for (size_t i = 0; i < PAGES; i++) {
		p[i] = memory(PAGE);
		assert_non_null(p[i]);
		p[i][0] = 1;
	}
	for (size_t i = 0; i < PAGES; i += 2)
		assert_int_equal(view_unmap(p[i], PAGE, real_unmap), 0);
	assert_in_range(resident(p[0], PAGES), PAGES / 2, PAGES / 2 + PAGES / 16);
	for (size_t i = 1; i < PAGES; i += 2)
		assert_int_equal(view_unmap(p[i], PAGE, real_unmap), 0);
	assert_in_range(resident(p[0], PAGES), 0, PAGES / 8);
	/* And is handed out again. */
	for (size_t i = 0; i < (size_t)4 * PAGES; i++) {
		p[i % PAGES] = memory(PAGE);
		assert_int_equal(p[i % PAGES][0], 0);
		assert_int_equal(view_unmap(p[i % PAGES], PAGE, real_unmap), 0);
		assert_true(p[i % PAGES] < p[0] + (size_t)8 * PAGES * PAGE);
	}
}

static void others_pass(void **state)
{
	struct view_request request = {
		NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0};

	/* Not asked for, and no need. */
	assert_null(view_map_crowded(&request, REASON_anonymous));
	config.modes |= MODE_anon;
	request.flags |= MAP_LOCKED;
	assert_null(view_map_crowded(&request, REASON_anonymous));
	request.flags = MAP_SHARED | MAP_ANONYMOUS;
	assert_null(view_map_crowded(&request, REASON_anonymous));
	request.flags = MAP_PRIVATE | MAP_ANONYMOUS;
	request.prot = PROT_NONE;
	assert_null(view_map_crowded(&request, REASON_anonymous));
	request.prot = PROT_READ | PROT_WRITE;
	request.length = ARENA_LARGEST + 1;
	assert_null(view_map_crowded(&request, REASON_anonymous));
	request.length = 0;
	assert_null(view_map_crowded(&request, REASON_anonymous));
	request.length = PAGE;
	assert_non_null(view_map_crowded(&request, REASON_anonymous));
}

static void nothing_after_a_retreat(void **state)
{
	unsigned char *p = memory(PAGE);

	assert_non_null(p);
	p[0] = 7;
	description_retreat();
	assert_null(memory(PAGE));
	assert_int_equal(p[0], 7);
	assert_int_equal(view_unmap(p, PAGE, real_unmap), 0);
}

static void reserve_all(void)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);

	arena_reserve();
	lock_drop(LOCK_VIEWS, hold);
	budget_set_crowded();
}

/* `bytes` of 'x'. */
static int make_file(size_t bytes)
{
	char name[] = "/tmp/mapcoalesce-arena-XXXXXX";
	int fd = mkstemp(name);
	char *text = malloc(bytes);

	memset(text, 'x', bytes);
	assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
	free(text);
	unlink(name);
	return fd;
}

static unsigned char *copy(int fd, uint64_t offset, size_t length, int prot)
{
	struct view_request request = {NULL, length, prot, MAP_PRIVATE, fd, offset};

	return view_map_crowded(&request, REASON_first);
}

static void a_copy_is_what_a_mapping_would_be(void **state)
{
	int fd = make_file(3 * PAGE + 5);
	bool writable;
	unsigned char *p;
	unsigned char *q;

	assert_null(copy(fd, 0, PAGE, PROT_READ));
	reserve_all();
	p = copy(fd, PAGE, 3 * PAGE, PROT_READ);
	q = copy(fd, 3 * PAGE, 5, PROT_READ | PROT_WRITE);
	assert_non_null(p);
	assert_non_null(q);
	assert_true(all_are(p, 2 * PAGE + 5, 'x'));
	assert_true(all_are(p + 2 * PAGE + 5, PAGE - 5, 0));
	assert_true(all_are(q, 5, 'x'));
	memset(q, 'y', PAGE);
	/* Not of the file's, which the program would be told by a fault. */
	assert_null(copy(fd, PAGE, 4 * PAGE, PROT_READ));
	assert_null(copy(fd, 4 * PAGE, PAGE, PROT_READ));
	assert_null(copy(-1, 0, PAGE, PROT_READ));
	assert_true(view_is_copy(p, PAGE, &writable));
	assert_false(writable);
	assert_true(view_is_copy(q, PAGE, &writable));
	assert_true(writable);
	/* Read-only as it was meant to be. */
	assert_int_equal(pread(fd, p, 1, 0), -1);
	assert_int_equal(view_unmap(q, PAGE, real_unmap), 0);
	assert_int_equal(view_unmap(p, 3 * PAGE, real_unmap), 0);
	assert_true(all_are(copy(fd, 0, PAGE, PROT_READ), PAGE, 'x'));
	close(fd);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(memory_is_zero_and_ones_own, NORMAL | TINY | REAL_KERNEL),
		CASE(unmapped_is_not_mapped, NORMAL | TINY | REAL_KERNEL),
		CASE(what_is_unmapped_takes_no_memory, NORMAL | REAL_KERNEL),
		CASE(others_pass, NORMAL | TINY | REAL_KERNEL),
		CASE(nothing_after_a_retreat, NORMAL | TINY | REAL_KERNEL),
		CASE(a_copy_is_what_a_mapping_would_be, NORMAL | TINY | REAL_KERNEL),
	};

	return RUN(cases);
}
