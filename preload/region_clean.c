/*
 * What a view of a writable kind leaves in the page tables, and how it is kept from the next view
 * of its pages (region.h).
 */
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "estate.h"
#include "lock.h"
#include "region.h"
#include "sys.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

/* Kind D: up to this many pages, dropping all is as cheap as finding the written ones (three system
 * calls). */
#define DROP_ALL_PAGES 32
/* One fault maps so many pages of the page cache (fault_around_bytes, 64 KiB). */
#define FAULT_AROUND_PAGES ((size_t)16)
#define MOST_RUNS 32
/* Kind D: if most of so many views in a row had to be dropped, the next are dropped without a look,
 * but for one in each LOOK_AGAIN. */
#define LOOKS_ENOUGH 2
#define LOOK_AGAIN 64
/* Kind C: after so many cleanings of single views, the whole region is cleaned. */
#define WHOLE_AFTER 64

/* Drops what is in the page tables. */
static bool drop(char *start, const char *end)
{
	int answer = kernel.advise(start, (size_t)(end - start), MADV_DONTNEED);

	stats_add(COUNT_own_calls, 1);
	/* After mlockall. */
	if (answer == -EINVAL) {
		answer = kernel.advise(start, (size_t)(end - start), MADV_DONTNEED_LOCKED);
		stats_add(COUNT_own_calls, 1);
	}
	return answer == 0;
}

/* Runs on their way to be dropped. */
struct dropping {
	struct run next;
	size_t bytes; /* of those before it */
};

static bool drop_next(struct dropping *d)
{
	bool dropped = d->next.end == NULL || drop(d->next.start, d->next.end);

	if (d->next.end != NULL)
		d->bytes += (size_t)(d->next.end - d->next.start);
	d->next.end = NULL;
	return dropped;
}

/* Adds a run to the one that is to be dropped next, or drops that and begins anew. The clean pages
 * between two written ones go too if they are few: dropping them costs the next view one fault, as
 * much as another call. */
static bool drop_later(struct dropping *d, const struct run *run)
{
	size_t near = FAULT_AROUND_PAGES << estate.page_shift;
	bool dropped = true;

	if (d->next.end != NULL && (size_t)(run->start - d->next.end) > near)
		dropped = drop_next(d);
	if (d->next.end == NULL)
		d->next.start = run->start;
	d->next.end = run->end;
	return dropped;
}

/* Whether looking for the written pages would find nearly all, as it did before. A program that
 * writes wherever it maps gains nothing by views but the page tables, and may lose nothing. */
static bool need_not_look(struct region *region)
{
	uint32_t streak = __atomic_load_n(&region->mostly_written, __ATOMIC_RELAXED);

	if (streak < LOOKS_ENOUGH || streak % LOOK_AGAIN == 0)
		return false;
	__atomic_store_n(&region->mostly_written, streak + 1, __ATOMIC_RELAXED);
	return true;
}

static void note_look(struct region *region, size_t dropped, size_t bytes)
{
	uint32_t streak = __atomic_load_n(&region->mostly_written, __ATOMIC_RELAXED);

	streak = dropped >= bytes - bytes / 4 ? streak + 1 : 0;
	__atomic_store_n(&region->mostly_written, streak, __ATOMIC_RELAXED);
}

/* Kind D: drops the copies that a view wrote. The clean pages of a large view are worth keeping. */
static bool drop_written(struct region *region, size_t first, size_t count)
{
	char *start = estate_address(first);
	char *end = start + (count << estate.page_shift);
	struct run runs[MOST_RUNS];
	struct dropping dropping = {{NULL, NULL}, 0};
	bool dropped = true;

	if (count <= DROP_ALL_PAGES || need_not_look(region))
		return drop(start, end);
	while (start < end && dropped) {
		int n = kernel.written(start, end, runs, MOST_RUNS, &start);

		stats_add(COUNT_own_calls, 3);
		if (n < 0)
			return drop(estate_address(first), end);
		for (int i = 0; i < n && dropped; i++)
			dropped = drop_later(&dropping, &runs[i]);
	}
	dropped = dropped && drop_next(&dropping);
	note_look(region, dropping.bytes, count << estate.page_shift);
	return dropped;
}

/* A number that changes whenever one of the file's times does; 0 if a store could still go unseen,
 * because the clock has not ticked since they last moved. */
static uint64_t stamp_of(const struct file_stat *stat, int64_t now)
{
	uint64_t mixed = (uint64_t)stat->mtime * 0x9e3779b97f4a7c15U;

	if (stat->mtime >= now || stat->ctime >= now)
		return 0;
	mixed = (mixed ^ mixed >> 29 ^ (uint64_t)stat->ctime) * 0xbf58476d1ce4e5b9U;
	return (mixed ^ mixed >> 32) | 1;
}

static int64_t wall_clock(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0)
		return 0;
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void note_clean(struct region *region, int fd, int64_t since)
{
	struct file_stat stat;
	uint64_t stamp = kernel.stat(fd, &stat) == 0 ? stamp_of(&stat, since) : 0;

	__atomic_store_n(&region->clean_stamp, stamp, __ATOMIC_RELEASE);
	__atomic_store_n(&region->cleanings, 0, __ATOMIC_RELAXED);
}

/* Cleans the whole region, live views too: they lose nothing, and if a store through one of them
 * faults once more, so it may after any writing back. Not if the program has mapped something of
 * its own over a part, which might lose everything: its mark is set, under the lock, before that is
 * mapped. False if nothing was done. */
static bool clean_whole(struct region *region, int fd)
{
	char *start = estate_address(region->first);
	int64_t now = wall_clock();
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	bool cleaned = __atomic_load_n(&region->marked, __ATOMIC_SEQ_CST) == 0 &&
		       drop(start, start + (region->pages << estate.page_shift));

	lock_drop(LOCK_VIEWS, hold);
	if (cleaned)
		note_clean(region, fd, now);
	return cleaned;
}

bool region_freshen(struct region *region, size_t first, size_t count, int fd)
{
	char *start = estate_address(first);
	uint64_t stamp = __atomic_load_n(&region->clean_stamp, __ATOMIC_ACQUIRE);
	struct file_stat stat;

	stats_add(COUNT_own_calls, stamp != 0);
	if (stamp != 0 && kernel.stat(fd, &stat) == 0 && stamp_of(&stat, INT64_MAX) == stamp)
		return true;
	/* Cleaning all costs more, and pays if what follows only reads. */
	if (!region->tmpfs &&
	    __atomic_fetch_add(&region->cleanings, 1, __ATOMIC_RELAXED) >= WHOLE_AFTER &&
	    clean_whole(region, fd))
		return true;
	return drop(start, start + (count << estate.page_shift));
}

bool region_drop(size_t first, size_t count)
{
	char *start = estate_address(first);

	return drop(start, start + (count << estate.page_shift));
}

bool region_leave_clean(struct region *region, size_t first, size_t count)
{
	if (region_is_memory(region)) {
		pages_soil(first, count);
		return true;
	}
	return region->kind != KIND_WRITE_PRIVATE || drop_written(region, first, count);
}
