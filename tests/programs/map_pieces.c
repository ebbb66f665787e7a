/* Maps pieces of a file at random, private and shared, keeps many of them alive, ends them whole,
 * in part and several at once, and checks every byte: argv[1] a folder, argv[2] a seed, argv[3] the
 * number of steps. */
#include "map_common.h"

#define SLOTS 200
#define FILE_BYTES (3 * 1024 * 1024 + 1234)

struct piece {
	unsigned char *p;
	size_t length;
	uint64_t offset;
};

static struct piece pieces[SLOTS];

static uint64_t sum(const struct piece *piece)
{
	uint64_t total = piece->length;

	for (size_t i = 0; i < piece->length && piece->offset + i < FILE_BYTES; i += 97)
		total = total * 31 + piece->p[i];
	return total;
}

static bool overlaps(const struct piece *a, const struct piece *b)
{
	size_t la = (a->length + PAGE - 1) & ~(PAGE - 1);
	size_t lb = (b->length + PAGE - 1) & ~(PAGE - 1);

	return a->p < b->p + lb && b->p < a->p + la;
}

static bool in_order(const struct piece *piece)
{
	size_t end = piece->offset + piece->length;
	size_t n = end > FILE_BYTES ? FILE_BYTES - piece->offset : piece->length;

	for (int i = 0; i < SLOTS; i++) {
		if (&pieces[i] != piece && pieces[i].p != NULL && overlaps(&pieces[i], piece))
			return false;
	}
	return bytes_are(piece->p, n, 1, piece->offset);
}

/* The whole, its head, its tail, or its middle. */
static void end_piece(struct piece *piece, unsigned int how)
{
	size_t pages = (piece->length + PAGE - 1) / PAGE;
	size_t some = pages > 1 ? 1 + how / 8 % (pages - 1) : 0;

	if (how % 4 == 0 && some > 0) {
		munmap(piece->p, some * PAGE);
		piece->p += some * PAGE;
		piece->offset += some * PAGE;
		piece->length -= some * PAGE;
		return;
	}
	if (how % 4 == 1 && some > 0) {
		munmap(piece->p + some * PAGE, piece->length - some * PAGE);
		piece->length = some * PAGE;
		return;
	}
	munmap(piece->p, piece->length);
	piece->p = NULL;
}

/* Ends what lies behind the last page of the file. */
static void cut_at_end(struct piece *piece)
{
	size_t left = FILE_BYTES - piece->offset;
	size_t pages = (left + PAGE - 1) & ~(PAGE - 1);

	if (piece->length > pages)
		munmap(piece->p + pages, piece->length - pages);
	piece->length = left;
}

int main(int argc, char **argv)
{
	uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	long steps = argc > 3 ? atol(argv[3]) : 20000;
	uint64_t total = 0;
	char name[4096];
	int wrong = 0;
	int fd;

	snprintf(name, sizeof(name), "%s/pieces", argv[1]);
	fd = make_file(name, 1, FILE_BYTES);
	for (long i = 0; i < steps; i++) {
		struct piece *piece = &pieces[next_random(&random) % SLOTS];

		if (piece->p != NULL) {
			wrong += !in_order(piece);
			end_piece(piece, next_random(&random));
			continue;
		}
		piece->offset = next_random(&random) % (FILE_BYTES / PAGE) * PAGE;
		piece->length = next_random(&random) % (20 * PAGE) + 1;
		piece->p = mmap(NULL, piece->length, PROT_READ,
				next_random(&random) % 2 ? MAP_PRIVATE : MAP_SHARED, fd,
				(off_t)piece->offset);
		if (piece->p == MAP_FAILED) {
			piece->p = NULL;
			wrong++;
			continue;
		}
		if (piece->offset + piece->length > FILE_BYTES)
			cut_at_end(piece);
		total = total * 31 + sum(piece);
	}
	close(fd);
	for (int i = 0; i < SLOTS; i++) {
		if (pieces[i].p != NULL) {
			wrong += !in_order(&pieces[i]);
			total = total * 31 + sum(&pieces[i]);
			munmap(pieces[i].p, pieces[i].length);
		}
	}
	printf("%d wrong, sum %llu\n", wrong, (unsigned long long)total);
	return wrong != 0;
}
