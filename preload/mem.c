#include "mem.h"

#include <stdint.h>
#include <sys/mman.h>

#include "lock.h"
#include "sys.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define ALIGNMENT ((size_t)64)

/* Synchronization: LOCK_MEMORY. */
static char *chunk;
static size_t chunk_left;

/* Reserved before the program has unmapped anything: what it unmaps stays unmapped, for all that it
 * can tell by a second munmap, an mprotect, a MAP_FIXED there. */
#define RANGE_BYTES ((size_t)4 << 30)
static char *range;
static size_t range_used;

void mem_begin(void)
{
	void *p;

	if (sizeof(size_t) < 8 || kernel.address_limit() != UINT64_MAX)
		return;
	p = kernel.map(NULL, RANGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);
	if (!sys_failed(p))
		range = p;
}

void *mem_pages(size_t bytes)
{
	size_t page = sys_page_size();
	size_t at;
	void *p;

	bytes = (bytes + page - 1) & ~(page - 1);
	if (range != NULL && bytes < RANGE_BYTES) {
		at = __atomic_fetch_add(&range_used, bytes, __ATOMIC_RELAXED);
		if (at <= RANGE_BYTES - bytes &&
		    kernel.protect(range + at, bytes, PROT_READ | PROT_WRITE) == 0)
			return range + at;
	}
	p = kernel.map(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return sys_failed(p) ? NULL : p;
}

void *mem_take(size_t bytes)
{
	struct lock_hold hold = lock_take(LOCK_MEMORY);
	void *p = NULL;

	bytes = (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	if (bytes > chunk_left) {
		char *fresh = mem_pages(CHUNK_BYTES);

		if (fresh != NULL) {
			chunk = fresh;
			chunk_left = CHUNK_BYTES;
		}
	}
	if (bytes <= chunk_left) {
		p = chunk;
		chunk += bytes;
		chunk_left -= bytes;
	}
	lock_drop(LOCK_MEMORY, hold);
	return p;
}
