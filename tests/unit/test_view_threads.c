/*
 * Threads that map and unmap while others close, copy, reopen and relieve: with the real kernel,
 * whose bytes say whether an address is what it should be.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "fd.h"
#include "view.h"
#include "unit.h"

#define RUN_MS 500
#define FILES 3
#define FILE_PAGES_COUNT 40
#define MAPPERS 4

static int fds[FILES]; /* what the numbers are now; the numbers themselves stay */
static char paths[FILES][64];
static uint64_t end;
static uint64_t views;
static uint64_t passed;
static uint64_t relieved;

/* Each page begins with its file and its number. */
static void make_file(int file)
{
	static uint32_t page[1 << 16];
	int fd;

	snprintf(paths[file], sizeof(paths[file]), "/tmp/mapcoalesce-unit-XXXXXX");
	fd = mkstemp(paths[file]);
	assert_true(fd >= 0);
	for (uint32_t i = 0; i < FILE_PAGES_COUNT; i++) {
		page[0] = (uint32_t)file;
		page[1] = i;
		assert_int_equal(write(fd, page, PAGE), PAGE);
	}
	close(fd);
}

static int open_hooked(int file)
{
	int fd = open(paths[file], O_RDONLY | O_NOATIME | O_CLOEXEC);

	fd_opened(fd);
	return fd;
}

static void start(void)
{
	for (int file = 0; file < FILES; file++) {
		make_file(file);
		fds[file] = open_hooked(file);
		assert_true(fds[file] >= 0);
	}
	end = unit_ms() + RUN_MS;
}

static int real_unmap(void *addr, size_t length)
{
	return munmap(addr, length) == 0 ? 0 : -errno;
}

/* mmap, PROT_READ, MAP_PRIVATE, in any thread. */
static char *map_view(int fd, uint64_t offset, size_t length)
{
	struct view_request request = {NULL, length, PROT_READ, MAP_PRIVATE, fd, offset};
	enum reason reason = view_excuse(&request);

	EXPECT(reason == REASON_none);
	return view_map(&request, &reason);
}

static void look(const char *p, int file, size_t page, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t *words = (const uint32_t *)(p + i * PAGE);

		EXPECT(words[1] == page + i);
		EXPECT(file < 0 || words[0] == (uint32_t)file);
	}
}

/* Maps, looks, unmaps in one or two pieces. Unless `stable`, the
 * numbers become other files' meanwhile. */
static void map_once(struct rng *rng, bool stable)
{
	int file = (int)rng_below(rng, FILES);
	size_t page = rng_below(rng, FILE_PAGES_COUNT - 1);
	size_t count = 1 + rng_below(rng, FILE_PAGES_COUNT - 1 - page);
	size_t cut = rng_below(rng, count + 1);
	char *p = map_view(fds[file], page * PAGE, count * PAGE);

	if (p == NULL) {
		__atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&views, 1, __ATOMIC_RELAXED);
	look(p, stable ? file : -1, page, count);
	if (cut > 0)
		EXPECT(view_unmap(p, cut * PAGE, real_unmap) == 0);
	look(p + cut * PAGE, stable ? file : -1, page + cut, count - cut);
	if (cut < count)
		EXPECT(view_unmap(p + cut * PAGE, (count - cut) * PAGE, real_unmap) == 0);
}

static void mapper(unsigned int number, bool stable)
{
	struct rng rng = {number * 65537 + 3};

	while (unit_ms() < end)
		map_once(&rng, stable);
}

/* Closes a number, or puts another file's in its place; the number never is anything else. */
static void closer(void)
{
	struct rng rng = {99};

	while (unit_ms() < end) {
		int file = (int)rng_below(&rng, FILES);
		int other = (int)rng_below(&rng, FILES);
		int fresh = open_hooked(other);

		EXPECT(fresh >= 0);
		/* dup3 as the hook makes it. */
		fd_forget(fds[file]);
		EXPECT(dup3(fresh, fds[file], O_CLOEXEC) == fds[file]);
		fd_duplicated(fresh, fds[file]);
		fd_forget(fresh);
		close(fresh);
		if (rng_below(&rng, 4) == 0)
			usleep(50);
	}
}

static void map_or_close(unsigned int number)
{
	if (number < MAPPERS)
		mapper(number, false);
	else
		closer();
}

static void map_or_relieve(unsigned int number)
{
	if (number < MAPPERS) {
		mapper(number, true);
		return;
	}
	while (unit_ms() < end)
		__atomic_fetch_add(&relieved, view_relieve(), __ATOMIC_RELAXED);
}

/* One changes and restores its pages, by what hooks do for mprotect. */
static void change_and_map(unsigned int number)
{
	struct rng rng = {number * 31 + 7};

	while (unit_ms() < end) {
		size_t page = rng_below(&rng, FILE_PAGES_COUNT - 2);
		char *p = map_view(fds[0], page * PAGE, 2 * PAGE);

		if (p == NULL)
			continue;
		look(p, 0, page, 2);
		if (number == 0 && view_change(p, PAGE, true) == 0) {
			EXPECT(mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0);
			memset(p, 0xee, PAGE);
			look(p + PAGE, 0, page + 1, 1);
		}
		EXPECT(view_unmap(p, 2 * PAGE, real_unmap) == 0);
		__atomic_fetch_add(&views, 1, __ATOMIC_RELAXED);
	}
}

/* Lines of /proc/self/maps with a file of ours. */
static int mapped_lines(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int lines = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		lines += strstr(line, "mapcoalesce-unit-") != NULL;
	fclose(maps);
	return lines;
}

static void finish(void)
{
	printf("# %llu views, %llu passed, %llu regions, %llu times relieved\n",
	       (unsigned long long)views, (unsigned long long)passed,
	       (unsigned long long)stats_sum(COUNT_regions_made), (unsigned long long)relieved);
	assert_int_not_equal(views, 0);
	for (int file = 0; file < FILES; file++) {
		fd_forget(fds[file]);
		close(fds[file]);
		unlink(paths[file]);
	}
	assert_int_equal(mapped_lines(), 0);
	for (size_t page = 0; page < 4096; page++)
		assert_null(estate_owner(page));
}

static void descriptors_change_while_others_map(void **state)
{
	start();
	unit_threads(MAPPERS + 1, map_or_close);
	finish();
}

static void regions_end_idle_while_others_map(void **state)
{
	start();
	unit_threads(MAPPERS + 1, map_or_relieve);
	finish();
}

static void one_writes_while_others_map(void **state)
{
	start();
	unit_threads(3, change_and_map);
	finish();
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(descriptors_change_while_others_map, ALL_WORLDS | NARROW_WORLDS | REAL_KERNEL),
		CASE(regions_end_idle_while_others_map, ALL_WORLDS | NARROW_WORLDS | REAL_KERNEL),
		CASE(one_writes_while_others_map, ALL_WORLDS | NARROW_WORLDS | REAL_KERNEL),
	};

	return RUN(cases);
}
