/* Operations on streams: opening, positions, blocks, buffers. */
#include "stdiffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * begin: the files that there are, and how it will end
 */

void draw_begin(int64_t *a)
{
	a[0] = draw(1000);
	a[1] = one_in(4);
	a[2] = one_in(2) ? 0 : draw(ENDS);
}

void run_begin(const int64_t *a)
{
	static const int sizes[] = {0, 100, 4096, 5000, 70000, 300000, 1048576 + 5000, 3000000};

	for (int name = 0; name < NAMES; name++) {
		int fd = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
		int64_t size = sizes[(a[0] * 31 + (int64_t)name * 3 + a[0] / 8) % 8];

		for (int64_t at = 0; at < size; at += (int64_t)MOST_BYTES) {
			fill(MOST_BYTES, (uint64_t)(a[0] + name + at));
			if (pwrite(fd, scratch(), length_of(size - at), at) < 0)
				wrong("pwrite: %s", strerrorname_np(errno));
		}
		close(fd);
	}
	if (a[1] != 0) {
		unlink(path_of(3));
		say(" %d", link(path_of(0), path_of(3)));
	}
	last_end = a[2];
}

void draw_check(int64_t *a)
{
}

void run_check(const int64_t *a)
{
	for (int s = 0; s < STREAMS; s++)
		say(" %s", streams[s].fp != NULL ? "open" : "-");
}

/*
 * Opening and closing
 */

static const char *const modes[] = {
	"r",   "r",   "r+",  "r+",  "r+",           "w+", "w+", "w+",  "w",  "a",   "a+",
	"rb",  "r+b", "rb+", "w+b", "wb",           "re", "rc", "rm",  "wx", "w+x", "r,ccs=UTF-8",
	"ab+", "z",   "r+e", "w+c", "w+,ccs=UTF-8", "",   "a+", "r+m", "re", "rw",
};
#define MODES ((int64_t)(sizeof(modes) / sizeof(modes[0])))

/* Lines of /dev/full have no end. */
static const char *mode_of(int64_t mode, int64_t name)
{
	if (name == NAME_FULL)
		return mode % 2 == 0 ? "w" : "a";
	return modes[(uint64_t)mode % (uint64_t)MODES];
}

static int64_t draw_mode(void)
{
	return one_in(3) ? draw(MODES) : draw(11);
}

void draw_open(int64_t *a)
{
	a[0] = draw(STREAMS);
	for (int i = 0; i < STREAMS && streams[a[0]].fp != NULL && i < 3; i++)
		a[0] = draw(STREAMS);
	a[1] = draw_name();
	a[2] = draw_mode();
	a[3] = one_in(4) ? draw(6) : draw(2);
	if (draw_alone()) {
		a[0] = draw(NAMES);
		a[1] = a[0];
		a[2] = 2 + draw(7); /* r+ or w+, mostly */
		a[3] = draw(2);
	}
}

static FILE *open_descriptor(const int64_t *a)
{
	const char *mode = mode_of(a[2], a[1]);
	int flags = mode[0] == 'r' ? 0 : O_CREAT;
	int fd = open(path_of(a[1]), flags | (a[3] == 4 ? O_RDONLY : O_RDWR), 0600);
	FILE *fp;
	int error;

	if (fd < 0)
		return NULL;
	if (a[3] == 5)
		lseek(fd, 1000, SEEK_SET);
	fp = fdopen(fd, mode);
	if (fp == NULL) {
		error = errno;
		close(fd);
		errno = error;
	}
	return fp;
}

static void close_quietly(int64_t s)
{
	FILE *fp = streams[s].fp;

	if (fp == NULL)
		return;
	stream_gone(s);
	say(" closed:");
	clear();
	if (fclose(fp) != 0)
		say(" %s", strerrorname_np(errno));
}

void run_open(const int64_t *a)
{
	const char *mode = mode_of(a[2], a[1]);
	FILE *fp;
	int64_t s = a[0];

	if (s < 0 || s >= STREAMS)
		return;
	close_quietly(s);
	clear();
	if (a[3] >= 3 && a[3] <= 5)
		fp = open_descriptor(a);
	else if (a[3] == 2)
		fp = a[1] % 2 == 0 ? tmpfile() : tmpfile64();
	else
		fp = a[3] == 0 ? fopen(path_of(a[1]), mode) : fopen64(path_of(a[1]), mode);
	streams[s].fp = fp;
	streams[s].name = (int)a[1];
	say_result(fp != NULL, fp == NULL, fp);
}

void draw_reopen(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = one_in(2) ? -1 : draw_name();
	a[2] = draw_mode();
	a[3] = draw(2);
}

