#include "window.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "guard.h"
#include "mem.h"
#include "stats.h"
#include "sys.h"
#include "tls.h"

#define SHIFT 20
/* Of one page each, so that a small test moves them all the time. */
#define BLOCKS_TINY 4
/* So many windows may have memory at a time: 9 MiB each, out of what mem.h has. */
#define MOST_WINDOWS 3
/* Fewer runs are not worth a mapping. */
#define FEW_RUNS 16
/* No block begins there. */
#define NO_OFFSET UINT64_MAX

static struct window *free_windows;
static unsigned int window_count;
/* Only begin and end take it. */
static uint32_t lock;

static inline size_t block_size(const struct window *w)
{
	return (size_t)1 << w->shift;
}

static bool furnish(struct window *w)
{
	size_t size = block_size(w);
	unsigned char *memory = mem_pages(w->count * (size + size / 8));

	if (memory == NULL)
		return false;
	for (unsigned int i = 0; i < w->count; i++) {
		w->blocks[i].bytes = memory + i * size;
		w->blocks[i].bits = (uint64_t *)(void *)(memory + w->count * size + i * (size / 8));
	}
	return true;
}

static struct window *make(void)
{
	struct window *w;

	if (window_count == MOST_WINDOWS)
		return NULL;
	w = mem_pages(sizeof(*w));
	if (w == NULL)
		return NULL;
	w->shift = config.tiny ? sys_page_shift() : SHIFT;
	w->count = config.tiny ? BLOCKS_TINY : WINDOW_BLOCKS;
	if (!furnish(w))
		return NULL;
	window_count++;
	return w;
}

/* Nobody waits: who finds it taken does without a window. */
static bool try_lock(void)
{
	return __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static void unlock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

struct window *window_begin(int fd)
{
	struct window *w;

	if (!try_lock())
		return NULL;
	w = free_windows;
	if (w != NULL)
		free_windows = w->free_next;
	else
		w = make();
	unlock();
	if (w == NULL)
		return NULL;
	w->fd = fd;
	w->storing_n = 0;
	w->storing_is_done = false;
	w->error = 0;
	w->last = NULL;
	w->clock = 0;
	w->bytes_out = 0;
	w->end_out = 0;
	w->calls_out = 0;
	w->open = 1;
	for (unsigned int i = 0; i < w->count; i++) {
		w->blocks[i].used = 0;
		w->blocks[i].offset = NO_OFFSET;
		w->gone[i] = NO_OFFSET;
	}
	return w;
}

void window_end(struct window *w)
{
	for (unsigned int i = 0; i < w->count; i++) {
		struct window_block *b = &w->blocks[i];

		if (b->high != 0)
			memset(b->bits, 0, block_size(w) / 8);
		b->high = 0;
	}
	/* If it is taken, the window's memory is lost; that is all. */
	if (!try_lock())
		return;
	w->free_next = free_windows;
	free_windows = w;
	unlock();
}

/* Bits [from, to) of a word. */
static inline uint64_t word_mask(unsigned int from, unsigned int to)
{
	uint64_t below = to >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << to) - 1;

	return below & ~(((uint64_t)1 << from) - 1);
}

static void set_bits(uint64_t *bits, uint32_t from, uint32_t to)
{
	uint32_t first = from / 64;
	uint32_t last = (to - 1) / 64;

	if (first == last) {
		bits[first] |= word_mask(from % 64, to - first * 64);
		return;
	}
	bits[first] |= word_mask(from % 64, 64);
	for (uint32_t i = first + 1; i < last; i++)
		bits[i] = ~(uint64_t)0;
	bits[last] |= word_mask(0, to - last * 64);
}

/* The first bit at or after `from`, and before `to`, that is `set`; `to` if there is none. */
static uint32_t next_bit(const uint64_t *bits, uint32_t from, uint32_t to, bool set)
{
	while (from < to) {
		uint64_t word = bits[from / 64];

		word = (set ? word : ~word) & ~(((uint64_t)1 << from % 64) - 1);
		if (word != 0) {
			uint32_t found = from / 64 * 64 + (uint32_t)__builtin_ctzll(word);

			return found < to ? found : to;
		}
		from = (from / 64 + 1) * 64;
	}
	return to;
}

static void note_out(struct window *w, uint64_t offset, size_t n)
{
	w->bytes_out += n;
	w->end_out = offset + n > w->end_out ? offset + n : w->end_out;
}

