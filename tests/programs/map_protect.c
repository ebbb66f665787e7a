/* What a browser's loader, its archive reader and its caches do with mappings: segments of a file
 * laid over a reservation, relocated while writable and then protected again; pieces read, advised
 * and given back in part; a shared file that is frozen. argv: a folder, rounds. */
#include "map_common.h"

enum { PIECES = 64, PIECE_PAGES = 6 };

static char folder[4000];
static uint64_t state = 4711;
static unsigned long sum;

static size_t some(size_t most)
{
	return next_random(&state) % most;
}

static int file_in_folder(const char *name, unsigned int file, size_t pages)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return make_file(path, file, pages * PAGE);
}

static void must(const char *what, bool right)
{
	if (!right) {
		printf("%s: WRONG, %s\n", what, strerrorname_np(errno));
		exit(1);
	}
}

static void protect(unsigned char *p, size_t pages, int prot)
{
	must("mprotect", mprotect(p, pages * PAGE, prot) == 0);
}

/* Reserves by mapping the whole, lays the segments over it, and relocates: every page of the data
 * is written once, and most are read-only ever after. */
static void load(int fd, size_t pages)
{
	size_t text = pages / 2;
	unsigned char *p = mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	unsigned char *data = p + text * PAGE;

	must("reserve", p != MAP_FAILED);
	must("segment", mmap(data, (pages - text) * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_FIXED, fd, (off_t)(text * PAGE)) == data);
	protect(p, text, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < pages; i++)
		p[i * PAGE + 8] ^= 0xff;
	protect(p, text, PROT_READ);
	protect(data, (pages - text) / 2, PROT_READ);
	for (size_t i = 0; i < pages; i++) {
		must("relocated", p[i * PAGE + 8] == (byte_at(1, i * PAGE + 8) ^ 0xff));
		sum += p[i * PAGE + 100];
	}
	must("protected", poke(p + 8, 1) == -SIGSEGV && poke(data, 1) == -SIGSEGV);
	must("unload", munmap(data, (pages - text) * PAGE) == 0 && munmap(p, text * PAGE) == 0);
}

/* One piece of the archive: flipped, advised, given back in parts. */
static void use(unsigned char *p, size_t page)
{
	size_t at = some(PIECE_PAGES);
	unsigned char *q = p + at * PAGE;
	unsigned char kept;

	switch (some(6)) {
	case 0:
		must("advice", madvise(p, PIECE_PAGES * PAGE, MADV_WILLNEED) == 0);
		break;
	case 1:
		must("advice", madvise(q, PAGE, MADV_DONTNEED) == 0);
		break;
	case 2:
		protect(q, 1, PROT_NONE);
		must("hidden", peek(q) == -SIGSEGV);
		protect(q, 1, PROT_READ);
		break;
	case 3:
		protect(q, 1, PROT_READ | PROT_WRITE);
		kept = q[5];
		q[5] = (unsigned char)~kept;
		must("written", q[5] != byte_at(1, (page + at) * PAGE + 5));
		q[5] = kept;
		protect(q, 1, PROT_READ);
		break;
	case 4:
		must("advice", madvise(p, PIECE_PAGES * PAGE, MADV_RANDOM) == 0);
		break;
	default:
		break;
	}
	must("bytes", bytes_are(q, 64, 1, (page + at) * PAGE));
	sum += q[64];
}

static void archive(int fd, size_t pages)
{
	unsigned char *piece[PIECES];
	size_t page[PIECES];

	for (int i = 0; i < PIECES; i++) {
		page[i] = some(pages - PIECE_PAGES);
		piece[i] = mmap(NULL, PIECE_PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd,
				(off_t)(page[i] * PAGE));
		must("piece", piece[i] != MAP_FAILED);
	}
	for (int n = 0; n < 2 * PIECES; n++) {
		size_t i = some(PIECES);

		use(piece[i], page[i]);
	}
	for (int i = 0; i < PIECES; i++) {
		unsigned char *p = piece[i];
		size_t cut = 1 + some(PIECE_PAGES - 1);

		must("end", munmap(p + cut * PAGE, (PIECE_PAGES - cut) * PAGE) == 0);
		must("what is left",
		     bytes_are(p + (cut - 1) * PAGE, 64, 1, (page[i] + cut - 1) * PAGE));
		must("end", munmap(p, cut * PAGE) == 0);
	}
}

/* Filled by one who may write, then frozen, and seen by another mapping. */
static void frozen(int fd, size_t pages)
{
	for (size_t i = 0; i + 4 <= pages; i += 4) {
		unsigned char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
					(off_t)(i * PAGE));
		unsigned char *q =
			mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, (off_t)(i * PAGE));

		must("shared", p != MAP_FAILED && q != MAP_FAILED);
		p[7] = (unsigned char)(p[7] + 1);
		protect(p, 4, PROT_READ);
		must("seen", q[7] == p[7]);
		must("frozen", poke(p, 1) == -SIGSEGV);
		sum += q[7];
		must("end", munmap(p, 4 * PAGE) == 0 && munmap(q, 4 * PAGE) == 0);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 3;
	int fd;
	int shared;

	snprintf(folder, sizeof(folder), "%s", argv[1]);
	catch_faults();
	fd = file_in_folder("archive", 1, 300);
	shared = file_in_folder("shared", 2, 64);
	close(shared);
	strcat(folder, "/shared");
	shared = open(folder, O_RDWR);
	for (int i = 0; i < rounds; i++) {
		load(fd, 60);
		archive(fd, 300);
		frozen(shared, 64);
	}
	printf("%d rounds, %lu\n", rounds, sum);
	close(fd);
	close(shared);
	return 0;
}
