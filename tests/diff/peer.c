/* The other process, which changes files on command, in lock step. */
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_BYTES (64 * PAGE)

struct command {
	int what;
	int64_t offset;
	int64_t length;
	uint64_t value;
	char path[4200];
};

static int to_peer = -1;
static int from_peer = -1;
static pid_t peer = -1;

static bool all(ssize_t (*call)(int fd, void *bytes, size_t n), int fd, void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t some = call(fd, (char *)bytes + done, n - done);

		if (some == 0 || (some < 0 && errno != EINTR))
			return false;
		done += some > 0 ? (size_t)some : 0;
	}
	return true;
}

static ssize_t write_some(int fd, void *bytes, size_t n)
{
	return write(fd, bytes, n);
}

static int change(int fd, const struct command *c)
{
	static unsigned char bytes[MOST_BYTES];
	off_t at = (off_t)c->offset;

	if (c->what == PEER_TRUNCATE)
		return ftruncate(fd, (off_t)c->length);
	if (c->what == PEER_PUNCH)
		return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
				 (off_t)c->length);
	pattern(bytes, (size_t)c->length, c->value);
	if (c->what == PEER_APPEND)
		at = lseek(fd, 0, SEEK_END);
	return pwrite(fd, bytes, (size_t)c->length, at) == (ssize_t)c->length ? 0 : -1;
}

static int file_sum(int fd)
{
	static unsigned char bytes[MOST_BYTES];
	uint64_t sum = 0;
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		sum = sum_of(bytes, (size_t)n, sum);
	return (int)(sum & 0x7fffffff);
}

static int obey(const struct command *c)
{
	int fd = open(c->path, O_RDWR);
	int error = 0;

	if (fd >= 0 && c->what == PEER_SUM)
		error = file_sum(fd);
	else if (fd < 0 || change(fd, c) != 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static void serve(int in, int out)
{
	static struct command c;

	while (all(read, in, &c, sizeof(c))) {
		int error = obey(&c);

		if (!all(write_some, out, &error, sizeof(error)))
			break;
	}
	_exit(0);
}

/* Out of the way of the numbers that the operations are given. */
static void move_up(int *fd)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, 60);

	close(*fd);
	*fd = up;
}

void peer_begin(void)
{
	int there[2];
	int back[2];

	if (pipe(there) != 0 || pipe(back) != 0) {
		perror("pipe");
		exit(99);
	}
	move_up(&there[0]);
	move_up(&there[1]);
	move_up(&back[0]);
	move_up(&back[1]);
	peer = fork();
	if (peer == 0) {
		close(there[1]);
		close(back[0]);
		serve(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	to_peer = there[1];
	from_peer = back[0];
}

void peer_end(void)
{
	if (peer <= 0)
		return;
	close(to_peer);
	close(from_peer);
	waitpid(peer, NULL, 0);
}

int peer_do(int what, const char *path, int64_t offset, int64_t length, uint64_t value)
{
	static struct command c;
	int error = EIO;

	c.what = what;
	c.offset = offset;
	c.length = length;
	c.value = value;
	snprintf(c.path, sizeof(c.path), "%s", path);
	if (!all(write_some, to_peer, &c, sizeof(c)) ||
	    !all(read, from_peer, &error, sizeof(error)))
		return EPIPE;
	return error;
}
