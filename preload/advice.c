#include "advice.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lock.h"
#include "mem.h"
#include "stream.h"
#include "sys.h"
#include "text.h"
#include "tls.h"

/* Slots of the index, a power of two and more than there are rows. */
#define SLOTS (4 * ADVICE_FILES)

/* What libc takes where a file's st_blksize is that, as it is nearly everywhere. */
#define USUAL_BUFFER 4096

#define SMALL_READ 65536

/* When a mode begins (offset.h, chunk.c, stream.c). */
#define FIRST_READS 32
#define READS_A_CHUNK 24
#define CHUNK_BYTES 65536
#define FIRST_MOVES 8
#define FIRST_WRITES 128
#define WINDOW_BLOCK ((uint64_t)1 << 20)

/*
 * What is saved, in tenths of an empty system call (getppid). Medians of 25 batches, Linux 6.18 on
 * a 2 GHz Xeon with page table isolation: getppid 1.0 us; lseek 1.0 us; pread of 64 bytes 1.5 us,
 * of 4 KiB 2.1 us, against copies from a mapping of 0.05 and 0.7 us; mmap and munmap of a few
 * untouched pages 5 us, of
 * anonymous memory 4.4 us.
 */
#define SPARED_MAP 50
#define SPARED_MEMORY 44
#define SPARED_READ 14
#define SPARED_SEEK 10
#define SPARED_WRITE 14

/* Pages of anonymous memory that go back to the kernel together, and the largest mapping that gets
 * such pages. */
#define PAGES_DROPPED 512
#define LARGEST_MEMORY ((size_t)1 << 20)
#define FIRST_MEMORY 16

static struct advice_file *rows;
static unsigned int row_count;
static struct advice_file others = {.name = "(further files)"};
/* Synchronization: relaxed atomics. */
static struct advice_tally memory;
static uint16_t index_of[SLOTS]; /* of a row, plus 1; 0: none */

static void name_row(struct advice_file *row, int fd)
{
	char link[32];
	struct text text = TEXT_ON(link);

	text_add(&text, "/proc/self/fd/%d", fd);
	if (sys_readlink(link, row->name, sizeof(row->name)) < 0)
		memcpy(row->name, "(long name)", sizeof("(long name)"));
}

static struct advice_file *new_row(const struct file_stat *stat, int fd)
{
	struct advice_file *row = &rows[row_count++];

	row->device = stat->device;
	row->inode = stat->inode;
	name_row(row, fd);
	return row;
}

/* The file's row. Caller holds LOCK_REPORT. */
static struct advice_file *find_row(const struct file_stat *stat, int fd)
{
	uint64_t hash = (stat->inode ^ stat->device << 32) * 0x9e3779b97f4a7c15U;
	struct advice_file *row = &others;

	if (rows == NULL)
		rows = mem_pages(ADVICE_FILES * sizeof(*rows));
	if (rows == NULL)
		return row;
	for (unsigned int slot = (unsigned int)(hash >> 32) % SLOTS;; slot = (slot + 1) % SLOTS) {
		if (index_of[slot] == 0) {
			if (row_count == ADVICE_FILES)
				break;
			row = new_row(stat, fd);
			index_of[slot] = (uint16_t)row_count;
			break;
		}
		row = &rows[index_of[slot] - 1];
		if (row->inode == stat->inode && row->device == stat->device)
			break;
		row = &others;
	}
	if (stat->size > row->size)
		row->size = stat->size;
	return row;
}

static void note_memory(const struct view_request *request)
{
	int fixed = MAP_FIXED | MAP_FIXED_NOREPLACE;

	if (request->prot != (PROT_READ | PROT_WRITE) || !(request->flags & MAP_PRIVATE) ||
	    (request->flags & fixed) || request->length > LARGEST_MEMORY)
		return;
	__atomic_fetch_add(&memory.calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&memory.bytes, request->length, __ATOMIC_RELAXED);
}

enum reason advice_mmap(const struct view_request *request, enum reason reason)
{
	struct file_stat stat;
	struct advice_file *row;
	struct lock_hold hold;

	if (request->flags & MAP_ANONYMOUS)
		note_memory(request);
	/* What concerns no file is in the statistics. */
	if (request->fd < 0 || reason == REASON_anonymous || kernel.stat(request->fd, &stat) < 0)
		return reason;
	if (reason == REASON_none && !S_ISREG(stat.mode))
		reason = REASON_not_regular;
	if (reason == REASON_none && request->offset >= stat.size)
		reason = stat.size == 0 ? REASON_empty : REASON_past_end;
	if (reason == REASON_none && !(config.modes & MODE_mmap))
		reason = REASON_mode;
	hold = lock_take(LOCK_REPORT);
	row = find_row(&stat, request->fd);
	row->mmaps.calls++;
	row->mmaps.bytes += request->length;
	if (reason == REASON_none && row->mmaps.calls == 1 && !config_program_shares())
		reason = REASON_first;
	if (reason == REASON_none)
		row->views++;
	else
		row->passed[reason]++;
	lock_drop(LOCK_REPORT, hold);
	return reason == REASON_none ? REASON_dry_run : reason;
}

