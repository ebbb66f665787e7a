/* build: -D_FILE_OFFSET_BITS=64 */
/*
 * A little of everything that has machine code of its own in the library: streams, copies, views,
 * steps aside, vfork, jumps out of handlers, faults. What it prints is the same on every machine.
 *
 * Usage: smoke FOLDER
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES ((size_t)700)

static size_t page;
static char path[4096];
static uint32_t sum;
static sigjmp_buf out;

static void add(const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	while (n-- > 0)
		sum = sum * 31 + *b++;
}

static void tell(const char *what)
{
	printf("%s: %08x\n", what, sum);
	sum = 0;
}

static uint32_t next_random(void)
{
	static uint32_t state = 12345;

	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static void make_file(void)
{
	struct timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 1000000000}};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (uint32_t i = 0; i < PAGES * 4096 / 4; i += 1024) {
		uint32_t words[1024];

		for (uint32_t k = 0; k < 1024; k++)
			words[k] = (i + k) * 2654435761U;
		if (write(fd, words, sizeof(words)) != sizeof(words))
			abort();
	}
	futimens(fd, times);
	close(fd);
}

static void streams(void)
{
	FILE *fp = fopen(path, "r");
	char bytes[3000];

	for (int i = 0; i < 3000; i++) {
		long at = (long)(next_random() % (PAGES * 4096 - 5000));

		if (fseek(fp, at, SEEK_SET) != 0 || fread(bytes, 1, 500, fp) != 500)
			abort();
		add(bytes, 500);
		if (i % 100 == 0) {
			sum += (uint32_t)getc(fp);
			ungetc('x', fp);
			sum += (uint32_t)ftell(fp);
		}
	}
	sum += (uint32_t)fclose(fp);
	tell("streams");
}

static void reads(void)
{
	int fd = open(path, O_RDONLY);
	char bytes[300];

	for (int i = 0; i < 3000; i++) {
		off_t at = (off_t)(next_random() % (PAGES * 4096 + 100));
		ssize_t n = i % 2 == 0 ? pread(fd, bytes, sizeof(bytes), at) : 0;

		if (i % 2 == 1 && lseek(fd, at, SEEK_SET) == at)
			n = read(fd, bytes, sizeof(bytes));
		sum += (uint32_t)n;
		add(bytes, n > 0 ? (size_t)n : 0);
	}
	close(fd);
	tell("reads");
}

static void maps(int prot, int flags)
{
	int fd = open(path, O_RDWR);
	char *kept[20] = {NULL};

	for (int i = 0; i < 2000; i++) {
		size_t first = next_random() % (PAGES * 4096 / page - 4);
		size_t n = 1 + next_random() % 3;
		char *p = mmap(NULL, n * page, prot, flags, fd, (off_t)(first * page));

		if (p == MAP_FAILED)
			abort();
		add(p + page / 2, 64);
		if (prot & PROT_WRITE)
			p[page - 1] ^= 1;
		if (kept[i % 20] != NULL)
			munmap(kept[i % 20], page);
		if (n > 1)
			munmap(p + page, (n - 1) * page);
		kept[i % 20] = p;
	}
	close(fd);
	for (int i = 0; i < 20; i++) {
		add(kept[i] + page - 8, 8);
		munmap(kept[i], page);
	}
	tell(flags == MAP_SHARED ? "shared" : prot & PROT_WRITE ? "written" : "private");
}

static void vforks(void)
{
	for (int i = 0; i < 20; i++) {
		int status = 0;
		pid_t pid = vfork();

		if (pid == 0)
			_exit(i);
		if (waitpid(pid, &status, 0) != pid)
			abort();
		sum += (uint32_t)WEXITSTATUS(status) * 17;
	}
	tell("vfork");
}

static void leave(int number)
{
	siglongjmp(out, number);
}

static FILE *beside;

/* It interrupts only a read that is no stream's. */
static void read_and_leave(int number)
{
	char bytes[100];

	if (fseek(beside, 4096L * number, SEEK_SET) != 0 || fread(bytes, 1, 100, beside) != 100)
		abort();
	siglongjmp(out, number);
}

static void jumps(void)
{
	struct sigaction action = {.sa_handler = read_and_leave};
	struct itimerval soon = {.it_value = {.tv_usec = 3000}};
	int fd = open(path, O_RDONLY);
	char bytes[100];

	beside = fopen(path, "r");
	sigaction(SIGALRM, &action, NULL);
	for (volatile int i = 0; i < 20; i++) {
		if (sigsetjmp(out, 1) != 0)
			continue;
		setitimer(ITIMER_REAL, &soon, NULL);
		for (;;) {
			if (pread(fd, bytes, 100, next_random() % (PAGES * 4096 - 100)) != 100)
				abort();
		}
	}
	fclose(beside);
	close(fd);
	sum = 20;
	tell("jumps");
}

static void faults(void)
{
	struct sigaction action = {.sa_handler = leave};
	int fd = open(path, O_RDWR);
	volatile char *p = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	volatile int caught = 0;
	char byte;

	p = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)(10 * page));
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	if (ftruncate(fd, (off_t)page) != 0)
		abort();
	if (sigsetjmp(out, 1) == 0)
		add((const void *)p, 1);
	else
		caught++;
	if (sigsetjmp(out, 1) == 0)
		*(volatile char *)8 = 1;
	else
		caught++;
	sum = (uint32_t)caught;
	sum += (uint32_t)pread(fd, &byte, 1, (off_t)(20 * page)) * 100;
	tell("faults");
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	page = (size_t)sysconf(_SC_PAGESIZE);
	snprintf(path, sizeof(path), "%s/smoke", argv[1]);
	make_file();
	streams();
	reads();
	maps(PROT_READ, MAP_PRIVATE);
	maps(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	maps(PROT_READ, MAP_SHARED);
	vforks();
	jumps();
	faults();
	return 0;
}
