/*
 * Calls on the addresses of views (view.h): each range is cut into runs of pages that are alike
 * (outside the estate, shed, in no region, in one region with one mark), and each run is dealt
 * with as what it is.
 *
 * A page is *live*, that is, mapped as far as the program knows, if it is claimed and not retired,
 * or foreign. Everything else in the estate is, for the program, not mapped.
 */
#include <errno.h>
#include <sys/mman.h>

#include "arena.h"
#include "description.h"
#include "estate.h"
#include "fd.h"
#include "lock.h"
#include "log.h"
#include "region.h"
#include "sys.h"
#include "view.h"

/* The part of a range that lies in the estate, in pages. */
struct inside {
	size_t first;
	size_t end;
};

static struct inside inside_of(const void *addr, size_t length)
{
	uintptr_t start = (uintptr_t)addr;
	uintptr_t end = start + length;
	uintptr_t base = estate.base;
	struct inside in = {0, 0};

	if (end < start)
		end = UINTPTR_MAX;
	if (start < base)
		start = base;
	if (end > base + estate.bytes)
		end = base + estate.bytes;
	if (start < end) {
		in.first = (start - base) >> estate.page_shift;
		in.end = (end - base + ((size_t)1 << estate.page_shift) - 1) >> estate.page_shift;
	}
	return in;
}

/* The end of the run of pages from `page` that lie in the same region, or in none. */
static size_t region_run(const struct region *region, size_t page, size_t end)
{
	size_t slot_pages = (size_t)1 << (estate.slot_shift - estate.page_shift);
	size_t run = region != NULL ? region->first + region->pages
				    : (page / slot_pages + 1) * slot_pages;

	return run < end ? run : end;
}

/* A descriptor of the region's description, proved, or -1. */
static int descriptor_of(const struct region *region)
{
	struct description *d = description_at(region->owner);
	const struct fd_entry *entry;
	uint64_t size;
	int fd;

	if (d == NULL)
		return -1;
	fd = __atomic_load_n(&d->fd, __ATOMIC_RELAXED);
	entry = fd_find(fd);
	if (entry == NULL ||
	    (__atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) & FD_HANDLE) != region->owner)
		return -1;
	return description_prove(d, fd, &size) == REASON_descriptor ? -1 : fd;
}

/* Ends a view of marked pages that nobody shares: they become the file's again, or, if that can't
 * be, are retired. */
static void cleanse(struct region *region, size_t first, size_t count)
{
	int fd = descriptor_of(region);

	if (region_is_memory(region)) {
		if (region_restore(region, first, count, -1))
			region_unclaim_locked(region, first, count);
		else
			region_retire(region, first, count);
		return;
	}
	if (fd < 0 || !region_restore(region, first, count, fd)) {
		region_retire(region, first, count);
		region_settle_locked(region);
		return;
	}
	/* The number may have been closed, and used again, in between. */
	if (descriptor_of(region) != fd) {
		region_mark(region, first, count, MARK_CHANGED);
		region_retire(region, first, count);
		region_settle_locked(region);
		return;
	}
	region_unclaim_locked(region, first, count);
}

static void end_marked_page(struct region *region, size_t page)
{
	/* Another view still looks at it; it is cleansed when the last one ends. */
	if (region->shared && !pages_close(page))
		pages_unshare(page, 1);
	else
		cleanse(region, page, 1);
}

/* What the program had put where no region is (any more). */
static void end_stray(size_t first, size_t end)
{
	for (size_t page = first, run; page < end; page = run) {
		run = pages_mark_run(page, end);
		if (pages_mark_of(page) == MARK_NONE)
			continue;
		region_put_nothing(page, run - page);
		pages_mark(page, run - page, MARK_NONE);
		pages_abandon(page, run - page);
	}
	estate_unspoil(first, end - first);
}

static void end_in_region(struct region *region, size_t first, size_t end)
{
	for (size_t page = first, run; page < end; page = run) {
		enum mark mark = pages_mark_of(page);

		run = pages_mark_run(page, end);
		if (mark == MARK_RETIRED)
			continue;
		/* The end of the last view ended the region. */
		if (estate_owner(page) != region) {
			end_stray(page, end);
			return;
		}
		if (mark == MARK_NONE) {
			region_unclaim_locked(region, page, run - page);
		} else if (!region->shared) {
			cleanse(region, page, run - page);
		} else {
			end_marked_page(region, page);
			run = page + 1;
		}
	}
}

static void end_inside(struct inside in)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);

	for (size_t page = in.first, run; page < in.end; page = run) {
		struct region *region = estate_owner(page);

		run = region_run(region, page, in.end);
		if (region != NULL)
			end_in_region(region, page, run);
		else if (estate_is_shed(page))
			kernel.unmap(estate_address(page), (run - page) << estate.page_shift);
		else
			end_stray(page, run);
	}
	lock_drop(LOCK_VIEWS, hold);
}

