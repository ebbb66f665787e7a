#include "stream.h"

#include <string.h>

#include "bytes.h"
#include "reads.h"
#include "stats.h"
#include "sys.h"

/* libc reads whole blocks straight to where they are wanted, if the buffer is not too small to be
 * one (libio/fileops.c). */
#define LEAST_BLOCK 128
/* Requests of so many bytes are no cheaper as copies, even from pages that were touched before. */
#define MANY ((size_t)1 << 20)

static inline size_t buffer_size(const FILE *fp)
{
	return (size_t)(fp->_IO_buf_end - fp->_IO_buf_base);
}

/* The get area. */
static inline void set_get(FILE *fp, char *base, char *at, char *end)
{
	fp->_IO_read_base = base;
	fp->_IO_read_ptr = at;
	fp->_IO_read_end = end;
}

/* The put area: empty, and with no room. */
static inline void set_no_put(FILE *fp)
{
	fp->_IO_write_base = fp->_IO_buf_base;
	fp->_IO_write_ptr = fp->_IO_buf_base;
	fp->_IO_write_end = fp->_IO_buf_base;
}

static inline void set_empty(FILE *fp)
{
	set_get(fp, fp->_IO_buf_base, fp->_IO_buf_base, fp->_IO_buf_base);
}

/* The offset where the kernel's offset would be has moved there. */
static inline void move_offset(struct stream *s, uint64_t offset)
{
	s->fp->_offset = (off64_t)offset;
	s->stale = true;
	stream_pend(s);
}

/* The case that is done here (stream.h). */
static inline bool is_plain(const FILE *fp)
{
	return !(fp->_flags &
		 (FILE_UNBUFFERED | FILE_LINE_BUFFERED | FILE_IN_BACKUP | FILE_APPENDING)) &&
	       fp->_IO_save_base == NULL && fp->_markers == NULL && fp->_mode < 0 &&
	       fp->_IO_buf_base != NULL && fp->_cur_column == 0;
}

/* libc knows the offset from the first seek on, until the end of the file was read. Where it does
 * not know, we ask, and forget it again when the stream steps aside: what libc does in a seek
 * depends on it. */
static bool learn_offset(struct stream *s)
{
	FILE *fp = s->fp;

	if (fp->_offset >= 0)
		return true;
	stats_add(COUNT_own_calls, 1);
	fp->_offset = (off64_t)kernel.tell(s->fd);
	if (fp->_offset < 0) {
		fp->_offset = -1;
		return false;
	}
	s->learned = true;
	stream_pend(s);
	return true;
}

/* Whether the kernel's offset is where libc believes it to be, or would be. Where libc reads and
 * writes it does so at the kernel's, and the program may have moved that through the descriptor,
 * unseen while nothing was pending. Once it is stale it can't. */
static bool is_in_step(struct stream *s)
{
	if (!learn_offset(s))
		return false;
	if (s->stale)
		return true;
	stats_add(COUNT_own_calls, 1);
	return kernel.tell(s->fd) == s->fp->_offset;
}

/* What read(2) would give at an offset of a file that has a window. */
static size_t read_through(struct stream *s, uint64_t offset, char *to, size_t n)
{
	long got = kernel.read_at(s->fd, to, n, offset);
	uint64_t reach = window_reach(s->window);

	stats_add(COUNT_own_calls, 1);
	if (got < 0)
		return 0;
	/* Between the end of the kernel's file and what is pending behind it is a hole. Behind that
	 * nothing is touched. */
	if ((size_t)got < n && reach > offset + (uint64_t)got) {
		size_t end = reach - offset < n ? (size_t)(reach - offset) : n;

		memset(to + got, 0, end - (size_t)got);
		got = (long)end;
	}
	window_overlay(s->window, offset, to, (size_t)got);
	return (size_t)got;
}

/* The same out of a region: as much as is one copy, in whole buffers; 0 if it can't be. */
static size_t copy(struct stream *s, uint64_t offset, char *to, size_t n)
{
	struct bytes_request request = {.offset = offset, .n = n, .to = to};
	size_t size = buffer_size(s->fp);

	if (n >= MANY)
		return 0;
	if (n >= BYTES_TOO_MANY) {
		if (size >= BYTES_TOO_MANY)
			return 0;
		request.n = (BYTES_TOO_MANY - 1) / size * size;
	}
	if (!reads_serve(s->fd, &request))
		return 0;
	if (!s->counted) {
		s->counted = true;
		stats_add(COUNT_streams_mapped, 1);
	}
	return request.n;
}

