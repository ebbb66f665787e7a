/*
 * The estate: the address range that is reserved once, PROT_NONE, and in which every region is
 * placed, so that "is this address ours?" is two comparisons.
 *
 *   base                                                                        base + bytes
 *    | region | region | region |  . . . free: one PROT_NONE mapping . . .  | region | region |
 *      files under 2 MiB, packed                         files of 2 MiB and more, 2 MiB-aligned
 *      in slots of 64 KiB, upwards                       (huge page-table entries), downwards
 *
 * Where address space is short (a finite RLIMIT_AS, 32 bits, MAPCOALESCE_MAX_ADDRESS_SPACE) it is
 * *narrow*: a sixteenth of the limit, 128 MiB at most, and regions are panes of files (region.h),
 * packed. All of it counts against the limit. So it stands only while the process takes less than
 * half of that, which is looked at once a clock tick while anything is served (malloc's mappings
 * are not seen, nor is its failure), and goes back for good when that is over, or the kernel has
 * said ENOMEM. A limit that is set later makes a wide estate narrow: the first part is kept.
 *
 * Invariants:
 * - Every address of the estate that was not shed is mapped at every moment: a region is released
 *   by putting PROT_NONE in its place with MAP_FIXED, never by munmap, or the kernel would place
 *   foreign mappings in the hole.
 * - What was shed is the kernel's, for good. Whatever lies there is none of our business.
 * - A region fills its slots, the slack past the end of its file included, so that R regions that
 *   lie side by side cost R + 1 mappings.
 * - Address space is handed out in slots; a slot belongs to one region or to none.
 *
 * Ownership of pages. Each page of the estate has a bit (is it part of a live view?) and, once they
 * are needed, a count (of the views that share it, in regions that allow it) and a mark (what was
 * done to it). They are kept for each GiB of the estate, made when the first region is placed
 * there, and never given back. Pages are named by their number in the estate.
 *
 * Synchronization: bits and counts are atomic and may be used at any moment, by a signal handler
 * too. Marks, slots and owners change under LOCK_VIEWS; an owner may be read at any moment (it was
 * written before the address of its region was known to anybody).
 *
 * Deliberately absent: growing the estate. 1 TiB is a hundredth of the address space.
 */
#ifndef ESTATE_H
#define ESTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region;

struct estate {
	uintptr_t base; /* 0 until reserved */
	size_t bytes;
	unsigned int page_shift;
	unsigned int slot_shift;
	bool narrow; /* atomic */
};

extern struct estate estate;

/* Reserves it; true if it stands, now or from before. Caller holds LOCK_VIEWS. */
bool estate_reserve(void);

static inline bool estate_is_narrow(void)
{
	return __atomic_load_n(&estate.narrow, __ATOMIC_RELAXED);
}

/* Whether the process takes so little of what it may that the estate is no burden. Three system
 * calls, if there is a limit. */
bool estate_is_affordable(void);

/* Whether any byte of [addr, addr + length) is inside; false before it is reserved. */
static inline bool estate_touches(const void *addr, size_t length)
{
	uintptr_t start = (uintptr_t)addr;
	uintptr_t base = __atomic_load_n(&estate.base, __ATOMIC_ACQUIRE);

	/* start - base as unsigned: inside if it is small; else start lies below (or above, far
	 * away) and the end must reach in. */
	return base != 0 &&
	       (start - base < estate.bytes || (start < base && length > base - start));
}

static inline bool estate_has(const void *addr)
{
	return estate_touches(addr, 1);
}

static inline size_t estate_page(const void *addr)
{
	return ((uintptr_t)addr - estate.base) >> estate.page_shift;
}

static inline void *estate_address(size_t page)
{
	return (void *)(estate.base + (page << estate.page_shift));
}

static inline size_t estate_pages(size_t bytes)
{
	return (bytes + ((size_t)1 << estate.page_shift) - 1) >> estate.page_shift;
}

/* Where a region may be placed. */
enum placement {
	PLACE_PACKED,      /* at any slot */
	PLACE_CONGRUENT,   /* at a multiple of 2 MiB */
	PLACE_INCONGRUENT, /* anywhere but at a multiple of 2 MiB (huge tmpfs) */
};

/* Takes address space for `bytes`, whole slots; returns the first page, and the number of pages
 * (the slack included) in *ret_pages. False if there is no room. Caller holds LOCK_VIEWS. */
bool estate_take(size_t bytes, enum placement placement, size_t *ret_first, size_t *ret_pages);
/* Gives it back; its pages are PROT_NONE again. Caller holds LOCK_VIEWS. */
void estate_give(size_t first, size_t pages);
/* The pages are foreign and in no region: nothing may be placed there again. Caller holds
 * LOCK_VIEWS. */
