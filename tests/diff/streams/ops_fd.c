/* Operations on descriptors, files and mappings: what could see a library at work on a stream. */
#include "stdiffer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
	unsigned char *base;
	size_t size;
} maps[MAPS];

static void say_call(long long result)
{
	say_result(result, result < 0, NULL);
}

void draw_fd_open(int64_t *a)
{
	a[0] = draw(FDS);
	a[1] = draw_name();
	a[2] = draw_of(5, O_RDONLY, O_RDWR, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_TRUNC);
}

void run_fd_open(const int64_t *a)
{
	int *fd = &fds[(uint64_t)a[0] % FDS];

	if (*fd >= 0)
		close(*fd);
	clear();
	*fd = open(path_of(a[1]), (int)a[2] | O_CLOEXEC);
	say_call(*fd >= 0 ? 0 : -1);
}

void draw_fd_dup(int64_t *a)
{
	a[0] = draw(FDS);
	a[1] = draw(STREAMS);
	a[2] = draw(4);
}

void run_fd_dup(const int64_t *a)
{
	int *fd = &fds[(uint64_t)a[0] % FDS];
	int from = number_of(a[1]);

	if (from < 0 || from == *fd)
		return;
	if (*fd >= 0)
		close(*fd);
	clear();
	switch (a[2]) {
	case 0:
		*fd = dup(from);
		break;
	case 1:
		*fd = fcntl(from, F_DUPFD, 40);
		break;
	case 2:
		*fd = fcntl(from, F_DUPFD_CLOEXEC, 40);
		break;
	default:
		*fd = dup2(from, 50 + (int)((uint64_t)a[0] % FDS));
		break;
	}
	say_call(*fd >= 0 ? 0 : -1);
}

void draw_fd_close(int64_t *a)
{
	a[0] = draw(FDS);
}

void run_fd_close(const int64_t *a)
{
	int *fd = &fds[(uint64_t)a[0] % FDS];

	if (*fd < 0)
		return;
	clear();
	say_call(close(*fd));
	*fd = -1;
}

void draw_fd_seek(int64_t *a)
{
	a[0] = draw_place();
	a[2] = one_in(2) ? SEEK_CUR : draw_of(5, 0, 1, 2, SEEK_DATA, SEEK_HOLE);
	a[1] = a[2] == SEEK_CUR || one_in(3) ? 0 : draw_offset();
}

void run_fd_seek(const int64_t *a)
{
	int fd = number_of(a[0]);

	if (fd < 0)
		return;
	clear();
	/* Where holes are differs from one file system's mood to another's. */
	if (a[2] == SEEK_DATA || a[2] == SEEK_HOLE) {
		off_t before = lseek(fd, 0, SEEK_CUR);

		say_call(lseek(fd, a[1], (int)a[2]) >= 0 ? 0 : -1);
		lseek(fd, before, SEEK_SET);
		return;
	}
	say_call(lseek(fd, a[1], (int)a[2]));
}

void draw_fd_read(int64_t *a)
{
	a[0] = draw_place();
	a[1] = draw_offset();
	a[2] = draw_size();
	a[3] = draw(5);
}

void run_fd_read(const int64_t *a)
{
	int fd = number_of(a[0]);
	size_t n = length_of(a[2]);
	struct iovec two[2] = {{scratch(), n / 3}, {scratch() + n / 3, n - n / 3}};
	ssize_t result;

	if (fd < 0)
		return;
	memset(scratch(), 0xa5, n);
	clear();
	switch (a[3]) {
	case 0:
		result = read(fd, scratch(), n);
		break;
	case 1:
		result = pread(fd, scratch(), n, a[1]);
		break;
	case 2:
		result = pread64(fd, scratch(), n, a[1]);
		break;
	case 3:
		result = readv(fd, two, 2);
		break;
	default:
		result = preadv(fd, two, 2, a[1]);
		break;
	}
	say_call(result);
	say_bytes(scratch(), n);
}

void draw_fd_write(int64_t *a)
{
	draw_fd_read(a);
	a[4] = a[3];
	a[3] = draw_value();
}

void run_fd_write(const int64_t *a)
{
	int fd = number_of(a[0]);
	size_t n = length_of(a[2]);
	struct iovec two[2] = {{scratch(), n / 3}, {scratch() + n / 3, n - n / 3}};
	ssize_t result;

	if (fd < 0 || a[1] > FAR)
		return;
	fill(n, (uint64_t)a[3]);
	clear();
	switch (a[4]) {
	case 0:
		result = write(fd, scratch(), n);
		break;
	case 1:
		result = pwrite(fd, scratch(), n, a[1]);
		break;
	case 2:
		result = pwrite64(fd, scratch(), n, a[1]);
		break;
	case 3:
		result = writev(fd, two, 2);
		break;
	default:
		result = pwritev(fd, two, 2, a[1]);
		break;
	}
	say_call(result);
}

