/*
 * Bytes: copies of a range of a file, out of a region of its description, as read(2) would have
 * given them, and no others. The layer below reads (reads.h) and whatever else copies.
 *
 *   the file's pages      | p0 | p1 | p2 | p3 | …          touch p1, p2, and p3: the proof
 *   the range                   [  ----  ]                 copy
 *                                         ^ one byte       the region still stands?
 *
 *   a fault, or no: the real call has the answer
 *
 * The end of the file, strictly and without a system call. A range is proved to be inside the file
 * by touching, before the copy, a byte of the page after its last one. Its value means nothing;
 * what counts is that the access does not fault:
 *   - the kernel answers a page fault only below the file's size, which it asks again while it
 *     holds the page's lock (filemap_fault, filemap_map_pages);
 *   - truncation first lowers the size, then unmaps what is behind it everywhere, then lets go of
 *     the pages, all under the inode's lock, and nobody appends before it is done;
 *   - an append raises the size after the bytes are stored.
 * So when the page is there, the size is more than its first byte's offset, or was when a
 * truncation began that is not over: all of the range was in the file, written in full. What
 * follows is what filemap_read() does: look at the size, then copy without a lock. A range in the
 * file's last page, as known or as the fault tells, goes to the real call, always.
 *
 * Why not a test of the bytes themselves (those behind the end of the file are zero): an append
 * into a page that was just cut off stores its bytes in no fixed order, before they belong to the
 * file.
 *
 * Why before the copy: bytes that were copied first may be the zeros of a page that was cut off,
 * and be found inside the file that has grown again since. The range's own pages are touched before
 * the proof, so that no page fault, which may last long, comes between it and the end of the copy.
 *
 * What it rests on:
 *   - The page after the range is inside the region too: behind a region there may be another.
 *   - No page that is wholly behind the end of the file can be mapped. Of a large folio that a
 *     truncation could not split, kernels before "mm/memory: do not populate page table entries
 *     beyond i_size" (Linux 6.18) mapped all. So nothing is served either at or behind the size
 * that fstat has said in this tick (`readable`), which every real read that comes out short lowers;
 *     on such a kernel, a truncation that another process makes within the tick may then show zeros
 *     up to the end of its page. tmpfs maps the whole of a huge page to this day: its files are not
 *     served while they may have one, or hold more than their size needs (description.c).
 *   - Holes, and those that are punched, are in the file: their pages can be mapped, and read as
 *     zeros, as they do natively. (Not on tmpfs, which fills holes when they are touched.)
 * Inserting and collapsing of ranges keep new pages out until they are done and the size is set.
 *   - XFS and ZFS keep reads and writes of one range apart, other file systems don't. A copy never
 *     does, so there a read may show half of a write that is going on.
 *
 * Nothing is held meanwhile (region.h): no count, no lock, nothing to be undone, wherever a copy
 * ends. What a copy that failed has written to its destination is written again by the real call,
 * or lies behind what that one gives.
 *
 * A region that is a pane has its margin for the page after the range (region.h). What is in
 * another pane is looked for there, or has one made.
 *
 * Regions of kind B serve (a private mapping shows the page cache until it is written, and a region
 * with pages that may have been is not used), and of kind A. B is what is made for reads, since it
 * is what most programs map too, and does not count as a mapping that may write.
 *
 * Synchronization: none needed. Reads `layers` and the regions' fields as claims of views do.
 */
#ifndef BYTES_H
#define BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "description.h"
#include "guard.h"
#include "stats.h"
#include "sys.h"

/* Requests of this many bytes and more are hardly cheaper as copies. Those of 64 KiB, which is what
 * htslib reads at each place of a file, are, if they come back there: it is for chunk.h to say. */
#define BYTES_TOO_MANY (((size_t)64 << 10) + 1)

struct bytes_request {
	uint64_t offset;
	size_t n; /* bytes in all; 0 < n < BYTES_TOO_MANY */
	/* Where they go: to `to`, or, if `count` is not 0, to the pieces, n bytes in all. The
	 * pieces are ours; what they point to may be anything. */
	void *to;
	const struct iovec *pieces;
	int count;
};

/* Looks for a region that has the request's range and the page after it: REASON_none, or
 * REASON_first if there is none, or REASON_past_end if that is not below the end of the file. */
enum reason bytes_find(const struct description *d, uint64_t handle,
		       const struct bytes_request *request, struct region_source *ret_source);

/* Whether all that a copy touches is in memory, as far as the kernel tells (it says so of one's own
 * files only). */
bool bytes_at_hand(const struct region_source *source, const struct bytes_request *request);

bool bytes_scatter(const struct bytes_request *request, const char *from);

#ifdef MC_UNIT_TEST
/* What happens between a copy and what is asked after it: another process, another thread. */
extern void (*bytes_copied)(void);
static inline void bytes_note_copied(void)
{
	if (bytes_copied != NULL)
		bytes_copied();
}
#else
static inline void bytes_note_copied(void)
{
}
#endif

/* The offset of the page after the range; less than the range's if there can't be one. */
static inline uint64_t bytes_after(const struct bytes_request *request)
{
	return ((request->offset + request->n - 1) | (sys_page_size() - 1)) + 1;
}

/* Where a byte of the file is, which the region has. */
static inline const char *bytes_at(const struct region_source *source, uint64_t offset)
{
	return source->base + (size_t)(offset - source->start);
}

/* Whether the region still is what it was when it was looked at; after everything that was read
 * from its addresses. */
static inline bool bytes_stand(const struct region_source *source)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&source->region->stamp, __ATOMIC_RELAXED) == source->stamp;
}

/* REASON_none: all of it was copied, and was in the file; that the description still is the right
 * one is for the caller to ask. `readable`: how far the file reaches, as last known.
 * REASON_past_end: the page after the range is not below that. REASON_first: nor in the region.
 * REASON_fault: the real call has the answer. REASON_descriptor: the region has changed. The caller
 * has asked guard_ready(). Some thirty instructions, and the copy. */
static inline enum reason bytes_copy(const struct region_source *source, uint64_t readable,
				     const struct bytes_request *request)
{
	uint64_t after = bytes_after(request);
	const char *from = bytes_at(source, request->offset);
	bool copied;

	if (__builtin_expect(after >= readable || request->offset > after, 0))
		return REASON_past_end;
	if (__builtin_expect(request->offset < source->start || after >= source->extent, 0))
		return REASON_first;
	if (__builtin_expect(!guard_touch(from, bytes_at(source, after), sys_page_size()), 0))
		return REASON_fault;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	copied = __builtin_expect(request->count == 0, 1)
			 ? guard_copy(request->to, from, request->n)
			 : bytes_scatter(request, from);
	if (__builtin_expect(!copied, 0))
		return REASON_fault;
	bytes_note_copied();
	return __builtin_expect(bytes_stand(source), 1) ? REASON_none : REASON_descriptor;
}

#endif
