/*
 * The exported names: reads, and moves of the offset. Served from a region (reads.h), or passed
 * through with every argument as it came: all errors are the kernel's own, or libc's.
 *
 * The next definition is called from our own frame and nothing is held, so what is a cancellation
 * point there is one here.
 *
 * Deliberately absent: syscall(SYS_pread64), syscall(SYS_read): what is pending is told before.
 */
#include <errno.h>

#include "advice.h"
#include "aside.h"
#include "config.h"
#include "entry.h"
#include "offset.h"
#include "reads.h"
#include "stats.h"

/* What others keep from the kernel: before a real call at the descriptor's offset that has to be
 * right, and what is written to the file has to be there. An offset that is ours is not told here.
 */
static inline void tell_others(int fd)
{
	aside_fd(fd);
}

static inline void look(int fd)
{
	if (aside_has_files())
		aside_tell_fd(fd, ASIDE_LOOKED);
}

static inline bool served(int fd, void *to, size_t n, off64_t offset)
{
	struct bytes_request request = {.offset = (uint64_t)offset, .n = n, .to = to};

	look(fd);
	return reads_serve(fd, &request);
}

/* What a real call has answered. */
static inline ssize_t noted(int fd, ssize_t answer)
{
	if (__builtin_expect(config.dry_run, 0))
		advice_read(fd, answer);
	return answer;
}

static inline ssize_t passed(int fd, size_t n, off64_t offset, ssize_t answer)
{
	if (answer >= 0 && (size_t)answer < n)
		reads_ended(fd, (uint64_t)offset + (uint64_t)answer);
	return noted(fd, answer);
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
	return noted(fd, answer);
}

ssize_t mc_preadv(int fd, const struct iovec *pieces, int count, off_t offset)
{
	size_t n;

	look(fd);
	n = reads_scatter(fd, pieces, count, (uint64_t)offset);

	return n != 0 ? (ssize_t)n : scattered(fd, NEXT(preadv)(fd, pieces, count, offset));
}

ssize_t mc_preadv64(int fd, const struct iovec *pieces, int count, off64_t offset)
{
	size_t n;

	look(fd);
	n = reads_scatter(fd, pieces, count, (uint64_t)offset);

	return n != 0 ? (ssize_t)n : scattered(fd, NEXT(preadv64)(fd, pieces, count, offset));
}

/* With an offset of -1 these read at the description's own, and move it. */
ssize_t mc_preadv2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	size_t n;

	if (offset < 0)
		aside_fd(fd);
	else
		look(fd);
	n = flags == 0 && offset >= 0 ? reads_scatter(fd, pieces, count, (uint64_t)offset) : 0;

	return n != 0 ? (ssize_t)n : scattered(fd, NEXT(preadv2)(fd, pieces, count, offset, flags));
}

ssize_t mc_preadv64v2(int fd, const struct iovec *pieces, int count, off64_t offset, int flags)
{
	size_t n;

	if (offset < 0)
		aside_fd(fd);
	else
		look(fd);
	n = flags == 0 && offset >= 0 ? reads_scatter(fd, pieces, count, (uint64_t)offset) : 0;

	return n != 0 ? (ssize_t)n
		      : scattered(fd, NEXT(preadv64v2)(fd, pieces, count, offset, flags));
}

/* At the description's own offset. */

#define AGAIN (-2)

/* At an offset that is ours. */
static ssize_t read_ours(struct offset_call *call, int fd, void *to, size_t n)
{
	uint64_t at = offset_at(call);
	struct bytes_request request = {.offset = at, .n = n, .to = to};
	bool copied = reads_serve(fd, &request);
	ssize_t answer = (ssize_t)n;

	if (!copied) {
		if (!offset_stands(call, fd))
			return AGAIN;
		answer = passed(fd, n, (off64_t)at, NEXT(pread64)(fd, to, n, (off64_t)at));
	}
	if (answer <= 0)
		return answer;
	if (!offset_move(call, at + (uint64_t)answer))
		return AGAIN;
	if (!copied)
		offset_passed(call, fd, n);
	return answer;
}

static ssize_t readv_ours(struct offset_call *call, int fd, const struct iovec *pieces, int count)
{
	uint64_t at = offset_at(call);
	ssize_t answer = (ssize_t)reads_scatter(fd, pieces, count, at);
	bool copied = answer != 0;

	if (!copied) {
		if (!offset_stands(call, fd))
			return AGAIN;
		answer = NEXT(preadv64)(fd, pieces, count, (off64_t)at);
		reads_scattered(fd, answer);
	}
	if (answer <= 0)
		return answer;
	if (!offset_move(call, at + (uint64_t)answer))
		return AGAIN;
	if (!copied)
		offset_passed(call, fd, (size_t)answer);
	return answer;
}

/* Whether its offset is ours, or may become so. */
static inline bool is_watched(int fd)
{
	const struct fd_entry *entry = fd_find(fd);

	return entry != NULL &&
	       __atomic_load_n(&entry->offset, __ATOMIC_RELAXED) >> OFFSET_STATE_SHIFT !=
		       OFFSET_NEVER;
}

/* Before a real call at the kernel's offset. */
static inline void before_real(int fd, enum counter counter)
{
	if (config.active)
		stats_add(counter, 1);
	if (counter == COUNT_lseek_calls && __builtin_expect(config.dry_run, 0))
		advice_seek(fd);
	tell_others(fd);
}

typedef ssize_t read_function(int fd, void *to, size_t n);

