/*
 * Which pieces of files are worth mapping for their reads (chunk.c).
 */
#include <string.h>

#include "chunk.h"
#include "unit.h"

#define CHUNK ((uint64_t)1 << CHUNK_SHIFT)

static uint32_t file;
static uint16_t credit;

static void start(void)
{
	memset(chunk_cells, 0, sizeof(chunk_cells));
	credit = 0;
	file = chunk_file(12345);
}

/* A read of n bytes, proved by the page after it. */
static bool buys(uint64_t offset, uint64_t n)
{
	uint64_t after = ((offset + n - 1) | (PAGE - 1)) + 1;
	bool bought = chunk_buy(file, offset, after, &credit);

	if (bought)
		assert_true(chunk_has(file, offset, after));
	return bought;
}

static void what_is_read_once_is_not_bought(void **state)
{
	start();
	for (uint64_t skew = 0; skew < PAGE; skew += 1000)
		for (uint64_t at = skew; at < 300 * CHUNK; at += PAGE)
			assert_false(buys(at + skew * 3000 * CHUNK, PAGE));
	for (uint64_t n = 4096; n <= CHUNK; n *= 2) {
		file = chunk_file(n);
		for (uint64_t at = 3000; at < 300 * CHUNK; at += n)
			assert_false(buys(at, n));
	}
}

static void what_is_read_often_is(void **state)
{
	int reads = 1;

	start();
	while (!buys(CHUNK, 100))
		reads++;
	assert_in_range(reads, 18, 32);
	assert_true(buys(CHUNK + 5000, 100));
	assert_false(buys(3 * CHUNK, 100));
	assert_false(chunk_is_bought(file, 2));
	assert_false(chunk_is_bought(chunk_file(12346), 1));
}

static void large_reads_count_more(void **state)
{
	int reads = 1;

	start();
	while (!buys(5 * CHUNK + 5000, CHUNK))
		reads++;
	assert_in_range(reads, 3, 8);
}

static void small_reads_in_a_row_are_worth_it(void **state)
{
	unsigned int served = 0, passed = 0;

	start();
	for (uint64_t at = 0; at < 100 * CHUNK; at += 512) {
		if (buys(at, 512)) {
			served++;
			chunk_earn(&credit, 1);
		} else {
			passed++;
		}
	}
	assert_true(served > 100 * passed);
}

static void credit_is_limited(void **state)
{
	unsigned int bought = 0;

	start();
	for (int i = 0; i < 100000; i++)
		chunk_earn(&credit, 1000);
	for (uint64_t at = 0; at < 5000 * CHUNK; at += CHUNK)
		bought += buys(at, 100);
	assert_in_range(bought, 1, 100);
	assert_int_equal(credit / 64, 0);
}

static void neighbours_and_files_are_told_apart(void **state)
{
	uint32_t other = chunk_file((uint64_t)7 << 32 | 12345);

	start();
	for (int i = 0; i < 40; i++)
		buys(10 * CHUNK, 1);
	assert_true(chunk_is_bought(file, 10));
	assert_false(chunk_is_bought(file, 10 + CHUNK_CELLS));
	assert_false(chunk_is_bought(other, 10));
	/* A cell that was another chunk's begins anew. */
	for (int i = 0; i < 10; i++)
		assert_false(buys((10 + CHUNK_CELLS) * CHUNK, 1));
	assert_false(chunk_is_bought(file, 10));
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(what_is_read_once_is_not_bought, NORMAL),
		CASE(what_is_read_often_is, NORMAL),
		CASE(large_reads_count_more, NORMAL),
		CASE(small_reads_in_a_row_are_worth_it, NORMAL),
		CASE(credit_is_limited, NORMAL),
		CASE(neighbours_and_files_are_told_apart, NORMAL),
	};

	return RUN(cases);
}
