/*
 * The next definitions: what the program would have called without us.
 *
 * One typed pointer a row of the hook table. Each is bound when it is first called, which symbol.h
 * makes possible at any moment: in a signal handler, too, and while the dynamic linker is at work.
 * Where that can't be, dlsym is asked for all of them by the constructor; and by hooks that are
 * called before it: from another library's constructor, from the allocator's start-up, from inside
 * dlsym itself. The last gets a raw system call in place of the next definition, where there is
 * one.
 *
 * Synchronization: a pointer goes from NULL to its final value once; a second thread that looks the
 * same name up stores the same value.
 */
#ifndef NEXT_H
#define NEXT_H

#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>

enum hook {
#define HOOK(ret, name, params, fallback) HOOK_##name,
#define NEWFD(name, params, args, fallback) HOOK_##name,
#include "hooks.def"
	HOOK_COUNT
};

struct next {
#define HOOK(ret, name, params, fallback) ret(*name) params;
#define NEWFD(name, params, args, fallback) int(*name) params;
#include "hooks.def"
};

extern struct next next;

/* Whether an open with these flags reads a mode: O_TMPFILE contains O_DIRECTORY's bit. */
static inline bool open_takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* A pointer to a function of whatever type. */
typedef void (*any_function)(void);

/* Looks one name up; never NULL (a stub that fails with ENOSYS if all else does). */
any_function next_bind(enum hook hook);

/* The same as NEXT() for a number. */
any_function next_of(enum hook hook);

/* Gets ready to bind, or binds all of them. Called by the constructor. */
void next_begin(void);

/* The next definition of a hooked name, as a function to call: NEXT(close)(fd). */
#define NEXT(name)                                                                                 \
	(__builtin_expect(next.name != NULL, 1) ? next.name                                        \
						: (__typeof__(next.name))next_bind(HOOK_##name))

#endif
