/* mremap. */
#include "range.h"

#include <errno.h>
#include <sys/mman.h>

void draw_remap(int64_t *a)
{
	int64_t pages;

	draw_range(&a[0], &a[1], &a[2]);
	pages = (a[2] + (int64_t)PAGE - 1) / (int64_t)PAGE;
	if (one_in(15))
		a[2] = 0;
	a[3] = draw_slot(false);
	a[4] = draw_of(4, (int)pages, (int)pages, (int)(pages + 1 + draw(4)),
		       (int)(pages > 1 ? 1 + draw(pages - 1) : 1)) *
	       (int64_t)PAGE;
	a[5] = draw_of(6, 0, MREMAP_MAYMOVE, MREMAP_MAYMOVE, MREMAP_MAYMOVE,
		       MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (one_in(30))
		a[5] = draw_of(4, MREMAP_FIXED, MREMAP_DONTUNMAP, 8, 64);
	if (one_in(40))
		a[4] = draw_of(2, 0, -4096);
	a[6] = draw_slot(!one_in(3));
	a[7] = slots[a[6]].pages > 0 ? draw((int64_t)slots[a[6]].pages) : 0;
}

static size_t round_up(size_t length)
{
	return (length + PAGE - 1) & ~(PAGE - 1);
}

/* What the range is to mremap: EFAULT if it starts in nothing, ANY if it may be several mappings
 * of the kernel's, else 0. */
static int remap_source(const struct range *r)
{
	const struct page *first = &r->slot->page[r->first];

	if (!page_live(first))
		return EFAULT;
	for (size_t i = r->first; i < r->first + r->count; i++) {
		const struct page *page = &r->slot->page[i];

		/* What becomes of a locked or guarded page's neighbours is not modelled. */
		if (!page_live(page) || page->vma != first->vma || page->locked || page->guard)
			return ANY;
	}
	return first->locked || first->guard ? ANY : 0;
}

/* mm/mremap.c, check_mremap_params and what follows it. */
static int remap_wanted(const struct range *r, const int64_t *a, size_t new_length)
{
	int flags = (int)a[5];
	int source = remap_source(r);

	if ((flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)) || a[4] <= 0)
		return EINVAL;
	if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) && !(flags & MREMAP_MAYMOVE))
		return EINVAL;
	if ((flags & MREMAP_DONTUNMAP) && round_up(r->length) != new_length)
		return EINVAL;
	if (source == 0 && r->length == 0 && !r->slot->page[r->first].shared)
		return EINVAL;
	return source;
}

/* What the pages of the new range are. */
static void remapped(const struct range *r, struct slot *to, char *p, size_t pages)
{
	struct page first = r->slot->page[r->first];
	uint32_t vma = new_vma();

	to->base = p;
	to->pages = pages;
	for (size_t i = 0; i < pages; i++) {
		struct page *page = &to->page[i];

		if (i < r->count) {
			*page = r->slot->page[r->first + i];
			r->slot->page[r->first + i].copy = -1; /* it goes along */
		} else {
			*page = first;
			page->copy = -1;
			page->file_page = first.file_page + (uint32_t)i;
		}
		page->vma = vma;
	}
}

/* A copy that stays behind in pages that a shrinking gives up. */
static void forget_source(const struct range *r, bool stays)
{
	slot_split(r->slot, r->first, r->count);
	for (size_t i = r->first; !stays && i < r->first + r->count; i++)
		page_kill(&r->slot->page[i]);
}

/* It may grow where it stands, or not: whether it does is not the program's to know. So it is made
 * as small again as it was. */
static void grow_in_place(const struct range *r, size_t new_length)
{
	size_t old = round_up(r->length);
	void *p = mremap(r->addr, r->length, new_length, 0);

	if (p == MAP_FAILED) {
		outcome(errno == ENOMEM ? 0 : errno, 0);
		return;
	}
	if (p != r->addr)
		wrong("it has moved");
	munmap(r->addr + old, new_length - old);
	outcome(0, 0);
}

static void move(const struct range *r, const int64_t *a, size_t new_length, const struct target *t,
		 int wanted)
{
	struct slot *to = &slots[a[3]];
	int flags = (int)a[5];
	char *target = NULL;
	char *p;

	if (t != NULL)
		target = t->slot->base + t->first * PAGE;
	if (t != NULL && !t->clear && wanted == 0) {
		unmap_live(t);
		flags &= ~MREMAP_FIXED;
	}
	p = mremap(r->addr, r->length, a[4] < 0 ? (size_t)a[4] : new_length, flags, target);
	outcome(p == MAP_FAILED ? errno : 0, wanted);
	if (p == MAP_FAILED)
		return;
	if (t != NULL) {
		slot_split(t->slot, t->first, t->count);
		kill_range(t->slot, t->first, t->count);
	}
	remapped(r, to, p, new_length / PAGE);
	forget_source(r, r->length == 0 || (flags & MREMAP_DONTUNMAP));
	if (overlaps_live(to))
		wrong("it has a page in common with another");
}

/* In one slot, the target must not reach into the source. (Where dead pages of another slot lie now
 * differs; t->clear tells.) */
static bool targets_apart(const struct range *r, const struct target *t)
{
	size_t count = r->count > 0 ? r->count : 1;

	return t->slot != r->slot || t->first + t->count <= r->first ||
	       r->first + count <= t->first;
}

/* Whether a range that is dead is something else here: another slot's, or the target's. */
static bool taken(const struct range *r, const struct target *t)
{
	const char *low = t != NULL ? t->slot->base + t->first * PAGE : NULL;

	if (!r->clear || occupant(r->slot, r->addr) != NULL)
		return true;
	return t != NULL && low < r->addr + round_up(r->length) && r->addr < low + t->count * PAGE;
}

void run_remap(const int64_t *a)
{
	int64_t source[4] = {a[0], a[1], a[2], 0};
	size_t new_length = a[4] > 0 ? round_up((size_t)a[4]) : 0;
	struct range r;
	struct target t;
	bool fixed = (a[5] & MREMAP_FIXED) && a[4] > 0;
	int wanted;

	if (!range_of(source, &r) || r.huge || !is_ours(a[3]) || a[3] == a[0] ||
	    new_length > SLOT_PAGES * PAGE || !slot_dead(&slots[a[3]]) ||
	    (a[2] != 0 && r.length != (size_t)a[2]) ||
	    (fixed && (a[6] == a[3] || !target_of(a[6], a[7], new_length / PAGE, &t) ||
		       !targets_apart(&r, &t)))) {
		say(" left out");
		return;
	}
	wanted = remap_wanted(&r, a, new_length);
	if (wanted == ANY)
		say(" left out");
	else if (wanted == EFAULT && taken(&r, fixed ? &t : NULL))
		outcome(EFAULT, EFAULT);
	else if (wanted == 0 && a[5] == 0 && new_length > round_up(r.length) && r.length > 0)
		grow_in_place(&r, new_length);
	else if (wanted == 0 && r.length == 0 && !(a[5] & MREMAP_MAYMOVE))
		say(" left out");
	else
		move(&r, a, new_length, fixed ? &t : NULL, wanted);
}
