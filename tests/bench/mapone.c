/* mapone: map one page at a random place in a file, read one byte, unmap it; again and again.
 *
 *   mapone -c SIZE_MIB FILE...              write the files: each byte follows from its page's
 * number mapone [-t THREADS] [-n TIMES] [-s SEED] [-l LABEL] [-q] FILE...
 *
 * Thread i works on file i modulo their number, through a descriptor of its own. Prints one
 * tab-separated row: label, threads, files, times in all, ns an operation by the clock (of one
 * thread), the same in CPU time, operations a second of all threads together; -q leaves the row
 * out. Every byte is checked. */

#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MAX_THREADS = 64 };

struct worker {
	/* Set before the start. */
	const char *file;
	long times;
	uint64_t seed;
	pthread_barrier_t *ready;
	/* Set by the thread. */
	double begin, end, cpu;
};

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static unsigned char byte_of(uint64_t page)
{
	return (unsigned char)((page * 0x9e3779b97f4a7c15ULL) >> 56);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "mapone: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void create(const char *file, long mib)
{
	unsigned char block[PAGE];
	FILE *out = fopen(file, "w");
	if (!out)
		die(file);
	for (uint64_t page = 0; page < (uint64_t)mib * (1 << 20) / PAGE; page++) {
		memset(block, byte_of(page), sizeof block);
		if (fwrite(block, sizeof block, 1, out) != 1)
			die(file);
	}
	if (fclose(out) != 0)
		die(file);
}

static void *work(void *argument)
{
	struct worker *me = argument;
	uint64_t state = me->seed;
	struct stat st;
	const int fd = open(me->file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		die(me->file);
	const uint64_t pages = (uint64_t)st.st_size / PAGE;
	if (pages == 0) {
		errno = EINVAL;
		die(me->file);
	}
	pthread_barrier_wait(me->ready);
	me->begin = now(CLOCK_MONOTONIC);
	const double cpu = now(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < me->times; i++) {
		const uint64_t page = next_random(&state) % pages;
		const volatile unsigned char *at =
			mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(page * PAGE));
		if (at == MAP_FAILED)
			die("mmap");
		if (at[state % PAGE] != byte_of(page)) {
			fprintf(stderr, "mapone: %s: wrong byte in page %llu\n", me->file,
				(unsigned long long)page);
			exit(1);
		}
		if (munmap((void *)(uintptr_t)at, PAGE) != 0)
			die("munmap");
	}
	me->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	me->end = now(CLOCK_MONOTONIC);
	close(fd);
	return NULL;
}

static void usage(void)
{
	fputs("usage: mapone [-t THREADS] [-n TIMES] [-s SEED] [-l LABEL] [-q] FILE...\n"
	      "       mapone -c SIZE_MIB FILE...\n",
	      stderr);
	exit(2);
}

static long number(const char *text)
{
	char *end;
	const long value = strtol(text, &end, 10);
	if (*end || end == text || value <= 0)
		usage();
	return value;
}

int main(int argc, char **argv)
{
	long threads = 1, times = 100000, size = 0;
	uint64_t seed = 1;
	const char *label = "run";
	bool quiet = false;
	for (int option; (option = getopt(argc, argv, "t:n:s:l:c:q")) != -1;)
		switch (option) {
		case 't':
			threads = number(optarg);
			break;
		case 'n':
			times = number(optarg);
			break;
		case 's':
			seed = (uint64_t)number(optarg);
			break;
		case 'l':
			label = optarg;
			break;
		case 'c':
			size = number(optarg);
			break;
		case 'q':
			quiet = true;
			break;
		default:
			usage();
		}
	const int files = argc - optind;
	if (files < 1 || threads > MAX_THREADS)
		usage();
	if (size) {
		for (int i = optind; i < argc; i++)
			create(argv[i], size);
		return 0;
	}

	struct worker workers[MAX_THREADS];
	pthread_t ids[MAX_THREADS];
	pthread_barrier_t ready;
	pthread_barrier_init(&ready, NULL, (unsigned)threads);
	for (long i = 0; i < threads; i++) {
		workers[i] = (struct worker){
			.file = argv[optind + i % files],
			.times = times,
			.seed = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL | 1,
			.ready = &ready,
		};
		if (pthread_create(&ids[i], NULL, work, &workers[i]) != 0)
			die("pthread_create");
	}
	double begin = 0, end = 0, wall = 0, cpu = 0;
	for (long i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		begin = i == 0 || workers[i].begin < begin ? workers[i].begin : begin;
		end = i == 0 || workers[i].end > end ? workers[i].end : end;
		wall += workers[i].end - workers[i].begin;
		cpu += workers[i].cpu;
	}
	const double total = (double)times * (double)threads;
	if (!quiet)
		printf("%s\t%ld\t%d\t%.0f\t%.1f\t%.1f\t%.0f\n", label, threads, files, total,
		       wall / total, cpu / total, total * 1e9 / (end - begin));
	return 0;
}
