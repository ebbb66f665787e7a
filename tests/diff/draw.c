/* Random operands, of several distributions, which the seed chooses: each reaches other branches.
 */
#include "differ.h"

#include <sys/mman.h>

#define MOST_OPERATIONS 64

/* What the seed likes. */
static struct {
	unsigned int operations[MOST_OPERATIONS];
	int big_files;  /* one file in so many is of more than 2 MiB */
	int long_maps;  /* one mapping in so many is long */
	int wrong;      /* one operand in so many makes no sense */
	bool few_pages; /* the same few pages of the file again and again */
	bool writes;    /* most mappings are writable */
} likes;

void draw_seed(uint64_t seed)
{
	self->random = seed * 0x9e3779b97f4a7c15U + 12345;
	for (int i = 0; i < MOST_OPERATIONS; i++)
		likes.operations[i] = (unsigned int)draw_of(6, 0, 2, 2, 2, 2, 8);
	likes.big_files = (int)draw_of(3, 2, 6, 1000);
	likes.long_maps = (int)draw_of(3, 4, 15, 100);
	likes.wrong = (int)draw_of(3, 10, 40, 400);
	likes.few_pages = one_in(3);
	likes.writes = one_in(2);
	/* Nothing comes of a run that maps or opens nothing. */
	for (int i = 0; operations[i].name != NULL; i++) {
		if ((operations[i].run == run_map || operations[i].run == run_open ||
		     operations[i].run == run_pwrite || operations[i].run == run_load) &&
		    likes.operations[i] == 0)
			likes.operations[i] = 2;
	}
}

unsigned int draw_liking(size_t operation)
{
	return likes.operations[operation];
}

bool draw_phase(struct line *ret_line)
{
	return false;
}

/* Some tries for a live one, or a dead one; else any of ours. */
int64_t draw_slot(bool live)
{
	int n = self->end_slot - self->first_slot;
	int64_t slot = 0;

	for (int i = 0; i < 20; i++) {
		slot = self->first_slot + draw(n);
		if (slot_dead(&slots[slot]) != live)
			break;
	}
	return slot;
}

int64_t draw_fd(void)
{
	int64_t fd = draw(FDS);

	if (one_in(likes.wrong))
		return draw_of(3, -1, 100, (int)fd);
	for (int i = 0; i < 10 && !fds[fd].open; i++)
		fd = draw(FDS);
	return fd;
}

size_t draw_pages(void)
{
	if (one_in(likes.long_maps))
		return (size_t)(1 + draw(one_in(8) ? 700 : 80));
	return (size_t)draw_of(8, 1, 1, 1, 1, 2, 2, 3, 8);
}

int64_t draw_bytes(void)
{
	int64_t pages = one_in(likes.big_files) ? 500 + draw(390) : 1 + draw(one_in(3) ? 100 : 20);

	return pages * (int64_t)PAGE + (one_in(2) ? 0 : draw(PAGE) - (int64_t)PAGE / 2);
}

int64_t draw_offset(void)
{
	if (one_in(likes.wrong))
		return draw_of(4, -4096, 1, -1, 4095);
	if (likes.few_pages)
		return draw(4) * (int64_t)PAGE;
	return draw(draw_of(4, 4, 20, 20, 110)) * (int64_t)PAGE +
	       (one_in(likes.big_files) ? draw(800) * (int64_t)PAGE : 0);
}

int64_t draw_prot(void)
{
	if (one_in(12))
		return draw_of(4, PROT_NONE, PROT_WRITE, PROT_READ | PROT_EXEC,
			       PROT_READ | PROT_WRITE | PROT_EXEC);
	if (likes.writes && !one_in(4))
		return PROT_READ | PROT_WRITE;
	return one_in(3) ? PROT_READ | PROT_WRITE : PROT_READ;
}

/* The whole slot, its head, its tail, its middle; now and then an odd length, or too much. */
void draw_range(int64_t *slot, int64_t *page, int64_t *length)
{
	int64_t pages;
	int64_t count;

	*slot = draw_slot(!one_in(likes.wrong));
	*page = 0;
	*length = (int64_t)PAGE;
	pages = (int64_t)slots[*slot].pages;
	if (pages == 0)
		return;
	count = pages;
	if (pages > 1 && one_in(2)) {
		count = 1 + draw(pages - 1);
		*page = draw_of(3, 0, (int)(pages - count), (int)draw(pages - count + 1));
	}
	*length = count * (int64_t)PAGE;
	if (one_in(10))
		*length -= draw(PAGE);
	if (one_in(likes.wrong))
		*length = draw_of(4, 0, 1, -4096, 1 << 30);
}
