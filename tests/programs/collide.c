/*
 * An ordinary program that uses most of what the library hooks, and prints what it saw. The test
 * tests/symbols/collide.sh links it with definitions of all names that are ours inside the library,
 * as functions (which count their calls in `collisions`) and as variables (names_changed).
 *
 * Usage: collide SCRATCH-FILE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 16

int collisions;
int names_changed(void) __attribute__((weak));

static const char *path;
static size_t page;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void fill(void)
{
	FILE *out = fopen(path, "w+");

	if (out == NULL)
		fail("fopen");
	for (size_t i = 0; i < PAGES * page; i++)
		putc((int)(i * 7 + i / page), out);
	if (fseek(out, 3, SEEK_SET) != 0 || fwrite("seek", 1, 4, out) != 4 || fclose(out) != 0)
		fail("fwrite");
}

static unsigned long sum(const unsigned char *p, size_t length)
{
	unsigned long total = 0;

	for (size_t i = 0; i < length; i++)
		total = total * 31 + p[i];
	return total;
}

/* Many small mappings of one file, overlapping, of each kind, ended in another order. */
static unsigned long map_all(int flags, int prot, int open_flags)
{
	void *view[PAGES];
	unsigned long total = 0;
	int fd = open(path, open_flags);

	if (fd < 0)
		fail("open");
	for (size_t i = 0; i < PAGES - 1; i++) {
		view[i] = mmap(NULL, 2 * page, prot, flags, fd, (off_t)(i * page));
		if (view[i] == MAP_FAILED)
			fail("mmap");
	}
	for (size_t i = 0; i < PAGES - 1; i++)
		total += sum(view[i], 2 * page);
	if ((prot & PROT_WRITE) != 0 && (flags & MAP_PRIVATE) != 0)
		memset(view[0], 1, page);
	for (size_t i = PAGES - 1; i-- > 0;)
		if (munmap(view[i], 2 * page) != 0)
			fail("munmap");
	if (close(fd) != 0)
		fail("close");
	return total;
}

static unsigned long read_all(void)
{
	unsigned char buffer[100];
	unsigned long total = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY);
	int copy;

	if (fd < 0)
		fail("open");
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		total += sum(buffer, (size_t)n);
	copy = dup(fd);
	if (copy < 0 || lseek(copy, 5, SEEK_SET) != 5 || read(fd, buffer, 10) != 10)
		fail("lseek");
	total += sum(buffer, 10);
	for (off_t at = 0; (n = pread(fd, buffer, sizeof(buffer), at)) > 0; at += 37)
		total += sum(buffer, (size_t)n);
	close(copy);
	close(fd);
	return total;
}

static unsigned long stream_all(void)
{
	unsigned char buffer[50];
	unsigned long total = 0;
	FILE *in = fopen(path, "r");

	if (in == NULL)
		fail("fopen");
	for (long at = 0; at < (long)((PAGES - 1) * page); at += 1000) {
		if (fseek(in, at, SEEK_SET) != 0 || fread(buffer, sizeof(buffer), 1, in) != 1)
			fail("fread");
		total += sum(buffer, sizeof(buffer));
	}
	fclose(in);
	return total;
}

static void *thread(void *ret_total)
{
	*(unsigned long *)ret_total = map_all(MAP_PRIVATE, PROT_READ, O_RDONLY) + read_all();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long total = 0;
	pthread_t id;
	pid_t child;
	int status;

	if (argc != 2) {
		fprintf(stderr, "usage: collide SCRATCH-FILE\n");
		return 2;
	}
	path = argv[1];
	page = (size_t)sysconf(_SC_PAGESIZE);
	fill();

	printf("shared %lx\n", map_all(MAP_SHARED, PROT_READ, O_RDONLY));
	printf("private %lx\n", map_all(MAP_PRIVATE, PROT_READ, O_RDONLY));
	printf("writable %lx\n", map_all(MAP_PRIVATE, PROT_READ | PROT_WRITE, O_RDONLY));
	printf("shared writable %lx\n", map_all(MAP_SHARED, PROT_READ | PROT_WRITE, O_RDWR));
	printf("read %lx\n", read_all());
	printf("stream %lx\n", stream_all());

	if (pthread_create(&id, NULL, thread, &total) != 0 || pthread_join(id, NULL) != 0)
		fail("thread");
	printf("thread %lx\n", total);

	fflush(stdout);
	child = fork();
	if (child == 0) {
		total = map_all(MAP_SHARED, PROT_READ, O_RDONLY) + stream_all();
		printf("child %lx\n", total);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		fail("fork");

	printf("collisions %d, changed %d\n", collisions,
	       names_changed != NULL ? names_changed() : 0);
	return collisions != 0 || (names_changed != NULL && names_changed() != 0);
}