void run_reopen(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);
	const char *path = a[1] < 0 ? NULL : path_of(a[1]);
	const char *mode;
	FILE *now;

	if (fp == NULL)
		return;
	if (path != NULL)
		streams[a[0]].name = (int)a[1];
	/* Nor does it survive another encoding. */
	mode = mode_of(a[2], streams[a[0]].name);
	if (strchr(mode, ',') != NULL)
		mode = "r";
	clear();
	now = a[3] == 0 ? freopen(path, mode, fp) : freopen64(path, mode, fp);
	if (now == NULL)
		stream_gone(a[0]);
	say_result(now != NULL, now == NULL, now);
}

void draw_close(int64_t *a)
{
	a[0] = draw_stream();
}

void run_close(const int64_t *a)
{
	FILE *fp = stream_at(a[0]);
	int result;

	if (fp == NULL)
		return;
	stream_gone(a[0]);
	clear();
	result = fclose(fp);
	say_result(result, result != 0, NULL);
}

/*
 * Positions
 */

static int seek_to(FILE *fp, int64_t offset, int64_t whence, int64_t how)
{
	switch (how) {
	case 0:
		return fseek(fp, (long)offset, (int)whence);
	case 1:
		return fseeko(fp, (off_t)offset, (int)whence);
	default:
		return fseeko64(fp, offset, (int)whence);
	}
}

static int64_t draw_whence(void)
{
	return one_in(100) ? draw_of(3, 3, 4, -1) : one_in(2) ? SEEK_SET : draw(3);
}

void draw_seek(int64_t *a)
{
	a[0] = draw_stream();
	a[2] = draw_whence();
	a[1] = draw_offset();
	if (a[2] != SEEK_SET)
		a[1] = one_in(4) ? 0 : a[1] / 16 * draw_of(3, -1, -1, 1);
	if (one_in(60))
		a[1] = -a[1];
	a[3] = draw(3);
}

void run_seek(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);
	int result;

	if (fp == NULL)
		return;
	clear();
	result = seek_to(fp, a[1], a[2], a[3]);
	say_result(result, result != 0, fp);
}

void draw_far(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = (int64_t)1 << draw_of(5, 30, 31, 32, 44, 62);
	if (one_in(4))
		a[1] = one_in(2) ? INT64_MAX : INT64_MIN;
	a[2] = draw(3);
	a[3] = draw(3);
}

/* Far beyond the end: a read, and back. */
void run_far(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);
	int result;

	if (fp == NULL)
		return;
	clear();
	result = seek_to(fp, a[1], a[2], a[3]);
	say_result(result, result != 0, fp);
	clear();
	result = (int)fread(scratch(), 1, 10, fp);
	say_result(result, result == 0, fp);
	say(" at %lld", (long long)ftello64(fp));
	clear();
	result = seek_to(fp, 0, SEEK_SET, a[3]);
	say_result(result, result != 0, fp);
}

void draw_tell(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw(3);
}

void run_tell(const int64_t *a)
{
	FILE *fp = stream_at(a[0]);
	long long result;

	if (fp == NULL)
		return;
	clear();
	result = a[1] == 0 ? ftell(fp) : a[1] == 1 ? ftello(fp) : ftello64(fp);
	say_result(result, result < 0, fp);
}

void draw_rewind(int64_t *a)
{
	a[0] = draw_stream();
}

void run_rewind(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);

	if (fp == NULL)
		return;
	clear();
	rewind(fp);
	say_result(errno, errno != 0, fp);
}

/* Spots: positions that getpos has stored. */
static union {
	fpos_t narrow;
	fpos64_t wide;
} spots[SPOTS];
static bool spot_used[SPOTS];

void draw_getpos(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw(SPOTS);
	a[2] = draw(2);
}

void run_getpos(const int64_t *a)
{
	FILE *fp = byte_stream_at(a[0]);
	uint64_t spot = (uint64_t)a[1] % SPOTS;
	int result;

	if (fp == NULL)
		return;
	clear();
	result = a[2] == 0 ? fgetpos(fp, &spots[spot].narrow) : fgetpos64(fp, &spots[spot].wide);
	say_result(result, result != 0, fp);
	spot_used[spot] = result == 0;
	if (result == 0)
		say(" %lld", (long long)spots[spot].wide.__pos);
}

void draw_setpos(int64_t *a)
{
	draw_getpos(a);
}

