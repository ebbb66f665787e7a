/* What the mapping programs share: a file whose every byte is known, and a transcript. */
#ifndef MAP_COMMON_H
#define MAP_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

static inline unsigned char byte_at(unsigned int file, uint64_t offset)
{
	uint64_t x = (offset + 1) * 0x9e3779b97f4a7c15u + file * 0xbf58476d1ce4e5b9u;

	return (unsigned char)(x >> 37);
}

static inline void fill_file(int fd, unsigned int file, uint64_t from, uint64_t to)
{
	unsigned char block[4096];

	while (from < to) {
		size_t n = to - from < sizeof(block) ? (size_t)(to - from) : sizeof(block);

		for (size_t i = 0; i < n; i++)
			block[i] = byte_at(file, from + i);
		if (pwrite(fd, block, n, (off_t)from) != (ssize_t)n) {
			perror("pwrite");
			exit(99);
		}
		from += n;
	}
}

/* A fresh file of that many bytes, opened read-only. */
static inline int make_file(const char *name, unsigned int file, uint64_t bytes)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct timespec times[2];

	if (fd < 0) {
		perror(name);
		exit(99);
	}
	fill_file(fd, file, 0, bytes);
	/* Last read after it was last written, so that the access time has no reason to move. */
	times[0] = (struct timespec){.tv_nsec = UTIME_NOW};
	times[1] = (struct timespec){.tv_nsec = UTIME_OMIT};
	usleep(20000);
	futimens(fd, times);
	close(fd);
	return open(name, O_RDONLY);
}

static inline bool bytes_are(const volatile unsigned char *p, size_t n, unsigned int file,
			     uint64_t offset)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != byte_at(file, offset + i))
			return false;
	}
	return true;
}

static inline unsigned int next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(*state >> 33);
}

/* Reading a byte: its value, or -SIGBUS, -SIGSEGV. */
static sigjmp_buf fault_jump;

static inline void on_fault(int number)
{
	siglongjmp(fault_jump, number);
}

static inline void catch_faults(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_fault;
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
}

static inline int peek(const volatile unsigned char *p)
{
	int number = sigsetjmp(fault_jump, 1);

	return number == 0 ? *p : -number;
}

static inline int poke(volatile unsigned char *p, unsigned char value)
{
	int number = sigsetjmp(fault_jump, 1);

	if (number == 0)
		*p = value;
	return -number;
}

static inline void say(const char *what, bool right)
{
	printf("%s: %s\n", what, right ? "right" : "WRONG");
}

static inline void result(const char *what, long answer)
{
	printf("%s: %ld%s%s\n", what, answer, answer == -1 ? " " : "",
	       answer == -1 ? strerrorname_np(errno) : "");
}

/* mmap's result without its address. */
static inline void mapped(const char *what, const void *p)
{
	result(what, p == MAP_FAILED ? -1 : 0);
}

#endif
