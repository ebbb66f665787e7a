/*
 * The exported names: positional reads. Served from a region (reads.h), or passed through with
 * every argument as it came: all errors are the kernel's own, or libc's.
 *
 * The next definition is called from our own frame and nothing is held, so what is a cancellation
 * point there is one here.
 *
 * Deliberately absent: syscall(SYS_pread64).
 */
#include "aside.h"
#include "config.h"
#include "entry.h"
#include "reads.h"

static inline bool served(int fd, void *to, size_t n, off64_t offset)
{
	struct bytes_request request = {.offset = (uint64_t)offset, .n = n, .to = to};

	aside_fd(fd);
	return reads_serve(fd, &request);
}

static inline ssize_t passed(int fd, size_t n, off64_t offset, ssize_t answer)
{
	if (answer >= 0 && (size_t)answer < n)
		reads_ended(fd, (uint64_t)offset + (uint64_t)answer);
	return answer;
}

ssize_t mc_pread(int fd, void *to, size_t n, off_t offset)
{
	if (served(fd, to, n, offset))
		return (ssize_t)n;
	return passed(fd, n, offset, NEXT(pread)(fd, to, n, offset));
}

ssize_t mc_pread64(int fd, void *to, size_t n, off64_t offset)
{
	if (served(fd, to, n, offset))
		return (ssize_t)n;
	return passed(fd, n, offset, NEXT(pread64)(fd, to, n, offset));
}

ssize_t mc___pread64(int fd, void *to, size_t n, off64_t offset)
{
	if (served(fd, to, n, offset))
		return (ssize_t)n;
	return passed(fd, n, offset, NEXT(__pread64)(fd, to, n, offset));
}

/* Those that abort where there is no room for n bytes are asked to. */
ssize_t mc___pread_chk(int fd, void *to, size_t n, off_t offset, size_t room)
{
	if (n <= room && served(fd, to, n, offset))
		return (ssize_t)n;
	return passed(fd, n, offset, NEXT(__pread_chk)(fd, to, n, offset, room));
}

ssize_t mc___pread64_chk(int fd, void *to, size_t n, off64_t offset, size_t room)
{
	if (n <= room && served(fd, to, n, offset))
		return (ssize_t)n;
	return passed(fd, n, offset, NEXT(__pread64_chk)(fd, to, n, offset, room));
}

static inline ssize_t scattered(int fd, ssize_t answer)
{
	if (__builtin_expect(config.active, 1))
		reads_scattered(fd, answer);
	return answer;
}

ssize_t mc_preadv(int fd, const struct iovec *pieces, int count, off_t offset)
{
	size_t n;

	aside_fd(fd);
	n = reads_scatter(fd, pieces, count, (uint64_t)offset);

	return n != 0 ? (ssize_t)n : scattered(fd, NEXT(preadv)(fd, pieces, count, offset));
}

ssize_t mc_preadv64(int fd, const struct iovec *pieces, int count, off64_t offset)
{
	size_t n;

	aside_fd(fd);
	n = reads_scatter(fd, pieces, count, (uint64_t)offset);

	return n != 0 ? (ssize_t)n : scattered(fd, NEXT(preadv64)(fd, pieces, count, offset));
}

/* With an offset of -1 these read at the description's own, and move it. */
ssize_t mc_preadv2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	size_t n;

	aside_fd(fd);
	n = flags == 0 && offset >= 0 ? reads_scatter(fd, pieces, count, (uint64_t)offset) : 0;

	return n != 0 ? (ssize_t)n : scattered(fd, NEXT(preadv2)(fd, pieces, count, offset, flags));
}

ssize_t mc_preadv64v2(int fd, const struct iovec *pieces, int count, off64_t offset, int flags)
{
	size_t n;

	aside_fd(fd);
	n = flags == 0 && offset >= 0 ? reads_scatter(fd, pieces, count, (uint64_t)offset) : 0;

	return n != 0 ? (ssize_t)n
		      : scattered(fd, NEXT(preadv64v2)(fd, pieces, count, offset, flags));
}
