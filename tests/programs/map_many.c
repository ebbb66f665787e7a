/*
 * More mappings than the kernel allows, all of them alive at once.
 *   map_many different FOLDER N    a page of one of 500 files, opened each time, writable or not,
 *                                  private
 *   map_many same FILE N           the same page of one file, private and shared
 *   map_many pages FILE N          N pages of one file
 *   map_many memory . N            N pages of memory, every second one unmapped again
 * Says what went wrong, or nothing; on descriptor 3, if it is open: the mappings that there were in
 * the end, and the nanoseconds of processor time that each has taken.
 */
#include "map_common.h"

#include <time.h>

#define FILES 500

static void **maps;
static long failed;
static long wrong;

static long count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	long lines = 0;
	int c;

	while (file != NULL && (c = getc(file)) != EOF)
		lines += c == '\n';
	if (file != NULL)
		fclose(file);
	return lines;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void name_of(char *name, size_t size, const char *folder, long i)
{
	snprintf(name, size, "%s/%ld", folder, i % FILES);
}

static void make_files(const char *folder)
{
	char name[4096];

	for (long i = 0; i < FILES; i++) {
		int fd;

		name_of(name, sizeof(name), folder, i);
		fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || write(fd, &i, sizeof(i)) != sizeof(i))
			exit(1);
		close(fd);
	}
}

static void map_different(const char *folder, long n)
{
	char name[4096];

	for (long i = 0; i < n; i++) {
		int fd;

		name_of(name, sizeof(name), folder, i);
		fd = open(name, O_RDONLY);
		maps[i] = mmap(NULL, 4096, i % 3 ? PROT_READ | PROT_WRITE : PROT_READ, MAP_PRIVATE,
			       fd, 0);
		close(fd);
	}
}

static void check_different(long n)
{
	for (long i = 0; i < n; i++) {
		long file = i % FILES;

		if (maps[i] == MAP_FAILED)
			continue;
		wrong += memcmp(maps[i], &file, sizeof(file)) != 0 || ((char *)maps[i])[4095] != 0;
		if (i % 3)
			memcpy(maps[i], &i, sizeof(i));
	}
	for (long i = 1; i < n; i++)
		wrong += maps[i] != MAP_FAILED && i % 3 && memcmp(maps[i], &i, sizeof(i)) != 0;
}

static void map_file(const char *path, long n, long pages)
{
	int fd = make_file(path, 5, (size_t)pages * PAGE);

	for (long i = 0; i < n; i++) {
		long page = i % pages;

		maps[i] = mmap(NULL, PAGE, PROT_READ, i / pages % 2 ? MAP_SHARED : MAP_PRIVATE, fd,
			       (off_t)((size_t)page * PAGE));
	}
	for (long i = 0; i < n; i++)
		wrong += maps[i] != MAP_FAILED &&
			 !bytes_are(maps[i], 16, 5, (size_t)(i % pages) * PAGE);
	close(fd);
}

static void map_memory(long n)
{
	for (long i = 0; i < n; i++)
		maps[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	for (long i = 0; i < n; i += 2)
		failed += munmap(maps[i], PAGE) != 0;
}

static void check_memory(long n)
{
	for (long i = 1; i < n; i += 2) {
		if (maps[i] == MAP_FAILED)
			continue;
		wrong += *(long *)maps[i] != 0;
		*(long *)maps[i] = i;
	}
	for (long i = 1; i < n; i += 2)
		wrong += maps[i] != MAP_FAILED && *(long *)maps[i] != i;
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[1] : "";
	long n = argc > 3 ? atol(argv[3]) : 0;
	double start;

	if (n <= 0)
		return 2;
	maps = calloc((size_t)n, sizeof(*maps));
	if (strcmp(what, "different") == 0)
		make_files(argv[2]);
	start = now();
	if (strcmp(what, "different") == 0)
		map_different(argv[2], n);
	else if (strcmp(what, "same") == 0)
		map_file(argv[2], n, 1);
	else if (strcmp(what, "pages") == 0)
		map_file(argv[2], n, n);
	else
		map_memory(n);
	start = now() - start;
	dprintf(3, "%ld mappings, %.0f ns each\n", count_mappings(), start / (double)n);
	if (strcmp(what, "different") == 0)
		check_different(n);
	else if (strcmp(what, "memory") == 0)
		check_memory(n);
	for (long i = 0; i < n; i++)
		failed += maps[i] == MAP_FAILED;
	printf("%ld failed, %ld wrong\n", failed, wrong);
	return failed != 0 || wrong != 0;
}
