/*
 * Regions: one kernel mapping of a whole file, or of a pane of it, for one kind of access, in the
 * estate; and views, which are nothing but claims on a region's pages (estate.h).
 *
 *   description ── layers[kind] ──> region ──next──> region ──next──> …        newest first
 *                                     │ first, pages (estate)   │ file_page
 *                                     v                         v
 *                            claimed pages = views        pages of the file
 *
 * A region belongs to one open file description, the one whose descriptor it was mapped with, and
 * pins it in the kernel just as a mapping of the program's own would. So it serves no other
 * description, not even of the same file, and it ends
 *   - when its description's last descriptor is closed and no view is left, or
 *   - when its last view ends, if that descriptor was closed before:
 * a lock, a lease, ETXTBSY, a busy mount, a deleted file's blocks last exactly as long as they do
 * without us.
 *
 * Panes. In a narrow estate a region is a pane of its file, a cell of a fixed grid and a margin
 * that reaches into the next cell, so that small requests never cross its end:
 *
 *   file   |      cell 0       |      cell 1       |      cell 2       |       2 MiB each
 *   panes  |  - - - - - - - - - - -|
 *                              |  - - - - - - - - - - -|                 and 128 KiB more
 *
 * A request is served from any pane that has all of it, or has one made for the cell that it begins
 * in; what reaches behind that one's margin is the kernel's. The panes of a file are in one list,
 * like layers; a narrow estate has room for some sixty in all. When there is no room for another,
 * the one that has served nothing for the longest time, counted in panes made since, ends, if it
 * has no view (description.h).
 *
 * States:
 *   FREE ──> LIVE ──close of the last descriptor──> CLOSING ──no view──> FREE
 *                                                      │views       ^
 *                                                      v            │ last view ends
 *                                                    ORPHAN ────────┘
 *
 * Claiming a view takes no lock: claim the pages, then look again whether the region still is LIVE,
 * of the same version and of the same description; if not, give the pages back. Releasing: write
 * CLOSING, then look for claimed pages. Both are sequentially consistent, so one of the two sees
 * the other. Giving pages back looks at the state afterwards, and whoever finds a region ORPHAN
 * without views ends it.
 *
 * Reading from a region (bytes.h) takes nothing, not even a count: look at the state, the version
 * and `changes`, copy, and look again. If the region ended meanwhile, the bytes may be whatever
 * stands at its addresses now, or a fault, and count for nothing. So a thread that is preempted in
 * a copy, cancelled, jumps out of a signal handler or is lost in a fork holds up no release.
 *
 * What a view leaves behind must not reach the next view of its pages:
 *   - A and B leave nothing, if they were never made writable.
 *   - C leaves pages writable in the page tables, and not only its own: a store maps the whole
 *     large folio writable. A store through the next view would not fault, and so not move the
 *     file's mtime. So the pages are cleaned when they are claimed (MADV_DONTNEED, which loses
 *     nothing of a shared mapping), unless the file's times prove that nothing was written since
 *     all of the region was clean (region_freshen). On tmpfs, where a load maps pages writable,
 *     they prove nothing.
 *   - D leaves copies of the pages it wrote: they are found (pagemap) and dropped when it ends,
 *     while the pages are still claimed. If views in a row had written nearly all of theirs, all
 *     are dropped without a look.
 *
 * A region's record is never freed, only used again (with a new version), so that a stale pointer
 * reads a region, if not the one it meant.
 *
 * Invariants:
 * - Two live views never have a page in common, unless the region is `shared` from its birth.
 * - `first`, `pages`, `file_page`, `kind`, `shared` are constant while the version is.
 * - A page with a mark is claimed; `marked` counts them, and a region with marks takes the slow way
 *   at each end of a view.
 *
 * Synchronization: `owner`, `state`, `version`, `next`, `marked`, `changes` are atomic; everything
 * changes under LOCK_VIEWS.
 */
#ifndef REGION_H
#define REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estate.h"
#include "stats.h"

/* The kinds of access; each has its own regions. */
enum kind {
	KIND_READ_SHARED,   /* A: PROT_READ, MAP_SHARED */
	KIND_READ_PRIVATE,  /* B: PROT_READ, MAP_PRIVATE */
	KIND_WRITE_SHARED,  /* C: PROT_READ and PROT_WRITE, MAP_SHARED */
	KIND_WRITE_PRIVATE, /* D: PROT_READ and PROT_WRITE, MAP_PRIVATE */
	KIND_COUNT,
	/* The arena's parts (arena.h): no file's, so in no list of a description. */
	KIND_ANONYMOUS = KIND_COUNT,
	KIND_COPY_READ,  /* copies of what would have been of kind B */
	KIND_COPY_WRITE, /* and D */
	KIND_END
};

enum region_state { REGION_FREE, REGION_LIVE, REGION_CLOSING, REGION_ORPHAN };

struct region {
	uint64_t owner; /* handle of its description (description.h) */
	union {
		struct {
			uint32_t version; /* grows each time the record is used again */
			/* Grows before pages become anything else than the file's. */
			uint32_t changes;
		};
		uint64_t stamp; /* both, to be read at once */
	};
	uint32_t state;   /* enum region_state */
	size_t first;     /* its first page in the estate */
	size_t pages;     /* of the mapping, slack included */
	size_t file_page; /* the page of the file at `first` */
	struct region *next;
	size_t marked;  /* pages with a mark */
	uint32_t index; /* region_at(index) is this; constant for good */
	uint8_t kind;   /* enum kind */
	bool shared;    /* views may have pages in common; kinds A and B only */
	size_t cursor;  /* ORPHAN: no page before this one is claimed */
	/* C only. A hash of the file's times when all of the region was last clean, if a store
	 * since then would have moved them; 0 = not known. Atomic. */
	uint64_t clean_stamp;
	uint32_t cleanings; /* since then, of single views; atomic */
	/* D only. Views in a row of which most had to be dropped, as far as was looked. Atomic. */
	uint32_t mostly_written;
	bool tmpfs;    /* the file is on one */
	uint32_t used; /* region_clock when it last served anything; atomic */
	struct region *free_next;
};

