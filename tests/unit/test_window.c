/*
 * What was written and is not in the file yet (window.c): against a plain array that is written to
 * at once, as natively.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_kernel.h"
#include "guard.h"
#include "unit.h"
#include "window.h"

#define MOST ((size_t)16 << 20)

/* The kernel's file, and what it should be once everything is out. */
static struct {
	unsigned char bytes[MOST];
	unsigned char written[MOST]; /* 1: by one of our calls */
	uint64_t size;
	int64_t time;
	unsigned int writes;
	unsigned int fail_after; /* 0: never */
	int error;
	size_t most; /* bytes in one call */
} file;

static unsigned char model[MOST];
static unsigned char asked[MOST];
static uint64_t model_size;

static int stat_file(int fd, struct file_stat *ret_stat)
{
	(void)fd;
	*ret_stat = (struct file_stat){.size = file.size, .mtime = file.time, .ctime = file.time};
	return 0;
}

static long read_file(int fd, void *to, size_t n, uint64_t offset)
{
	(void)fd;
	if (offset >= file.size)
		return 0;
	n = n < file.size - offset ? n : (size_t)(file.size - offset);
	memcpy(to, file.bytes + offset, n);
	return (long)n;
}

static long write_file(int fd, const void *from, size_t n, uint64_t offset)
{
	(void)fd;
	file.writes++;
	if (file.fail_after != 0 && file.writes > file.fail_after)
		return -file.error;
	n = file.most != 0 && n > file.most ? file.most : n;
	memcpy(file.bytes + offset, from, n);
	memset(file.written + offset, 1, n);
	file.size = offset + n > file.size ? offset + n : file.size;
	file.time++;
	return (long)n;
}

static struct window *begin(void)
{
	struct window *w;

	kernel.stat = stat_file;
	kernel.read_at = read_file;
	kernel.write_at = write_file;
	w = window_begin(3);
	assert_non_null(w);
	return w;
}

static void store(struct window *w, uint64_t offset, const void *from, size_t n)
{
	window_store(w, offset, from, n);
	memcpy(model + offset, from, n);
	memset(asked + offset, 1, n);
	model_size = offset + n > model_size ? offset + n : model_size;
}

static void store_any(struct window *w, struct rng *rng, uint64_t reach)
{
	static unsigned char bytes[3 << 20];
	size_t n = rng_below(rng, 20) == 0 ? 1 + rng_below(rng, 5000) : 1 + rng_below(rng, 64);
	uint64_t offset = rng_below(rng, reach);

	if (rng_below(rng, 500) == 0)
		n = sizeof(bytes);
	for (size_t i = 0; i < n && i < 100; i++)
		bytes[i] = (unsigned char)rng_next(rng);
	store(w, offset, bytes, n);
}

/* What a read would give. */
static void check_reads(struct window *w, struct rng *rng, uint64_t reach)
{
	unsigned char got[9000] = {0};
	size_t n = 1 + rng_below(rng, sizeof(got));
	uint64_t offset = rng_below(rng, reach);

	read_file(3, got, n, offset);
	window_overlay(w, offset, got, n);
	assert_memory_equal(got, model + offset, n);
	assert_int_equal(window_reach(w) > file.size ? window_reach(w) : file.size, model_size);
}

static void check_file(void)
{
	assert_int_equal(file.size, model_size);
	assert_memory_equal(file.bytes, model, model_size);
}

static void any_order_any_size(void **state)
{
	struct rng rng = unit_rng();
	struct window *w = begin();

	for (int i = 0; i < 20000; i++) {
		uint64_t reach = i % 3 == 0 ? MOST - (3 << 20) - 5000 : 100000;

		store_any(w, &rng, reach);
		if (i % 7 == 0)
			check_reads(w, &rng, reach);
		if (rng_below(&rng, 2000) == 0) {
			window_flush(w);
			assert_int_equal(window_reach(w), 0);
			check_file();
		}
	}
	window_flush(w);
	check_file();
	assert_int_equal(w->error, 0);
	window_end(w);
}

/* Nothing goes out but what was written. */
static void holes_stay_holes(void **state)
{
	struct rng rng = unit_rng();
	struct window *w = begin();

	for (int i = 0; i < 3000; i++)
		store_any(w, &rng, MOST - (3 << 20) - 5000);
	window_flush(w);
	check_file();
	assert_memory_equal(file.written, asked, MOST);
}

/* A handler that flushes in between leaves nothing to be written again. */
static void flush_of_a_handler(void **state)
{
	struct window *w = begin();

	store(w, 10, "abc", 3);
	window_flush_busy(w);
	assert_memory_equal(file.bytes + 10, "abc", 3);
	file.bytes[11] = 'x';
	window_flush(w);
	assert_int_equal(file.bytes[11], 'x');
	store(w, 12, "def", 3);
	window_flush(w);
	assert_memory_equal(file.bytes + 10, "axdef", 5);
}

