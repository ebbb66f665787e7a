#include "arena.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "config.h"
#include "estate.h"
#include "lock.h"
#include "log.h"
#include "region.h"
#include "sys.h"
#include "tls.h"

/* Of each part. */
#define PART_BYTES ((uint64_t)1 << 34)
#define TINY_PAGES 64
/* Stale pages that are not worth a call yet. */
#define STALE_ENOUGH 512
/* Copies of this length are made while half of the machine's memory would hold all; longer ones
 * while an eighth would. */
#define SMALL_COPY ((size_t)256 << 10)

struct part {
	struct region *region; /* written once; atomic */
	size_t first;          /* its pages; constant from then on */
	size_t end;
	/* Atomic. Where to look next, and the first page that was never claimed. */
	size_t cursor;
	size_t top;
	/* Pages handed out since it was last searched from its start. */
	size_t handed;
};

static struct part parts[KIND_END - KIND_COUNT];

/* Pages that were handed out in all, and that were given back to the kernel. Atomic. */
static size_t handed_out;
static size_t given_back;
static bool retreated;

static struct part *part_of(int kind)
{
	return &parts[kind - KIND_COUNT];
}

static void reserve(enum kind kind)
{
	struct part *part = part_of((int)kind);
	struct region_request request = {
		.fd = -1,
		.kind = kind,
	};
	enum reason reason;
	struct region *region;

	if (part->region != NULL || retreated || !estate_reserve() || estate_is_narrow())
		return;
	request.size = estate.bytes / 8;
	if (request.size > PART_BYTES)
		request.size = PART_BYTES;
	if (config.tiny)
		request.size = (uint64_t)TINY_PAGES << estate.page_shift;
	region = region_create(&request, &reason);
	if (region == NULL)
		return;
	if (!pages_prepare_stale(region->first, region->pages)) {
		region_end_idle(region);
		return;
	}
	part->first = region->first;
	part->end = region->first + region->pages;
	part->cursor = part->first;
	part->top = part->first;
	__atomic_store_n(&part->region, region, __ATOMIC_RELEASE);
	log_line("region %u: the arena's, kind %d, %zu pages", region->index, (int)kind,
		 region->pages);
}

void arena_reserve_anonymous(void)
{
	reserve(KIND_ANONYMOUS);
}

void arena_reserve(void)
{
	reserve(KIND_ANONYMOUS);
	reserve(KIND_COPY_READ);
	reserve(KIND_COPY_WRITE);
}

static void raise_top(struct part *part, size_t end)
{
	size_t top = __atomic_load_n(&part->top, __ATOMIC_RELAXED);

	while (top < end && !__atomic_compare_exchange_n(&part->top, &top, end, true,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
	}
}

/* Next fit; from the start again when a third as many pages were handed out since as lie below the
 * top, so that a search costs less than what it is for. */
static size_t find(struct part *part, size_t count)
{
	size_t cursor = __atomic_load_n(&part->cursor, __ATOMIC_RELAXED);
	size_t top = __atomic_load_n(&part->top, __ATOMIC_RELAXED);
	size_t page;

	if (cursor >= top &&
	    __atomic_load_n(&part->handed, __ATOMIC_RELAXED) > (top - part->first) / 3) {
		__atomic_store_n(&part->handed, 0, __ATOMIC_RELAXED);
		cursor = part->first;
	}
	page = pages_find_fresh(cursor, part->end, count);
	return page < part->end ? page : pages_find_fresh(part->first, part->end, count);
}

/* The first of `count` pages, fresh and claimed, or SIZE_MAX. */
static size_t take(struct part *part, size_t count)
{
	size_t page;

	for (;;) {
		page = find(part, count);
		if (page == part->end)
			return SIZE_MAX;
		if (!pages_claim(page, count))
			continue;
		if (pages_are_fresh(page, count))
			break;
		pages_unclaim(page, count);
	}
	raise_top(part, page + count);
	/* Who retreats has seen the claim, or is seen here. */
	if (__atomic_load_n(&retreated, __ATOMIC_SEQ_CST)) {
		pages_unclaim(page, count);
		return SIZE_MAX;
	}
	__atomic_store_n(&part->cursor, page + count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&part->handed, count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&handed_out, count, __ATOMIC_RELAXED);
	return page;
}

static void *take_address(int kind, size_t length)
{
	struct part *part = part_of(kind);
	size_t page;

	if (__atomic_load_n(&part->region, __ATOMIC_ACQUIRE) == NULL ||
	    __atomic_load_n(&retreated, __ATOMIC_RELAXED))
		return NULL;
	page = take(part, estate_pages(length));
	return page == SIZE_MAX ? NULL : estate_address(page);
}

void *arena_map(size_t length)
{
	void *p = take_address(KIND_ANONYMOUS, length);

	if (p != NULL)
		stats_add(COUNT_anonymous_views, 1);
	return p;
}

/* Pages that are not given back: those of views, and the stale ones. */
static size_t pages_held(void)
{
	return __atomic_load_n(&handed_out, __ATOMIC_RELAXED) -
	       __atomic_load_n(&given_back, __ATOMIC_RELAXED);
}

/* Runs of stale pages, claimed, on their way to the kernel. Synchronization: LOCK_VIEWS. */
static struct run batch[DROP_MOST];
static size_t batch_count;

static size_t run_pages(const struct run *run)
{
	return (size_t)(run->end - run->start) >> estate.page_shift;
}

/* One call for all of them costs a tenth of one call each; but it is new, or may be forbidden. */
static void drop_batch(void)
{
	bool dropped = batch_count > 1 && kernel.drop(batch, batch_count) == 0;

	stats_add(COUNT_own_calls, batch_count > 1);
	for (size_t i = 0; i < batch_count; i++) {
		size_t page = estate_page(batch[i].start);
		size_t count = run_pages(&batch[i]);

		if (dropped || region_drop(page, count)) {
			pages_scrub(page, count);
			__atomic_fetch_add(&given_back, count, __ATOMIC_RELAXED);
		}
		pages_unclaim(page, count);
	}
	batch_count = 0;
}

/* Gives the stale pages of one part to the kernel. Claimed meanwhile, they are nobody else's. */
static void scrub(const struct part *part)
{
	size_t top = __atomic_load_n(&part->top, __ATOMIC_RELAXED);
	size_t page = part->first;
	size_t count;

	while ((count = pages_find_stale(page, top, &page)) > 0) {
		if (pages_claim(page, count)) {
			batch[batch_count].start = estate_address(page);
			batch[batch_count++].end = estate_address(page + count);
		}
		if (batch_count == DROP_MOST)
			drop_batch();
		page += count;
	}
	drop_batch();
}

void arena_tidy(void)
{
	size_t stale = pages_soiled();
	struct lock_hold hold;

	if (stale < (config.tiny ? 8 : STALE_ENOUGH) + pages_held() / 16 || tls.vfork_child ||
	    lock_held())
		return;
	hold = lock_take(LOCK_VIEWS);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].region != NULL)
			scrub(&parts[i]);
	}
	lock_drop(LOCK_VIEWS, hold);
}

