/*
 * System calls made by number, through libc's syscall(): those that end descriptors or change
 * addresses must be known to us too.
 *
 * `syscall` itself is a stub for each machine (arch/MACHINE/syscall.S) that leaves no frame behind:
 * it asks syscall_target() where to go, with the arguments as they came, and jumps there with the
 * registers and the stack as they were. So a number that returns twice, or on another stack, is
 * safe with it.
 *
 * Deliberately absent: serving syscall(SYS_mmap) with views; programs that go past libc want what
 * the kernel does. And i386's SYS_mmap and SYS_socketcall, whose arguments stand in memory, and its
 * SYS_signal and SYS_sigaction, of which the guard learns when it looks.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "aside.h"
#include "config.h"
#include "entry.h"
#include "entry_process.h"
#include "entry_signal.h"
#include "entry_syscall.h"
#include "estate.h"
#include "fd.h"
#include "offset.h"
#include "guard.h"
#include "sys.h"

#ifdef SYS_mmap2
#define NUMBER_OF_MMAP SYS_mmap2
#define MMAP_OFFSET(n) ((off64_t)(unsigned long)(n)*4096)
#else
#define NUMBER_OF_MMAP SYS_mmap
#define MMAP_OFFSET(n) ((off64_t)(n))
#endif

/* Calls on descriptors: what the hooks of entry_fd.c do, around the system call itself. */

static void before_descriptor_call(long number, long a, long b, long c)
{
	switch (number) {
	case SYS_close:
		entry_before_close((unsigned int)a, (unsigned int)a);
		fd_forget((int)a);
		break;
	case SYS_close_range:
		entry_close_range((unsigned int)a, (unsigned int)b, (int)c);
		break;
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		if ((int)a != (int)b)
			fd_forget((int)b);
		break;
	case SYS_fcntl:
#ifdef SYS_fcntl64
	case SYS_fcntl64:
#endif
		entry_before_fcntl((int)a, (int)b, (int)c);
		break;
	default:
		break;
	}
}

static void after_descriptor_call(long number, long a, long b, long c, long answer)
{
	switch (number) {
	case SYS_close:
	case SYS_close_range:
		break;
	case SYS_dup:
	case SYS_dup3:
#ifdef SYS_dup2
	case SYS_dup2:
#endif
		fd_duplicated((int)a, (int)answer);
		break;
	case SYS_fcntl:
#ifdef SYS_fcntl64
	case SYS_fcntl64:
#endif
		entry_fcntl((int)a, (int)b, (int)c, (int)answer);
		break;
	case SYS_recvmsg:
		entry_received((const struct msghdr *)b);
		break;
	case SYS_pipe2:
#ifdef SYS_pipe
	case SYS_pipe:
#endif
		fd_forget(((const int *)a)[0]);
		fd_forget(((const int *)a)[1]);
		break;
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
#endif
	case SYS_openat:
	case SYS_openat2:
		fd_opened((int)answer);
		break;
	case SYS_pidfd_getfd:
		fd_forget((int)answer);
		aside_opened((int)answer);
		break;
	default:
		fd_forget((int)answer);
		break;
	}
}

static long on_descriptors(long number, long a, long b, long c, long d, long e, long f)
{
	long answer;

	before_descriptor_call(number, a, b, c);
	answer = NEXT(syscall)(number, a, b, c, d, e, f);
	if (answer >= 0)
		after_descriptor_call(number, a, b, c, answer);
	return answer;
}

/* Calls on addresses of the estate: the hooks themselves. */
static long on_views(long number, long a, long b, long c, long d, long e, long f)
{
	void *addr = (void *)a;
	size_t length = (size_t)b;

	switch (number) {
	case NUMBER_OF_MMAP:
		return (long)inner_mmap64(addr, length, (int)c, (int)d, (int)e, MMAP_OFFSET(f));
	case SYS_munmap:
		return inner_munmap(addr, length);
	case SYS_mremap:
		return (long)inner_mremap(addr, length, (size_t)c, (int)d, (void *)e);
	case SYS_mprotect:
		return inner_mprotect(addr, length, (int)c);
	case SYS_pkey_mprotect:
		return inner_pkey_mprotect(addr, length, (int)c, (int)d);
	case SYS_madvise:
		return inner_madvise(addr, length, (int)c);
	case SYS_msync:
		return inner_msync(addr, length, (int)c);
	case SYS_mlock:
		return inner_mlock(addr, length);
	case SYS_mlock2:
		return inner_mlock2(addr, length, (unsigned int)c);
	case SYS_munlock:
		return inner_munlock(addr, length);
	case SYS_mlockall:
		return inner_mlockall((int)a);
	case SYS_mincore:
		return inner_mincore(addr, length, (unsigned char *)c);
	case SYS_remap_file_pages:
		return inner_remap_file_pages(addr, length, (int)c, (size_t)d, (int)e);
	case SYS_shmat:
		return (long)inner_shmat((int)a, (const void *)b, (int)c);
	case SYS_shmdt:
		return inner_shmdt((const void *)a);
	case SYS_ioctl:
		return inner_ioctl((int)a, (unsigned long)b, c);
	default:
		return NEXT(syscall)(number, a, b, c, d, e, f);
	}
}

