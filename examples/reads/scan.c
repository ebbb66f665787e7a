/* scan: go through a file in requests of a given size, by read or by a mapping of the whole file.
 *
 *   scan [-c] [-l LABEL] read|mmap fgrep|md5 SIZE FILE...
 *
 * fgrep counts the lines that hold NEEDLE, md5 computes the sum. -c: cold, the file is dropped from
 * memory first (posix_fadvise, for which it must have been written out). A request is a read of
 * SIZE bytes, or as many of the mapping.
 *
 * Prints the results, and to standard error one tab-separated row a FILE: LABEL, how, what, cold or
 * warm, SIZE, seconds, MB/s. */

#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NEEDLE "mapfast"

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "scan: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* fgrep: how much of the needle the bytes before this one were. No letter comes twice in it, so a
 * mismatch can only begin it anew. */
static struct {
	size_t matched;
	bool hit;
	long lines;
} fgrep;

static void fgrep_add(const unsigned char *p, size_t size)
{
	static const char needle[] = NEEDLE;
	for (size_t i = 0; i < size; i++) {
		if (p[i] == (unsigned char)needle[fgrep.matched])
			fgrep.matched++;
		else
			fgrep.matched = p[i] == (unsigned char)needle[0];
		if (fgrep.matched == sizeof needle - 1) {
			fgrep.hit = true;
			fgrep.matched = 0;
		}
		if (p[i] == '\n') {
			fgrep.lines += fgrep.hit;
			fgrep.hit = false;
		}
	}
}

/* MD5, RFC 1321. */
static struct {
	uint32_t state[4], sine[64];
	unsigned char block[64];
	uint64_t bytes;
} md5;

static void md5_begin(void)
{
	static const uint32_t first[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	memcpy(md5.state, first, sizeof first);
	for (int i = 0; i < 64; i++)
		md5.sine[i] = (uint32_t)floor(fabs(sin(i + 1.0)) * 4294967296.0);
	md5.bytes = 0;
}

static void md5_block(const unsigned char *p)
{
	static const int turn[4][4] = {
		{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
	uint32_t x[16], a = md5.state[0], b = md5.state[1], c = md5.state[2], d = md5.state[3];
	for (size_t i = 0; i < 16; i++)
		x[i] = (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 |
		       (uint32_t)p[4 * i + 2] << 16 | (uint32_t)p[4 * i + 3] << 24;
#pragma GCC unroll 64
	for (int i = 0; i < 64; i++) {
		uint32_t f;
		int k;
		if (i < 16)
			f = (b & c) | (~b & d), k = i;
		else if (i < 32)
			f = (b & d) | (c & ~d), k = 5 * i + 1;
		else if (i < 48)
			f = b ^ c ^ d, k = 3 * i + 5;
		else
			f = c ^ (b | ~d), k = 7 * i;
		f += a + md5.sine[i] + x[k % 16];
		a = d;
		d = c;
		c = b;
		b += f << turn[i / 16][i % 4] | f >> (32 - turn[i / 16][i % 4]);
	}
	md5.state[0] += a;
	md5.state[1] += b;
	md5.state[2] += c;
	md5.state[3] += d;
}

static void md5_add(const unsigned char *p, size_t size)
{
	size_t held = md5.bytes % 64;
	md5.bytes += size;
	if (held > 0) {
		const size_t part = size < 64 - held ? size : 64 - held;
		memcpy(md5.block + held, p, part);
		if (held + part < 64)
			return;
		md5_block(md5.block);
		p += part;
		size -= part;
	}
	for (; size >= 64; p += 64, size -= 64)
		md5_block(p);
	memcpy(md5.block, p, size);
}

static void md5_end(void)
{
	const uint64_t bits = md5.bytes * 8;
	unsigned char tail[72] = {0x80}, length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> 8 * i);
	md5_add(tail, (119 - md5.bytes % 64) % 64 + 1);
	md5_add(length, sizeof length);
}

typedef void add_function(const unsigned char *p, size_t size);

static void by_read(int fd, size_t size, add_function *add)
{
	unsigned char *buffer = malloc(size);
	ssize_t got;
	if (!buffer)
		die("malloc");
	while ((got = read(fd, buffer, size)) > 0)
		add(buffer, (size_t)got);
	if (got < 0)
		die("read");
	free(buffer);
}

static void by_mapping(int fd, size_t size, add_function *add, size_t all)
{
	const unsigned char *p = mmap(NULL, all, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		die("mmap");
	for (size_t at = 0; at < all; at += size)
		add(p + at, size < all - at ? size : all - at);
	munmap((void *)p, all);
}

int main(int argc, char **argv)
{
	const char *label = "run";
	bool cold = false;
	for (int option; (option = getopt(argc, argv, "cl:")) != -1;)
		switch (option) {
		case 'c':
			cold = true;
			break;
		case 'l':
			label = optarg;
			break;
		default:
			return 2;
		}
	if (argc - optind < 4) {
		fputs("usage: scan [-c] [-l LABEL] read|mmap fgrep|md5 SIZE FILE...\n", stderr);
		return 2;
	}
	const char *how = argv[optind], *what = argv[optind + 1];
	const bool search = strcmp(what, "fgrep") == 0;
	const size_t size = strtoul(argv[optind + 2], NULL, 0);
	for (char **file = argv + optind + 3; *file; file++) {
		struct stat st;
		const int fd = open(*file, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) != 0 || size == 0)
			die(*file);
		if (cold && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
			die("posix_fadvise");
		memset(&fgrep, 0, sizeof fgrep);
		md5_begin();
		const double began = now();
		if (strcmp(how, "mmap") == 0)
			by_mapping(fd, size, search ? fgrep_add : md5_add, (size_t)st.st_size);
		else
			by_read(fd, size, search ? fgrep_add : md5_add);
		const double took = now() - began;
		close(fd);
		if (search) {
			printf("%ld\n", fgrep.lines);
		} else {
			md5_end();
			for (int i = 0; i < 16; i++)
				printf("%02x", md5.state[i / 4] >> 8 * (i % 4) & 255);
			puts("");
		}
		fprintf(stderr, "%s\t%s\t%s\t%s\t%zu\t%.6f\t%.1f\n", label, how, what,
			cold ? "cold" : "warm", size, took, (double)st.st_size / 1e6 / took);
	}
	return 0;
}
