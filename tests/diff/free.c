/*
 * The free-running mode: another process appends to, truncates, overwrites and punches two files as
 * it likes, while we map, look, store privately and unmap. What is checked is true in any order:
 *   - a byte is zero or one of those that are ever written at its place of its file;
 *   - below the size that is never cut off, nothing faults, and a private store stays;
 *   - above it, there is no fault but SIGBUS.
 */
#include "differ.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILES 2
#define VERSIONS 6
#define LEAST_PAGES 24 /* never cut off */
#define MOST_PAGES 200
#define PIECES 64
#define PIECE_PAGES 4

struct piece {
	unsigned char *p;
	size_t page;
	size_t pages;
	int file;
	bool writable;                   /* and private */
	unsigned char mine[PIECE_PAGES]; /* what we stored in each page; 0 = nothing */
};

static struct piece pieces[PIECES];
static int numbers[FILES][2];

static unsigned char byte_of(int file, uint64_t offset, uint64_t version)
{
	uint64_t x = (offset + 1) * 0x9e3779b97f4a7c15U + (uint64_t)file * 0xbf58476d1ce4e5b9U +
		     version * 0x94d049bb133111ebU;

	return (unsigned char)(x >> 33);
}

static bool written_once(int file, uint64_t offset, unsigned char byte)
{
	bool known = byte == 0;

	for (uint64_t version = 0; version < VERSIONS && !known; version++)
		known = byte == byte_of(file, offset, version);
	return known;
}

static void write_at(int fd, int file, uint64_t offset, size_t n, uint64_t version)
{
	static unsigned char bytes[MOST_PAGES * PAGE];

	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_of(file, offset + i, version);
	if (pwrite(fd, bytes, n, (off_t)offset) != (ssize_t)n)
		perror("differ: pwrite");
}

/* One thing that the other process does. */
static void disturb(int fd, int file)
{
	int64_t size = lseek(fd, 0, SEEK_END);
	int64_t least = (int64_t)(LEAST_PAGES * PAGE);
	int64_t most = (int64_t)(MOST_PAGES * PAGE);
	int64_t n = draw_of(3, 1, 100, 3 * (int)PAGE) + draw(PAGE);
	int64_t at = draw(size - n > 0 ? size - n : 1);

	switch (draw(4)) {
	case 0:
		if (size + n < most)
			write_at(fd, file, (uint64_t)size, (size_t)n, (uint64_t)draw(VERSIONS));
		break;
	case 1:
		if (ftruncate(fd, (off_t)(least + draw(most - least))) != 0)
			perror("differ: ftruncate");
		break;
	case 2:
		write_at(fd, file, (uint64_t)at, (size_t)n, (uint64_t)draw(VERSIONS));
		break;
	default:
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n);
		break;
	}
}

static pid_t start_disturbing(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (;;) {
		int file = (int)draw(FILES);

		disturb(numbers[file][1], file);
		if (one_in(20))
			usleep((useconds_t)draw(2000));
	}
}

static bool make_files(void)
{
	for (int file = 0; file < FILES; file++) {
		int fd = open(path_of(file), O_RDWR | O_CREAT | O_TRUNC, 0600);
		int reader = open(path_of(file), O_RDONLY);
		struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};

		if (fd < 0 || reader < 0)
			return false;
		write_at(fd, file, 0, (LEAST_PAGES + 10) * PAGE, 0);
		clock_gettime(CLOCK_REALTIME, &times[0]);
		times[0].tv_sec += 3600;
		if (futimens(fd, times) != 0)
			return false;
		numbers[file][0] = reader;
		numbers[file][1] = fd;
	}
	return true;
}

static void begin_piece(struct piece *piece)
{
	bool shared = one_in(2);

	memset(piece, 0, sizeof(*piece));
	piece->file = (int)draw(FILES);
	piece->page = (size_t)draw(one_in(2) ? LEAST_PAGES : MOST_PAGES);
	piece->pages = (size_t)(1 + draw(PIECE_PAGES));
	piece->writable = !shared && one_in(2);
	piece->p = mmap(NULL, piece->pages * PAGE,
			piece->writable ? PROT_READ | PROT_WRITE : PROT_READ,
			shared ? MAP_SHARED : MAP_PRIVATE, numbers[piece->file][one_in(2)],
			(off_t)(piece->page * PAGE));
	if (piece->p == MAP_FAILED) {
		printf("mmap: %s\n", strerrorname_np(errno));
		common->wrong++;
		piece->p = NULL;
	}
}

static void contradicted(const struct piece *piece, size_t page, const char *what, int value)
{
	printf("file %d page %zu (%s): %s %d\n", piece->file, piece->page + page,
	       piece->writable ? "writable" : "read-only", what, value);
	common->wrong++;
}

static bool byte_allowed(const struct piece *piece, size_t page, size_t i, unsigned char byte)
{
	unsigned char mine = piece->mine[page];
	bool kept = piece->page + page < LEAST_PAGES;

	if (mine != 0 && byte == mine)
		return true;
	return (mine == 0 || !kept) &&
	       written_once(piece->file, (piece->page + page) * PAGE + i, byte);
}

static void look_at(struct piece *piece, size_t page)
{
	unsigned char seen[PAGE];
	int fault = copy_guarded(seen, piece->p + page * PAGE, PAGE);

	if (fault != 0) {
		if (fault != SIGBUS || piece->page + page < LEAST_PAGES)
			contradicted(piece, page, "fault", fault);
		piece->mine[page] = 0;
		return;
	}
	for (size_t i = (size_t)draw(37); i < PAGE; i += 37) {
		if (!byte_allowed(piece, page, i, seen[i])) {
			contradicted(piece, page, "byte", seen[i]);
			return;
		}
	}
}

static void store_to(struct piece *piece, size_t page)
{
	unsigned char bytes[PAGE];

	memset(bytes, (int)(1 + draw(255)), PAGE);
	if (copy_guarded(piece->p + page * PAGE, bytes, PAGE) == 0)
		piece->mine[page] = bytes[0];
	else if (piece->page + page < LEAST_PAGES)
		contradicted(piece, page, "fault at a store", 0);
}

static void use_piece(struct piece *piece)
{
	size_t page = (size_t)draw((int64_t)piece->pages);

	if (one_in(4)) {
		munmap(piece->p, piece->pages * PAGE);
		piece->p = NULL;
	} else if (piece->writable && one_in(3)) {
		store_to(piece, page);
	} else {
		look_at(piece, page);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int free_run(uint64_t seed, double seconds)
{
	static struct runner runner;
	double end = now() + seconds;
	long steps = 0;
	pid_t other;

	self = &runner;
	self->random = seed;
	if (!make_files()) {
		perror("differ: files");
		return 99;
	}
	other = start_disturbing();
	self->random = seed + 1;
	for (; (steps % 256 != 0 || now() < end) && common->wrong < 10; steps++) {
		struct piece *piece = &pieces[draw(PIECES)];

		if (piece->p == NULL)
			begin_piece(piece);
		else
			use_piece(piece);
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	printf("%ld steps\n", steps);
	return common->wrong != 0 ? 3 : 0;
}
