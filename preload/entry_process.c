/*
 * The exported names: processes. Four ways for a child to come into being, by what it shares:
 *
 *   memory  descriptors
 *   copy    copy         a fork: takes every lock first, and lets go of them on both sides
 *   shared  copy         a vfork, if the parent waits for it: passes through and touches no table;
 *                        if it does not wait, numbers mean two things from now on
 *   copy    shared       the child closes what we never see closed: numbers can't be trusted
 *   shared  shared       a thread
 *
 * fork itself only passes on: libc's runs the handlers that main.c gave to pthread_atfork, and so
 * do forkpty and daemon inside libc. _Fork and clone run none.
 *
 * posix_spawn, system and popen make a vfork-like child inside libc, which runs nothing of ours.
 *
 * Deliberately absent: a clone that shares memory and descriptors but brings no thread-local
 * storage of its own. It shares errno and malloc's caches with its parent; libc doesn't allow it.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "aside.h"
#include "config.h"
#include "description.h"
#include "entry.h"
#include "entry_process.h"
#include "fd.h"
#include "guard.h"
#include "offset.h"
#include "lock.h"
#include "region.h"
#include "report.h"
#include "stats.h"
#include "stream.h"
#include "sys.h"
#include "tls.h"

/* The signals to unblock when the vfork is over; written by the outermost one only, so that
 * the child, which shares it, leaves it as it is. */
static __thread uint64_t vfork_signals;

pid_t mc_fork(void)
{
	return NEXT(fork)();
}

pid_t mc___fork(void)
{
	return NEXT(__fork)();
}

void process_fork_before(void)
{
	if (!config.active)
		return;
	aside_share_all();
	lock_fork_prepare();
	offset_forking();
}

void process_fork_after(long pid)
{
	if (!config.active)
		return;
	if (pid != 0) {
		lock_fork_parent();
		return;
	}
	lock_fork_child();
	region_forked();
	stream_forked();
	stats_forked();
}

pid_t mc__Fork(void)
{
	pid_t pid;

	process_fork_before();
	pid = NEXT(_Fork)();
	process_fork_after(pid);
	return pid;
}

/*
 * The parent waits in the kernel while its child runs; a signal that came meanwhile (SIGCHLD, as a
 * rule) is delivered before the parent's next instruction, and its handler would be taken for the
 * child. So signals are blocked until the flag says again who is running.
 *
 * A vfork in a vfork child finds the flag set, and leaves everything as it is.
 */
bool process_vfork_before(void)
{
	bool outer = config.active && !tls.vfork_child;

	if (outer) {
		aside_share_all();
		vfork_signals = sys_block_signals();
		guard_mask_changed();
	}
	return outer;
}

long process_vfork_after(long answer, bool outer)
{
	if (outer) {
		tls.vfork_child = answer == 0;
		guard_mask_changed();
		sys_unblock_signals(vfork_signals);
	}
	if (answer < 0 && answer > -4096) {
		errno = (int)-answer;
		return -1;
	}
	return answer;
}

/* What a clone's child has to do before it is the program's. It stands in the parent's frame: the
 * child has a copy of it, or the parent waits. */
struct start {
	int (*function)(void *);
	void *argument;
	bool vforked;
	uint64_t signals;
};

static int begin_child(void *p)
{
	const struct start *start = p;

	if (start->vforked) {
		/* With CLONE_SETTLS the flag is the child's own. */
		tls.vfork_child = 1;
		sys_unblock_signals(start->signals);
	} else {
		process_fork_after(0);
	}
	return start->function(start->argument);
}

enum process_kind process_kind_of(uint64_t flags)
{
	uint64_t shares = flags & (CLONE_VM | CLONE_FILES);

	if (shares == 0)
		return PROCESS_FORK;
	if (shares == (CLONE_VM | CLONE_FILES))
		return PROCESS_THREAD;
	if (shares == CLONE_VM && (flags & CLONE_VFORK))
		return PROCESS_VFORK;
	return shares == CLONE_VM ? PROCESS_STRANGER : PROCESS_STRANGER_FORK;
}

/* What the program asks for of signals is kept in one place for both, and a vfork child passes it
 * by: right if that has actions of its own, and if all others share them. */
static void signals_before(uint64_t flags)
{
	enum process_kind kind = process_kind_of(flags);

	if ((flags & CLONE_VM) && (kind == PROCESS_VFORK) == ((flags & CLONE_SIGHAND) != 0))
		guard_give_up();
}

/* The arguments of clone, as libc takes them. */
struct clone_call {
	__typeof__(next.clone) next;
	int (*function)(void *);
	void *stack;
	int flags;
	void *argument;
	void *parent_tid;
	void *storage;
	void *child_tid;
};

static int pass_on(const struct clone_call *call)
{
	return call->next(call->function, call->stack, call->flags, call->argument,
			  call->parent_tid, call->storage, call->child_tid);
}

/* The same call, but what it starts begins with us. */
static struct clone_call wrapped(const struct clone_call *call, struct start *start)
{
	struct clone_call wrapper = *call;

	start->function = call->function;
	start->argument = call->argument;
	wrapper.function = begin_child;
	wrapper.argument = start;
	return wrapper;
}

static int clone_forks(const struct clone_call *call)
{
	struct start start = {0};
	struct clone_call wrapper = wrapped(call, &start);
	int pid;

	process_fork_before();
	pid = pass_on(&wrapper);
	process_fork_after(pid);
	return pid;
}