void draw_fd_size(int64_t *a)
{
	a[0] = draw_place();
	a[1] = draw(3);
}

void run_fd_size(const int64_t *a)
{
	int fd = number_of(a[0]);
	struct stat st = {0};
	struct stat64 st64 = {0};
	struct statx stx = {0};
	int result;

	if (fd < 0)
		return;
	clear();
	if (a[1] == 0)
		result = fstat(fd, &st);
	else if (a[1] == 1)
		result = fstat64(fd, &st64);
	else
		result = statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &stx);
	say_call(result);
	say(" %lld", (long long)(st.st_size + st64.st_size + (long long)stx.stx_size));
}

void draw_fd_truncate(int64_t *a)
{
	a[0] = draw_place();
	a[1] = one_in(4) ? 0 : draw_offset();
	if (one_in(8))
		a[0] = -1 - draw(NAMES);
}

/* By name, if it is no place. */
void run_fd_truncate(const int64_t *a)
{
	int fd = number_of(a[0]);

	if (a[1] > FAR || (fd < 0 && a[0] >= 0))
		return;
	clear();
	if (a[0] < 0)
		say_call(truncate(path_of((-1 - a[0]) % NAMES), a[1]));
	else
		say_call(ftruncate(fd, a[1]));
}

void draw_fd_allocate(int64_t *a)
{
	a[0] = draw_place();
	a[1] = draw_of(4, 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		       FALLOC_FL_ZERO_RANGE);
	a[2] = draw_offset();
	a[3] = 1 + draw(20000);
}

void run_fd_allocate(const int64_t *a)
{
	int fd = number_of(a[0]);

	if (fd < 0 || a[2] > FAR || a[3] > FAR)
		return;
	clear();
	say_call(fallocate(fd, (int)a[1], a[2], a[3]));
}

void draw_fd_flags(int64_t *a)
{
	a[0] = draw_place();
	a[1] = draw(4);
}

void run_fd_flags(const int64_t *a)
{
	int fd = number_of(a[0]);

	if (fd < 0)
		return;
	clear();
	switch (a[1]) {
	case 0:
		say_call(fcntl(fd, F_GETFL));
		break;
	case 1:
		say_call(fcntl(fd, F_GETFD));
		break;
	case 2:
		say_call(lockf(fd, F_TEST, 100));
		break;
	default:
		/* A stream that appends from now on, though it was not opened so. */
		say_call(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) ^ O_APPEND));
		break;
	}
}

void draw_fd_sync(int64_t *a)
{
	a[0] = draw_place();
	a[1] = draw(3);
}

