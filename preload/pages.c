/* What the estate knows of each of its pages: bits, counts, marks and owners (estate.h). */
#include "estate.h"
#include "mem.h"
#include "region.h"
#include "sys.h"

/* A GiB of the estate has one of these. */
#define CHUNK_SHIFT 30
#define CHUNKS 1024

struct chunk {
	uint64_t *bits;   /* one a page */
	uint64_t *stale;  /* one a page, in the arena */
	uint32_t *owners; /* region index of each slot */
	uint16_t *counts; /* views of each page, in shared regions */
	uint8_t *marks;   /* enum mark of each page */
};

static struct chunk chunks[CHUNKS];

/* Pages that ever became stale, less those that were scrubbed. Atomic. */
static size_t soiled;

/* A page shared by so many views passes through. */
#define COUNT_FULL 65534
/* One view's alone from now on: nobody may share it. */
#define COUNT_CLOSED 65535

static inline size_t chunk_pages(void)
{
	return (size_t)1 << (CHUNK_SHIFT - estate.page_shift);
}

static inline struct chunk *chunk_of(size_t page)
{
	return &chunks[page >> (CHUNK_SHIFT - estate.page_shift)];
}

static inline size_t within(size_t page)
{
	return page & (chunk_pages() - 1);
}

static inline uint64_t *word_of(size_t page)
{
	return &chunk_of(page)->bits[within(page) / 64];
}

/* The bits of one word that belong to [page, end). */
static inline uint64_t mask_of(size_t page, size_t end)
{
	uint64_t mask = ~(uint64_t)0 << page % 64;
	size_t left = end - (page & ~(size_t)63);

	return left < 64 ? mask & (((uint64_t)1 << left) - 1) : mask;
}

static inline size_t next_word(size_t page)
{
	return (page | 63) + 1;
}

