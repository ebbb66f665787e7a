/*
 * The exported names: descriptors made, copied and ended. Each passes through and tells the
 * descriptor table (fd.h): what ends a number before the call, for the kernel may give the number
 * to another thread during it; what makes one after it.
 *
 * The next definition is called from our own frame and no lock is held, so what is a cancellation
 * point there is one here. The table never touches errno.
 *
 * Deliberately absent: dup2 of a number that is not open leaves its target as it was, and close of
 * a bad number fails; both have made us forget. That is only a loss of knowledge.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdarg.h>
#include <string.h>

#include "aside.h"
#include "config.h"
#include "entry.h"
#include "fd.h"
#include "offset.h"
#include "reads.h"
#include "report.h"
#include "stats.h"
#include "tls.h"
#include "view.h"

/* Newer than some headers. */
#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

/* A number that a call by name has returned, or -1. */
static inline int opened(int fd)
{
	fd_opened(fd);
	offset_opened(fd);
	aside_opened(fd);
	return fd;
}

/* May truncate its file, or write to it: what is to be written comes first. */
static inline void opening(int flags)
{
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		aside_bytes();
}

/* The mode is read only where there is one. */
#define READ_MODE(flags)                                                                           \
	mode_t mode = 0;                                                                           \
	if (open_takes_mode(flags)) {                                                              \
		va_list list;                                                                      \
		va_start(list, flags);                                                             \
		mode = va_arg(list, mode_t);                                                       \
		va_end(list);                                                                      \
	}

int mc_open(const char *path, int flags, ...)
{
	READ_MODE(flags)
	opening(flags);
	return opened(NEXT(open)(path, flags, mode));
}

int mc_open64(const char *path, int flags, ...)
{
	READ_MODE(flags)
	opening(flags);
	return opened(NEXT(open64)(path, flags, mode));
}

int mc___open(const char *path, int flags, ...)
{
	READ_MODE(flags)
	opening(flags);
	return opened(NEXT(__open)(path, flags, mode));
}

int mc___open64(const char *path, int flags, ...)
{
	READ_MODE(flags)
	opening(flags);
	return opened(NEXT(__open64)(path, flags, mode));
}

int mc___open_2(const char *path, int flags)
{
	opening(flags);
	return opened(NEXT(__open_2)(path, flags));
}

int mc___open64_2(const char *path, int flags)
{
	opening(flags);
	return opened(NEXT(__open64_2)(path, flags));
}

int mc_openat(int dir, const char *path, int flags, ...)
{
	READ_MODE(flags)
	opening(flags);
	return opened(NEXT(openat)(dir, path, flags, mode));
}

int mc_openat64(int dir, const char *path, int flags, ...)
{
	READ_MODE(flags)
	opening(flags);
	return opened(NEXT(openat64)(dir, path, flags, mode));
}

int mc___openat_2(int dir, const char *path, int flags)
{
	opening(flags);
	return opened(NEXT(__openat_2)(dir, path, flags));
}

int mc___openat64_2(int dir, const char *path, int flags)
{
	opening(flags);
	return opened(NEXT(__openat64_2)(dir, path, flags));
}

int mc_creat(const char *path, mode_t mode)
{
	aside_bytes();
	return opened(NEXT(creat)(path, mode));
}

int mc_creat64(const char *path, mode_t mode)
{
	aside_bytes();
	return opened(NEXT(creat64)(path, mode));
}

int mc_open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	opening(flags);
	return opened(NEXT(open_by_handle_at)(mount, handle, flags));
}

int mc_mkstemp(char *template)
{
	return opened(NEXT(mkstemp)(template));
}

int mc_mkstemp64(char *template)
{
	return opened(NEXT(mkstemp64)(template));
}

int mc_mkostemp(char *template, int flags)
{
	return opened(NEXT(mkostemp)(template, flags));
}

int mc_mkostemp64(char *template, int flags)
{
	return opened(NEXT(mkostemp64)(template, flags));
}

int mc_mkstemps(char *template, int suffix)
{
	return opened(NEXT(mkstemps)(template, suffix));
}

int mc_mkstemps64(char *template, int suffix)
{
	return opened(NEXT(mkstemps64)(template, suffix));
}

int mc_mkostemps(char *template, int suffix, int flags)
{
	return opened(NEXT(mkostemps)(template, suffix, flags));
}

int mc_mkostemps64(char *template, int suffix, int flags)
{
	return opened(NEXT(mkostemps64)(template, suffix, flags));
}

int mc_shm_open(const char *name, int flags, mode_t mode)
{
	return opened(NEXT(shm_open)(name, flags, mode));
}

/*
 * A report on stderr has to be made before descriptor 2 goes: coreutils and others close stderr
 * from an atexit handler, which runs before our destructor.
 *
 * Only a close counts, since after it nothing that we write can arrive, whatever the program is
 * (a daemon too: its report ends here). A descriptor that is put in the place of 2 (dup2, freopen)
 * does not: shells do it and undo it, with a process to follow that has hardly begun.
 */
