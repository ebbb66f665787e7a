/*
 * The arena: memory that is handed out by the page instead of by the mapping. It is made of regions
 * (region.h) without a file, one a kind, each one private mapping that is never cut but by what the
 * program itself does to its pages; so all that view_calls.c knows of views holds for it: parts are
 * unmapped, pages are protected, advised, locked, mapped over, each with its mark.
 *
 *   mmap, anonymous ──> mode anon, or crowded? ──yes──> KIND_ANONYMOUS: pages that are zero
 *   mmap of a file  ──> real call ──ENOMEM──> crowded ──> KIND_COPY_READ or _WRITE: pages, filled
 *                                                         by pread
 *
 *   munmap ──> stale (estate.h) ──512 pages, and a sixteenth of what is live──> MADV_DONTNEED:
 * fresh
 *
 * Invariants:
 * - A page that is neither claimed nor stale reads as zeros. So memory is zero at each hand-out.
 * - live + stale = pages handed out and not given back to the kernel; stale is at most 512 pages
 *   and a sixteenth of live.
 * - Pages from `top` on were never claimed. (The page tables, and mlockall, end there.)
 * - KIND_COPY_READ is PROT_READ but for a range that is being filled. A copy holds as many pages as
 *   the file has in that range: what lies behind the end, and would fault, is not copied.
 *
 * What a copy can't do is refused: MADV_DONTNEED would lose the file's bytes, a longer mremap would
 * need more of them. It doesn't follow the file.
 *
 * Reserved by a process with BUDGET_MANY mappings (budget.h), since at the limit nothing can be
 * mapped; with mode anon when it is first asked for. Never where address
 * space is short, nor with a finite RLIMIT_DATA or vm.overcommit_memory 2, where it would be
 * charged.
 *
 * Synchronization: handing out and taking back is lock-free (a handler may do it at any moment);
 * reserving, giving stale pages to the kernel and marks: LOCK_VIEWS, so that what the program maps
 * over a page is not dropped with what was stale there.
 *
 * Deliberately absent: size classes, caches for threads. Next fit over a bitmap costs 20 ns.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest anonymous mapping that is served. */
#define ARENA_LARGEST ((size_t)1 << 20)

/* Reserves the part for anonymous memory; or all of it. Caller holds LOCK_VIEWS. */
void arena_reserve_anonymous(void);
void arena_reserve(void);

/* Zeroed pages, readable and writable, for so many bytes; NULL if there are none. */
void *arena_map(size_t length);

/* A copy of that range of a file, for a private mapping; NULL if it can't be had. `writable`: it
 * may be written. Blocks as a read does. */
void *arena_copy(int fd, uint64_t offset, size_t length, bool writable);

/* Pages of it were given back: hands what is stale to the kernel if that is enough to be worth it.
 */
void arena_tidy(void);

/* From now on nothing is handed out; what never was is part of no region. Caller holds LOCK_VIEWS.
 */
void arena_retreat(void);

#endif