/* The parts before and behind the estate: 0 or the first failure. */
static int end_outside(void *addr, size_t length, int (*unmap)(void *addr, size_t length))
{
	uintptr_t start = (uintptr_t)addr;
	uintptr_t end = start + length;
	uintptr_t estate_end = estate.base + estate.bytes;
	int answer = 0;

	/* The upper part first: it is the one that the kernel may find to reach too far. */
	if (end > estate_end)
		answer = unmap((void *)estate_end, end - estate_end);
	if (answer == 0 && start < estate.base)
		answer = unmap(addr, estate.base - start);
	return answer;
}

/* Whether no page of a view bears a mark. They are the caller's, so nobody else gives them any. */
static bool is_unmarked(const struct region *region, struct inside in)
{
	if (__atomic_load_n(&region->marked, __ATOMIC_SEQ_CST) == 0)
		return true;
	/* A program that protects some of its memory does not pay for it with all. */
	return region_is_memory(region) && pages_mark_of(in.first) == MARK_NONE &&
	       pages_mark_run(in.first, in.end) == in.end;
}

int view_unmap(void *addr, size_t length, int (*unmap)(void *addr, size_t length))
{
	size_t page_mask = ((size_t)1 << estate.page_shift) - 1;
	struct inside in;
	struct region *region;
	int answer;

	/* The kernel's checks (mm/mmap.c, do_vmi_munmap). */
	if (((uintptr_t)addr & page_mask) != 0 || length == 0 ||
	    length > UINTPTR_MAX - page_mask - (uintptr_t)addr)
		return -EINVAL;
	length = (length + page_mask) & ~page_mask;
	in = inside_of(addr, length);
	if (in.first == in.end)
		return unmap(addr, length);
	region = estate_owner(in.first);
	if (region != NULL && in.end - in.first == length >> estate.page_shift &&
	    in.end <= region->first + region->pages && is_unmarked(region, in)) {
		region_unclaim(region, in.first, in.end - in.first);
		stats_view_ends();
		if (region_is_memory(region))
			arena_tidy();
		return 0;
	}
	answer = end_outside(addr, length, unmap);
	if (answer != 0 || lock_held())
		return answer;
	end_inside(in);
	arena_tidy();
	stats_view_ends();
	return 0;
}

static bool is_live(const struct region *region, size_t page)
{
	enum mark mark = pages_mark_of(page);

	if (region == NULL)
		return mark == MARK_FOREIGN;
	return mark != MARK_RETIRED && pages_find(page, 1, true, region->shared) == page;
}

/* 0 if every page is live; with `excludes`, in one view only. */
static int check_inside(struct inside in, bool excludes)
{
	for (size_t page = in.first; page < in.end; page++) {
		const struct region *region = estate_owner(page);

		if (region == NULL && estate_is_shed(page))
			continue;
		if (!is_live(region, page))
			return -ENOMEM;
		if (excludes && region != NULL && region->shared &&
		    pages_most_shared(page, 1) > 1) {
			log_line("refused to change page %zu of region %u: another view shares it",
				 page - region->first, region->index);
			return -ENOMEM;
		}
	}
	return 0;
}

bool view_is_protected(void *addr, size_t length, int prot)
{
	struct inside in = inside_of(addr, length);
	struct region *region;

	if (in.first == in.end || !estate_has(addr) || !estate_has((char *)addr + length - 1))
		return false;
	region = estate_owner(in.first);
	/* Its pages are the caller's, so nobody else gives them marks meanwhile. */
	return region != NULL && in.end <= region->first + region->pages &&
	       __atomic_load_n(&region->marked, __ATOMIC_SEQ_CST) == 0 &&
	       region_protection(region) == prot &&
	       pages_find(in.first, in.end - in.first, false, region->shared) == in.end;
}

int view_check(void *addr, size_t length)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	int answer = check_inside(inside_of(addr, length), false);

	lock_drop(LOCK_VIEWS, hold);
	return answer;
}

static bool is_live_at(const char *addr)
{
	size_t page = estate_page(addr);

	return !estate_has(addr) || (estate_owner(page) == NULL && estate_is_shed(page)) ||
	       is_live(estate_owner(page), page);
}

size_t view_run(void *addr, size_t length, bool *ret_live)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	size_t run = 0;

	*ret_live = is_live_at(addr);
	while (run < length && is_live_at((char *)addr + run) == *ret_live)
		run += (size_t)1 << estate.page_shift;
	lock_drop(LOCK_VIEWS, hold);
	return run < length ? run : length;
}

bool view_none(void *addr, size_t length)
{
	struct inside in = inside_of(addr, length);
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	bool none = true;

	for (size_t page = in.first; page < in.end && none; page++)
		none = !estate_is_shed(page) && !is_live(estate_owner(page), page);
	lock_drop(LOCK_VIEWS, hold);
	return none;
}

