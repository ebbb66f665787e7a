#include "fd.h"

#include <stddef.h>

#include "config.h"
#include "description.h"
#include "mem.h"
#include "offset.h"
#include "tls.h"

#define LEAF_SHIFT FD_LEAF_SHIFT
#define LEAF_ENTRIES (1U << LEAF_SHIFT)

struct fd_entry *fd_leaves[FD_LEAVES];
static bool stopped;
/* No number above it has ever been entered. */
static unsigned int highest;

static inline bool idle(void)
{
	return !config.active || tls.vfork_child;
}

static __attribute__((noinline, cold)) void make_leaf(struct fd_entry **cell, unsigned int first)
{
	struct fd_entry *made = mem_pages(LEAF_ENTRIES * sizeof(*made));
	struct fd_entry *seen = NULL;

	if (made == NULL)
		return;
	/* A page that is read first is faulted in twice. */
	__atomic_store_n(&made[first].state, 0, __ATOMIC_RELAXED);
	/* Another thread may be faster; what mem_pages gave is then lost. */
	__atomic_compare_exchange_n(cell, &seen, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

struct fd_entry *fd_make(int fd)
{
	struct fd_entry *entry = fd_find(fd);
	unsigned int seen = __atomic_load_n(&highest, __ATOMIC_RELAXED);

	if ((unsigned int)fd >> LEAF_SHIFT >= FD_LEAVES)
		return NULL;
	while ((unsigned int)fd > seen &&
	       !__atomic_compare_exchange_n(&highest, &seen, (unsigned int)fd, true,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
	}
	if (entry != NULL)
		return entry;
	make_leaf(&fd_leaves[(unsigned int)fd >> LEAF_SHIFT], (unsigned int)fd % LEAF_ENTRIES);
	return fd_find(fd);
}

#define SERIAL_MASK (((uint64_t)1 << FD_SERIAL_BITS) - 1)

uint64_t fd_void_proof(struct fd_entry *entry, uint64_t seen)
{
	/* Never 0 again, which stands for "never made". */
	uint64_t voided = ((seen & SERIAL_MASK) + 1) & SERIAL_MASK;

	voided += voided == 0;
	return __atomic_compare_exchange_n(&entry->proof, &seen, voided, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED)
		       ? voided
		       : 0;
}

void fd_renew_proof(struct fd_entry *entry, uint64_t voided, uint64_t tick)
{
	uint64_t proof = tick >> 20 << FD_SERIAL_BITS | voided;

	__atomic_compare_exchange_n(&entry->proof, &voided, proof, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/* After a change of the state: either this sees the proof that is being made, or who makes it sees
 * the new state. A read that is under way may still set `reads_served`; its handle is over then. */
static void forget_reads(struct fd_entry *entry)
{
	uint64_t proof = __atomic_load_n(&entry->proof, __ATOMIC_SEQ_CST);

	while (proof != 0 && fd_void_proof(entry, proof) == 0)
		proof = __atomic_load_n(&entry->proof, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&entry->reads_served, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&entry->small_reads, __ATOMIC_RELAXED) == 0 &&
	    __atomic_load_n(&entry->setbacks, __ATOMIC_RELAXED) == 0 &&
	    __atomic_load_n(&entry->cold, __ATOMIC_RELAXED) == 0)
		return;
	__atomic_store_n(&entry->small_reads, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->large_reads, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->setbacks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->cold, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->chunks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->reads_served, false, __ATOMIC_RELAXED);
}

/* Puts a new state in place of whatever there was. */
static void replace(struct fd_entry *entry, int fd, uint64_t state)
{
	uint64_t seen = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);

	offset_forget(entry, fd);
	if (seen == state && (seen & FD_HANDLE) == 0) {
		forget_reads(entry);
		return;
	}
	seen = __atomic_exchange_n(&entry->state, state, __ATOMIC_SEQ_CST);
	forget_reads(entry);
	if ((seen & FD_HANDLE) != 0)
		description_drop(seen & FD_HANDLE);
}

void fd_opened(int fd)
{
	struct fd_entry *entry;

	if (fd < 0 || idle())
		return;
	entry = fd_make(fd);
	if (entry != NULL)
		replace(entry, fd, __atomic_load_n(&stopped, __ATOMIC_RELAXED) ? 0 : FD_TRACKED);
}

void fd_forget(int fd)
{
	struct fd_entry *entry;

	if (idle())
		return;
	entry = fd_find(fd);
	if (entry != NULL)
		replace(entry, fd, 0);
}

static void forget_in_leaf(struct fd_entry *leaf, unsigned int low, unsigned int first,
			   unsigned int last)
{
	for (unsigned int i = first; i <= last; i++) {
		if (__atomic_load_n(&leaf[i].state, __ATOMIC_RELAXED) != 0)
			replace(&leaf[i], (int)(low + i), 0);
	}
}

void fd_forget_range(unsigned int first, unsigned int last)
{
	unsigned int end = __atomic_load_n(&highest, __ATOMIC_SEQ_CST);

	if (idle() || first > last)
		return;
	last = last < end ? last : end;
	for (unsigned int i = first >> LEAF_SHIFT; i <= last >> LEAF_SHIFT; i++) {
		struct fd_entry *leaf = __atomic_load_n(&fd_leaves[i], __ATOMIC_ACQUIRE);
		unsigned int low = i << LEAF_SHIFT;
		unsigned int high = low + LEAF_ENTRIES - 1;

		if (leaf != NULL)
			forget_in_leaf(leaf, low, first > low ? first - low : 0,
				       (last < high ? last : high) - low);
	}
}

bool fd_attach(struct fd_entry *entry, uint64_t seen, uint64_t handle)
{
	uint64_t state = (seen & FD_TRACKED) | handle;

	return __atomic_compare_exchange_n(&entry->state, &seen, state, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

struct description *fd_describe(struct fd_entry *entry, uint64_t *state)
{
	uint64_t handle = *state & FD_HANDLE;

	if (description_at(handle) == NULL) {
		handle = description_new();
		if (handle == 0)
			return NULL;
		if (!fd_attach(entry, *state, handle)) {
			description_drop(handle);
			return NULL;
		}
		*state = (*state & FD_TRACKED) | handle;
	}
	return description_hold(handle) ? description_at(handle) : NULL;
}

/* A description that both numbers can hold, referenced once for the caller; 0 if there can't be
 * one. */
static uint64_t share_description(struct fd_entry *from)
{
	uint64_t seen = __atomic_load_n(&from->state, __ATOMIC_ACQUIRE);
	uint64_t handle = seen & FD_HANDLE;
	struct description *d;

	if (handle != 0)
		return description_hold(handle) ? handle : 0;
	/* An untracked number is not trusted to be one description for long. */
	if (!(seen & FD_TRACKED))
		return 0;
	handle = description_new();
	d = description_at(handle);
	if (d == NULL)
		return 0;
	__atomic_store_n(&d->seen, (seen & FD_SEEN) != 0, __ATOMIC_RELAXED);
	if (!description_hold(handle))
		return 0;
	if (fd_attach(from, seen, handle))
		return handle;
	description_drop(handle);
	description_drop(handle);
	return 0;
}

void fd_duplicated(int from, int to)
{
	struct fd_entry *source;
	struct fd_entry *copy;
	uint64_t handle;

	if (from < 0 || to < 0 || from == to || idle())
		return;
	copy = fd_make(to);
	source = fd_find(from);
	if (copy == NULL)
		return;
	handle = source == NULL || __atomic_load_n(&stopped, __ATOMIC_RELAXED)
			 ? 0
			 : share_description(source);
	replace(copy, to, handle != 0 ? FD_TRACKED | handle : 0);
}

void fd_stop_tracking(void)
{
	if (idle())
		return;
	__atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
	fd_forget_range(0, UINT32_MAX);
}