void run_setpos(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);
	uint64_t spot = (uint64_t)a[1] % SPOTS;
	int result;

	if (fp == NULL || !spot_used[spot])
		return;
	clear();
	result = a[2] == 0 ? fsetpos(fp, &spots[spot].narrow) : fsetpos64(fp, &spots[spot].wide);
	say_result(result, result != 0, fp);
}

/*
 * Blocks
 */

/* What _FORTIFY_SOURCE makes of fread. */
size_t __fread_chk(void *bytes, size_t room, size_t size, size_t count, FILE *fp);

static void read_block(FILE *fp, size_t size, size_t count, int64_t how)
{
	size_t most = count == 0 ? 0 : MOST_BYTES / count;
	unsigned char *bytes = scratch();
	size_t result;

	size = size > most ? most : size;
	/* What is left of it also tells how much of the last member came. */
	memset(bytes, 0xa5, size * count);
	clear();
	switch (how) {
	case 0:
		result = fread(bytes, size, count, fp);
		break;
	case 1:
		result = fread_unlocked(bytes, size, count, fp);
		break;
	default:
		result = __fread_chk(bytes, MOST_BYTES, size, count, fp);
		break;
	}
	say_result((long long)result, result < count && ferror_unlocked(fp), fp);
	say_bytes(bytes, size * count);
}

static void write_block(FILE *fp, size_t size, size_t count, int64_t value, int64_t how)
{
	size_t most = count == 0 ? 0 : MOST_BYTES / count;
	size_t result;

	size = size > most ? most : size;
	fill(size * count, (uint64_t)value);
	clear();
	result = how == 0 ? fwrite(scratch(), size, count, fp)
			  : fwrite_unlocked(scratch(), size, count, fp);
	say_result((long long)result, result < count, fp);
}

static void draw_shape(int64_t *size, int64_t *count)
{
	*size = 1;
	*count = draw_size();
	if (one_in(2)) {
		*size = *count;
		*count = 1;
	}
	if (one_in(4)) {
		*size = draw_of(5, 0, 3, 24, 64, 1000);
		*count = draw_of(4, 0, 1, 7, 50);
	}
}

void draw_read(int64_t *a)
{
	a[0] = draw_stream();
	draw_shape(&a[1], &a[2]);
	a[3] = draw(3);
}

void run_read(const int64_t *a)
{
	FILE *fp = byte_stream_at(a[0]);

	if (fp != NULL)
		read_block(fp, length_of(a[1]), length_of(a[2]), a[3]);
}

void draw_write(int64_t *a)
{
	a[0] = draw_stream();
	draw_shape(&a[1], &a[2]);
	a[3] = draw_value();
	a[4] = draw(2);
}

void run_write(const int64_t *a)
{
	FILE *fp = written_stream_at(a[0]);

	if (fp != NULL)
		write_block(fp, length_of(a[1]), length_of(a[2]), a[3], a[4]);
}

void draw_seek_read(int64_t *a)
{
	draw_seek(a);
	a[4] = a[3];
	a[3] = draw_size();
}

static bool sought(FILE *fp, const int64_t *a, int64_t how)
{
	int result;

	clear();
	result = seek_to(fp, a[1], a[2], how);
	if (result != 0)
		say_result(result, true, fp);
	return result == 0;
}

void run_seek_read(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);

	if (fp != NULL && sought(fp, a, a[4]))
		read_block(fp, 1, length_of(a[3]), a[4]);
}

void draw_seek_write(int64_t *a)
{
	draw_seek(a);
	a[5] = a[3];
	a[3] = draw_size();
	a[4] = draw_value();
}

void run_seek_write(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);

	if (fp != NULL && a[1] < FAR && sought(fp, a, a[5]) && !has_backup(fp))
		write_block(fp, 1, length_of(a[3]), a[4], a[5]);
}

/*
 * Flushing, flags, buffers
 */

void draw_flush(int64_t *a)
{
	a[0] = one_in(4) ? -1 : draw_stream();
	a[1] = draw(2);
}

void run_flush(const int64_t *a)
{
	FILE *fp = a[0] < 0 ? NULL : sought_stream_at(a[0]);
	int result;

	if (fp == NULL && a[0] >= 0)
		return;
	clear();
	result = a[1] == 0 ? fflush(fp) : fflush_unlocked(fp);
	say_result(result, result != 0, fp);
}

void draw_state(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw(6);
}

