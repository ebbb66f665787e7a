/* gc: a mark-and-sweep garbage collector that gets its heap from the kernel chunk by chunk.
 *
 *   gc [-r ROUNDS] MEGABYTES PAGES
 *
 * A chunk is PAGES pages, an mmap of its own, and holds objects of one size; one that has no live
 * object left is unmapped: as in GCC's ggc-page.c, and in many others of its age. The mutator keeps
 * MEGABYTES of objects alive in lists of some kilobytes, and in each round gives up a third of the
 * lists, at random, builds others, and collects.
 *
 * Prints what was done, and a sum over what is alive in the end. */

#define _GNU_SOURCE 1
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CLASSES = 4, SMALLEST = 32, LIST = 6000 };

struct object {
	struct object *next; /* of its list; of the free ones */
	uint32_t value;
	bool used, marked;
};

struct chunk {
	struct chunk *next; /* of its class */
	size_t size;        /* of an object */
	size_t count;
	char *at;
};

/* A class's chunks and free objects. */
static struct {
	struct chunk *chunks;
	struct object *free;
} class[CLASSES];
static size_t chunk_size;
static long maps, unmaps, refused;
static uint64_t seed = 88172645463325252u;

_Static_assert(sizeof(struct object) <= SMALLEST, "the smallest object holds what all need");

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct object *object(const struct chunk *chunk, size_t i)
{
	return (struct object *)(chunk->at + i * chunk->size);
}

static void make_free(int kind, struct object *o)
{
	o->used = false;
	o->next = class[kind].free;
	class[kind].free = o;
}

/* A new chunk; its first object, the others are free. */
static struct object *more(int kind)
{
	struct chunk *chunk = malloc(sizeof *chunk);
	char *at =
		mmap(NULL, chunk_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!chunk || at == MAP_FAILED) {
		fprintf(stderr, "gc: %s after %ld mmaps and %ld munmaps\n", strerror(errno), maps,
			unmaps);
		exit(1);
	}
	maps++;
	*chunk = (struct chunk){.next = class[kind].chunks,
				.size = (size_t)SMALLEST << kind,
				.count = chunk_size / ((size_t)SMALLEST << kind),
				.at = at};
	class[kind].chunks = chunk;
	for (size_t i = chunk->count; --i > 0;)
		make_free(kind, object(chunk, i));
	return object(chunk, 0);
}

static struct object *allocate(int kind)
{
	struct object *o = class[kind].free;
	if (o)
		class[kind].free = o->next;
	else
		o = more(kind);
	o->used = true;
	o->marked = false;
	return o;
}

static struct object *build_list(void)
{
	const int kind = (int)(draw() % CLASSES);
	struct object *list = NULL;
	for (size_t left = LIST / ((size_t)SMALLEST << kind); left > 0; left--) {
		struct object *o = allocate(kind);
		o->value = (uint32_t)draw();
		o->next = list;
		list = o;
	}
	return list;
}

static bool has_live(const struct chunk *chunk)
{
	for (size_t i = 0; i < chunk->count; i++)
		if (object(chunk, i)->used && object(chunk, i)->marked)
			return true;
	return false;
}

/* The free list is made anew: it led through chunks that go. */
static void sweep(int kind)
{
	class[kind].free = NULL;
	for (struct chunk **link = &class[kind].chunks, *chunk; (chunk = *link);) {
		if (!has_live(chunk)) {
			if (munmap(chunk->at, chunk_size) == 0) {
				unmaps++;
				*link = chunk->next;
				free(chunk);
				continue;
			}
			refused++; /* no mapping is left to split one: it stays */
		}
		for (size_t i = chunk->count; i-- > 0;) {
			struct object *o = object(chunk, i);
			if (!o->used || !o->marked)
				make_free(kind, o);
			o->marked = false;
		}
		link = &chunk->next;
	}
}

static void collect(struct object **root, size_t roots)
{
	for (size_t i = 0; i < roots; i++)
		for (struct object *o = root[i]; o; o = o->next)
			o->marked = true;
	for (int kind = 0; kind < CLASSES; kind++)
		sweep(kind);
}

int main(int argc, char **argv)
{
	long rounds = 3;
	for (int option; (option = getopt(argc, argv, "r:")) != -1;) {
		if (option != 'r')
			return 2;
		rounds = strtol(optarg, NULL, 0);
	}
	if (argc - optind != 2) {
		fputs("usage: gc [-r ROUNDS] MEGABYTES PAGES\n", stderr);
		return 2;
	}
	const size_t roots = strtoul(argv[optind], NULL, 0) * 1000000 / LIST;
	chunk_size = strtoul(argv[optind + 1], NULL, 0) * (size_t)sysconf(_SC_PAGESIZE);
	/* Pointers are what it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	struct object **root = calloc(roots, sizeof(*root));
	if (!root)
		return 1;
	for (size_t i = 0; i < roots; i++)
		root[i] = build_list();
	for (long round = 0; round < rounds; round++) {
		/* First give up, then build: the new lists fill the gaps of the old ones. */
		for (size_t i = 0; i < roots; i++)
			if (draw() % 3 == 0)
				root[i] = NULL;
		collect(root, roots);
		for (size_t i = 0; i < roots; i++)
			if (!root[i])
				root[i] = build_list();
	}
	collect(root, roots);
	uint32_t sum = 0;
	for (size_t i = 0; i < roots; i++)
		for (struct object *o = root[i]; o; o = o->next)
			sum = sum * 31 + o->value;
	free(root);
	printf("%ld mmaps, %ld munmaps and %ld refused, sum %08x\n", maps, unmaps, refused, sum);
	return 0;
}