void estate_spoil(size_t first, size_t pages);
/* The foreign pages among these are gone: slots in no region in which none is left may be used
 * again. Caller holds LOCK_VIEWS. */
void estate_unspoil(size_t first, size_t pages);

/* Makes the tables for these pages; with counts if they are to be shared. False if there is no
 * memory. Caller holds LOCK_VIEWS. */
bool pages_prepare(size_t first, size_t count, bool with_counts);

/* The region that a page belongs to, or NULL. */
struct region *estate_owner(size_t page);
/* Says so; index 0 for none. The pages are whole slots. Caller holds LOCK_VIEWS. */
void pages_set_owner(size_t first, size_t count, uint32_t index);

/* Gives what is free back to the kernel, now and whenever more of it is, and places nothing any
 * more. Caller holds LOCK_VIEWS. */
void estate_shed(void);
/* The same, but for the part that an estate has under this limit on address space; what is placed
 * from now on is placed there. Caller holds LOCK_VIEWS. */
void estate_narrow(uint64_t limit);
/* Whether a page was shed. */
bool estate_is_shed(size_t page);

/*
 * The ballast: a readable page among unreadable ones, which costs two mappings for nothing. At the
 * mapping limit the kernel refuses even MAP_FIXED over a whole mapping, so that nothing could be
 * released without leaving a hole; dropping the ballast for a moment (a change of protection, after
 * which three mappings merge into one) makes the room for that. Caller holds LOCK_VIEWS.
 */
void estate_take_ballast(void);
void estate_drop_ballast(void);

/*
 * The reserve: more of the same, taken by a process that has many mappings and let go when the
 * kernel says that it has too many. From then on the program's mappings of files and memory do
 * without one of their own; what the reserve has held is for those that no hook sees (malloc's,
 * thread stacks) and for what splits (mprotect, munmap of a middle). False if it was not there.
 * Caller holds LOCK_VIEWS.
 */
void estate_take_reserve(void);
bool estate_drop_reserve(void);

/* Claims pages for one view: all of them or, if one is claimed already, none. */
bool pages_claim(size_t first, size_t count);
void pages_unclaim(size_t first, size_t count);
/* Pages that are in no region (any more) are nobody's again, by bits and by counts: both may be
 * set, one from the region that was there. Caller holds LOCK_VIEWS. */
void pages_abandon(size_t first, size_t count);
/* Adds one view to each page's count, and its bit; false (and nothing done) if a count is full. */
bool pages_share(size_t first, size_t count);
void pages_unshare(size_t first, size_t count);
/* Makes a page, shared by at most one view, that view's alone until it ends: false if it has more
 * than one. A page that is nobody's is claimed by it. */
bool pages_close(size_t page);

/* The first page of [first, first + count) that is (wanted) or is not claimed; the end if none. */
size_t pages_find(size_t first, size_t count, bool claimed, bool shared);
/* The highest count among them. */
unsigned int pages_most_shared(size_t first, size_t count);

/*
 * Stale pages, in the arena: given back by the program, and not yet by us to the kernel. A page is
 * stale before it is claimed no more, and fresh again (that is, zero) before it may be claimed by
 * anybody; so it is enough to claim first and to look afterwards.
 */
/* Makes the tables for it. False if there is no memory. Caller holds LOCK_VIEWS. */
bool pages_prepare_stale(size_t first, size_t count);
/* Says so of those among them that are claimed. Their number in all: */
void pages_soil(size_t first, size_t count);
size_t pages_soiled(void);
/* They are zero. The caller has claimed them. */
void pages_scrub(size_t first, size_t count);
bool pages_are_fresh(size_t first, size_t count);
/* The first of `count` pages in a row, from `first` on, that are neither claimed nor stale; the end
 * if there are none. */
size_t pages_find_fresh(size_t first, size_t end, size_t count);
/* The first run of pages that are stale and not claimed; its length, 0 if there is none. */
size_t pages_find_stale(size_t first, size_t end, size_t *ret_first);

/* What was done to a page. A page with a mark is claimed. */
enum mark {
	MARK_NONE,
	MARK_CHANGED, /* protected, advised, locked or written: to be made pristine at its end */
	MARK_FOREIGN, /* the program mapped something of its own over it */
	MARK_TAKEN,   /* the same, about to happen, over a page that was nobody's */
	MARK_RETIRED, /* could not be made pristine: PROT_NONE, never handed out again */
};

/* False if there is no memory for marks. Caller holds LOCK_VIEWS. */
bool pages_mark(size_t first, size_t count, enum mark mark);
enum mark pages_mark_of(size_t page);
/* The end of the run of pages from `first` that bear the same mark as it. */
size_t pages_mark_run(size_t first, size_t end);

#endif