/* A fork that leaves the child on its copy of our stack. */
static long forks(long number, long a, long b, long c, long d, long e, long f)
{
	long pid;

	process_fork_before();
	pid = NEXT(syscall)(number, a, b, c, d, e, f);
	process_fork_after(pid);
	return pid;
}

/* Whether the first and last byte can be read: the kernel copies the set of signals before it finds
 * that there is no such thing to do with it. */
static bool readable(const char *p, size_t size)
{
	return sys_call(SYS_rt_sigprocmask, -1, (long)p, 0, 8, 0, 0) == -EINVAL &&
	       sys_call(SYS_rt_sigprocmask, -1, (long)(p + size - 8), 0, 8, 0, 0) == -EINVAL;
}

static any_function target_of_clone(uint64_t flags, bool has_stack)
{
	enum process_kind kind = process_kind_of(flags);

	/* Of a vfork made in this way the child can't be told from us. */
	if ((flags & (CLONE_VM | CLONE_SIGHAND)) == CLONE_VM)
		guard_give_up();
	if (kind != PROCESS_FORK && kind != PROCESS_THREAD)
		fd_stop_tracking();
	if ((kind == PROCESS_FORK || kind == PROCESS_STRANGER_FORK) && !has_stack)
		return (any_function)forks;
	return (any_function)NEXT(syscall);
}

static any_function target_of_clone3(const struct clone_args *arguments, size_t size)
{
	if (size < CLONE_ARGS_SIZE_VER0 || size > 4096 ||
	    !readable((const char *)arguments, CLONE_ARGS_SIZE_VER0))
		return (any_function)NEXT(syscall);
	return target_of_clone(arguments->flags, arguments->stack != 0);
}

/* Calls on signals. */

/* The kernel's action as libc's, and back. */
static struct sigaction to_libc(const struct signal_action *from)
{
	struct sigaction to = {.sa_flags = (int)from->flags};

	to.sa_handler = (__sighandler_t)from->handler;
	to.sa_restorer = (void (*)(void))from->restorer;
	memcpy(&to.sa_mask, &from->mask, sizeof(from->mask));
	return to;
}

static struct signal_action from_libc(const struct sigaction *from)
{
	struct signal_action to = {
		.handler = (uintptr_t)from->sa_handler,
		.flags = (unsigned int)from->sa_flags,
		.restorer = (uintptr_t)from->sa_restorer,
	};

	memcpy(&to.mask, &from->sa_mask, sizeof(to.mask));
	return to;
}

/* rt_sigaction for one of the guard's signals. */
static long acts(long number, long a, long b, long c)
{
	struct sigaction new = {.sa_flags = 0};
	struct sigaction old;

	(void)number;
	if (b != 0)
		new = to_libc((const struct signal_action *)b);
	if (entry_sigaction((int)a, b != 0 ? &new : NULL, &old) != 0)
		return -1;
	if (c != 0)
		*(struct signal_action *)c = from_libc(&old);
	return 0;
}

static long on_masks(long number, long a, long b, long c, long d, long e, long f)
{
	long answer;

	guard_mask_changed();
	answer = NEXT(syscall)(number, a, b, c, d, e, f);
	guard_mask_changed();
	return answer;
}

static any_function target_of_action(long a, long b, long c, long size)
{
	const struct signal_action *action = (const struct signal_action *)b;

	/* What the kernel would refuse it shall refuse. */
	if (size != 8 || (b != 0 && !readable((const char *)b, sizeof(*action))) ||
	    (c != 0 && !readable((const char *)c, sizeof(*action))))
		return (any_function)NEXT(syscall);
	if (guard_has((int)a))
		return (any_function)acts;
	if (b != 0 && action->handler > 1 && (int)a != SIGBUS && (int)a != SIGSEGV) {
		struct sigaction new = to_libc(action);

		guard_note_mask(&new.sa_mask);
	}
	return (any_function)NEXT(syscall);
}

static any_function target_of_signals(long number, long a, long b, long c, long d)
{
	switch (number) {
	case SYS_rt_sigaction:
		return target_of_action(a, b, c, d);
	case SYS_rt_sigprocmask:
	case SYS_rt_sigsuspend:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
#ifdef SYS_sigprocmask
	case SYS_sigprocmask:
	case SYS_sigsuspend:
	case SYS_ssetmask:
	case SYS_ppoll_time64:
	case SYS_pselect6_time64:
#endif
		return (any_function)on_masks;
	default:
		return (any_function)NEXT(syscall);
	}
}