/* One that has interrupted a store writes what is being stored, whole and last. */
static void flush_in_a_store(void **state)
{
	struct window *w = begin();

	store(w, 10, "abcdef", 6);
	w->storing = "uvwxyz";
	w->storing_at = 10;
	w->storing_n = 6;
	window_flush_busy(w);
	assert_memory_equal(file.bytes + 10, "uvwxyz", 6);
}

/* Bytes of others between ours stay. */
static void gaps_of_others(void **state)
{
	struct window *w = begin();

	memset(file.bytes, 'o', 3000);
	memset(model, 'o', 3000);
	file.size = model_size = 3000;
	for (uint64_t at = 0; at < 4000; at += 16)
		store(w, at, "123456789abc", 12);
	file.bytes[14] = model[14] = 'p';
	window_flush(w);
	check_file();
}

/* The same with real files, where many runs are stored through a mapping. */
static void through_a_mapping(void **state)
{
	char name[] = "/tmp/test-window-XXXXXX";
	int fd = mkstemp(name);
	char got[4000];
	struct window *w;

	assert_true(fd >= 0);
	unlink(name);
	guard_begin(sigaction);
	assert_int_equal(pwrite(fd, "o", 1, 14), 1);
	assert_int_equal(ftruncate(fd, 3996), 0);
	w = window_begin(fd);
	for (uint64_t at = 0; at < 4000; at += 16)
		window_store(w, at, "123456789abc", 12);
	assert_int_equal(pwrite(fd, "p", 1, 30), 1);
	window_flush(w);
	assert_int_equal(w->error, 0);
	/* The mapping, and the last run. */
	assert_int_equal(w->calls_out, 2);
	assert_int_equal(lseek(fd, 0, SEEK_END), 3996);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 3996);
	assert_memory_equal(got,
			    "123456789abc\0\0o\0"
			    "123456789abc\0\0p\0"
			    "123456789abc\0\0\0\0",
			    48);
	/* A file that is too short again. */
	for (uint64_t at = 8; at < 4000; at += 16)
		window_store(w, at, "ABC", 3);
	assert_int_equal(ftruncate(fd, 10), 0);
	window_flush(w);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 3995);
	assert_memory_equal(got, "12345678AB", 10);
	assert_memory_equal(got + 3992, "ABC", 3);
	close(fd);
}

static void short_writes(void **state)
{
	struct rng rng = unit_rng();
	struct window *w = begin();

	file.most = 100;
	for (int i = 0; i < 300; i++)
		store_any(w, &rng, 100000);
	window_flush(w);
	check_file();
}

static void failures_are_kept(void **state)
{
	struct window *w = begin();

	file.error = ENOSPC;
	file.fail_after = 1;
	store(w, 0, "a", 1);
	store(w, 5000, "b", 1);
	window_flush(w);
	assert_int_equal(w->error, ENOSPC);
	assert_int_equal(window_reach(w), 0);
	assert_int_equal(file.bytes[0], 'a');
	assert_int_equal(file.size, 1);
	window_end(w);
	/* The next one begins anew. */
	w = window_begin(3);
	assert_int_equal(w->error, 0);
	assert_int_equal(window_reach(w), 0);
}

static void memory_is_bounded(void **state)
{
	struct window *kept[8];
	int count = 0;

	kept[count++] = begin();
	while (count < 8 && (kept[count] = window_begin(3)) != NULL)
		count++;
	assert_true(count < 8);
	store(kept[0], 7, "x", 1);
	window_end(kept[0]);
	kept[0] = window_begin(3);
	assert_non_null(kept[0]);
	assert_int_equal(window_reach(kept[0]), 0);
}

/* Memory that is not needed is not touched. */
static void blocks_are_opened_when_needed(void **state)
{
	struct window *w = begin();
	const uint64_t block = (uint64_t)1 << w->shift;
	unsigned char byte = 7;

	for (uint64_t at = 0; at < 5 * block; at += block / 8)
		store(w, at, &byte, 1);
	assert_int_equal(w->open, 1);
	for (int i = 0; i < 3; i++) {
		store(w, 6 * block, &byte, 1);
		store(w, 7 * block, &byte, 1);
	}
	assert_int_equal(w->open, 2);
	for (int i = 0; i < 50; i++) {
		for (uint64_t j = 0; j < WINDOW_BLOCKS; j++)
			store(w, (8 + j) * block, &byte, 1);
	}
	assert_int_equal(w->open, w->count);
	window_flush(w);
	window_end(w);
	w = begin();
	assert_int_equal(w->open, 1);
	window_end(w);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(any_order_any_size, EXCLUSIVE_WORLDS),
		CASE(holes_stay_holes, EXCLUSIVE_WORLDS),
		CASE(flush_of_a_handler, EXCLUSIVE_WORLDS),
		CASE(flush_in_a_store, NORMAL),
		CASE(through_a_mapping, NORMAL | REAL_KERNEL),
		CASE(gaps_of_others, NORMAL),
		CASE(short_writes, EXCLUSIVE_WORLDS),
		CASE(failures_are_kept, EXCLUSIVE_WORLDS),
		CASE(memory_is_bounded, EXCLUSIVE_WORLDS),
		CASE(blocks_are_opened_when_needed, NORMAL),
	};

	return RUN(cases);
}
