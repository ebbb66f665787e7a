/*
 * Aside: what this process knows and the kernel has not been told yet (file offsets, bytes), and
 * who tells it before anybody can look.
 *
 *   entry ──> aside_fd, aside_bytes, aside_all … ──> owners: streams (stream.h) …
 *                                                      │
 *                                                      └──> the kernel: lseek, pwrite
 *
 * An owner keeps an offset or bytes in user space as long as nobody can see the difference. Every
 * hook behind which somebody could (another function on the same descriptor, a look at the file, a
 * message to another process, a child) asks it to step aside first. While nothing is pending that
 * costs a load and a branch.
 *
 * Callbacks run on any thread, and in signal handlers that have interrupted the owner's own code:
 * the owner knows, and does what is possible then. They leave errno alone. In a vfork child nothing
 * is told: its parent, which waits, was told to before.
 *
 * Synchronization: owners are added by the constructor.
 */
#ifndef ASIDE_H
#define ASIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "tls.h"

enum aside_why {
	ASIDE_LOOKED, /* the file's size is looked at, not the offset */
	ASIDE_SEEN,   /* somebody may look, or use it, now */
	ASIDE_MAPPED, /* the file is mapped: its bytes may be looked at from now on */
	ASIDE_SHARED, /* the description can be reached by others from now on */
};

struct aside_owner {
	/* Whatever is pending of this number's description, and of its file. */
	void (*fd)(int fd, enum aside_why why);
	/* The bytes of all files; NULL if the owner keeps none. */
	void (*bytes)(void);
	/* Everything. */
	void (*all)(enum aside_why why);
	/* This number was made by an open: its file is to be looked at through it. NULL if the
	 * owner keeps no bytes. */
	void (*opened)(int fd);
};

/* At most four. */
void aside_add(const struct aside_owner *owner);

/* Nothing is kept of numbers that are not below this. */
#define ASIDE_NUMBERS 65536

/* For each number, how many things are pending of it; all of them together; and how many files have
 * bytes pending, or may have: whoever opens them must be noticed. All atomic, and read by the hooks
 * in assembly. */
extern uint8_t aside_kept[ASIDE_NUMBERS] __attribute__((visibility("hidden")));
extern uint32_t aside_pending __attribute__((visibility("hidden")));
extern uint32_t aside_files __attribute__((visibility("hidden")));

/* One thing more (1) or less (-1). A number has a handful at most. */
static inline void aside_pend(int fd, int change)
{
	__atomic_fetch_add(&aside_kept[fd], (uint8_t)change, __ATOMIC_RELAXED);
	__atomic_fetch_add(&aside_pending, (uint32_t)change, __ATOMIC_RELAXED);
}

/* One file more or less. */
static inline void aside_pend_file(int change)
{
	__atomic_fetch_add(&aside_files, (uint32_t)change, __ATOMIC_RELAXED);
}

static inline bool aside_has_files(void)
{
	return __builtin_expect(__atomic_load_n(&aside_files, __ATOMIC_RELAXED) != 0, 0) &&
	       !tls.vfork_child;
}

void aside_tell_fd(int fd, enum aside_why why);
void aside_tell_bytes(void);
void aside_tell_all(enum aside_why why);
void aside_tell_opened(int fd);

/* Before a call that uses this number, or shows its file's size or bytes. */
static inline void aside_fd(int fd)
{
	if (fd >= 0 && fd < ASIDE_NUMBERS &&
	    __builtin_expect(__atomic_load_n(&aside_kept[fd], __ATOMIC_RELAXED) != 0, 0) &&
	    !tls.vfork_child)
		aside_tell_fd(fd, ASIDE_SEEN);
}

/* Before a call that may let somebody look at any file. */
static inline void aside_bytes(void)
{
	if (aside_has_files())
		aside_tell_bytes();
}

static inline void aside_all(void)
{
	if ((__atomic_load_n(&aside_pending, __ATOMIC_RELAXED) |
	     __atomic_load_n(&aside_files, __ATOMIC_RELAXED)) != 0 &&
	    !tls.vfork_child)
		aside_tell_all(ASIDE_SEEN);
}

/* After an open. */
static inline void aside_opened(int fd)
{
	if (aside_has_files() && fd >= 0)
		aside_tell_opened(fd);
}

/* These are told whether something is pending or not: it is for good. */
static inline void aside_share(int fd)
{
	if (!tls.vfork_child)
		aside_tell_fd(fd, ASIDE_SHARED);
}

static inline void aside_share_all(void)
{
	if (!tls.vfork_child)
		aside_tell_all(ASIDE_SHARED);
}

#endif