int view_change(void *addr, size_t length, bool excludes)
{
	struct inside in = inside_of(addr, length);
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	int answer = check_inside(in, excludes);

	for (size_t page = in.first; page < in.end && answer == 0; page++) {
		struct region *region = estate_owner(page);

		if (region == NULL)
			continue;
		if (pages_mark_of(page) == MARK_NONE && !region_mark(region, page, 1, MARK_CHANGED))
			answer = -ENOMEM;
		else if (excludes && region->shared && !pages_close(page))
			answer = -ENOMEM;
	}
	lock_drop(LOCK_VIEWS, hold);
	return answer;
}

/* One page is about to be covered: foreign if it was in a view, taken if it was in none. */
static bool cover_page(size_t page)
{
	struct region *region = estate_owner(page);

	if (region == NULL) {
		if (estate_is_shed(page) || pages_mark_of(page) == MARK_FOREIGN)
			return true;
		estate_spoil(page, 1);
		return pages_prepare(page, 1, false) && pages_claim(page, 1) &&
		       pages_mark(page, 1, MARK_TAKEN);
	}
	if (is_live(region, page))
		return (!region->shared || pages_close(page)) &&
		       region_mark(region, page, 1, MARK_FOREIGN);
	if (pages_mark_of(page) == MARK_NONE &&
	    !(region->shared ? pages_close(page) : pages_claim(page, 1)))
		return false;
	return region_mark(region, page, 1, MARK_TAKEN);
}

static void uncover_page(size_t page)
{
	struct region *region = estate_owner(page);

	if (region == NULL) {
		pages_mark(page, 1, MARK_NONE);
		pages_abandon(page, 1);
	} else {
		/* Perhaps it was retired before, perhaps it is a hole now: it is no view again. */
		region_retire(region, page, 1);
	}
}

/* Whether another view shares one of the pages, which mapping over it would take away. */
static bool is_shared(struct inside in)
{
	for (size_t page = in.first; page < in.end; page++) {
		const struct region *region = estate_owner(page);

		if (region == NULL || !region->shared || pages_most_shared(page, 1) <= 1)
			continue;
		log_line("refused to map over page %zu of region %u: another view shares it",
			 page - region->first, region->index);
		return true;
	}
	return false;
}

int view_cover(void *addr, size_t length)
{
	struct inside in = inside_of(addr, length);
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	size_t page = in.first;
	int answer = is_shared(in) ? -ENOMEM : 0;

	while (page < in.end && answer == 0) {
		if (cover_page(page))
			page++;
		else
			answer = -ENOMEM;
	}
	while (answer != 0 && page-- > in.first) {
		if (pages_mark_of(page) == MARK_TAKEN)
			uncover_page(page);
	}
	lock_drop(LOCK_VIEWS, hold);
	return answer;
}

void view_covered(void *addr, size_t length, bool succeeded)
{
	struct inside in = inside_of(addr, length);
	struct lock_hold hold = lock_take(LOCK_VIEWS);

	if (!succeeded && in.first < in.end && !estate_is_shed(in.first))
		region_fill_hole(in.first, in.end - in.first);
	for (size_t page = in.first; page < in.end; page++) {
		struct region *region = estate_owner(page);

		if (pages_mark_of(page) != MARK_TAKEN)
			continue;
		if (!succeeded)
			uncover_page(page);
		else if (region != NULL)
			region_mark(region, page, 1, MARK_FOREIGN);
		else
			pages_mark(page, 1, MARK_FOREIGN);
	}
	if (!succeeded)
		estate_unspoil(in.first, in.end - in.first);
	lock_drop(LOCK_VIEWS, hold);
}

bool view_writes_privately(const void *addr)
{
	const struct region *region = estate_owner(estate_page(addr));

	return region != NULL && region->kind >= KIND_WRITE_PRIVATE;
}

bool view_is_copy(const void *addr, size_t length, bool *ret_writable)
{
	struct inside in = inside_of(addr, length);
	bool found = false;

	*ret_writable = false;
	for (size_t page = in.first; page < in.end; page++) {
		const struct region *region = estate_owner(page);

		if (region == NULL || region->kind <= KIND_ANONYMOUS)
			continue;
		/* What the program has mapped there is its own. */
		if (pages_mark_of(page) == MARK_FOREIGN)
			continue;
		found = true;
		*ret_writable |=
			region->kind == KIND_COPY_WRITE || pages_mark_of(page) != MARK_NONE;
	}
	return found;
}

/* This advice means nothing to what is mapped, and is refused where nothing is. */
static bool is_hole(size_t page)
{
	return kernel.advise(estate_address(page), (size_t)1 << estate.page_shift, MADV_NORMAL) !=
	       0;
}

void view_detached(void *addr)
{
	size_t end = estate.bytes >> estate.page_shift;
	struct inside in = {estate_page(addr), estate_page(addr)};

	while (in.end < end && pages_mark_of(in.end) == MARK_FOREIGN && is_hole(in.end))
		in.end++;
	if (in.first < in.end)
		end_inside(in);
}
