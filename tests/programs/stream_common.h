/* What the programs on streams share: a stream whose writes are combined, if they are at all, and
 * ways to say what a file holds. */
#ifndef STREAM_COMMON_H
#define STREAM_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *directory;

static inline const char *path_of(const char *name)
{
	static char paths[8][4200];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static inline void put(FILE *fp, long at, const char *text)
{
	if (fseek(fp, at, SEEK_SET) != 0 || fwrite(text, 1, strlen(text), fp) != strlen(text))
		printf("put at %ld: %s\n", at, strerrorname_np(errno));
}

/* So many seeks with a small write after each. After the last one all of it has been written, as
 * far as stdio is concerned. */
static inline void scribble(FILE *fp, long from, int count)
{
	char text[64];

	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "record %d at %ld.", i, from + i * 96L);
		put(fp, from + i * 96L, text);
	}
	fseek(fp, from, SEEK_SET);
}

/* So many are a pattern. */
#define BUSY 160

/* A stream whose pattern has shown, and something that it has written since. */
static inline FILE *busy(const char *name, const char *mode)
{
	FILE *fp = fopen(path_of(name), mode);

	if (fp == NULL) {
		printf("%s: %s\n", name, strerrorname_np(errno));
		exit(99);
	}
	scribble(fp, 0, BUSY);
	return fp;
}

/* Size and bytes, without a look through stdio. */
static inline void say_file(const char *what, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;
	unsigned char block[4096];
	long size = 0;
	ssize_t got;
	int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
	char line[200];

	while (fd >= 0 && (got = read(fd, block, sizeof(block))) > 0) {
		for (ssize_t i = 0; i < got; i++)
			hash = (hash ^ block[i]) * 0x100000001b3u;
		size += got;
	}
	if (fd >= 0)
		close(fd);
	snprintf(line, sizeof(line), "%s: %s holds %ld bytes, %016llx\n", what, name, size,
		 (unsigned long long)hash);
	if (write(1, line, strlen(line)) < 0)
		_exit(98);
}

static inline void say_status(const char *what, int status)
{
	if (WIFEXITED(status))
		printf("%s: exit %d\n", what, WEXITSTATUS(status));
	else
		printf("%s: signal %d%s\n", what, WTERMSIG(status),
		       WCOREDUMP(status) ? ", core" : "");
	fflush(stdout);
}

struct a_case {
	const char *name;
	void (*run)(void);
};

/* PROGRAM DIRECTORY [CASE]... */
static inline int run_cases(int argc, char **argv, const struct a_case *cases, size_t count)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	directory = argv[1];
	for (size_t i = 0; i < count; i++) {
		bool wanted = argc <= 2;

		for (int j = 2; j < argc; j++)
			wanted = wanted || strcmp(argv[j], cases[i].name) == 0;
		if (!wanted)
			continue;
		printf("-- %s\n", cases[i].name);
		fflush(stdout);
		cases[i].run();
	}
	return 0;
}

#define CASE(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}

#endif
