/*
 * Offsets: where the next read of a description begins, kept in user space instead of the kernel.
 *
 *   read, readv, lseek ──> ours? ──> a copy from a region, or pread, at that offset ──> moved by
 * one entry_read.c           │ no compare-and-swap
 *                            v
 *                       the real call, counted while it is going on
 *
 * Only for a description that this process opened by name, and that has one number and no other way
 * to it: what copies the number, passes it on or makes a child (aside.h) ends that for good, and a
 * FILE on top of it does too. Whatever else may look at the kernel's offset, or use it, has it
 * written back first (*told*).
 *
 * The state is one word of the number's entry (fd.h):
 *
 *    63 . . 61  60 . . 48  47 . . . . 0
 *    state      tag        value
 *
 *   NEVER ──open──> KERNEL ──small reads──> ASKING ──> OURS ──> TELLING ──> KERNEL
 *                     calls in flight                    the offset
 *
 * Every change has another tag, so that a word that is seen twice was not changed in between. A
 * read copies first and moves the offset after that, only if the word is what it was; if not,
 * somebody else may have got the bytes, and it begins again. So two threads get disjoint bytes, a
 * signal handler may read in the middle of a read, and nobody ever waits. OURS and TELLING are the
 * same to a reader; who tells looks again after the call whether the offset still is what was told.
 * To begin, the kernel is asked where the offset stands, while no real call is in flight; a reader
 * that comes meanwhile makes it KERNEL again.
 *
 * Every lseek but the plain ones (inside the file as it was seen) is the kernel's: a real call,
 * with an absolute offset, and its answer is ours. So all errors are its own.
 *
 * A description that gains nothing goes back to the kernel for good: after MOST_LARGE large reads,
 * or MOST_SETBACKS tellings.
 *
 * Synchronization: the word is atomic. Asking and telling are done under LOCK_OFFSETS, which forks
 * take too. A thread that holds it already (a test's re-entering call) goes on without.
 *
 * Deliberately absent: writes, which need the kernel's offset; descriptions that were inherited,
 * received or made by stdio. A real call that is not modelled here (sendfile, write …) in one
 * thread, in the very moment in which another's read begins to be served, may use the same offset;
 * and a child by vfork or posix_spawn inherits an offset that is not told if another thread opens a
 * file and makes all those reads of it between the telling and the system call.
 */
#ifndef OFFSET_H
#define OFFSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>
#include <sys/types.h>

#include "description.h"
#include "fd.h"
#include "sys.h"
#include "tls.h"

enum offset_state {
	OFFSET_NEVER,
	OFFSET_KERNEL,
	OFFSET_ASKING,
	OFFSET_OURS,
	OFFSET_TELLING,
};

#define OFFSET_STATE_SHIFT 61
#define OFFSET_VALUE_BITS 48
#define OFFSET_VALUE (((uint64_t)1 << OFFSET_VALUE_BITS) - 1)

/* One call that uses the offset. */
struct offset_call {
	struct fd_entry *entry;
	uint64_t word;
};

enum offset_way {
	OFFSET_PASS,  /* make the real call */
	OFFSET_COUNT, /* make the real call, and offset_end() after it */
	OFFSET_SERVE, /* at offset_at(); offset_move() after it */
};

static inline uint64_t offset_at(const struct offset_call *call)
{
	return call->word & OFFSET_VALUE;
}

enum offset_way offset_begin_slowly(struct offset_call *call, int fd, size_t n);

/* How to go on with a read of n bytes, or with an lseek, n = 0. */
static inline enum offset_way offset_begin(struct offset_call *call, int fd, size_t n)
{
	call->entry = fd_find(fd);
	if (call->entry == NULL)
		return OFFSET_PASS;
	call->word = __atomic_load_n(&call->entry->offset, __ATOMIC_ACQUIRE);
	if (call->word >> OFFSET_STATE_SHIFT == OFFSET_NEVER)
		return OFFSET_PASS;
	if (call->word >> OFFSET_STATE_SHIFT == OFFSET_OURS && !tls.vfork_child)
		return OFFSET_SERVE;
	return offset_begin_slowly(call, fd, n);
}

