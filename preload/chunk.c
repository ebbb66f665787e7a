#include "chunk.h"

#include "config.h"

/* In reads: what mapping a chunk costs. More than the 17 in which it is read by 4 KiB, whatever
 * they begin with. */
#define PRICE 24
#define MOST_CREDIT (64 * PRICE)
/* A larger read costs the kernel more for each page: one of so many bytes counts twice, of twice as
 * many three times. (Read from end to end by 16 KiB, a chunk has counted 10.) */
#define DOUBLE_READ 16384

uint16_t chunk_cells[CHUNK_CELLS];

/* Programs that are known to read their files again and again: gold, which has views of them
 * besides, and those that use libbfd. For GNU ld, with 250 archives, evidence would cost 66,000
 * reads and 4 % of the processor time. */
static bool is_reader(void)
{
	static uint8_t known; /* atomic; 0: not yet asked, 1: no, 2: yes */
	uint8_t is = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (is == 0) {
		is = config_program_shares() || config_program_is_bfd() ? 2 : 1;
		__atomic_store_n(&known, is, __ATOMIC_RELAXED);
	}
	return is == 2;
}

/* Whether the chunk is to be bought with this read, which counts so much. */
static bool is_due(uint16_t *cell, uint16_t mark, unsigned int weight, uint16_t *credit)
{
	uint16_t value = __atomic_load_n(cell, __ATOMIC_RELAXED);
	unsigned int count = value & CHUNK_BOUGHT;
	uint16_t has = __atomic_load_n(credit, __ATOMIC_RELAXED);

	/* Another chunk's, until now. */
	if ((value | CHUNK_BOUGHT) != mark)
		count = 0;
	count += weight;
	if (count >= PRICE || config.tiny || is_reader())
		return true;
	if (has >= PRICE) {
		__atomic_store_n(credit, (uint16_t)(has - PRICE), __ATOMIC_RELAXED);
		return true;
	}
	__atomic_store_n(cell, (uint16_t)((mark & ~CHUNK_BOUGHT) | count), __ATOMIC_RELAXED);
	return false;
}

bool chunk_buy(uint32_t file, uint64_t first, uint64_t last, uint16_t *credit)
{
	unsigned int weight = 1 + (unsigned int)((last - first) / DOUBLE_READ);
	bool all = true;

	for (uint64_t i = first >> CHUNK_SHIFT; i <= last >> CHUNK_SHIFT; i++) {
		uint16_t *cell = chunk_cell(file, i);
		uint16_t mark = chunk_mark(file, i);

		if (chunk_is_bought(file, i))
			continue;
		if (is_due(cell, mark, weight, credit))
			__atomic_store_n(cell, mark, __ATOMIC_RELAXED);
		else
			all = false;
	}
	return all;
}

void chunk_earn(uint16_t *credit, unsigned int reads)
{
	unsigned int has = __atomic_load_n(credit, __ATOMIC_RELAXED) + reads;

	__atomic_store_n(credit, (uint16_t)(has < MOST_CREDIT ? has : MOST_CREDIT),
			 __ATOMIC_RELAXED);
}