/* All of it, or an error. */
static void write_out(struct window *w, uint64_t offset, const unsigned char *bytes, size_t n)
{
	note_out(w, offset, n);
	while (n > 0) {
		long done = kernel.write_at(w->fd, bytes, n, offset);

		w->calls_out++;
		if (done == -EINTR)
			continue;
		if (done <= 0) {
			if (w->error == 0)
				w->error = done < 0 ? (int)-done : EIO;
			return;
		}
		bytes += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
}

/* Whether a write for each run before that byte of the block is cheaper than a page fault for each
 * page: where they are no shorter than a page. */
static bool has_few_runs(const struct window_block *b, uint32_t end)
{
	unsigned int most = (unsigned int)((end - b->low) / sys_page_size());
	uint32_t at = b->low;

	most = most > FEW_RUNS ? most : FEW_RUNS;
	for (unsigned int runs = 0; runs < most; runs++) {
		at = next_bit(b->bits, next_bit(b->bits, at, end, true), end, false);
		if (at == end)
			return true;
	}
	return false;
}

/* Where a block's bytes can be stored. */
struct stores {
	char *p; /* at the block's byte `start`; NULL: nowhere */
	size_t start;
	size_t length;
	uint32_t end;    /* only before that byte of the block: where the file ended */
	uint32_t waited; /* the thread's major faults before it was mapped */
};

static struct stores map_block(struct window *w, const struct window_block *b)
{
	size_t page = sys_page_size();
	struct stores stores = {.start = b->low / page * page};
	struct file_stat now;
	void *p;

	if (b->high == 0 || has_few_runs(b, b->high) || !guard_enable() || !guard_ready())
		return stores;
	stats_add(COUNT_own_calls, 5);
	if (kernel.stat(w->fd, &now) < 0 || now.size <= b->offset + b->low)
		return stores;
	stores.end = now.size - b->offset < b->high ? (uint32_t)(now.size - b->offset) : b->high;
	if (has_few_runs(b, stores.end))
		return stores;
	stores.waited = (uint32_t)kernel.major_faults();
	stores.length = (stores.end - stores.start + page - 1) / page * page;
	p = kernel.map(NULL, stores.length, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd,
		       b->offset + stores.start);
	stores.p = sys_failed(p) ? NULL : p;
	return stores;
}

/* A store to a page that is not in memory yet waits for it, if only for its making; that is not
 * what reads.c wants to know of. */
static void unmap_block(struct window *w, const struct stores *stores)
{
	w->calls_out++;
	kernel.unmap(stores->p, stores->length);
	tls.reads_waited += (uint32_t)kernel.major_faults() - stores->waited;
}

static void flush_block(struct window *w, struct window_block *b)
{
	uint32_t to = b->high;
	uint32_t from = to != 0 ? next_bit(b->bits, b->low, to, true) : 0;
	struct stores stores = map_block(w, b);

	while (from < to) {
		uint32_t end = next_bit(b->bits, from, to, false);
		uint32_t next = next_bit(b->bits, end, to, true);

		/* The last one is written: who watches the file (inotify) is told by that. */
		if (stores.p != NULL && end <= stores.end && next < to &&
		    guard_copy(stores.p + (from - stores.start), b->bytes + from, end - from))
			note_out(w, b->offset + from, end - from);
		else
			write_out(w, b->offset + from, b->bytes + from, end - from);
		from = next;
	}
	if (stores.p != NULL)
		unmap_block(w, &stores);
	if (to == 0)
		return;
	memset(b->bits + b->low / 64, 0, ((size_t)(to + 63) / 64 - b->low / 64) * 8);
	b->high = 0;
}

static inline bool holds(const struct window *w, const struct window_block *b, uint64_t offset)
{
	return b->used != 0 && b->offset >> w->shift == offset >> w->shift;
}

static struct window_block *find(struct window *w, uint64_t offset)
{
	if (w->last != NULL && holds(w, w->last, offset))
		return w->last;
	for (unsigned int i = 0; i < w->count; i++) {
		if (holds(w, &w->blocks[i], offset))
			return &w->blocks[i];
	}
	return NULL;
}

/* Whether the block of an offset was given up a while ago: there are too few of them then. */
static bool comes_back(const struct window *w, uint64_t offset)
{
	for (unsigned int i = 0; i < w->count; i++) {
		if (w->gone[i] == offset >> w->shift << w->shift)
			return true;
	}
	return false;
}

static struct window_block *evict(struct window *w, uint64_t offset)
{
	struct window_block *b = &w->blocks[0];

	if (w->open < w->count && comes_back(w, offset))
		w->open++;
	for (unsigned int i = 1; i < w->open; i++) {
		if (w->blocks[i].used < b->used)
			b = &w->blocks[i];
	}
	if (b->used != 0)
		w->gone[w->given_up++ % w->count] = b->offset;
	flush_block(w, b);
	b->offset = offset >> w->shift << w->shift;
	return b;
}

static void store_in(struct window_block *b, uint32_t at, const unsigned char *bytes, uint32_t n)
{
	memcpy(b->bytes + at, bytes, n);
	/* For the signal handler that flushes: the bounds cover bits that are not set yet. */
	if (b->high == 0)
		b->low = at;
	b->low = at < b->low ? at : b->low;
	b->high = at + n > b->high ? at + n : b->high;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	set_bits(b->bits, at, at + n);
}

/* What is pending of [offset, offset + n) goes out before what is newer. */
static void flush_range(struct window *w, uint64_t offset, size_t n)
{
	for (unsigned int i = 0; i < w->count; i++) {
		struct window_block *b = &w->blocks[i];

		if (b->high != 0 && b->offset + b->low < offset + n && b->offset + b->high > offset)
			flush_block(w, b);
	}
}

void window_forget(struct window *w)
{
	for (unsigned int i = 0; i < w->count; i++) {
		memset(w->blocks[i].bits, 0, block_size(w) / 8);
		w->blocks[i].high = 0;
	}
	w->storing_is_done = false;
}

static void store(struct window *w, uint64_t offset, const unsigned char *bytes, size_t n)
{
	size_t size = block_size(w);

	while (n > 0) {
		uint32_t at = (uint32_t)(offset & (size - 1));
		size_t room = size - at;
		size_t part = n < room ? n : room;
		struct window_block *b = find(w, offset);

		if (b == NULL)
			b = evict(w, offset);
		b->used = ++w->clock;
		w->last = b;
		store_in(b, at, bytes, (uint32_t)part);
		bytes += part;
		offset += part;
		n -= part;
	}
}

void window_store(struct window *w, uint64_t offset, const void *from, size_t n)
{
	/* No cheaper in blocks. */
	if (n >= block_size(w)) {
		flush_range(w, offset, n);
		write_out(w, offset, from, n);
		return;
	}
	w->storing = from;
	w->storing_at = offset;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->storing_n = n;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(w, offset, from, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->storing_n = 0;
	if (__builtin_expect(w->storing_is_done, 0))
		window_forget(w);
}

void window_overlay(const struct window *w, uint64_t offset, void *to, size_t n)
{
	unsigned char *bytes = to;

	for (unsigned int i = 0; i < w->count; i++) {
		const struct window_block *b = &w->blocks[i];
		uint64_t low = offset > b->offset ? offset - b->offset : 0;
		uint64_t high = offset + n > b->offset ? offset + n - b->offset : 0;
		uint32_t at;

		high = high < b->high ? high : b->high;
		if (low >= high)
			continue;
		for (at = next_bit(b->bits, (uint32_t)low, (uint32_t)high, true); at < high;) {
			uint32_t stop = next_bit(b->bits, at, (uint32_t)high, false);

			memcpy(bytes + (size_t)(b->offset + at - offset), b->bytes + at, stop - at);
			at = next_bit(b->bits, stop, (uint32_t)high, true);
		}
	}
}

uint64_t window_reach(const struct window *w)
{
	uint64_t reach = 0;

	for (unsigned int i = 0; i < w->count; i++) {
		const struct window_block *b = &w->blocks[i];

		if (b->high != 0 && b->offset + b->high > reach)
			reach = b->offset + b->high;
	}
	return reach;
}

void window_flush(struct window *w)
{
	for (unsigned int i = 0; i < w->count; i++)
		flush_block(w, &w->blocks[i]);
}

/* The bits of a word are cleared one by one, since the word may be just about to be written. */
static void clear_bits(uint64_t *bits, uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		__atomic_fetch_and(&bits[from / 64], ~((uint64_t)1 << from % 64), __ATOMIC_RELAXED);
}

void window_flush_busy(struct window *w)
{
	for (unsigned int i = 0; i < w->count; i++) {
		struct window_block *b = &w->blocks[i];
		uint32_t to = b->high;
		uint32_t from = to != 0 ? next_bit(b->bits, b->low, to, true) : 0;

		while (from < to) {
			uint32_t end = next_bit(b->bits, from, to, false);

			write_out(w, b->offset + from, b->bytes + from, end - from);
			clear_bits(b->bits, from, end);
			from = next_bit(b->bits, end, to, true);
		}
	}
	if (w->storing_n != 0 && !w->storing_is_done)
		write_out(w, w->storing_at, w->storing, w->storing_n);
}

void window_disown(struct window *w)
{
	w->storing_is_done = w->storing_n != 0;
}

void window_forked(void)
{
	unlock();
}