void arena_retreat(void)
{
	if (__atomic_exchange_n(&retreated, true, __ATOMIC_SEQ_CST))
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct part *part = &parts[i];
		size_t page;

		if (part->region == NULL)
			continue;
		scrub(part);
		while ((page = pages_find(part->top, part->end - part->top, true, false)) <
		       part->end)
			raise_top(part, page + 1);
		/* Or else it would be one more to tell apart from those that never were. */
		if (part->top == part->first)
			raise_top(part, part->first + 1);
		region_cut(part->region, part->top - part->first);
	}
}

/* Whether there is memory for one copy more: it is all the machine's that the process has. */
static bool memory_allows(size_t length)
{
	uint64_t held = (uint64_t)pages_held() << estate.page_shift;

	return held + length < sys_memory() / (length <= SMALL_COPY ? 2 : 8);
}

/* The bytes of the range that the file has, or 0 if it is no regular file or a page of the range
 * lies behind the end. */
static size_t bytes_there(int fd, uint64_t offset, size_t length)
{
	uint64_t mask = sys_page_size() - 1;
	struct file_stat stat;

	if (kernel.stat(fd, &stat) != 0 || !S_ISREG(stat.mode) ||
	    offset + length > ((stat.size + mask) & ~mask))
		return 0;
	return stat.size - offset < length ? (size_t)(stat.size - offset) : length;
}

static bool fill(char *to, int fd, uint64_t offset, size_t bytes)
{
	while (bytes > 0) {
		long n = kernel.read_at(fd, to, bytes, offset);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return true;
}

void *arena_copy(int fd, uint64_t offset, size_t length, bool writable)
{
	size_t bytes = memory_allows(length) ? bytes_there(fd, offset, length) : 0;
	size_t whole = estate_pages(length) << estate.page_shift;
	char *p = NULL;

	if (bytes > 0)
		p = take_address(writable ? KIND_COPY_WRITE : KIND_COPY_READ, length);
	if (p == NULL)
		return NULL;
	stats_add(COUNT_own_calls, writable ? 2 : 4);
	if ((writable || kernel.protect(p, whole, PROT_READ | PROT_WRITE) == 0) &&
	    fill(p, fd, offset, bytes) && (writable || kernel.protect(p, whole, PROT_READ) == 0)) {
		stats_add(COUNT_copies, 1);
		return p;
	}
	if (!writable)
		kernel.protect(p, whole, PROT_READ);
	pages_soil(estate_page(p), estate_pages(length));
	pages_unclaim(estate_page(p), estate_pages(length));
	return NULL;
}
