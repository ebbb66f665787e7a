/*
 * Chunks: the 64 KiB pieces of the files that are read, and whether each of them is read often
 * enough to be worth mapping.
 *
 *   a read of a chunk ──> bought? ──yes──> a copy
 *                           │ no
 *                           └──> read so often, or is there credit? ──> bought ──> a copy
 *                                  │ no
 *                                  └──> the real call
 *
 * A page of a region costs as much as a system call or more when it is touched for the first time:
 * a fault for each 16 pages (fault_around_bytes, mm/memory.c), an entry in the page table for each
 * page and its end; and on machines whose hypervisor keeps shadow page tables, a trap for each
 * page. Measured, a page of a file that is in memory: 0.3 us on one machine, 2 to 5 us on another,
 * where a read of 4 KiB takes 1.7 us. What is read from one end to the other, once, is cheaper read
 * by the kernel, on the latter by far (files of 200 MB, by 16 KiB: a third of the time).
 *
 * So it is the old question whether to rent or to buy: a chunk is bought once as much has been
 * spent on real reads of it as mapping it costs, PRICE. Where chunks that were bought have gained
 * more than their price, the file is worth it: the gain is credit, for which others are bought at
 * once. Credit is limited, so that a program that changes its ways loses little.
 *
 * It is a guess about time, never about bytes: what the cells say may be old, or of another file.
 *
 * Synchronization: the cells are atomic and not exact.
 */
#ifndef CHUNK_H
#define CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#define CHUNK_SHIFT 16

/* A cell is a mark of its chunk, and how often that was read, or CHUNK_BOUGHT. */
#define CHUNK_CELLS_SHIFT 15
#define CHUNK_CELLS (1U << CHUNK_CELLS_SHIFT)
#define CHUNK_COUNT_BITS 6
#define CHUNK_BOUGHT ((1U << CHUNK_COUNT_BITS) - 1)
extern uint16_t chunk_cells[CHUNK_CELLS] __attribute__((visibility("hidden")));

/* What a description's chunks are found by; never 0. */
static inline uint32_t chunk_file(uint64_t handle)
{
	return (uint32_t)((handle * 0x9e3779b97f4a7c15U) >> 32) | 1;
}

/* Neighbours have neighbouring cells: those of a small file share a page. */
static inline uint16_t *chunk_cell(uint32_t file, uint64_t chunk)
{
	return &chunk_cells[(file + chunk) % CHUNK_CELLS];
}

/* What its cell holds once it is bought. */
static inline uint16_t chunk_mark(uint32_t file, uint64_t chunk)
{
	return (uint16_t)(((file >> 16) ^ (chunk >> CHUNK_CELLS_SHIFT)) << CHUNK_COUNT_BITS |
			  CHUNK_BOUGHT);
}

static inline bool chunk_is_bought(uint32_t file, uint64_t chunk)
{
	return __atomic_load_n(chunk_cell(file, chunk), __ATOMIC_RELAXED) ==
	       chunk_mark(file, chunk);
}

/* Whether the chunks at both ends of a range are. */
static inline bool chunk_has(uint32_t file, uint64_t first, uint64_t last)
{
	uint64_t from = first >> CHUNK_SHIFT;
	uint64_t to = last >> CHUNK_SHIFT;

	return chunk_is_bought(file, from) && (from == to || chunk_is_bought(file, to));
}

/* Counts a read of the range, which is less than that of many chunks; whether all of them are
 * bought, now or before. `credit`: reads that were saved, and not yet spent. */
bool chunk_buy(uint32_t file, uint64_t first, uint64_t last, uint16_t *credit);

/* So many reads were saved. */
void chunk_earn(uint16_t *credit, unsigned int reads);

#endif