bool pages_claim(size_t first, size_t count)
{
	size_t end = first + count;

	for (size_t page = first; page < end; page = next_word(page)) {
		uint64_t *word = word_of(page);
		uint64_t mask = mask_of(page, end);
		uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);

		do {
			if ((seen & mask) != 0) {
				if (page > first)
					pages_unclaim(first, page - first);
				return false;
			}
		} while (!__atomic_compare_exchange_n(word, &seen, seen | mask, true,
						      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	}
	return true;
}

void pages_unclaim(size_t first, size_t count)
{
	size_t end = first + count;

	for (size_t page = first; page < end; page = next_word(page))
		__atomic_fetch_and(word_of(page), ~mask_of(page, end), __ATOMIC_SEQ_CST);
}

static inline uint16_t *count_of(size_t page)
{
	return &chunk_of(page)->counts[within(page)];
}

bool pages_share(size_t first, size_t count)
{
	for (size_t page = first; page < first + count; page++) {
		uint16_t *cell = count_of(page);
		uint16_t seen = __atomic_load_n(cell, __ATOMIC_RELAXED);

		do {
			if (seen >= COUNT_FULL) {
				pages_unshare(first, page - first);
				return false;
			}
		} while (!__atomic_compare_exchange_n(cell, &seen, (uint16_t)(seen + 1), true,
						      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	}
	return true;
}

void pages_unshare(size_t first, size_t count)
{
	for (size_t page = first; page < first + count; page++) {
		uint16_t *cell = count_of(page);
		uint16_t seen = __atomic_load_n(cell, __ATOMIC_RELAXED);

		/* 0: a program may unmap what is not mapped. */
		while (seen != 0 &&
		       !__atomic_compare_exchange_n(cell, &seen,
						    (uint16_t)(seen == COUNT_CLOSED ? 0 : seen - 1),
						    true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		}
	}
}

bool pages_close(size_t page)
{
	uint16_t *cell = count_of(page);
	uint16_t seen = __atomic_load_n(cell, __ATOMIC_RELAXED);

	do {
		if (seen > 1)
			return seen == COUNT_CLOSED;
	} while (!__atomic_compare_exchange_n(cell, &seen, COUNT_CLOSED, true, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return true;
}

void pages_abandon(size_t first, size_t count)
{
	pages_unclaim(first, count);
	for (size_t page = first; page < first + count; page++) {
		if (chunk_of(page)->counts != NULL)
			__atomic_store_n(count_of(page), 0, __ATOMIC_SEQ_CST);
	}
}

static size_t find_by_count(size_t first, size_t end, bool claimed)
{
	while (first < end && (__atomic_load_n(count_of(first), __ATOMIC_SEQ_CST) != 0) != claimed)
		first++;
	return first;
}

size_t pages_find(size_t first, size_t count, bool claimed, bool shared)
{
	size_t end = first + count;

	if (shared)
		return find_by_count(first, end, claimed);
	for (size_t page = first; page < end; page = next_word(page)) {
		uint64_t word = __atomic_load_n(word_of(page), __ATOMIC_SEQ_CST);
		uint64_t found = (claimed ? word : ~word) & mask_of(page, end);

		if (found != 0)
			return (page & ~(size_t)63) + (size_t)__builtin_ctzll(found);
	}
	return end;
}

unsigned int pages_most_shared(size_t first, size_t count)
{
	unsigned int most = 0;

	for (size_t page = first; page < first + count; page++) {
		unsigned int n = __atomic_load_n(count_of(page), __ATOMIC_RELAXED);

		n = n == COUNT_CLOSED ? 1 : n;
		most = n > most ? n : most;
	}
	return most;
}

static bool prepare_chunk(struct chunk *chunk, bool with_counts)
{
	size_t slots = (size_t)1 << (CHUNK_SHIFT - estate.slot_shift);

	if (chunk->bits == NULL)
		chunk->bits = mem_pages(chunk_pages() / 8);
	if (chunk->owners == NULL)
		__atomic_store_n(&chunk->owners, mem_pages(slots * sizeof(uint32_t)),
				 __ATOMIC_RELEASE);
	if (with_counts && chunk->counts == NULL)
		chunk->counts = mem_pages(chunk_pages() * sizeof(*chunk->counts));
	return chunk->bits != NULL && chunk->owners != NULL &&
	       (!with_counts || chunk->counts != NULL);
}

bool pages_prepare(size_t first, size_t count, bool with_counts)
{
	for (size_t page = first; page < first + count; page = (page | (chunk_pages() - 1)) + 1) {
		if (!prepare_chunk(chunk_of(page), with_counts))
			return false;
	}
	return true;
}

bool pages_prepare_stale(size_t first, size_t count)
{
	for (size_t page = first; page < first + count; page = (page | (chunk_pages() - 1)) + 1) {
		struct chunk *chunk = chunk_of(page);

		if (chunk->stale == NULL)
			chunk->stale = mem_pages(chunk_pages() / 8);
		if (chunk->stale == NULL)
			return false;
	}
	return true;
}

static inline uint64_t *stale_word_of(size_t page)
{
	return &chunk_of(page)->stale[within(page) / 64];
}

/* The compiler's own takes a function of libgcc where the processor may have no instruction. */
static size_t count_bits(uint64_t word)
{
	size_t n = 0;

	for (; word != 0; word &= word - 1)
		n++;
	return n;
}

void pages_soil(size_t first, size_t count)
{
	size_t end = first + count;
	size_t n = 0;

	for (size_t page = first; page < end; page = next_word(page)) {
		uint64_t mask =
			mask_of(page, end) & __atomic_load_n(word_of(page), __ATOMIC_SEQ_CST);
		uint64_t before = __atomic_fetch_or(stale_word_of(page), mask, __ATOMIC_SEQ_CST);

		n += count_bits(mask & ~before);
	}
	__atomic_fetch_add(&soiled, n, __ATOMIC_RELAXED);
}

size_t pages_soiled(void)
{
	return __atomic_load_n(&soiled, __ATOMIC_RELAXED);
}

void pages_scrub(size_t first, size_t count)
{
	size_t end = first + count;
	size_t n = 0;

	for (size_t page = first; page < end; page = next_word(page)) {
		uint64_t mask = mask_of(page, end);
		uint64_t before = __atomic_fetch_and(stale_word_of(page), ~mask, __ATOMIC_SEQ_CST);

		n += count_bits(mask & before);
	}
	__atomic_fetch_sub(&soiled, n, __ATOMIC_RELAXED);
}

bool pages_are_fresh(size_t first, size_t count)
{
	size_t end = first + count;

	for (size_t page = first; page < end; page = next_word(page)) {
		if (__atomic_load_n(stale_word_of(page), __ATOMIC_SEQ_CST) & mask_of(page, end))
			return false;
	}
	return true;
}

/* One bit for each page, from `page` on, of its word: neither claimed nor stale; or the other. */
static inline uint64_t free_bits(size_t page, bool stale)
{
	uint64_t soil = __atomic_load_n(stale_word_of(page), __ATOMIC_RELAXED);

	return (~__atomic_load_n(word_of(page), __ATOMIC_RELAXED) & (stale ? soil : ~soil)) >>
	       page % 64;
}

/* The end of a run of such pages that begins at `page`, as far as its word tells. */
static inline size_t run_in_word(size_t page, size_t end, bool stale)
{
	uint64_t others = ~free_bits(page, stale);
	size_t left = next_word(page) - page;
	size_t run = others == 0 ? 64 : (size_t)__builtin_ctzll(others);

	run = page + (run < left ? run : left);
	return run < end ? run : end;
}

size_t pages_find_fresh(size_t first, size_t end, size_t count)
{
	size_t start = first;
	size_t page = first;

	while (page < end) {
		size_t run = run_in_word(page, end, false);

		if (run - start >= count)
			return start;
		if (run < next_word(page) && run < end) {
			uint64_t bits = free_bits(run, false);

			run = bits == 0 ? next_word(run) : run + (size_t)__builtin_ctzll(bits);
			start = run;
		}
		page = run;
	}
	return end;
}

size_t pages_find_stale(size_t first, size_t end, size_t *ret_first)
{
	while (first < end) {
		uint64_t bits = free_bits(first, true);
		size_t run;

		if (bits == 0) {
			first = next_word(first);
			continue;
		}
		first += (size_t)__builtin_ctzll(bits);
		if (first >= end)
			break;
		*ret_first = first;
		for (run = run_in_word(first, end, true); run < end && run % 64 == 0;) {
			size_t more = run_in_word(run, end, true);

			if (more == run)
				break;
			run = more;
		}
		return run - first;
	}
	return 0;
}

static inline uint32_t *owner_cell(size_t page)
{
	uint32_t *owners = __atomic_load_n(&chunk_of(page)->owners, __ATOMIC_ACQUIRE);

	if (owners == NULL)
		return NULL;
	return &owners[within(page) >> (estate.slot_shift - estate.page_shift)];
}

struct region *estate_owner(size_t page)
{
	uint32_t *cell = owner_cell(page);

	if (cell == NULL)
		return NULL;
	return region_at(__atomic_load_n(cell, __ATOMIC_ACQUIRE));
}

void pages_set_owner(size_t first, size_t count, uint32_t index)
{
	size_t slot_pages = (size_t)1 << (estate.slot_shift - estate.page_shift);

	for (size_t page = first; page < first + count; page += slot_pages)
		__atomic_store_n(owner_cell(page), index, __ATOMIC_RELEASE);
}

bool pages_mark(size_t first, size_t count, enum mark mark)
{
	for (size_t page = first; page < first + count; page++) {
		struct chunk *chunk = chunk_of(page);

		if (chunk->marks == NULL) {
			if (mark == MARK_NONE)
				continue;
			__atomic_store_n(&chunk->marks, mem_pages(chunk_pages()), __ATOMIC_RELEASE);
			if (chunk->marks == NULL)
				return false;
		}
		chunk->marks[within(page)] = (uint8_t)mark;
	}
	return true;
}

enum mark pages_mark_of(size_t page)
{
	const struct chunk *chunk = chunk_of(page);
	const uint8_t *marks = __atomic_load_n(&chunk->marks, __ATOMIC_ACQUIRE);

	return marks == NULL ? MARK_NONE : (enum mark)marks[within(page)];
}

size_t pages_mark_run(size_t first, size_t end)
{
	enum mark mark = pages_mark_of(first);
	size_t page = first;

	while (page < end && pages_mark_of(page) == mark)
		page++;
	return page;
}