/* The row of a regular file, with LOCK_REPORT held; else NULL, and it is not. */
static struct advice_file *begin(int fd, struct lock_hold *ret_hold)
{
	struct file_stat stat;

	if (!config.active || tls.vfork_child || fd < 0 || kernel.stat(fd, &stat) < 0 ||
	    !S_ISREG(stat.mode))
		return NULL;
	*ret_hold = lock_take(LOCK_REPORT);
	return find_row(&stat, fd);
}

static void tally(struct advice_tally *tally, uint64_t calls, uint64_t bytes)
{
	tally->calls += calls;
	tally->bytes += bytes;
}

void advice_read(int fd, ssize_t answer)
{
	struct lock_hold hold;
	struct advice_file *row = begin(fd, &hold);

	if (row == NULL)
		return;
	tally(&row->reads, 1, answer > 0 ? (uint64_t)answer : 0);
	row->small_reads += answer > 0 && answer < SMALL_READ;
	lock_drop(LOCK_REPORT, hold);
}

void advice_seek(int fd)
{
	struct lock_hold hold;
	struct advice_file *row = begin(fd, &hold);

	if (row == NULL)
		return;
	row->seeks++;
	lock_drop(LOCK_REPORT, hold);
}

/* Never 0. */
static size_t buffer_size(const FILE *fp)
{
	return fp->_IO_buf_end > fp->_IO_buf_base ? (size_t)(fp->_IO_buf_end - fp->_IO_buf_base)
						  : USUAL_BUFFER;
}

/* What the buffer has to read. */
static size_t at_hand(const FILE *fp)
{
	return fp->_flags & FILE_PUTTING ? 0 : (size_t)(fp->_IO_read_end - fp->_IO_read_ptr);
}

/* What it has to write. */
static size_t put(const FILE *fp)
{
	return fp->_flags & FILE_PUTTING ? (size_t)(fp->_IO_write_ptr - fp->_IO_write_base) : 0;
}

/* What it can take before it has to be written. */
static size_t room(const FILE *fp)
{
	const char *at = fp->_flags & FILE_PUTTING ? fp->_IO_write_ptr : fp->_IO_read_ptr;

	if (fp->_flags & (FILE_UNBUFFERED | FILE_LINE_BUFFERED))
		return 0;
	if (!(fp->_flags & FILE_PUTTING) && at == fp->_IO_buf_end)
		return buffer_size(fp);
	return (size_t)(fp->_IO_buf_end - at);
}

/* Whether the kernel stands elsewhere than where it is to write: at the end of what was read. */
static bool seeks_to_write(const FILE *fp)
{
	return fp->_IO_read_end !=
	       (fp->_flags & FILE_PUTTING ? fp->_IO_write_base : fp->_IO_read_ptr);
}

static struct advice_file *begin_stream(const FILE *fp, struct lock_hold *ret_hold)
{
	return fp->_flags & FILE_HAS_NUMBER ? begin(fp->_fileno, ret_hold) : NULL;
}

static void written(struct advice_file *row, const FILE *fp, uint64_t bytes)
{
	tally(&row->stream_writes, 1, bytes);
	row->stream_seeks += seeks_to_write(fp);
}

static void flushed(struct advice_file *row, const FILE *fp)
{
	size_t held = put(fp);

	if (held != 0)
		written(row, fp, held);
}

/* No more than the file has: a refill at its end is a short one. */
static void refilled(struct advice_file *row, uint64_t bytes)
{
	tally(&row->stream_reads, 1, bytes < row->size ? bytes : row->size);
}

void advice_fread(const FILE *fp, size_t n)
{
	size_t size = buffer_size(fp);
	size_t held = at_hand(fp);
	struct lock_hold hold;
	struct advice_file *row;

	if (n <= held)
		return;
	row = begin_stream(fp, &hold);
	if (row == NULL)
		return;
	flushed(row, fp);
	n -= held;
	if (n >= size)
		refilled(row, n - n % size);
	if (n % size != 0)
		refilled(row, size);
	lock_drop(LOCK_REPORT, hold);
}

void advice_fwrite(const FILE *fp, size_t n)
{
	size_t size = buffer_size(fp);
	size_t free = room(fp);
	size_t held = put(fp);
	struct lock_hold hold;
	struct advice_file *row;

	if (n <= free)
		return;
	row = begin_stream(fp, &hold);
	if (row == NULL)
		return;
	/* The buffer is filled up and written, whole ones go directly, the rest stays. */
	if (held != 0 || (n < size && free != 0)) {
		written(row, fp, held + free);
		n -= free;
		if (n >= size)
			tally(&row->stream_writes, 1, n - n % size);
	} else {
		written(row, fp, n < size ? n : n - n % size);
	}
	lock_drop(LOCK_REPORT, hold);
}