static any_function target_of_process(long number, long a, long b, long c, long d)
{
	switch (number) {
#ifdef SYS_vfork
	case SYS_vfork:
		return (any_function)vfork_stub;
#endif
#ifdef SYS_fork
	case SYS_fork:
		return (any_function)forks;
#endif
	case SYS_clone:
		offset_has_strangers = true;
		return target_of_clone((unsigned long)a, b != 0);
	case SYS_clone3:
		offset_has_strangers = true;
		return target_of_clone3((const struct clone_args *)a, (size_t)b);
	case SYS_unshare:
		if (a & CLONE_FILES)
			fd_stop_tracking();
		break;
	case SYS_prlimit64:
		/* Of this process only, and only where the limit can be read at all. */
		if ((a == 0 || a == sys_getpid()) && c != 0 &&
		    readable((const char *)c, sizeof(struct rlimit64)))
			process_limits((int)b, ((const struct rlimit64 *)c)->rlim_cur);
		break;
	case SYS_exit_group:
		process_report();
		break;
	default:
		return target_of_signals(number, a, b, c, d);
	}
	return (any_function)NEXT(syscall);
}

static bool touches_views(long number, long a, long b, long d, long e, long c)
{
	switch (number) {
	case NUMBER_OF_MMAP:
		return (d & (MAP_FIXED | MAP_FIXED_NOREPLACE)) &&
		       estate_touches((void *)a, (size_t)b);
	case SYS_mremap:
		return estate_touches((void *)a, b != 0 ? (size_t)b : 1) ||
		       ((d & MREMAP_FIXED) && estate_touches((void *)e, (size_t)c));
	case SYS_mlockall:
		return true;
	case SYS_shmat:
		return estate_has((void *)b);
	case SYS_shmdt:
		return estate_has((void *)a);
	case SYS_ioctl:
		return (unsigned int)b == UFFDIO_REGISTER;
	default:
		return estate_touches((void *)a, (size_t)b);
	}
}

/* Whatever the number does, it may look. */
static void step_before(long number, long a)
{
	switch (number) {
	case SYS_seccomp:
		process_enters_sandbox();
		return;
	case SYS_prctl:
		if (a == PR_SET_SECCOMP)
			process_enters_sandbox();
		return;
	case SYS_futex:
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getrandom:
	case SYS_getcpu:
	case SYS_membarrier:
		return;
	case SYS_dup:
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
	case SYS_fcntl:
#ifdef SYS_fcntl64
	case SYS_fcntl64:
#endif
	case SYS_close:
	case SYS_close_range:
	case SYS_clone:
	case SYS_clone3:
#ifdef SYS_fork
	case SYS_fork:
	case SYS_vfork:
#endif
	case SYS_pidfd_getfd:
	case SYS_unshare:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_io_uring_setup:
	case SYS_io_uring_enter:
	case SYS_io_uring_register:
	case SYS_io_submit:
	case SYS_setrlimit:
	case SYS_prlimit64:
		aside_share_all();
		return;
	default:
		aside_all();
		return;
	}
}

any_function syscall_target(long number, long a, long b, long c, long d, long e)
{
	if (!config.active)
		return (any_function)NEXT(syscall);
	step_before(number, a);
	switch (number) {
	case NUMBER_OF_MMAP:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise:
	case SYS_msync:
	case SYS_mlock:
	case SYS_mlock2:
	case SYS_munlock:
	case SYS_mlockall:
	case SYS_mincore:
	case SYS_remap_file_pages:
	case SYS_shmat:
	case SYS_shmdt:
	case SYS_ioctl:
		return touches_views(number, a, b, d, e, c) ? (any_function)on_views
							    : (any_function)NEXT(syscall);
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
	case SYS_dup2:
	case SYS_pipe:
	case SYS_epoll_create:
	case SYS_eventfd:
	case SYS_inotify_init:
	case SYS_signalfd:
#endif
#ifdef SYS_fcntl64
	case SYS_fcntl64:
#endif
#ifdef SYS_accept
	case SYS_accept:
#endif
	case SYS_openat:
	case SYS_openat2:
	case SYS_close:
	case SYS_close_range:
	case SYS_dup:
	case SYS_dup3:
	case SYS_fcntl:
	case SYS_pipe2:
	case SYS_recvmsg:
	case SYS_socket:
	case SYS_accept4:
	case SYS_epoll_create1:
	case SYS_eventfd2:
	case SYS_inotify_init1:
	case SYS_fanotify_init:
	case SYS_timerfd_create:
	case SYS_signalfd4:
	case SYS_memfd_create:
	case SYS_mq_open:
	case SYS_pidfd_open:
	case SYS_pidfd_getfd:
	case SYS_perf_event_open:
	case SYS_userfaultfd:
	case SYS_bpf:
	case SYS_io_uring_setup:
		return (any_function)on_descriptors;
	default:
		return target_of_process(number, a, b, c, d);
	}
}
