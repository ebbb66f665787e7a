/*
 * The library's locks: one ordered table, taken in the order of their ranks.
 *
 * A lock is held for a handful of microseconds, never across a call that may block, and with every
 * signal blocked: a handler never runs while its thread holds one, so it can never wait for
 * itself. That costs two system calls, which is why no hot path takes a lock.
 *
 * fork takes all of them first (lock_fork_prepare) and lets go on both sides, so that a child finds
 * the structures whole. A word of a lock is 0 free, 1 held, 2 held and waited for.
 */
#ifndef LOCK_H
#define LOCK_H

#include <stdint.h>

enum lock_rank {
	LOCK_VIEWS,   /* regions, layers, marks, the estate's address space */
	LOCK_REPORT,  /* the dry run's table of files */
	LOCK_SIGNALS, /* guard.c: what the program has asked for */
	LOCK_OFFSETS, /* offset.c: where offsets stand is asked or told */
	LOCK_COUNT
};

struct lock_hold {
	uint64_t signals; /* the mask to put back */
};

struct lock_hold lock_take(enum lock_rank rank);
void lock_drop(enum lock_rank rank, struct lock_hold hold);

/* The same lock without a rank and with signals as they are, for a word that its owner keeps. The
 * owner sees to it that no handler waits for its own thread. */
void lock_word_take(uint32_t *word);
void lock_word_drop(uint32_t *word);

/* Whether this thread holds any of them; whether that one. */
int lock_held(void);
int lock_has(enum lock_rank rank);

void lock_fork_prepare(void);
void lock_fork_parent(void);
void lock_fork_child(void);

#endif
