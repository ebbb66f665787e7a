/* readone: read SIZE bytes at random places of a file, again and again.
 *
 *   readone [-n TIMES] [-s SEED] [-l LABEL] -m pread|read|copy SIZE FILE
 *
 * `read` is lseek and read; `copy` is memcpy from a mapping of the whole file, the least that a
 * read could cost. Prints one tab-separated row: label, how, size, ns an operation (of the best
 * fifth of the time). */

#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 5 };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "readone: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int fd;
static const char *mapping;
static char *buffer;

static void once(char how, size_t size, off_t offset)
{
	ssize_t got = (ssize_t)size;
	switch (how) {
	case 'p':
		got = pread(fd, buffer, size, offset);
		break;
	case 'r':
		if (lseek(fd, offset, SEEK_SET) != offset)
			die("lseek");
		got = read(fd, buffer, size);
		break;
	default:
		memcpy(buffer, mapping + offset, size);
		__asm__ volatile("" ::"r"(buffer) : "memory");
		break;
	}
	if (got != (ssize_t)size)
		die("read");
}

int main(int argc, char **argv)
{
	long times = 100000;
	uint64_t state = 1;
	const char *label = "run", *how = "pread";
	struct stat st;
	for (int option; (option = getopt(argc, argv, "n:s:l:m:")) != -1;)
		switch (option) {
		case 'n':
			times = strtol(optarg, NULL, 0);
			break;
		case 's':
			state = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			label = optarg;
			break;
		case 'm':
			how = optarg;
			break;
		default:
			return 2;
		}
	if (argc - optind != 2 || times < PARTS)
		return 2;
	const size_t size = strtoul(argv[optind], NULL, 0);
	fd = open(argv[optind + 1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || (size_t)st.st_size <= size)
		die(argv[optind + 1]);
	mapping = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	buffer = malloc(size);
	if (mapping == MAP_FAILED || buffer == NULL)
		die("memory");
	memset(buffer, 1, size);
	state = state * 0x9e3779b97f4a7c15ULL | 1;
	const long each = times / PARTS;
	double best = 0;
	/* The first part finds the caches cold, and the pattern unseen. */
	for (int part = 0; part <= PARTS; part++) {
		const double begin = now();
		for (long i = 0; i < each; i++)
			once(*how, size,
			     (off_t)(next_random(&state) % (uint64_t)((size_t)st.st_size - size)));
		const double took = (now() - begin) / (double)each;
		if (part == 1 || (part > 1 && took < best))
			best = took;
	}
	printf("%s\t%s\t%zu\t%.1f\n", label, how, size, best);
	return 0;
}