void run_fd_sync(const int64_t *a)
{
	int fd = number_of(a[0]);

	if (fd < 0)
		return;
	clear();
	if (a[1] == 0)
		say_call(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
	else if (a[1] == 1)
		say_call(flock(fd, LOCK_SH | LOCK_NB));
	else
		say_call(fdatasync(fd));
}

void draw_fd_map(int64_t *a)
{
	a[0] = draw_place();
	a[1] = draw_offset();
	a[2] = draw_size();
}

void run_fd_map(const int64_t *a)
{
	int fd = number_of(a[0]);
	off_t at = a[1] & ~(int64_t)4095;
	size_t n = length_of(a[2]);
	void *p;

	if (fd < 0)
		return;
	clear();
	p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, at);
	say_call(p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	/* Up to the page where the file ends, and not beyond. */
	for (size_t i = 0; i < n; i += PAGE) {
		size_t part = n - i < PAGE ? n - i : PAGE;
		int fault = copy_guarded(scratch() + i, (char *)p + i, part);

		if (fault != 0) {
			say(" signal %d", fault);
			n = i;
		}
	}
	say_bytes(scratch(), n);
	munmap(p, length_of(a[2]));
}

void draw_fd_send(int64_t *a)
{
	a[0] = draw_place();
	a[1] = draw_place();
	a[2] = draw_size();
	a[3] = draw(3);
}

void run_fd_send(const int64_t *a)
{
	int from = number_of(a[0]);
	int to = number_of(a[1]);
	off_t at = 100;

	if (from < 0 || to < 0)
		return;
	clear();
	if (a[3] == 0)
		say_call(sendfile(to, from, NULL, length_of(a[2])));
	else if (a[3] == 1)
		say_call(sendfile(to, from, &at, length_of(a[2])));
	else
		say_call(copy_file_range(from, NULL, to, NULL, length_of(a[2]), 0));
}

/*
 * Mappings that stay: what is written through a stream is seen there at once
 */

void draw_keep(int64_t *a)
{
	a[0] = draw(MAPS);
	a[1] = one_in(3) ? -1 : draw_place();
}

/* The whole file, writable if the descriptor lets us; -1: ends what there is. */
void run_keep(const int64_t *a)
{
	uint64_t m = (uint64_t)a[0] % MAPS;
	int fd = number_of(a[1]);
	struct stat st;
	void *p;

	if (maps[m].base != NULL)
		munmap(maps[m].base, maps[m].size);
	maps[m].base = NULL;
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0 || st.st_size > FAR)
		return;
	clear();
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	say_call(p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	maps[m].base = p;
	maps[m].size = (size_t)st.st_size;
}

void draw_kept(int64_t *a)
{
	a[0] = draw(MAPS);
	a[1] = draw_offset();
	a[2] = one_in(3) ? draw(256) : -1;
}

/* Loads a piece, or stores a byte. */
void run_kept(const int64_t *a)
{
	uint64_t m = (uint64_t)a[0] % MAPS;
	unsigned char byte = (unsigned char)a[2];
	size_t n = 64;
	int fault;

	if (maps[m].base == NULL || (size_t)a[1] >= maps[m].size)
		return;
	n = n > maps[m].size - (size_t)a[1] ? maps[m].size - (size_t)a[1] : n;
	if (a[2] < 0)
		fault = copy_guarded(scratch(), maps[m].base + a[1], n);
	else
		fault = copy_guarded(maps[m].base + a[1], &byte, 1);
	say(" %d", fault);
	if (fault == 0 && a[2] < 0)
		say_bytes(scratch(), n);
}

/*
 * Files by name
 */

static void say_rest(int fd)
{
	uint64_t sum = 0;
	int64_t size = 0;
	ssize_t n;

	while (size < FAR && (n = read(fd, scratch(), MOST_BYTES)) > 0) {
		sum = sum_of(scratch(), (size_t)n, sum);
		size += n;
	}
	say(" %lld #%llx", (long long)size, (unsigned long long)sum);
}

static void look_with_stdio(const char *path)
{
	FILE *fp = fopen(path, "re");
	uint64_t sum = 0;
	size_t n;

	if (fp == NULL)
		return;
	while ((n = fread(scratch(), 1, 5000, fp)) > 0)
		sum = sum_of(scratch(), n, sum);
	say_result((long long)(sum & 0xffffffff), false, fp);
	fclose(fp);
}

void draw_look(int64_t *a)
{
	a[0] = draw_file();
	a[1] = draw(4);
}

void run_look(const int64_t *a)
{
	const char *path = path_of(a[0] % NAMES);
	struct stat st = {0};
	int fd;

	clear();
	switch (a[1]) {
	case 0:
		fd = open(path, O_RDONLY | O_CLOEXEC);
		say_call(fd >= 0 ? 0 : -1);
		if (fd < 0)
			return;
		say_rest(fd);
		close(fd);
		break;
	case 1:
		say_call(stat(path, &st));
		say(" %lld", (long long)st.st_size);
		break;
	case 2:
		look_with_stdio(path);
		break;
	default:
		say(" %d", peer_do(PEER_SUM, path, 0, 0, 0));
		break;
	}
}

void draw_rename(int64_t *a)
{
	a[0] = draw(NAMES);
	a[1] = draw(NAMES);
}

void run_rename(const int64_t *a)
{
	char from[4200];

	snprintf(from, sizeof(from), "%s", path_of(a[0] % NAMES));
	clear();
	say_call(rename(from, path_of(a[1] % NAMES)));
}

void draw_unlink(int64_t *a)
{
	a[0] = draw(NAMES);
}

void run_unlink(const int64_t *a)
{
	clear();
	say_call(unlink(path_of(a[0] % NAMES)));
}

void draw_peer(int64_t *a)
{
	a[0] = draw(PEER_KINDS);
	a[1] = draw_file();
	a[2] = draw_offset();
	a[3] = one_in(3) ? draw_offset() : draw_size();
	a[4] = draw_value();
}

void run_peer(const int64_t *a)
{
	int64_t most = a[0] == PEER_TRUNCATE ? FAR : (int64_t)MOST_BYTES;

	if (a[2] < 0 || a[2] > FAR || a[3] < 0 || a[3] > most)
		return;
	say(" %d", peer_do((int)a[0], path_of(a[1] % NAMES), a[2], a[3], (uint64_t)a[4]));
}