/* The real call is over. */
void offset_end(const struct offset_call *call);

/* This process has threads that libc does not know of. */
extern bool offset_has_strangers __attribute__((visibility("hidden")));

/* A compare-and-swap. While there is one thread, it need only be whole for handlers: without the
 * lock, the next read's loads do not wait for the last one's. */
static inline bool offset_exchange(uint64_t *word, uint64_t *expected, uint64_t wanted)
{
#ifdef __x86_64__
	if (__libc_single_threaded && !offset_has_strangers) {
		bool done;

		__asm__ volatile("cmpxchgq %3, %1"
				 : "+a"(*expected), "+m"(*word), "=@ccz"(done)
				 : "r"(wanted)
				 : "memory");
		return done;
	}
#endif
	return __atomic_compare_exchange_n(word, expected, wanted, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/* A read was made at the offset, or it is to be moved: it is `to` now. False: it was moved or told
 * meanwhile; begin again. */
static inline bool offset_move(struct offset_call *call, uint64_t to)
{
	uint64_t tag = (uint64_t)1 << OFFSET_VALUE_BITS;
	uint64_t state = call->word >> OFFSET_STATE_SHIFT << OFFSET_STATE_SHIFT;
	uint64_t rest = (call->word + tag) & ~state & ~OFFSET_VALUE;

	rest &= ((uint64_t)1 << OFFSET_STATE_SHIFT) - 1;
	return offset_exchange(&call->entry->offset, &call->word, state | rest | to);
}

/* A read of n bytes at the offset was answered by a real call. Last. */
void offset_passed(const struct offset_call *call, int fd, size_t n);

/* The kernel has just been given an offset that is too large for us. Like offset_move. */
bool offset_move_far(struct offset_call *call, int fd);

/* Before a real call at the offset: whether the number still is what it was. False: begin again. */
bool offset_stands(const struct offset_call *call, int fd);

bool offset_is_plain_slowly(const struct offset_call *call, int fd, uint64_t to);

/* Whether an lseek to this offset can be answered without the kernel: not if the number may be
 * another's by now, and not behind the largest size that was seen. */
static inline bool offset_is_plain(const struct offset_call *call, int fd, uint64_t to)
{
	const struct fd_entry *entry = call->entry;
	uint64_t proof = __atomic_load_n(&entry->proof, __ATOMIC_ACQUIRE);
	const struct description *d = __atomic_load_n(&entry->description, __ATOMIC_RELAXED);

	if (fd_proof_is_of(proof, kernel.tick()) &&
	    to <= __atomic_load_n(&d->reach, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&entry->proof, __ATOMIC_ACQUIRE) == proof)
		return true;
	return offset_is_plain_slowly(call, fd, to);
}

/* This number was made by name, and is the only way to its description. */
void offset_opened(int fd);
/* It is another by now: nothing is told. */
void offset_forget_slowly(struct fd_entry *entry, int fd);
static inline void offset_forget(struct fd_entry *entry, int fd)
{
	if (__atomic_load_n(&entry->offset, __ATOMIC_ACQUIRE) >> OFFSET_STATE_SHIFT != OFFSET_NEVER)
		offset_forget_slowly(entry, fd);
}

/* So many offsets are ours. */
extern uint32_t offset_ours __attribute__((visibility("hidden")));

static inline uint32_t offset_count(void)
{
	return __atomic_load_n(&offset_ours, __ATOMIC_RELAXED);
}

/* All of them, for good, while a fork holds every lock. */
void offset_forking(void);

/* Called by the constructor. */
void offset_start(void);
/* For good: somebody may be about to call past us. */
void offset_finish(void);

#endif
