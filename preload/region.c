#include "region.h"

#include <sys/mman.h>

#include "budget.h"
#include "config.h"
#include "estate.h"
#include "lock.h"
#include "mem.h"
#include "sys.h"

/* Records are made 512 at a time; an index names both. */
#define BATCH 512
#define BATCHES 1024

static struct region *batches[BATCHES];
static uint32_t record_count = 1; /* index 0 is nobody */
static struct region *free_records;
/* Set by region_retreat; atomic. */
static bool retreated;
uint32_t region_clock;

/* A pane's cell, and its margin, bytes; pages where everything is tiny. A read that is served is
 * shorter than 64 KiB, and needs the page behind it too. */
#define PANE_CELL ((size_t)2 << 20)
#define PANE_MARGIN ((size_t)128 << 10)
#define PANE_CELL_TINY 4
#define PANE_MARGIN_TINY 2

/* Files of this size and more are placed so that huge page-table entries can map them. */
#define HUGE_FILE ((uint64_t)2 << 20)
/* Room for a file to grow in: a quarter of its size, up to this. */
#define MOST_SLACK ((uint64_t)64 << 20)

#define MEMORY_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static const struct {
	int prot;
	int flags;
} kinds[KIND_END] = {
	[KIND_READ_SHARED] = {PROT_READ, MAP_SHARED},
	[KIND_READ_PRIVATE] = {PROT_READ, MAP_PRIVATE},
	[KIND_WRITE_SHARED] = {PROT_READ | PROT_WRITE, MAP_SHARED},
	/* Not charged before it is written: a view is charged by what it writes. */
	[KIND_WRITE_PRIVATE] = {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE},
	[KIND_ANONYMOUS] = {PROT_READ | PROT_WRITE, MEMORY_FLAGS},
	[KIND_COPY_READ] = {PROT_READ, MEMORY_FLAGS},
	[KIND_COPY_WRITE] = {PROT_READ | PROT_WRITE, MEMORY_FLAGS},
};

struct region *region_at(uint32_t index)
{
	if (index == 0)
		return NULL;
	return &__atomic_load_n(&batches[index / BATCH], __ATOMIC_ACQUIRE)[index % BATCH];
}

static struct region *new_record(void)
{
	struct region *region = free_records;

	if (region != NULL) {
		free_records = region->free_next;
		return region;
	}
	if (record_count / BATCH >= BATCHES)
		return NULL;
	if (batches[record_count / BATCH] == NULL) {
		struct region *batch = mem_pages(BATCH * sizeof(*batch));

		if (batch == NULL)
			return NULL;
		__atomic_store_n(&batches[record_count / BATCH], batch, __ATOMIC_RELEASE);
	}
	region = &batches[record_count / BATCH][record_count % BATCH];
	region->index = record_count++;
	return region;
}

static void free_record(struct region *region)
{
	region->free_next = free_records;
	free_records = region;
}

