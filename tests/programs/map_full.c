/* Shared writable mappings of a sparse file where the disk is too small for it: the store that
 * finds no room faults, and no store before it. argv[1]: a folder on a file system of a few pages.
 */
#include "map_common.h"

enum { PIECES = 16, PIECE_PAGES = 4 };
#define ALL ((off_t)(PAGE * PIECE_PAGES * PIECES))

/* One byte into each page of each piece, until there is no room. */
static int fill(int fd, int kind)
{
	int stored = 0;

	for (int i = 0; i < PIECES; i++) {
		unsigned char *p = mmap(NULL, PIECE_PAGES * PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED, fd, (off_t)((size_t)i * PIECE_PAGES * PAGE));

		if (p == MAP_FAILED)
			return -1;
		for (size_t k = 0; k < PIECE_PAGES; k++) {
			int answer = kind == 0 ? poke(p + k * PAGE, 7) : peek(p + k * PAGE);

			stored += answer >= 0;
			if (answer < 0 && answer != -SIGBUS)
				printf("another fault: %d\n", answer);
		}
		munmap(p, PIECE_PAGES * PAGE);
	}
	return stored;
}

int main(int argc, char **argv)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/sparse", argc > 1 ? argv[1] : ".");
	catch_faults();
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOATIME, 0600);
	result("sparse", ftruncate(fd, ALL));
	for (int round = 0; round < 3; round++) {
		result("pages stored", fill(fd, 0));
		result("  and once more", fill(fd, 0));
		result("  room made",
		       fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, ALL));
		result("  pages read", fill(fd, 1));
		result("  room made",
		       fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, ALL));
	}
	close(fd);
	return 0;
}
