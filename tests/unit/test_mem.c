/*
 * The library's own memory (mem.c).
 */
#include <errno.h>
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

static void small_things_do_not_overlap(void **state)
{
	static const size_t sizes[] = {1, 63, 64, 65, 100, 4000, 4096};
	static char *things[400];

	for (size_t i = 0; i < LENGTH(things); i++) {
		size_t size = sizes[i % LENGTH(sizes)];

		things[i] = mem_take(size);
		assert_non_null(things[i]);
		assert_int_equal((uintptr_t)things[i] % 64, 0);
		assert_true(is_zero(things[i], size));
		memset(things[i], (int)(i % 255) + 1, size);
	}
	for (size_t i = 0; i < LENGTH(things); i++) {
		size_t size = sizes[i % LENGTH(sizes)];

		for (size_t j = 0; j < size; j++)
			assert_int_equal((unsigned char)things[i][j], i % 255 + 1);
	}
}

static void small_things_are_refused_too(void **state)
{
	unsigned int taken = 0;

	assert_non_null(mem_take(64));
	fake_fail_always(CALL_TABLE, ENOMEM);
	while (mem_take(4096) != NULL)
		taken++;
	assert_in_range(taken, 10, 16);
	/* What is left is still good for something smaller. */
	assert_non_null(mem_take(64));
	fake_mend();
	assert_non_null(mem_take(4096));
}

static uint32_t owners[4][500];

static void take(unsigned int number)
{
	for (int i = 0; i < 500; i++) {
		uint32_t *p = mem_take(60);

		EXPECT(p != NULL);
		EXPECT(p != NULL && __atomic_exchange_n(p, number + 1, __ATOMIC_RELAXED) == 0);
		owners[number][i] = p != NULL ? *p : 0;
	}
}

static void threads_get_different_things(void **state)
{
	unit_threads(4, take);
	for (uint32_t number = 0; number < 4; number++) {
		for (int i = 0; i < 500; i++)
			assert_int_equal(owners[number][i], number + 1);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(pages_are_zeroed_or_refused, NORMAL),
		CASE(small_things_do_not_overlap, NORMAL),
		CASE(small_things_are_refused_too, NORMAL),
		CASE(threads_get_different_things, NORMAL),
	};

	return RUN(cases);
}