static int clone_vforks(const struct clone_call *call)
{
	struct start start = {.vforked = true};
	struct clone_call wrapper = wrapped(call, &start);
	int pid;

	if (tls.vfork_child)
		return pass_on(call);
	aside_share_all();
	start.signals = sys_block_signals();
	guard_mask_changed();
	pid = pass_on(&wrapper);
	if (!(call->flags & CLONE_SETTLS))
		tls.vfork_child = 0;
	guard_mask_changed();
	sys_unblock_signals(start.signals);
	return pid;
}

static int clone_any(const struct clone_call *call)
{
	/* libc refuses these before it looks at anything else. */
	if (call->function == NULL || call->stack == NULL || !config.active)
		return pass_on(call);
	signals_before((unsigned int)call->flags);
	switch (process_kind_of((unsigned int)call->flags)) {
	case PROCESS_FORK:
		return clone_forks(call);
	case PROCESS_STRANGER_FORK:
		fd_stop_tracking();
		return clone_forks(call);
	case PROCESS_VFORK:
		return clone_vforks(call);
	case PROCESS_STRANGER:
		aside_share_all();
		fd_stop_tracking();
		break;
	case PROCESS_THREAD:
		offset_has_strangers = true;
		break;
	}
	return pass_on(call);
}

/* The last three are passed on whether they are there or not, as libc itself takes them. */
#define BODY_OF_CLONE(name)                                                                        \
	int mc_##name(int (*function)(void *), void *stack, int flags, void *argument, ...)        \
	{                                                                                          \
		struct clone_call call = {.next = NEXT(name),                                      \
					  .function = function,                                    \
					  .stack = stack,                                          \
					  .flags = flags,                                          \
					  .argument = argument};                                   \
		va_list list;                                                                      \
                                                                                                   \
		va_start(list, argument);                                                          \
		call.parent_tid = va_arg(list, void *);                                            \
		call.storage = va_arg(list, void *);                                               \
		call.child_tid = va_arg(list, void *);                                             \
		va_end(list);                                                                      \
		return clone_any(&call);                                                           \
	}

BODY_OF_CLONE(clone)
BODY_OF_CLONE(__clone)

pid_t mc_forkpty(int *master, char *name, const struct termios *termios, const struct winsize *size)
{
	pid_t pid = NEXT(forkpty)(master, name, termios, size);

	/* libc has put the terminal in place of the child's first three, and given the parent a
	 * number. */
	if (pid == 0)
		fd_forget_range(0, 2);
	else if (pid > 0)
		fd_forget(*master);
	return pid;
}

int mc_daemon(int keep_directory, int keep_streams)
{
	/* The parent ends inside libc. The child's counts begin at nothing. */
	process_report();
	/* libc puts /dev/null in place of the child's first three. */
	fd_forget_range(0, 2);
	return NEXT(daemon)(keep_directory, keep_streams);
}

void process_limits(int resource, uint64_t limit)
{
	bool limits = config.active && !tls.vfork_child && limit != RLIM64_INFINITY;

	/* The estate is address space that natively is not taken, regions of kind D are data. */
	if (limits && resource == RLIMIT_AS)
		description_narrow(limit);
	else if (limits && resource == RLIMIT_DATA)
		description_retreat();
	/* What would be written too far has to fail when it is. */
	if (resource == RLIMIT_FSIZE)
		aside_share_all();
}

/* RLIM_INFINITY is ULONG_MAX, which is not RLIM64_INFINITY where long has 32 bits. */
static uint64_t soft_limit(const struct rlimit *limit)
{
	return limit == NULL || limit->rlim_cur == RLIM_INFINITY ? RLIM64_INFINITY
								 : limit->rlim_cur;
}

static bool is_this_process(pid_t pid)
{
	return pid == 0 || pid == sys_getpid();
}

int mc_setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	process_limits((int)resource, soft_limit(limit));
	return NEXT(setrlimit)(resource, limit);
}

int mc_setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	process_limits((int)resource, limit == NULL ? RLIM64_INFINITY : limit->rlim_cur);
	return NEXT(setrlimit64)(resource, limit);
}

int mc_prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limit,
	       struct rlimit *old)
{
	if (limit != NULL && is_this_process(pid))
		process_limits((int)resource, soft_limit(limit));
	return NEXT(prlimit)(pid, resource, limit, old);
}

int mc_prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
		 struct rlimit64 *old)
{
	if (limit != NULL && is_this_process(pid))
		process_limits((int)resource, limit->rlim_cur);
	return NEXT(prlimit64)(pid, resource, limit, old);
}

int mc_unshare(int flags)
{
	if (flags & CLONE_FILES) {
		aside_share_all();
		fd_stop_tracking();
	}
	return NEXT(unshare)(flags);
}

void process_report(void)
{
	/* Its counts are its parent's, which goes on. */
	if (tls.vfork_child)
		return;
	aside_all();
	report_write();
	stats_report();
}

void process_enters_sandbox(void)
{
	if (!config.active || tls.vfork_child)
		return;
	stream_finish();
	offset_finish();
	process_report();
	config.active = false;
}

/* No destructor runs. */
void mc__exit(int status)
{
	process_report();
	NEXT(_exit)(status);
	__builtin_unreachable();
}

void mc__Exit(int status)
{
	process_report();
	NEXT(_Exit)(status);
	__builtin_unreachable();
}