void entry_before_close(unsigned int first, unsigned int last)
{
	if (first > 2 || last < 2 || !config.active || tls.vfork_child)
		return;
	report_write();
	if (strcmp(config.stats, "stderr") == 0)
		stats_report();
}

static inline void forget_closed(int fd)
{
	if (__builtin_expect(fd == 2, 0))
		entry_before_close(2, 2);
	/* The end of a pipe, a socket, a lock is a message to whoever waits for it. */
	aside_bytes();
	aside_share(fd);
	fd_forget(fd);
}

int mc_close(int fd)
{
	forget_closed(fd);
	return NEXT(close)(fd);
}

int mc___close(int fd)
{
	forget_closed(fd);
	return NEXT(__close)(fd);
}

void entry_close_range(unsigned int first, unsigned int last, int flags)
{
	/* They will be closed by exec. */
	if ((flags & CLOSE_RANGE_CLOEXEC) && !(flags & CLOSE_RANGE_UNSHARE))
		return;
	if (flags & CLOSE_RANGE_UNSHARE) {
		aside_share_all();
		fd_stop_tracking();
	}
	if (flags & CLOSE_RANGE_CLOEXEC)
		return;
	entry_before_close(first, last);
	aside_bytes();
	aside_share_all();
	fd_forget_range(first, last);
}

int mc_close_range(unsigned int first, unsigned int last, int flags)
{
	entry_close_range(first, last, flags);
	return NEXT(close_range)(first, last, flags);
}

void mc_closefrom(int first)
{
	entry_close_range(first > 0 ? (unsigned int)first : 0, UINT_MAX, 0);
	NEXT(closefrom)(first);
}

int mc_dup(int fd)
{
	int copy;

	aside_share(fd);
	copy = NEXT(dup)(fd);
	fd_duplicated(fd, copy);
	return copy;
}

static inline void forget_target(int fd, int to)
{
	aside_share(fd);
	if (fd == to)
		return;
	aside_share(to);
	fd_forget(to);
}

static inline int copied(int fd, int answer)
{
	fd_duplicated(fd, answer);
	return answer;
}

int mc_dup2(int fd, int to)
{
	forget_target(fd, to);
	return copied(fd, NEXT(dup2)(fd, to));
}

int mc___dup2(int fd, int to)
{
	forget_target(fd, to);
	return copied(fd, NEXT(__dup2)(fd, to));
}

int mc_dup3(int fd, int to, int flags)
{
	forget_target(fd, to);
	return copied(fd, NEXT(dup3)(fd, to, flags));
}

/* Before the call, for no read may be served after it, and after it, for a read may have asked for
 * the flags meanwhile. */
void entry_before_fcntl(int fd, int command, int argument)
{
	switch (command) {
	case F_GETFD:
	case F_SETFD:
	case F_GETFL:
		break;
	case F_SETFL:
		if (argument & O_DIRECT)
			reads_refuse(fd);
		aside_share(fd);
		break;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		aside_share(fd);
		break;
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		aside_fd(fd);
		aside_bytes();
		break;
	default:
		aside_fd(fd);
		break;
	}
}

void entry_fcntl(int fd, int command, int argument, int answer)
{
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		fd_duplicated(fd, answer);
	else if (command == F_SETFL)
		entry_before_fcntl(fd, command, argument);
}

/* A seal against writing is refused while the file is mapped writable, natively by the program; an
 * idle region of ours must not be the reason. */
static bool worth_another_try(int command, int answer)
{
	return answer == -1 && errno == EBUSY && command == F_ADD_SEALS && view_relieve();
}

/* The third argument is passed on as a pointer whether there is one or not, as libc itself does. */
#define BODY_OF_FCNTL(name)                                                                        \
	int mc_##name(int fd, int command, ...)                                                    \
	{                                                                                          \
		va_list list;                                                                      \
		void *argument;                                                                    \
		int answer;                                                                        \
                                                                                                   \
		va_start(list, command);                                                           \
		argument = va_arg(list, void *);                                                   \
		va_end(list);                                                                      \
		entry_before_fcntl(fd, command, (int)(intptr_t)argument);                          \
		answer = NEXT(name)(fd, command, argument);                                        \
		if (worth_another_try(command, answer))                                            \
			answer = NEXT(name)(fd, command, argument);                                \
		entry_fcntl(fd, command, (int)(intptr_t)argument, answer);                         \
		return answer;                                                                     \
	}

BODY_OF_FCNTL(fcntl)
BODY_OF_FCNTL(fcntl64)
BODY_OF_FCNTL(__fcntl)
#ifdef __i386__
BODY_OF_FCNTL(__fcntl_time64)
#endif

