/*
 * Views: the answers to mmap, and what becomes of calls on their addresses.
 *
 *   mmap ──> descriptor (fd.h) ──> description: proved? served? ──> layers ──> claim ──> address
 *               │ nothing known       │ no                            │ no room
 *               v                     v                               v
 *            first small mapping: pass     resolve, prove, one more layer: under LOCK_VIEWS
 *
 * The way on top takes no lock and makes no system call but one fstat a clock tick.
 */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats.h"

struct view_request {
	void *addr;
	size_t length;
	int prot;
	int flags;
	int fd;
	uint64_t offset;
};

/* Answers mmap with a view; NULL and the reason why it must be passed through. */
void *view_map(const struct view_request *request, enum reason *ret_reason);

/* Answers mmap without a mapping of its own where the kernel refuses more of them (budget.h), or
 * where memory was asked for and mode anon is on; NULL if that can't be. `reason` is why the
 * request is no view. */
void *view_map_crowded(const struct view_request *request, enum reason reason);

/* Whether one of the pages there is of a copy in the arena (arena.h), and whether one is of a
 * writable one. */
bool view_is_copy(const void *addr, size_t length, bool *ret_writable);

/* Whether a request could ever become a view, by its arguments alone; REASON_none if so. */
enum reason view_excuse(const struct view_request *request);

/* munmap of a range that touches the estate: 0 or -errno. `unmap` is called for the parts that lie
 * outside; it returns 0 or -errno. */
int view_unmap(void *addr, size_t length, int (*unmap)(void *addr, size_t length));

/* The program is about to change pages of the estate in a way that must not reach later views
 * (protect, advise, lock): 0, or -ENOMEM if some of them are in no live view (natively not mapped)
 * or are shared with another view and `excludes` is set. */
int view_change(void *addr, size_t length, bool excludes);

/* Whether all of the range is in live views that have this protection already: mprotect has nothing
 * to do, and need not split the region's mapping for it. */
bool view_is_protected(void *addr, size_t length, int prot);

/* All of the range inside the estate is in live views: 0, else -ENOMEM. */
int view_check(void *addr, size_t length);

/* The bytes from addr, a page's start, that are alike: all live (or not in the estate), or all not.
 */
size_t view_run(void *addr, size_t length, bool *ret_live);

/* The program is about to map something of its own over pages of the estate (MAP_FIXED). After the
 * call, tell whether it succeeded. 0, or -ENOMEM if that can't be recorded. */
int view_cover(void *addr, size_t length);
void view_covered(void *addr, size_t length, bool succeeded);

/* Whether a view there is writable and private: kind D, or memory. */
bool view_writes_privately(const void *addr);

/* What the program had attached over pages from `addr` on (shmat) has been detached, and has left a
 * hole: fills it, and ends what was there. */
void view_detached(void *addr);

/* Whether no page of the range inside the estate is in a live view. */
bool view_none(void *addr, size_t length);

/* The kernel has refused, by errno: ends what regions are idle and, if it was for want of memory
 * where there is a limit on address space, gives back all that is not in use, for good; or, if
 * there are too many mappings, lets the reserve go. True if trying again makes sense. errno is left
 * alone.
 */
bool view_relieve(void);

/* It is time for a look at how many mappings there are (budget.h): takes the reserve where they are
 * many, and ends what regions are idle where they are nearly too many. errno is left alone. */
void view_tend(void);

#endif
