#include "mem.h"

#include <stdint.h>
#include <sys/mman.h>

#include "sys.h"

/* What the library keeps of a process with a hundred thousand descriptors and as many regions. */
#define RANGE_BYTES ((size_t)64 << 20)

/* Synchronization: written by mem_begin, before anybody else is there; `range_used` is atomic. */
static char *range;
static size_t range_used;

static void *map_anonymous(size_t bytes, int prot)
{
	void *p = kernel.map(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return sys_failed(p) ? NULL : p;
}

void mem_begin(void)
{
	/* Where address space is short, there is none to reserve. */
	if (kernel.address_limit() == UINT64_MAX)
		range = map_anonymous(RANGE_BYTES, PROT_NONE);
}

void mem_retreat(void)
{
	size_t used = __atomic_exchange_n(&range_used, RANGE_BYTES, __ATOMIC_SEQ_CST);

	if (range != NULL && used < RANGE_BYTES)
		kernel.unmap(range + used, RANGE_BYTES - used);
}

/* The next part of the range. Parts lie side by side, and cost one mapping together. */
static void *take_range(size_t bytes)
{
	size_t used = __atomic_load_n(&range_used, __ATOMIC_RELAXED);

	do {
		if (range == NULL || bytes > RANGE_BYTES - used)
			return NULL;
	} while (!__atomic_compare_exchange_n(&range_used, &used, used + bytes, true,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return kernel.protect(range + used, bytes, PROT_READ | PROT_WRITE) == 0 ? range + used
										: NULL;
}

void *mem_pages(size_t bytes)
{
	size_t mask = sys_page_size() - 1;
	void *p = take_range((bytes + mask) & ~mask);

	return p != NULL ? p : map_anonymous(bytes, PROT_READ | PROT_WRITE);
}