int mc_memfd_create(const char *name, unsigned int flags)
{
	return opened(NEXT(memfd_create)(name, flags));
}

/* The bodies of the rows NEWFD. */
static inline int made(int fd)
{
	fd_forget(fd);
	return fd;
}

#define HOOK(ret, name, params, fallback)
#define NEWFD(name, params, args, fallback)                                                        \
	int mc_##name params                                                                       \
	{                                                                                          \
		return made(NEXT(name) args);                                                      \
	}
#include "hooks.def"

/* It may be one of this process's own descriptions, or another's of a file that is ours too. */
int mc_pidfd_getfd(int pidfd, int target, unsigned int flags)
{
	int fd;

	aside_share_all();
	fd = made(NEXT(pidfd_getfd)(pidfd, target, flags));
	if (fd >= 0)
		aside_opened(fd);
	return fd;
}

int mc_mq_open(const char *name, int flags, ...)
{
	mode_t mode = 0;
	struct mq_attr *attributes = NULL;

	if (flags & O_CREAT) {
		va_list list;

		va_start(list, flags);
		mode = va_arg(list, mode_t);
		attributes = va_arg(list, struct mq_attr *);
		va_end(list);
	}
	return made(NEXT(mq_open)(name, flags, mode, attributes));
}

static inline int made_two(int answer, const int fds[2])
{
	if (answer == 0) {
		fd_forget(fds[0]);
		fd_forget(fds[1]);
	}
	return answer;
}

int mc_pipe(int fds[2])
{
	return made_two(NEXT(pipe)(fds), fds);
}

int mc___pipe(int fds[2])
{
	return made_two(NEXT(__pipe)(fds), fds);
}

int mc_pipe2(int fds[2], int flags)
{
	return made_two(NEXT(pipe2)(fds, flags), fds);
}

int mc_socketpair(int domain, int type, int protocol, int fds[2])
{
	return made_two(NEXT(socketpair)(domain, type, protocol, fds), fds);
}

int mc_openpty(int *master, int *slave, char *name, const struct termios *termios,
	       const struct winsize *size)
{
	int answer = NEXT(openpty)(master, slave, name, termios, size);

	if (answer == 0) {
		fd_forget(*master);
		fd_forget(*slave);
	}
	return answer;
}

/* Forgets the numbers that one control message carries. */
static void forget_rights(const struct cmsghdr *header)
{
	const char *data = (const char *)CMSG_DATA(header);
	const char *end = (const char *)header + header->cmsg_len;
	int fd;

	if (header->cmsg_level != SOL_SOCKET ||
	    (header->cmsg_type != SCM_RIGHTS && header->cmsg_type != SCM_PIDFD))
		return;
	for (; data + sizeof(fd) <= end; data += sizeof(fd)) {
		memcpy(&fd, data, sizeof(fd));
		fd_forget(fd);
		aside_opened(fd);
	}
}

void entry_received(const struct msghdr *message)
{
	const char *at = message->msg_control;
	const char *end = at + message->msg_controllen;

	/* Not CMSG_NXTHDR, which may be a call. */
	while (at != NULL && (size_t)(end - at) >= sizeof(struct cmsghdr)) {
		const struct cmsghdr *header = (const void *)at;

		if (header->cmsg_len < sizeof(*header) || header->cmsg_len > (size_t)(end - at))
			return;
		forget_rights(header);
		if ((size_t)(end - at) < CMSG_ALIGN(header->cmsg_len))
			return;
		at += CMSG_ALIGN(header->cmsg_len);
	}
}

ssize_t mc_recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t answer = NEXT(recvmsg)(fd, message, flags);

	if (answer >= 0)
		entry_received(message);
	return answer;
}

static int received_many(const struct mmsghdr *messages, int count)
{
	for (int i = 0; i < count; i++)
		entry_received(&messages[i].msg_hdr);
	return count;
}

int mc_recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
		struct timespec *timeout)
{
	return received_many(messages, NEXT(recvmmsg)(fd, messages, count, flags, timeout));
}

#ifdef __i386__
/* For programs with a 64-bit time_t, which lay out some control messages in another way, but not
 * those that carry descriptors. */
ssize_t mc___recvmsg64(int fd, struct msghdr *message, int flags)
{
	ssize_t answer = NEXT(__recvmsg64)(fd, message, flags);

	if (answer >= 0)
		entry_received(message);
	return answer;
}

int mc___recvmmsg64(int fd, struct mmsghdr *messages, unsigned int count, int flags, void *timeout)
{
	return received_many(messages, NEXT(__recvmmsg64)(fd, messages, count, flags, timeout));
}
#endif

int mc_login_tty(int fd)
{
	/* It puts fd in place of all three, and closes it. */
	fd_forget_range(0, 2);
	fd_forget(fd);
	return NEXT(login_tty)(fd);
}
