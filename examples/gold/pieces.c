/* pieces: read a file the way a piecemeal linker does: 8 KiB at a time, each piece a mapping of its
 * own that stays.
 *
 *   pieces FILE SUM
 *
 * Maps the pieces in a scattered order, in rounds of at most LIVE mappings, adds up their bytes,
 * and writes the sum to the file SUM. */

#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 8192, LIVE = 20000, PASSES = 3 };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "pieces: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	return b ? gcd(b, a % b) : a;
}

int main(int argc, char **argv)
{
	static struct {
		unsigned char *bytes;
		size_t size;
	} live[LIVE];
	struct stat st;
	if (argc != 3) {
		fputs("usage: pieces FILE SUM\n", stderr);
		return 2;
	}
	const int fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		die(argv[1]);
	const uint64_t size = (uint64_t)st.st_size, pieces = (size + PIECE - 1) / PIECE;
	if (pieces == 0) {
		errno = EINVAL;
		die(argv[1]);
	}
	/* A stride prime to the number of pieces comes to each of them once. */
	uint64_t stride = pieces * 5 / 8 + 1;
	while (gcd(stride, pieces) != 1)
		stride++;

	uint64_t sum = 0, place = 0;
	for (uint64_t done = 0; done < pieces * PASSES;) {
		size_t count = 0;
		for (; count < LIVE && done < pieces * PASSES;
		     count++, done++, place = (place + stride) % pieces) {
			const uint64_t offset = place * PIECE;
			live[count].size = size - offset < PIECE ? (size_t)(size - offset) : PIECE;
			live[count].bytes = mmap(NULL, live[count].size, PROT_READ, MAP_PRIVATE, fd,
						 (off_t)offset);
			if (live[count].bytes == MAP_FAILED)
				die("mmap");
			for (size_t i = 0; i < live[count].size; i++)
				sum = sum * 31 + live[count].bytes[i];
		}
		while (count--)
			if (munmap(live[count].bytes, live[count].size) != 0)
				die("munmap");
	}
	FILE *out = fopen(argv[2], "w");
	if (!out)
		die(argv[2]);
	fprintf(out, "%016llx\n", (unsigned long long)sum);
	if (fclose(out) != 0)
		die(argv[2]);
	return 0;
}