static __attribute__((noinline)) ssize_t read_watched(int fd, void *to, size_t n,
						      read_function *real)
{
	struct offset_call call;
	enum offset_way way;
	ssize_t answer;

	while ((way = offset_begin(&call, fd, n)) == OFFSET_SERVE) {
		look(fd);
		answer = read_ours(&call, fd, to, n);
		if (answer != AGAIN)
			return answer;
	}
	before_real(fd, COUNT_read_calls);
	answer = real(fd, to, n);
	if (way == OFFSET_COUNT)
		offset_end(&call);
	return answer;
}

ssize_t mc_read(int fd, void *to, size_t n)
{
	if (is_watched(fd))
		return read_watched(fd, to, n, NEXT(read));
	before_real(fd, COUNT_read_calls);
	return noted(fd, NEXT(read)(fd, to, n));
}

ssize_t mc___read(int fd, void *to, size_t n)
{
	if (is_watched(fd))
		return read_watched(fd, to, n, NEXT(__read));
	before_real(fd, COUNT_read_calls);
	return noted(fd, NEXT(__read)(fd, to, n));
}

static ssize_t read_with_room(int fd, void *to, size_t n)
{
	return NEXT(__read_chk)(fd, to, n, n);
}

ssize_t mc___read_chk(int fd, void *to, size_t n, size_t room)
{
	if (n <= room && is_watched(fd))
		return read_watched(fd, to, n, read_with_room);
	before_real(fd, COUNT_read_calls);
	return noted(fd, NEXT(__read_chk)(fd, to, n, room));
}

static __attribute__((noinline)) ssize_t readv_watched(int fd, const struct iovec *pieces,
						       int count)
{
	struct offset_call call;
	enum offset_way way;
	ssize_t answer;

	/* How much it is, is not known yet. */
	while ((way = offset_begin(&call, fd, 1)) == OFFSET_SERVE) {
		look(fd);
		answer = readv_ours(&call, fd, pieces, count);
		if (answer != AGAIN)
			return answer;
	}
	before_real(fd, COUNT_read_calls);
	answer = NEXT(readv)(fd, pieces, count);
	if (way == OFFSET_COUNT)
		offset_end(&call);
	return answer;
}

ssize_t mc_readv(int fd, const struct iovec *pieces, int count)
{
	if (is_watched(fd))
		return readv_watched(fd, pieces, count);
	before_real(fd, COUNT_read_calls);
	return noted(fd, NEXT(readv)(fd, pieces, count));
}

/* lseek at an offset that is ours: by ourselves, or by the kernel from where we stand. */
static off64_t seek_ours(struct offset_call *call, int fd, off64_t offset, int whence)
{
	uint64_t to = (uint64_t)offset + (whence == SEEK_CUR ? offset_at(call) : 0);
	bool plain = (whence == SEEK_SET || whence == SEEK_CUR) && offset_is_plain(call, fd, to);
	off64_t answer = (off64_t)to;

	if (!plain) {
		if (!offset_stands(call, fd))
			return AGAIN;
		answer = NEXT(lseek64)(fd, answer, whence == SEEK_CUR ? SEEK_SET : whence);
	}
	if (answer < 0)
		return answer;
	if (!((uint64_t)answer <= OFFSET_VALUE / 2 ? offset_move(call, (uint64_t)answer)
						   : offset_move_far(call, fd)))
		return AGAIN;
	stats_add(plain ? COUNT_lseek_virtual : COUNT_lseek_calls, 1);
	return answer;
}

typedef off64_t seek_function(int fd, off64_t offset, int whence);

static off64_t next_lseek(int fd, off64_t offset, int whence)
{
	return NEXT(lseek)(fd, (off_t)offset, whence);
}

static off64_t next___lseek(int fd, off64_t offset, int whence)
{
	return NEXT(__lseek)(fd, (off_t)offset, whence);
}

static __attribute__((noinline)) off64_t seek_watched(int fd, off64_t offset, int whence,
						      seek_function *real)
{
	struct offset_call call;
	enum offset_way way;
	off64_t answer;

	while ((way = offset_begin(&call, fd, 0)) == OFFSET_SERVE) {
		look(fd);
		answer = seek_ours(&call, fd, offset, whence);
		if (answer != AGAIN)
			return answer;
	}
	before_real(fd, COUNT_lseek_calls);
	answer = real(fd, offset, whence);
	if (way == OFFSET_COUNT)
		offset_end(&call);
	return answer;
}

/* Where an offset has 32 bits, the move was made, and can't be told. */
static inline off_t narrow(off64_t answer)
{
	if ((off_t)answer == answer)
		return (off_t)answer;
	errno = EOVERFLOW;
	return -1;
}

off_t mc_lseek(int fd, off_t offset, int whence)
{
	if (is_watched(fd))
		return narrow(seek_watched(fd, offset, whence, next_lseek));
	before_real(fd, COUNT_lseek_calls);
	return NEXT(lseek)(fd, offset, whence);
}

off_t mc___lseek(int fd, off_t offset, int whence)
{
	if (is_watched(fd))
		return narrow(seek_watched(fd, offset, whence, next___lseek));
	before_real(fd, COUNT_lseek_calls);
	return NEXT(__lseek)(fd, offset, whence);
}

off64_t mc_lseek64(int fd, off64_t offset, int whence)
{
	if (is_watched(fd))
		return seek_watched(fd, offset, whence, NEXT(lseek64));
	before_real(fd, COUNT_lseek_calls);
	return NEXT(lseek64)(fd, offset, whence);
}