/* Whether the offset lies in what was read. */
static bool is_near(const FILE *fp, int64_t offset, int whence)
{
	int64_t end = fp->_offset;
	int64_t start = end - (fp->_IO_read_end - fp->_IO_read_base);

	if (whence == SEEK_CUR)
		offset += end - (fp->_IO_read_end - fp->_IO_read_ptr);
	return whence != SEEK_END && end >= 0 && !(fp->_flags & FILE_PUTTING) && offset >= start &&
	       offset <= end;
}

void advice_fseek(const FILE *fp, int64_t offset, int whence)
{
	struct lock_hold hold;
	struct advice_file *row = begin_stream(fp, &hold);

	if (row == NULL)
		return;
	flushed(row, fp);
	row->stream_seeks++;
	if (!(fp->_flags & FILE_NO_READS) && !is_near(fp, offset, whence))
		refilled(row, buffer_size(fp));
	lock_drop(LOCK_REPORT, hold);
}

unsigned int advice_count(void)
{
	return row_count;
}

const struct advice_file *advice_at(unsigned int i)
{
	return &rows[i];
}

const struct advice_file *advice_others(void)
{
	return &others;
}

uint64_t advice_calls(const struct advice_file *file)
{
	return file->mmaps.calls + file->reads.calls + file->seeks + file->stream_reads.calls +
	       file->stream_writes.calls + file->stream_seeks;
}

uint64_t advice_bytes(const struct advice_file *file)
{
	return file->mmaps.bytes + file->reads.bytes + file->stream_reads.bytes +
	       file->stream_writes.bytes;
}

uint64_t advice_reread(const struct advice_file *file)
{
	uint64_t bytes = file->reads.bytes + file->stream_reads.bytes;

	return file != &others && bytes > file->size ? bytes - file->size : 0;
}

static void save(struct advice_saving *saving, uint64_t calls, uint64_t tenths_each)
{
	saving->calls += calls;
	saving->tenths += calls * tenths_each;
}

static uint64_t beyond(uint64_t n, uint64_t first)
{
	return n > first ? n - first : 0;
}

/* So many reads of the file's parts are made before they are served. */
static uint64_t price(const struct advice_file *file, uint64_t bytes)
{
	uint64_t touched = bytes < file->size ? bytes : file->size;

	return READS_A_CHUNK * (touched / CHUNK_BYTES + 1);
}

static uint64_t saved_reads(const struct advice_file *file)
{
	/* gold's have their region already. */
	if (config_program_shares())
		return file->views != 0 ? file->reads.calls : 0;
	return beyond(file->small_reads, FIRST_READS + price(file, file->reads.bytes));
}

void advice_savings(const struct advice_file *file, struct advice_saving savings[MODE_COUNT])
{
	struct advice_saving *combining = &savings[MODE_BIT_write];
	struct advice_saving *streams = &savings[MODE_BIT_stdio];
	uint64_t reads = saved_reads(file);
	uint64_t stream_reads = beyond(file->stream_reads.calls,
				       FIRST_MOVES + price(file, file->stream_reads.bytes));
	uint64_t written = file->stream_writes.calls;

	/* A view saves an mmap and its munmap; its file has them once. */
	if (file->views > 1) {
		savings[MODE_BIT_mmap].calls += 2 * (file->views - 1);
		savings[MODE_BIT_mmap].tenths += SPARED_MAP * (file->views - 1);
	}
	save(&savings[MODE_BIT_read], reads, SPARED_READ);
	/* Seeks are saved with the reads that they are for. */
	if (reads != 0)
		save(&savings[MODE_BIT_read], file->seeks, SPARED_SEEK);
	save(streams, stream_reads, SPARED_READ);
	if (file->stream_seeks != 0 && written > FIRST_WRITES) {
		save(combining,
		     beyond(written, FIRST_WRITES + file->stream_writes.bytes / WINDOW_BLOCK + 1),
		     SPARED_WRITE);
		save(combining, file->stream_seeks, SPARED_SEEK);
	} else if (stream_reads != 0) {
		save(streams, file->stream_seeks, SPARED_SEEK);
	}
}

void advice_memory_savings(struct advice_saving savings[MODE_COUNT])
{
	uint64_t dropped = memory.bytes / sys_page_size() / PAGES_DROPPED + 1;

	if (memory.calls <= FIRST_MEMORY)
		return;
	savings[MODE_BIT_anon].calls += beyond(2 * memory.calls, dropped);
	savings[MODE_BIT_anon].tenths += SPARED_MEMORY * memory.calls;
}

void advice_forked(void)
{
	memset(&memory, 0, sizeof(memory));
	if (rows != NULL)
		memset(rows, 0, row_count * sizeof(*rows));
	row_count = 0;
	memset(index_of, 0, sizeof(index_of));
	memset(&others, 0, offsetof(struct advice_file, name));
}
