/*
 * The library's own memory (mem.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_kernel.h"
#include "mem.h"
#include "unit.h"

static bool is_zero(const char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (p[i] != 0)
			return false;
	}
	return true;
}

static void pages_are_zeroed_or_refused(void **state)
{
	char *p = mem_pages(3 * PAGE);

	assert_non_null(p);
	assert_int_equal((uintptr_t)p % PAGE, 0);
	assert_true(is_zero(p, 3 * PAGE));
	fake_fail(CALL_TABLE, 1, ENOMEM);
	assert_null(mem_pages(PAGE));
	assert_true(fake_mend());
}

static void parts_lie_side_by_side(void **state)
{
	char *p;

	mem_begin();
	/* Where address space is short, they come from anywhere. */
	if (kernel.address_limit() != UINT64_MAX)
		skip();
	p = mem_pages(3 * PAGE);
	assert_non_null(p);
	assert_true(is_zero(p, 3 * PAGE));
	memset(p, 1, 3 * PAGE);
	for (int i = 0; i < 20; i++) {
		char *next = mem_pages(2 * PAGE - 100);

		assert_ptr_equal(next, p + (3 + 2 * i) * PAGE);
		assert_true(is_zero(next, 2 * PAGE));
		memset(next, 2, 2 * PAGE);
	}
	/* What does not fit comes from anywhere. */
	assert_non_null(mem_pages((size_t)100 << 20));
	assert_ptr_equal(mem_pages(PAGE), p + 43 * PAGE);
	mem_retreat();
	p = mem_pages(PAGE);
	assert_non_null(p);
	memset(p, 3, PAGE);
	mem_retreat();
}

static char *parts[4][50];

static void take(unsigned int number)
{
	for (int i = 0; i < 50; i++) {
		char *p = mem_pages(PAGE);

		EXPECT(p != NULL && is_zero(p, PAGE));
		if (p != NULL)
			memset(p, (int)number + 1, PAGE);
		parts[number][i] = p;
	}
}

static void threads_get_different_parts(void **state)
{
	mem_begin();
	unit_threads(4, take);
	for (int number = 0; number < 4; number++) {
		for (int i = 0; i < 50; i++) {
			assert_int_equal(parts[number][i][0], number + 1);
			assert_int_equal(parts[number][i][PAGE - 1], number + 1);
		}
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(pages_are_zeroed_or_refused, NORMAL),
		CASE(parts_lie_side_by_side, NORMAL | REAL_KERNEL),
		CASE(threads_get_different_parts, NORMAL | REAL_KERNEL),
	};

	return RUN(cases);
}
