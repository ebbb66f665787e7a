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

void *mem_pages(size_t bytes)
{
	void *p = kernel.map(NULL, bytes, PROT_READ | PROT_WRITE,
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
