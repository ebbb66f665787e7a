/*
 * Windows: what a program has written to a file and the kernel has not been told yet.
 *
 *   window_store ──> block (1 MiB of the file) ──evicted, flushed──> pwrite, a run at a time
 *
 * A bounded set of blocks, least recently used first out, since a linker's output jumps between
 * sections: 216 MB of output moved one window 55,000 times, eight blocks of 1 MiB 363 times. A
 * block holds what was written and nothing else: one bit a byte says which. So what goes out is
 * what was written, and a hole stays a hole.
 * A page of memory costs a fault when it is first used, as much as a write or two. So there is one
 * block at first, which is all that an output needs that is written from one end to the other, and
 * one more each time that one comes back which was given up not long ago.
 *
 * Runs of bytes are often a few bytes apart (alignment: 117,000 runs in a 216 MB output of ld.bfd).
 * A write each would be right, and slow; one write over the gaps too would overwrite what another
 * process has put there. So where there are many they are stored through a mapping of the block,
 * which is made and ended for it: no byte but theirs is touched. The last one is written before
 * that if it makes the file longer: pages behind the end of a file can't be stored to. A store that
 * faults (no space, the file was cut) becomes a write, which has the answer.
 *
 * Invariant: a byte's bit is set after the byte is there, and cleared after it is in the file. A
 * signal handler that has interrupted any of these functions may flush with window_flush_busy(): it
 * clears bits, but no bounds, and writes last, whole, what window_store() was about to take.
 *
 * Errors come late: a store that was accepted may fail when its block goes out. The first error is
 * kept in `error`, for the owner to report; what failed is lost then, as the bytes of a failing
 * write of stdio's are. The owner sees to it that the usual ones (no space, a limit on the file's
 * size) are hardly possible.
 *
 * Synchronization: the owner's (stream.c: the stream's lock).
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys.h"

#define WINDOW_BLOCKS 8

struct window_block {
	uint64_t offset; /* in the file, a multiple of the block's size */
	uint64_t used;   /* the window's clock when last stored to */
	/* No bit is set outside [low, high); high 0: none at all. */
	uint32_t low;
	uint32_t high;
	unsigned char *bytes;
	uint64_t *bits;
};

struct window {
	struct window_block blocks[WINDOW_BLOCKS];
	struct window_block *last; /* the block of the last store, or NULL */
	uint64_t clock;
	/* How much was written out, and in how many calls, since the owner last looked. */
	uint64_t bytes_out;
	/* The end of the last byte of it in the file, likewise. */
	uint64_t end_out;
	/* What window_store() is taking; n 0: nothing. */
	const void *storing;
	uint64_t storing_at;
	size_t storing_n;
	/* It is in the file, in a child whose parent goes on: not to be written again. */
	bool storing_is_done;
	uint64_t calls_out;
	int fd;
	int error;                    /* the first failure's errno, or 0 */
	unsigned int count;           /* of blocks, WINDOW_BLOCKS or fewer */
	unsigned int open;            /* so many of them are used */
	unsigned int given_up;        /* so many were */
	uint64_t gone[WINDOW_BLOCKS]; /* what they had before, the last ones given up */
	unsigned int shift;           /* their size's logarithm */
	struct window *free_next;
};

/* A window onto a descriptor's file; NULL if there is no memory for one more. */
struct window *window_begin(int fd);
/* Its bytes are out, or lost. */
void window_end(struct window *w);

/* Takes bytes that belong at an offset. Writes others out if it needs their room. */
void window_store(struct window *w, uint64_t offset, const void *from, size_t n);

/* Puts what is pending of the file's bytes [offset, offset + n) over those in `to`. */
void window_overlay(const struct window *w, uint64_t offset, void *to, size_t n);

/* The end of the last byte that is pending, in the file; 0 if none is. */
uint64_t window_reach(const struct window *w);

/* Writes everything out. */
void window_flush(struct window *w);
/* The same in a signal handler, which may have interrupted any of these. */
void window_flush_busy(struct window *w);

/* In the child of a fork: the first for each window that is in the middle of something, which
 * window_flush_busy() has written out. */
void window_disown(struct window *w);
/* Nothing of it is to be written. */
void window_forget(struct window *w);
void window_forked(void);

#endif
