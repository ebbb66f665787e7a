/*
 * The descriptor table: what is known of each descriptor number of this process.
 *
 * A number is *tracked* from the hooked call that made it to the hooked call that ends it. Some
 * ends are always missed (a close inside libc, the system call itself, a plugin bound past us), so
 *   - every hooked call that returns a number clears what was known of it, and
 *   - what is known is proved again by fstat, at most once a clock tick while it is used.
 * A number that was never seen being made is proved at each use.
 *
 * An entry is one word, the state, and the tick of its last proof; and what reads need:
 *
 *    63        62      61 . . . 32  31 . . . . 0
 *    tracked   seen    generation   index            (the last two: a description's handle, or 0)
 *
 * `seen`: a small mapping of it was passed through; a second one is worth a description.
 *
 * The table has two levels, leaves of 1,024 entries that are made when first needed and never given
 * back, so there is no cost for the numbers not used, in address space neither. Numbers of four
 * million and more (fs.nr_open is one) have no entry, as if there were no memory for it.
 *
 * Synchronization: entries are atomic words. What a read's proof covers is written under LOCK_VIEWS
 * while the proof is void, and read without a lock: the proof is looked at before and after. An
 * entry that holds a handle holds a reference to the description. The number's end clears the entry
 * *before* the kernel frees the number: after that another thread may have been given it.
 *
 * All of these do nothing while the library is not active and in a vfork child, whose descriptors
 * are not the ones in this table.
 */
#ifndef FD_H
#define FD_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

#define FD_TRACKED ((uint64_t)1 << 63)
#define FD_SEEN ((uint64_t)1 << 62)
#define FD_HANDLE (FD_SEEN - 1)

struct fd_entry {
	uint64_t state;
	uint64_t tick;
	/* Reads (reads.h). Valid while `proof` stays what it is: when it was made, in units of
	 * about a millisecond, shifted by FD_SERIAL_BITS; and how often it was made or voided. */
	uint64_t proof;
	struct region_source source;
	const struct description *description;
	/* By what its description's chunks are found (chunk.h), or 0; a hint, as what follows. */
	uint32_t chunks;
	/* What reads.c knows of the pattern; hints, not exact. */
	uint32_t small_reads; /* so many small ones in a row were passed through */
	uint16_t large_reads; /* so many large ones, lately, while it was served */
	uint16_t credit;      /* so many reads were saved that have not bought a chunk */
	uint8_t setbacks;     /* how often serving it was given up */
	uint8_t cold;         /* how often, lately, because its file was not in memory */
	bool reads_served;    /* small ones are served */
	/* Where the next read begins (offset.h); hints as above, but for `offset`. */
	uint8_t offset_setbacks;
	uint8_t offset_misses;
	uint32_t offset_epoch;
	uint64_t offset;
	uint64_t offset_tick;
};

struct description;

#define FD_SERIAL_BITS 24

/* Whether a proof was made in this tick (sys.h). */
static inline bool fd_proof_is_of(uint64_t proof, uint64_t tick)
{
	return (proof ^ (tick >> 20 << FD_SERIAL_BITS)) >> FD_SERIAL_BITS == 0;
}
/* Makes a proof that was seen to be `seen` void; what it is then, or 0 if it is another by now. */
uint64_t fd_void_proof(struct fd_entry *entry, uint64_t seen);
/* Makes a void proof one of this tick, if it still is what fd_void_proof has said. */
void fd_renew_proof(struct fd_entry *entry, uint64_t voided, uint64_t tick);

/* The entry of a number; NULL if it is negative or too large, or there is no leaf. */
static inline struct fd_entry *fd_find(int fd);
/* The same, making the leaf; NULL also if there is no memory. */
struct fd_entry *fd_make(int fd);

/* A hooked call made this number by name. Negative: nothing. */
void fd_opened(int fd);
/* Whatever was known of this number is void: it is about to be closed or replaced, or a call that
 * makes descriptors we don't care for has returned it. Negative: nothing. */
void fd_forget(int fd);
/* The same for first … last, both included. */
void fd_forget_range(unsigned int first, unsigned int last);
/* `to` was made as a copy of `from` (and forgotten before that, if it was in use). */
void fd_duplicated(int from, int to);
/* From now on numbers mean different things to different threads: nothing is tracked again. */
void fd_stop_tracking(void);

/* Swaps the handle into an entry that still has the state `seen`; false if it changed. The entry
 * takes over the caller's reference. */
bool fd_attach(struct fd_entry *entry, uint64_t seen, uint64_t handle);
/* The entry's description, with a reference for the caller; made if there is none, and *state is
 * what the entry has then. NULL if there is no memory, or the number changed hands. */
struct description *fd_describe(struct fd_entry *entry, uint64_t *state);

#define FD_LEAF_SHIFT 10
#define FD_LEAVES (1U << (22 - FD_LEAF_SHIFT))
extern struct fd_entry *fd_leaves[FD_LEAVES] __attribute__((visibility("hidden")));

static inline struct fd_entry *fd_find(int fd)
{
	struct fd_entry *leaf;

	if ((unsigned int)fd >> FD_LEAF_SHIFT >= FD_LEAVES)
		return NULL;
	leaf = __atomic_load_n(&fd_leaves[(unsigned int)fd >> FD_LEAF_SHIFT], __ATOMIC_ACQUIRE);
	return leaf == NULL ? NULL : &leaf[(unsigned int)fd & ((1U << FD_LEAF_SHIFT) - 1)];
}

#endif