static bool map_nothing(void *addr, size_t length)
{
	void *p = kernel.map(addr, length, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	stats_add(COUNT_own_calls, 1);
	return !sys_failed(p);
}

void region_put_nothing(size_t first, size_t pages)
{
	void *addr = estate_address(first);
	size_t length = pages << estate.page_shift;
	bool done = map_nothing(addr, length);

	if (done)
		return;
	/* At the mapping limit even a whole replacement is refused. Taking the ballast back at
	 * once succeeds: there is one mapping less than before. */
	estate_drop_ballast();
	done = map_nothing(addr, length);
	estate_take_ballast();
	/* Unreachable, then, but still the file's until the next region is placed here. */
	if (!done)
		kernel.protect(addr, length, PROT_NONE);
}

static bool map_nothing_new(void *addr, size_t length)
{
	void *p = kernel.map(addr, length, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			     0);

	stats_add(COUNT_own_calls, 1);
	/* Before Linux 4.17 the flag is unknown, and the address a hint. */
	if (!sys_failed(p) && p != addr)
		kernel.unmap(p, length);
	return p == addr;
}

void region_fill_hole(size_t first, size_t pages)
{
	void *addr = estate_address(first);
	size_t length = pages << estate.page_shift;

	/* This advice means nothing to what is mapped, and is refused where nothing is. */
	if (kernel.advise(addr, length, MADV_NORMAL) == 0 || map_nothing_new(addr, length))
		return;
	estate_drop_ballast();
	map_nothing_new(addr, length);
	estate_take_ballast();
}

static size_t cell_pages(void)
{
	return config.tiny ? PANE_CELL_TINY : PANE_CELL >> estate.page_shift;
}

size_t region_start(size_t file_page)
{
	return estate_is_narrow() ? file_page - file_page % cell_pages() : 0;
}

/* The bytes from its start that a region should have; 0 if the request reaches behind its pane. */
static uint64_t extent_of(const struct region_request *request)
{
	uint64_t size = request->size;
	uint64_t slack = size / 4 < MOST_SLACK ? size / 4 : MOST_SLACK;

	if (estate_is_narrow()) {
		size_t margin = config.tiny ? PANE_MARGIN_TINY : PANE_MARGIN >> estate.page_shift;
		size_t start = region_start(request->page);
		uint64_t most = (uint64_t)(cell_pages() + margin) << estate.page_shift;

		if (request->page - start + request->count > cell_pages() + margin)
			return 0;
		size -= (uint64_t)start << estate.page_shift;
		return size < most ? size : most;
	}
	if (config.tiny || size < HUGE_FILE || size > SIZE_MAX / 2 || request->kind >= KIND_COUNT)
		return size;
	return size + slack;
}

static enum placement placement_of(const struct region_request *request)
{
	if (request->size < HUGE_FILE || config.tiny)
		return PLACE_PACKED;
	/* A huge page of tmpfs reads as zeros past the end of the file. */
	if (request->tmpfs)
		return PLACE_INCONGRUENT;
	return estate_is_narrow() ? PLACE_PACKED : PLACE_CONGRUENT;
}

/* Pages as views of that kind want them. Memory gets no huge pages: they would come with one touch
 * of one small mapping, and not go with its end. */
static bool map_pages(int kind, int fd, uint64_t offset, size_t first, size_t pages)
{
	void *addr = estate_address(first);
	size_t length = pages << estate.page_shift;
	void *p = kernel.map(addr, length, kinds[kind].prot, kinds[kind].flags | MAP_FIXED, fd,
			     offset);

	stats_add(COUNT_own_calls, 1);
	if (sys_failed(p))
		return false;
	if (kind >= KIND_COUNT)
		kernel.advise(addr, length, MADV_NOHUGEPAGE);
	return true;
}

static void publish(struct region *region, const struct region_request *request, size_t first,
		    size_t pages)
{
	/* Release, and acquire in region_claim: who reads one of these through a stale pointer sees
	 * the new version too. */
	__atomic_store_n(&region->first, first, __ATOMIC_RELEASE);
	__atomic_store_n(&region->pages, pages, __ATOMIC_RELEASE);
	__atomic_store_n(&region->file_page, region_start(request->page), __ATOMIC_RELEASE);
	__atomic_store_n(&region->shared, request->shared, __ATOMIC_RELEASE);
	__atomic_store_n(&region->owner, request->owner, __ATOMIC_RELEASE);
	__atomic_store_n(&region->next, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&region->marked, 0, __ATOMIC_RELAXED);
	region->cursor = first;
	region->kind = (uint8_t)request->kind;
	region->tmpfs = request->tmpfs;
	__atomic_store_n(&region->clean_stamp, 0, __ATOMIC_RELAXED);
	/* As if after many: the first claim cleans all of nothing, and so takes the stamp. */
	__atomic_store_n(&region->cleanings, UINT32_MAX, __ATOMIC_RELAXED);
	__atomic_store_n(&region->mostly_written, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&region->used, __atomic_add_fetch(&region_clock, 1, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	pages_set_owner(first, pages, region->index);
	/* After the fields and before the state: a claimer that saw the version of the record while
	 * it was free, and some of the old fields, finds another version now. */
	__atomic_fetch_add(&region->version, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&region->state, REGION_LIVE, __ATOMIC_SEQ_CST);
}

/* A region of kind D, or of memory, counts as data, and is not charged only where overcommitting is
 * allowed. */
static bool may_overcommit(void)
{
	return kernel.data_limit() == UINT64_MAX && kernel.overcommit() != 2;
}

struct region *region_create(const struct region_request *request, enum reason *ret_reason)
{
	struct region *region;
	uint64_t extent;
	size_t first;
	size_t pages;

	if (region_has_retreated() || !budget_allows_region()) {
		*ret_reason = region_has_retreated() ? REASON_retreat : REASON_budget;
		return NULL;
	}
	if (request->kind >= KIND_WRITE_PRIVATE && !may_overcommit()) {
		*ret_reason = REASON_commit;
		return NULL;
	}
	*ret_reason = REASON_address_space;
	if (!estate_reserve()) {
		/* There will hardly be more. */
		region_retreat();
		return NULL;
	}
	extent = extent_of(request);
	if (extent == 0)
		*ret_reason = REASON_pane;
	if (extent > SIZE_MAX / 2 ||
	    !estate_take((size_t)extent, placement_of(request), &first, &pages))
		return NULL;
	region = new_record();
	if (region == NULL || !pages_prepare(first, pages, request->shared)) {
		if (region != NULL)
			free_record(region);
		estate_give(first, pages);
		*ret_reason = REASON_memory;
		return NULL;
	}
	if (!map_pages((int)request->kind, request->fd,
		       (uint64_t)region_start(request->page) << estate.page_shift, first, pages)) {
		/* Linux takes the old mapping away before it asks the file. */
		region_fill_hole(first, pages);
		free_record(region);
		estate_give(first, pages);
		*ret_reason = REASON_refused;
		return NULL;
	}
	publish(region, request, first, pages);
	budget_regions(1);
	stats_add(COUNT_regions_made, 1);
	return region;
}

void region_retreat(void)
{
	__atomic_store_n(&retreated, true, __ATOMIC_SEQ_CST);
}

bool region_has_retreated(void)
{
	return __atomic_load_n(&retreated, __ATOMIC_RELAXED);
}

static inline bool claim_pages(bool shared, size_t first, size_t count)
{
	return shared ? pages_share(first, count) : pages_claim(first, count);
}

static inline void unclaim_pages(bool shared, size_t first, size_t count)
{
	if (shared)
		pages_unshare(first, count);
	else
		pages_unclaim(first, count);
}

void *region_claim(struct region *region, uint64_t owner, size_t file_page, size_t count)
{
	uint32_t version = __atomic_load_n(&region->version, __ATOMIC_ACQUIRE);
	size_t first = __atomic_load_n(&region->first, __ATOMIC_ACQUIRE);
	size_t pages = __atomic_load_n(&region->pages, __ATOMIC_ACQUIRE);
	size_t start = __atomic_load_n(&region->file_page, __ATOMIC_ACQUIRE);
	bool shared = __atomic_load_n(&region->shared, __ATOMIC_ACQUIRE);
	struct region *now;

	if (file_page < start || count > pages || file_page - start > pages - count)
		return NULL;
	/* Before the claim, so that a stale record costs nothing; and again after it. */
	if (__atomic_load_n(&region->state, __ATOMIC_ACQUIRE) != REGION_LIVE ||
	    __atomic_load_n(&region->owner, __ATOMIC_ACQUIRE) != owner)
		return NULL;
	first += file_page - start;
	if (!claim_pages(shared, first, count))
		return NULL;
	if (__builtin_expect(__atomic_load_n(&region->state, __ATOMIC_SEQ_CST) == REGION_LIVE &&
				     __atomic_load_n(&region->version, __ATOMIC_SEQ_CST) == version,
			     1))
		return estate_address(first);
	unclaim_pages(shared, first, count);
	/* Whoever looked for views meanwhile may have taken ours for one. */
	now = estate_owner(first);
	if (now != NULL)
		region_settle(now);
	return NULL;
}

static inline bool is_live(const struct region *region)
{
	return __atomic_load_n(&region->state, __ATOMIC_SEQ_CST) == REGION_LIVE;
}

void region_unclaim(struct region *region, size_t first, size_t count)
{
	if (__builtin_expect(!region_leave_clean(region, first, count), 0)) {
		struct lock_hold hold = lock_take(LOCK_VIEWS);

		region_retire(region, first, count);
		lock_drop(LOCK_VIEWS, hold);
		return;
	}
	unclaim_pages(region->shared, first, count);
	if (__builtin_expect(!is_live(region), 0))
		region_settle(region);
}

void region_unclaim_locked(struct region *region, size_t first, size_t count)
{
	if (region_leave_clean(region, first, count))
		unclaim_pages(region->shared, first, count);
	else
		region_retire(region, first, count);
	region_settle_locked(region);
}

/* Whether a view is left. A retired page is nobody's, and what the program put over a page does not
 * need the file. Only an orphan's emptying may rely on the cursor: its pages are claimed no more.
 */
static bool has_views(struct region *region)
{
	size_t end = region->first + region->pages;
	size_t page = region->state == REGION_ORPHAN ? region->cursor : region->first;

	while (page < end) {
		enum mark mark;

		page = pages_find(page, end - page, true, region->shared);
		if (page == end)
			break;
		mark = pages_mark_of(page);
		if (mark == MARK_NONE || mark == MARK_CHANGED)
			break;
		page++;
	}
	region->cursor = page;
	return page < end;
}

/* Takes the file out of the address space. What the program put over parts of it stays, and keeps
 * the region's slots: they are in no region then. */
static void vacate(struct region *region)
{
	size_t end = region->first + region->pages;
	bool foreign = false;

	for (size_t page = region->first, run; page < end; page = run) {
		enum mark mark = pages_mark_of(page);

		run = pages_mark_run(page, end);
		if (mark == MARK_FOREIGN || mark == MARK_TAKEN) {
			foreign = true;
			continue;
		}
		region_put_nothing(page, run - page);
		if (mark == MARK_NONE)
			continue;
		pages_mark(page, run - page, MARK_NONE);
		unclaim_pages(region->shared, page, run - page);
	}
	pages_set_owner(region->first, region->pages, 0);
	if (foreign)
		estate_unspoil(region->first, region->pages);
	else
		estate_give(region->first, region->pages);
}

static void finish(struct region *region)
{
	__atomic_fetch_add(&region->version, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&region->state, REGION_FREE, __ATOMIC_SEQ_CST);
	__atomic_store_n(&region->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_load_n(&region->marked, __ATOMIC_RELAXED) != 0) {
		vacate(region);
	} else {
		region_put_nothing(region->first, region->pages);
		pages_set_owner(region->first, region->pages, 0);
		estate_give(region->first, region->pages);
	}
	budget_regions(-1);
	free_record(region);
}

void region_orphan(struct region *region)
{
	__atomic_store_n(&region->state, REGION_CLOSING, __ATOMIC_SEQ_CST);
	if (!has_views(region)) {
		finish(region);
		return;
	}
	/* A view that ends between that look and this store sees CLOSING, and waits for the lock
	 * in region_settle. */
	__atomic_store_n(&region->state, REGION_ORPHAN, __ATOMIC_SEQ_CST);
}

struct region *region_oldest_idle(void)
{
	struct region *oldest = NULL;
	uint32_t most = 0;

	for (uint32_t index = 1; index < record_count; index++) {
		struct region *region = region_at(index);
		/* Of unsigned numbers, so that the clock may wrap around. */
		uint32_t age = region_clock - __atomic_load_n(&region->used, __ATOMIC_RELAXED);

		if (region->state != REGION_LIVE || region_is_memory(region) ||
		    (oldest != NULL && age <= most) || has_views(region))
			continue;
		oldest = region;
		most = age;
	}
	return oldest;
}

bool region_end_idle(struct region *region)
{
	__atomic_store_n(&region->state, REGION_CLOSING, __ATOMIC_SEQ_CST);
	if (has_views(region)) {
		__atomic_store_n(&region->state, REGION_LIVE, __ATOMIC_SEQ_CST);
		return false;
	}
	finish(region);
	return true;
}

void region_cut(struct region *region, size_t pages)
{
	size_t slot_pages = (size_t)1 << (estate.slot_shift - estate.page_shift);
	size_t kept = (pages + slot_pages - 1) & ~(slot_pages - 1);
	size_t first = region->first + kept;
	size_t count = region->pages - kept;

	if (kept == 0 || kept >= region->pages)
		return;
	__atomic_store_n(&region->pages, kept, __ATOMIC_SEQ_CST);
	region_put_nothing(first, count);
	pages_set_owner(first, count, 0);
	estate_give(first, count);
}

void region_settle_locked(struct region *region)
{
	if (__atomic_load_n(&region->state, __ATOMIC_SEQ_CST) == REGION_ORPHAN &&
	    !has_views(region))
		finish(region);
}

void region_settle(struct region *region)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);

	region_settle_locked(region);
	lock_drop(LOCK_VIEWS, hold);
}

int region_protection(const struct region *region)
{
	return kinds[region->kind].prot;
}

bool region_mark(struct region *region, size_t first, size_t count, enum mark mark)
{
	size_t changed = 0;

	for (size_t page = first; page < first + count; page++)
		changed += (pages_mark_of(page) != MARK_NONE) != (mark != MARK_NONE);
	if (!pages_mark(first, count, mark))
		return false;
	if (mark == MARK_NONE) {
		__atomic_fetch_sub(&region->marked, changed, __ATOMIC_SEQ_CST);
		return true;
	}
	/* In this order: who sees the new `changes` sees that there are marks, too, and does not
	 * read; who has seen the old one finds it changed after reading. */
	__atomic_fetch_add(&region->marked, changed, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&region->changes, 1, __ATOMIC_SEQ_CST);
	return true;
}

bool region_restore(struct region *region, size_t first, size_t count, int fd)
{
	uint64_t page = region->file_page + (first - region->first);
	uint64_t offset = page << estate.page_shift;
	bool mapped = map_pages(region->kind, fd, offset, first, count);

	/* As for region_put_nothing. Where it was a piece of its own, there is then one less. */
	if (!mapped) {
		estate_drop_ballast();
		mapped = map_pages(region->kind, fd, offset, first, count);
		estate_take_ballast();
	}
	if (!mapped)
		return false;
	return region_mark(region, first, count, MARK_NONE);
}

void region_retire(struct region *region, size_t first, size_t count)
{
	region_put_nothing(first, count);
	region_mark(region, first, count, MARK_RETIRED);
}

/* Set once; atomic. */
static bool some_pages_do_not_fork;

void region_will_not_fork(void)
{
	__atomic_store_n(&some_pages_do_not_fork, true, __ATOMIC_SEQ_CST);
}

static void retire_holes(struct region *region)
{
	size_t bytes = (size_t)1 << estate.page_shift;

	size_t end = region->first + region->pages;

	for (size_t page = region->first; page < end; page++) {
		enum mark mark;

		page = pages_find(page, end - page, true, region->shared);
		if (page == end)
			break;
		mark = pages_mark_of(page);
		if (mark != MARK_CHANGED && mark != MARK_FOREIGN)
			continue;
		/* This advice means nothing to what is mapped, and is refused where nothing is. */
		if (kernel.advise(estate_address(page), bytes, MADV_NORMAL) != 0)
			region_retire(region, page, 1);
	}
}

void region_forked(void)
{
	struct lock_hold hold;

	if (!__atomic_load_n(&some_pages_do_not_fork, __ATOMIC_SEQ_CST))
		return;
	hold = lock_take(LOCK_VIEWS);
	for (uint32_t index = 1; index < record_count; index++) {
		struct region *region = region_at(index);

		if (region->state != REGION_FREE && region->marked != 0)
			retire_holes(region);
	}
	lock_drop(LOCK_VIEWS, hold);
}