void run_state(const int64_t *a)
{
	FILE *fp = stream_at(a[0]);

	if (fp == NULL)
		return;
	switch (a[1]) {
	case 0:
		clearerr(fp);
		break;
	case 1:
		clearerr_unlocked(fp);
		break;
	case 2:
		/* In brackets: the functions, and not what the compiler knows of them. */
		say(" %d %d", (feof)(fp) != 0, (ferror)(fp) != 0);
		break;
	case 3:
		say(" %zu %zu %d", __fpending(fp), __fbufsize(fp), __flbf(fp) != 0);
		break;
	case 4:
		say(" %d %d %d %d", __freadable(fp) != 0, __fwritable(fp) != 0, __freading(fp) != 0,
		    __fwriting(fp) != 0);
		break;
	default:
		/* Sets a flag, and says what it was. */
		say(" %d", __fsetlocking(fp, FSETLOCKING_QUERY));
		break;
	}
	say_result(0, false, fp);
}

void draw_fields(int64_t *a)
{
	a[0] = draw_stream();
}

/* In the buffer; what is left over from another one is nobody's. */
static ptrdiff_t place_of(const FILE *fp, const char *p)
{
	return p < fp->_IO_buf_base || p > fp->_IO_buf_end ? -1 : p - fp->_IO_buf_base;
}

/* What inlined functions see: the pointers into the buffer, and what is between them. */
void run_fields(const int64_t *a)
{
	const FILE *fp = byte_stream_at(a[0]);
	const char *from;

	if (fp == NULL)
		return;
	/* A seek in a stream whose writes are combined leaves the buffer to be filled when somebody
	 * asks. */
	lseek(fp->_fileno, 0, SEEK_CUR);
	say(" size %td read %td of %td write %td at %td room %td",
	    fp->_IO_buf_end - fp->_IO_buf_base, fp->_IO_read_ptr - fp->_IO_read_base,
	    fp->_IO_read_end - fp->_IO_read_base, fp->_IO_write_ptr - fp->_IO_write_base,
	    place_of(fp, fp->_IO_write_base), fp->_IO_write_end - fp->_IO_write_base);
	/* What was pushed back fills its buffer from the end. */
	from = has_backup(fp) ? fp->_IO_read_ptr : fp->_IO_read_base;
	if (fp->_IO_read_end > from)
		say_bytes((const unsigned char *)from, (size_t)(fp->_IO_read_end - from));
	if (fp->_IO_write_ptr > fp->_IO_write_base)
		say_bytes((unsigned char *)fp->_IO_write_base,
			  (size_t)(fp->_IO_write_ptr - fp->_IO_write_base));
}

void draw_buffer(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw_of(3, _IOFBF, _IOLBF, _IONBF);
	a[2] = draw_of(7, 0, 1, 2, 100, 4096, 5000, 16384);
	a[3] = draw(6);
}

static int set_buffer(FILE *fp, const int64_t *a)
{
	static char buffers[STREAMS][16384];
	char *buffer = buffers[a[0]];
	size_t size = a[2] < 0 || a[2] > 16384 ? 16384 : (size_t)a[2];

	switch (a[3]) {
	case 0:
	case 1:
		return setvbuf(fp, buffer, (int)a[1], size);
	case 2:
		return setvbuf(fp, NULL, (int)a[1], size);
	case 3:
		setbuf(fp, a[1] == _IONBF ? NULL : buffer);
		return 0;
	case 4:
		setbuffer(fp, buffer, size);
		return 0;
	default:
		setlinebuf(fp);
		return 0;
	}
}

void run_buffer(const int64_t *a)
{
	FILE *fp = written_stream_at(a[0]);
	int result;

	if (fp == NULL)
		return;
	clear();
	result = set_buffer(fp, a);
	say_result(result, result != 0, fp);
}

void draw_purge(int64_t *a)
{
	a[0] = draw_stream();
}

void run_purge(const int64_t *a)
{
	FILE *fp = stream_at(a[0]);

	if (fp == NULL)
		return;
	__fpurge(fp);
	say_result(0, false, fp);
}

void draw_locked(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw_offset();
	a[2] = draw_size();
}

void run_locked(const int64_t *a)
{
	FILE *fp = sought_stream_at(a[0]);

	if (fp == NULL)
		return;
	flockfile(fp);
	say(" %d", ftrylockfile(fp));
	if (sought(fp, (const int64_t[]){a[0], a[1], SEEK_SET}, 1))
		read_block(fp, 1, length_of(a[2]), 1);
	funlockfile(fp);
	funlockfile(fp);
}

void draw_assign(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw_of(4, 0, 1, 1, 2);
}

/* For good: a line-buffered stdout is flushed when a stream without a buffer is read. */
void run_assign(const int64_t *a)
{
	FILE *fp = byte_stream_at(a[0]);

	if (fp == NULL)
		return;
	*(a[1] == 0 ? &stdin : a[1] == 1 ? &stdout : &stderr) = fp;
}
