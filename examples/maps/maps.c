/* maps: make many small mappings, and say how long they take and how many the kernel has then.
 *
 *   maps [-n TIMES] [-p up|down|same] [-u none|each|second] [-l LABEL] [FILE]
 *
 * Maps one page at a time and touches it: of FILE, ascending, descending, or the same page again
 * and again; without FILE, anonymous memory. Each stays mapped; or is unmapped at once (each); or
 * when all have been made, every second one is unmapped (second), which leaves as many holes.
 *
 * Prints a tab-separated row for every STEP calls of mmap or munmap: LABEL, calls so far,
 * milliseconds for these, lines of /proc/self/maps, and 0; if the kernel will make no more, a last
 * row with 1, and exits with 1. */

#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEP = 10000 };

static const char *label = "run", *place = "up", *unmap = "none";
static long calls;
static double began;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "maps: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* At the limit stdio could not get its buffer: so one of our own. */
static long mappings_now(void)
{
	static char block[1 << 16];
	const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t got;
	long lines = 0;
	if (maps < 0)
		die("/proc/self/maps");
	while ((got = read(maps, block, sizeof block)) > 0)
		for (ssize_t i = 0; i < got; i++)
			lines += block[i] == '\n';
	close(maps);
	return lines;
}

static void print_row(bool failed)
{
	const double took = now() - began;
	printf("%s\t%ld\t%.3f\t%ld\t%d\n", label, calls, took, mappings_now(), failed);
	began = now();
}

static void count_call(bool worked)
{
	if (!worked) {
		const int error = errno;
		print_row(true);
		fflush(stdout);
		errno = error;
		die("no more");
	}
	if (++calls % STEP == 0)
		print_row(false);
}

static void unmap_page(void *page, size_t size)
{
	count_call(munmap(page, size) == 0);
}

/* The i-th page. */
static void *map_page(int fd, long i, long pages, size_t size)
{
	long number = 0;
	char *page;
	if (strcmp(place, "up") == 0)
		number = i % pages;
	else if (strcmp(place, "down") == 0)
		number = pages - 1 - i % pages;
	if (fd < 0) {
		page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		count_call(page != MAP_FAILED);
		*page = 1;
	} else {
		page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, (off_t)number * (off_t)size);
		count_call(page != MAP_FAILED);
		(void)*(volatile char *)page;
	}
	return page;
}

static bool one_of(const char *word, const char *a, const char *b, const char *c)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static _Noreturn void usage(void)
{
	fputs("usage: maps [-n TIMES] [-p up|down|same] [-u none|each|second] [-l LABEL] [FILE]\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	long times = 100000, pages = 1;
	int fd = -1;
	for (int option; (option = getopt(argc, argv, "n:p:u:l:")) != -1;)
		switch (option) {
		case 'n':
			times = strtol(optarg, NULL, 0);
			break;
		case 'p':
			place = optarg;
			break;
		case 'u':
			unmap = optarg;
			break;
		case 'l':
			label = optarg;
			break;
		default:
			usage();
		}
	if (argc - optind > 1 || times < 1 || !one_of(place, "up", "down", "same") ||
	    !one_of(unmap, "none", "each", "second"))
		usage();
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	if (optind < argc) {
		struct stat st;
		fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) != 0 || (pages = st.st_size / (long)size) < 1)
			die(argv[optind]);
	}
	void **made = malloc((size_t)times * sizeof *made);
	if (!made)
		die("malloc");
	memset(made, 0, (size_t)times * sizeof *made);

	began = now();
	for (long i = 0; i < times; i++) {
		made[i] = map_page(fd, i, pages, size);
		if (strcmp(unmap, "each") == 0)
			unmap_page(made[i], size);
	}
	if (strcmp(unmap, "second") == 0)
		for (long i = 0; i < times; i += 2)
			unmap_page(made[i], size);
	if (calls % STEP != 0)
		print_row(false);
	free(made);
	return 0;
}
