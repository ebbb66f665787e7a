/* Operations that make and end descriptors. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

unsigned char *scratch(void)
{
	/* Two threads at once, at most. */
	static unsigned char bytes[2][MOST_BYTES];

	return bytes[self->by == BY_THREAD && self->first_slot != 0];
}

size_t length_of(int64_t length)
{
	return (uint64_t)length > MOST_BYTES ? MOST_BYTES : (size_t)length;
}

int number_of(int64_t index)
{
	return fd_description(index) != NULL ? fds[index].number : index < 0 ? -1 : 9999;
}

bool is_fd(int64_t index)
{
	return index >= 0 && index < FDS;
}

/* How `open` opens. */
static const int open_flags[] = {
	O_RDONLY,
	O_RDONLY | O_CLOEXEC,
	O_RDWR,
	O_RDWR | O_CREAT,
	O_RDWR | O_CREAT | O_CLOEXEC,
	O_RDWR | O_TRUNC,
	O_RDWR | O_CREAT | O_TRUNC,
	O_RDWR | O_APPEND,
	O_WRONLY,
	O_WRONLY | O_APPEND,
	O_RDONLY | O_NOATIME,
	O_RDWR | O_CREAT | O_EXCL,
};

#define OPEN_FLAGS (int)(sizeof(open_flags) / sizeof(open_flags[0]))

void draw_begin(int64_t *a)
{
	a[0] = !one_in(4);
}

void run_begin(const int64_t *a)
{
	common->future = a[0];
}

void draw_open(int64_t *a)
{
	a[0] = draw(FDS);
	for (int i = 0; i < 10 && fds[a[0]].open; i++)
		a[0] = draw(FDS);
	a[1] = draw(NAMES);
	a[2] = one_in(3) ? draw(OPEN_FLAGS) : draw_of(4, 0, 1, 2, 3);
	if (common->names[a[1]] < 0 && !one_in(8))
		a[2] = draw_of(3, 3, 4, 6);
}

/* The kernel moves an access time that is not after the last change, and the library lets a real
 * mmap do it: with one in the future it is at work at once. */
static void make_accessed(int64_t name)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec += 3600;
	if (utimensat(AT_FDCWD, path_of(name), times, 0) != 0)
		wrong("utimensat: %s", strerrorname_np(errno));
}

static int open_wanted(int64_t name, int flags)
{
	bool exists = common->names[name] >= 0;

	if (exists)
		return (flags & O_CREAT) && (flags & O_EXCL) ? EEXIST : 0;
	return flags & O_CREAT ? 0 : ENOENT;
}

static void opened(int64_t index, int number, int flags, int inode)
{
	int description = description_new();

	fds[index].number = number;
	fds[index].open = true;
	fds[index].description = description;
	common->descriptions[description] = (struct description){
		.inode = inode,
		.access = flags & O_ACCMODE,
		.append = flags & O_APPEND,
	};
	if (flags & O_TRUNC)
		inode_truncate(inode_at(inode), 0);
}

void run_open(const int64_t *a)
{
	int flags = open_flags[(uint64_t)a[2] % (uint64_t)OPEN_FLAGS];
	int64_t name = (int64_t)((uint64_t)a[1] % NAMES);
	bool makes = common->names[name] < 0;
	int wanted = open_wanted(name, flags);
	int inode = makes ? -1 : common->names[name];
	int number;

	if (wanted == 0 && makes)
		inode = inode_new();
	if (!is_fd(a[0]) || fds[a[0]].open || (wanted == 0 && inode < 0)) {
		say(" left out");
		return;
	}
	number = open(path_of(name), flags, 0600);
	outcome(number < 0 ? errno : 0, wanted);
	if (number < 0)
		return;
	common->names[name] = inode;
	if (makes && common->future)
		make_accessed(name);
	opened(a[0], number, flags, inode);
}

void draw_close(int64_t *a)
{
	a[0] = draw_fd();
}

void run_close(const int64_t *a)
{
	outcome(close(number_of(a[0])) == 0 ? 0 : errno, fd_description(a[0]) ? 0 : EBADF);
	if (is_fd(a[0]))
		fds[a[0]].open = false;
}

void draw_unseen_close(int64_t *a)
{
	a[0] = draw_fd();
}

/* As libc closes where no preload sees it. */
static long close_unseen(long number)
{
#ifdef __x86_64__
	long answer;

	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "0"(SYS_close), "D"(number)
			 : "rcx", "r11", "memory");
	return answer;
#else
	return close((int)number);
#endif
}

void run_unseen_close(const int64_t *a)
{
	if (fd_description(a[0]) == NULL) {
		say(" left out");
		return;
	}
	outcome(close_unseen(fds[a[0]].number) == 0 ? 0 : EBADF, 0);
	fds[a[0]].open = false;
}

void draw_dup(int64_t *a)
{
	a[0] = draw(FDS);
	for (int i = 0; i < 10 && fds[a[0]].open; i++)
		a[0] = draw(FDS);
	a[1] = draw_fd();
	a[2] = draw(4);
}

/* Sent to ourselves. */
static int duplicate_by_message(int number)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec piece = {&number, 1};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int error = 0;
	int pair[2];

	memcpy(CMSG_DATA(&control.header), &number, sizeof(number));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return -1;
	if (sendmsg(pair[0], &message, 0) != 1 || recvmsg(pair[1], &message, 0) != 1)
		error = errno;
	else
		memcpy(&number, CMSG_DATA(&control.header), sizeof(number));
	close(pair[0]);
	close(pair[1]);
	errno = error;
	return error == 0 ? number : -1;
}

static int duplicate(int number, int64_t how)
{
	switch (how) {
	case 3:
		return duplicate_by_message(number);
	case 0:
		return dup(number);
	case 1:
		return fcntl(number, F_DUPFD, 20);
	default:
		return fcntl(number, F_DUPFD_CLOEXEC, 3);
	}
}

void run_dup(const int64_t *a)
{
	int number;

	if (!is_fd(a[0]) || fds[a[0]].open) {
		say(" left out");
		return;
	}
	number = duplicate(number_of(a[1]), a[2]);
	outcome(number < 0 ? errno : 0, fd_description(a[1]) ? 0 : EBADF);
	if (number >= 0)
		fds[a[0]] = (struct fd){number, fds[a[1]].description, true};
}

void draw_dup_to(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = draw_fd();
	a[2] = draw(2);
}

/* Onto a descriptor that is in use. */
void run_dup_to(const int64_t *a)
{
	int wanted = fd_description(a[1]) ? 0 : EBADF;
	int answer;

	if (fd_description(a[0]) == NULL) {
		say(" left out");
		return;
	}
	if (a[2] != 0 && wanted == 0 && a[0] == a[1])
		wanted = EINVAL;
	answer = a[2] == 0 ? dup2(number_of(a[1]), fds[a[0]].number)
			   : dup3(number_of(a[1]), fds[a[0]].number, O_CLOEXEC);
	outcome(answer < 0 ? errno : 0, wanted);
	if (answer >= 0)
		fds[a[0]].description = fds[a[1]].description;
}