/* The same wherever it comes from, or the beginning of it; 0 at the end of the file, or after an
 * error: libc has to find out itself. */
static size_t fetch(struct stream *s, uint64_t offset, char *to, size_t n)
{
	size_t copied;
	long got;

	if (s->window != NULL)
		return read_through(s, offset, to, n);
	copied = copy(s, offset, to, n);
	if (copied != 0)
		return copied;
	got = kernel.read_at(s->fd, to, n, offset);
	stats_add(COUNT_own_calls, 1);
	if (got <= 0)
		return 0;
	if ((size_t)got < n)
		reads_ended(s->fd, offset + (uint64_t)got);
	return (size_t)got;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The end of the file as this process has written it. */
static uint64_t size_of(struct stream *s)
{
	uint64_t tick = kernel.tick();
	struct file_stat stat;

	/* While nothing is pending, libc and the program may change it unseen. */
	if ((s->tick != tick || !s->pending) && kernel.stat(s->fd, &stat) == 0) {
		stats_add(COUNT_own_calls, 1);
		s->size = stat.size;
		s->tick = tick;
		s->window->end_out = 0;
	}
	return larger(s->size, larger(s->window->end_out, window_reach(s->window)));
}

void stream_fill(struct stream *s)
{
	FILE *fp = s->fp;
	uint64_t position = (uint64_t)fp->_offset;
	size_t before = (size_t)(position - s->fill_at);
	size_t got = read_through(s, s->fill_at, fp->_IO_buf_base, (size_t)s->fill_count);

	s->unfilled = false;
	s->reads_owed = false;
	/* The file was cut meanwhile: libc would stand at the position with nothing in hand. */
	if (got < before) {
		set_empty(fp);
		return;
	}
	set_get(fp, fp->_IO_buf_base, fp->_IO_buf_base + before, fp->_IO_buf_base + got);
	move_offset(s, s->fill_at + got);
}

void stream_fill_around(struct stream *s)
{
	FILE *fp = s->fp;
	char *base = fp->_IO_buf_base;
	char *end = base + s->fill_count;

	if (!s->hollow || s->window == NULL || !(fp->_flags & FILE_PUTTING))
		return;
	s->hollow = false;
	if (fp->_IO_write_base > base)
		read_through(s, s->fill_at, base, (size_t)(fp->_IO_write_base - base));
	if (fp->_IO_write_ptr < end)
		read_through(s, s->fill_at + (uint64_t)(fp->_IO_write_ptr - base),
			     fp->_IO_write_ptr, (size_t)(end - fp->_IO_write_ptr));
}

/* One read of libc's: whole blocks to their place, or the buffer full. False: it is libc's. */
static bool read_more(struct stream *s, char *to, size_t n, size_t *done)
{
	FILE *fp = s->fp;
	size_t size = buffer_size(fp);
	bool direct = n >= size;
	size_t want = !direct ? size : size >= LEAST_BLOCK ? n - n % size : n;
	size_t got = fetch(s, (uint64_t)fp->_offset, direct ? to : fp->_IO_buf_base, want);

	if (got == 0)
		return false;
	set_no_put(fp);
	set_get(fp, fp->_IO_buf_base, fp->_IO_buf_base, fp->_IO_buf_base + (direct ? 0 : got));
	move_offset(s, (uint64_t)fp->_offset + got);
	if (direct)
		*done += got;
	return true;
}

size_t stream_read(struct stream *s, void *to, size_t n)
{
	FILE *fp = s->fp;
	size_t done = 0;

	if (!is_plain(fp) || (fp->_flags & (FILE_PUTTING | FILE_EOF | FILE_NO_READS)))
		return 0;
	if (s->unfilled)
		stream_fill(s);
	while (done < n) {
		size_t have = (size_t)(fp->_IO_read_end - fp->_IO_read_ptr);
		size_t part = have < n - done ? have : n - done;

		if (part > 0) {
			memcpy((char *)to + done, fp->_IO_read_ptr, part);
			fp->_IO_read_ptr += part;
			done += part;
		} else if (!is_in_step(s) || !read_more(s, (char *)to + done, n - done, &done)) {
			break;
		}
	}
	return done;
}

/* One write of libc's: `bytes` at where the put area begins. */
static void put_out(struct stream *s, const char *bytes, size_t n)
{
	FILE *fp = s->fp;
	uint64_t offset = (uint64_t)(fp->_offset - (fp->_IO_read_end - fp->_IO_write_base));

	s->hollow = false;
	window_store(s->window, offset, bytes, n);
	stats_add(COUNT_writes_combined, 1);
	set_empty(fp);
	fp->_IO_write_base = fp->_IO_buf_base;
	fp->_IO_write_ptr = fp->_IO_buf_base;
	fp->_IO_write_end = fp->_IO_buf_end;
	move_offset(s, offset + n);
}

/* The kernel's offset is in step. */
static void flush(struct stream *s)
{
	FILE *fp = s->fp;

	if (fp->_IO_write_ptr > fp->_IO_write_base)
		put_out(s, fp->_IO_write_base, (size_t)(fp->_IO_write_ptr - fp->_IO_write_base));
}

void stream_flush(struct stream *s)
{
	if (s->window != NULL && is_plain(s->fp) && is_in_step(s))
		flush(s);
}

/* From reading to writing, at the position in the buffer. */
static void turn_to_put(struct stream *s)
{
	FILE *fp = s->fp;

	if (s->unfilled) {
		/* What the buffer should have had from the position on is not looked at any more.
		 */
		fp->_IO_read_end = fp->_IO_buf_base + s->fill_count;
		move_offset(s, s->fill_at + s->fill_count);
		s->unfilled = false;
		s->hollow = true;
		s->reads_owed = true;
	}
	if (fp->_IO_read_ptr == fp->_IO_buf_end) {
		fp->_IO_read_end = fp->_IO_buf_base;
		fp->_IO_read_ptr = fp->_IO_buf_base;
	}
	fp->_IO_write_ptr = fp->_IO_read_ptr;
	fp->_IO_write_base = fp->_IO_read_ptr;
	fp->_IO_write_end = fp->_IO_buf_end;
	fp->_IO_read_base = fp->_IO_read_end;
	fp->_IO_read_ptr = fp->_IO_read_end;
	fp->_flags |= FILE_PUTTING;
}

/* As many as there is room for. */
static size_t put_in(FILE *fp, const char *bytes, size_t n)
{
	size_t room = (size_t)(fp->_IO_write_end - fp->_IO_write_ptr);
	size_t part = n < room ? n : room;

	memcpy(fp->_IO_write_ptr, bytes, part);
	fp->_IO_write_ptr += part;
	return part;
}

bool stream_write(struct stream *s, const void *from, size_t n)
{
	FILE *fp = s->fp;
	const char *bytes = from;
	size_t done = 0;
	size_t whole;
	bool goes_out = n > (size_t)(fp->_IO_write_end - fp->_IO_write_ptr);

	/* It may have been line buffered: libc then has no room in the put area, and fills it all
	 * the same. */
	if (!is_plain(fp) || (fp->_flags & FILE_NO_WRITES) ||
	    ((fp->_flags & FILE_PUTTING) && fp->_IO_write_end != fp->_IO_buf_end) ||
	    (s->window == NULL && (!goes_out || !stream_combine(s))) ||
	    (goes_out && !is_in_step(s)))
		return false;
	if (fp->_IO_write_end > fp->_IO_write_ptr)
		done = put_in(fp, bytes, n);
	if (done == n)
		return true;
	if (!(fp->_flags & FILE_PUTTING) || fp->_IO_write_base == NULL)
		turn_to_put(s);
	flush(s);
	/* Whole blocks go out as they are; the rest goes into the buffer, which may be full in the
	 * middle of it. */
	whole = buffer_size(fp) >= LEAST_BLOCK ? (n - done) - (n - done) % buffer_size(fp)
					       : n - done;
	if (whole > 0)
		put_out(s, bytes + done, whole);
	done += whole;
	while (done < n) {
		if (fp->_IO_write_ptr == fp->_IO_write_end)
			flush(s);
		done += put_in(fp, bytes + done, n - done);
	}
	return true;
}

/* From writing to reading. */
static void turn_to_get(struct stream *s)
{
	FILE *fp = s->fp;

	flush(s);
	fp->_IO_read_base = fp->_IO_buf_base;
	if (fp->_IO_write_ptr > fp->_IO_read_end)
		fp->_IO_read_end = fp->_IO_write_ptr;
	fp->_IO_read_ptr = fp->_IO_write_ptr;
	fp->_IO_write_base = fp->_IO_read_ptr;
	fp->_IO_write_ptr = fp->_IO_read_ptr;
	fp->_IO_write_end = fp->_IO_read_ptr;
	fp->_flags &= ~FILE_PUTTING;
}

/* Whether the kernel would seek there: files have a largest offset. */
static bool can_reach(struct stream *s, uint64_t offset)
{
	if (offset <= s->reach)
		return true;
	if (kernel.seek(s->fd, offset) < 0)
		return false;
	s->reach = offset;
	s->stale = true;
	stream_pend(s);
	return true;
}

/* The position is in the buffer: there is nothing to be read. */
static bool seek_inside(struct stream *s, uint64_t target)
{
	FILE *fp = s->fp;
	uint64_t start;
	uint64_t end;

	if (fp->_IO_read_base == NULL)
		return false;
	if (s->unfilled) {
		start = s->fill_at;
		end = start + s->fill_count;
	} else {
		end = (uint64_t)fp->_offset;
		start = end - (uint64_t)(fp->_IO_read_end - fp->_IO_buf_base);
	}
	if (target < start || target >= end)
		return false;
	set_get(fp, fp->_IO_buf_base, fp->_IO_buf_base + (target - start),
		s->unfilled ? fp->_IO_buf_base + (target - start) : fp->_IO_read_end);
	/* libc seeks to where it believes the kernel to stand. */
	move_offset(s, s->unfilled ? target : end);
	return true;
}

/* The buffer is to hold what is around the position. `exact`: what is before it, and no more. */
static bool seek_outside(struct stream *s, uint64_t target, bool exact)
{
	FILE *fp = s->fp;
	size_t size = buffer_size(fp);
	uint64_t start = target & ~(uint64_t)(size - 1);
	uint64_t before = target - start;
	uint64_t want = exact ? before : size;
	uint64_t end;

	/* A buffer whose size is not a power of two: libc reads nothing then. */
	if (before > size) {
		start = target;
		before = 0;
	}
	s->unfilled = false;
	if (before == 0 || (fp->_flags & FILE_NO_READS)) {
		set_empty(fp);
		move_offset(s, target);
		return true;
	}
	if (s->window == NULL) {
		size_t got = fetch(s, start, fp->_IO_buf_base, (size_t)want);

		if (got < before)
			return false;
		set_get(fp, fp->_IO_buf_base, fp->_IO_buf_base + before, fp->_IO_buf_base + got);
		move_offset(s, start + got);
		return true;
	}
	end = size_of(s);
	if (end < target) {
		/* Past the end: nothing in hand. */
		s->reads_owed = true;
		set_empty(fp);
		move_offset(s, target);
		return true;
	}
	s->fill_at = start;
	s->fill_count = end - start < want ? end - start : want;
	s->unfilled = true;
	set_get(fp, fp->_IO_buf_base, fp->_IO_buf_base + before, fp->_IO_buf_base + before);
	move_offset(s, target);
	return true;
}

/* Where the next byte is read or written. */
static inline int64_t position_of(const FILE *fp)
{
	if (fp->_flags & FILE_PUTTING)
		return fp->_offset + (fp->_IO_write_ptr - fp->_IO_read_end);
	return fp->_offset - (fp->_IO_read_end - fp->_IO_read_ptr);
}

bool stream_seek(struct stream *s, int64_t offset, int whence)
{
	FILE *fp = s->fp;
	bool exact;

	if (!is_plain(fp) || fp->_offset < 0 || s->learned ||
	    (whence != SEEK_SET && whence != SEEK_CUR))
		return false;
	if ((fp->_flags & FILE_PUTTING) && (!stream_combine(s) || !is_in_step(s)))
		return false;
	if (whence == SEEK_CUR && __builtin_add_overflow(offset, position_of(fp), &offset))
		return false;
	if (offset < 0 || !can_reach(s, (uint64_t)offset))
		return false;
	exact = fp->_IO_read_base == fp->_IO_read_end && fp->_IO_write_base == fp->_IO_write_ptr;
	if (fp->_flags & FILE_PUTTING)
		turn_to_get(s);
	if (!seek_inside(s, (uint64_t)offset) && !seek_outside(s, (uint64_t)offset, exact))
		return false;
	set_no_put(fp);
	fp->_flags &= ~FILE_EOF;
	stats_add(COUNT_lseek_virtual, 1);
	return true;
}