/* Where the bytes of a region are, for those who read it without a claim (bytes.h). */
struct region_source {
	const char *base; /* of the file's byte at `start` */
	uint64_t start;   /* bytes of the file from here … */
	uint64_t extent;  /* … to here are mapped */
	const struct region *region;
	uint64_t stamp; /* the region's, when it was looked at */
};

/* The record of that index; NULL for 0. */
struct region *region_at(uint32_t index);

/* What a region is to be made of. */
struct region_request {
	uint64_t owner;
	int fd;
	enum kind kind;
	bool shared;
	bool tmpfs;
	bool crowded;  /* more layers than usual may be had */
	uint64_t size; /* of the file, bytes */
	/* Pages of the file that it has to have. */
	size_t page;
	size_t count;
};

/* The page of the file that a region for this one begins with. */
size_t region_start(size_t file_page);

/* Whether a region is part of the arena: memory, not a file. */
static inline bool region_is_memory(const struct region *region)
{
	return region->kind >= KIND_COUNT;
}

/* Maps a region; NULL and a reason if that can't be. It is in no list yet. Caller holds
 * LOCK_VIEWS. */
struct region *region_create(const struct region_request *request, enum reason *ret_reason);

/* From now on every region_create is refused. Caller holds LOCK_VIEWS. */
void region_retreat(void);
/* Whether that is so. Any moment. */
bool region_has_retreated(void);

/* How many regions were made. */
extern uint32_t region_clock;

/* It has served something. */
static inline void region_touch(struct region *region)
{
	uint32_t now;

	if (__builtin_expect(!estate_is_narrow(), 1))
		return;
	now = __atomic_load_n(&region_clock, __ATOMIC_RELAXED);
	if (__atomic_load_n(&region->used, __ATOMIC_RELAXED) != now)
		__atomic_store_n(&region->used, now, __ATOMIC_RELAXED);
}

/* The region without a view that has served nothing for the longest time; NULL if there is none.
 * Caller holds LOCK_VIEWS. */
struct region *region_oldest_idle(void);

/* Claims pages [file_page, file_page + count) of the file for a view; its address, or NULL if the
 * region does not cover them, or they are in use, or the region is no longer `owner`'s. No lock,
 * no system call: one or two atomic operations for up to 64 pages. */
void *region_claim(struct region *region, uint64_t owner, size_t file_page, size_t count);

/* Kind C: sees to it that a store through the pages just claimed moves the file's mtime. `fd` is a
 * descriptor of the region's description. False if that can't be. */
bool region_freshen(struct region *region, size_t first, size_t count, int fd);

/* Does what has to be done to pages of a view that ends, before they may be claimed again; false if
 * that can't be. */
bool region_leave_clean(struct region *region, size_t first, size_t count);

/* Drops what is in the page tables: private pages are as they were mapped. */
bool region_drop(size_t first, size_t count);

/* Gives pages without marks back; ends an orphan. */
void region_unclaim(struct region *region, size_t first, size_t count);
/* The same; caller holds LOCK_VIEWS. */
void region_unclaim_locked(struct region *region, size_t first, size_t count);

/* The description is gone: ends the region, or leaves it to its last view. Caller holds
 * LOCK_VIEWS. */
void region_orphan(struct region *region);

/* Ends a region if it has no view, orphan or not; false, and nothing done, if it has. The caller
 * has seen to it that no list holds it, or will. Caller holds LOCK_VIEWS. */
bool region_end_idle(struct region *region);

/* Leaves it so many of its pages, rounded up to whole slots. Of memory only: nobody has claimed, or
 * claims, what is cut off. Caller holds LOCK_VIEWS. */
void region_cut(struct region *region, size_t pages);

/* Ends an orphan whose last view has ended. The second: caller holds LOCK_VIEWS. */
void region_settle(struct region *region);
void region_settle_locked(struct region *region);

/* Makes marked pages what they were when the region was made, for the next view, and clears their
 * marks; false if that failed. `fd` is a descriptor of the region's description. Caller holds
 * LOCK_VIEWS. */
bool region_restore(struct region *region, size_t first, size_t count, int fd);
/* Makes marked pages unreachable, for good. Caller holds LOCK_VIEWS. */
void region_retire(struct region *region, size_t first, size_t count);

/* Marks pages, keeping `marked` right; false if there is no memory for it. Caller holds
 * LOCK_VIEWS. */
bool region_mark(struct region *region, size_t first, size_t count, enum mark mark);

/* PROT_* of the region's mapping, and so of its views' pages until they are changed. */
int region_protection(const struct region *region);

/* MADV_DONTFORK was applied to marked pages of some region. */
void region_will_not_fork(void);
/* In the child of a fork: such pages are not mapped here. They are retired, so that no hole is
 * left. */
void region_forked(void);

/* Puts PROT_NONE back where something was. */
void region_put_nothing(size_t first, size_t pages);

/* After a MAP_FIXED that failed: one that failed late has taken away what was there. Puts PROT_NONE
 * in the hole, if there is one. */
void region_fill_hole(size_t first, size_t pages);

#endif
