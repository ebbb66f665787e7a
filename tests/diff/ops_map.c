/* Operations that make and end mappings. */
#include "range.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

/*
 * map
 */

enum how { HOW_ANYWHERE, HOW_HINT, HOW_FIXED, HOW_NOREPLACE };

void draw_map(int64_t *a)
{
	a[0] = draw_slot(false);
	a[1] = draw_fd();
	a[2] = draw_offset();
	a[3] = (int64_t)(draw_pages() * PAGE);
	if (one_in(12))
		a[3] = draw_of(5, 1, 100, 5000, 0, (int)a[3] - 17);
	a[4] = draw_prot();
	a[5] = one_in(2) ? MAP_PRIVATE : MAP_SHARED;
	if (one_in(10))
		a[5] |= draw_of(4, MAP_POPULATE, MAP_NORESERVE, MAP_POPULATE | MAP_NORESERVE,
				MAP_ANONYMOUS);
	if (one_in(50))
		a[5] = draw_of(4, 0, MAP_SHARED_VALIDATE, MAP_PRIVATE | MAP_LOCKED,
			       MAP_SHARED | MAP_POPULATE | MAP_NONBLOCK);
	a[6] = one_in(10) ? draw_of(4, HOW_HINT, HOW_FIXED, HOW_FIXED, HOW_NOREPLACE) : 0;
	/* It validates this flag as well, and does not know it. */
	if (a[6] == HOW_NOREPLACE && (a[5] & MAP_TYPE) == MAP_SHARED_VALIDATE)
		a[5] = MAP_SHARED;
	a[7] = draw_slot(!one_in(3));
	a[8] = slots[a[7]].pages > 0 ? draw((int64_t)slots[a[7]].pages) : 0;
}

/* What mmap must answer (mm/mmap.c, do_mmap), placement apart. */
static int map_wanted(const int64_t *a, size_t length)
{
	bool anonymous = a[5] & MAP_ANONYMOUS;
	const struct description *d = fd_description(a[1]);
	int type = (int)a[5] & MAP_TYPE;

	if ((a[2] & (int64_t)(PAGE - 1)) != 0)
		return EINVAL;
	if (!anonymous && d == NULL)
		return EBADF;
	if (length == 0)
		return EINVAL;
	if (!anonymous && a[2] < 0)
		return EOVERFLOW;
	if (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE)
		return EINVAL;
	if (anonymous)
		return type == MAP_SHARED_VALIDATE ? EINVAL : 0;
	if (type != MAP_PRIVATE && (a[4] & PROT_WRITE) && !fd_can_write(d))
		return EACCES;
	return fd_can_read(d) ? 0 : EACCES;
}

static void fill_page(struct page *page, const int64_t *a, size_t i, int inode, uint32_t vma)
{
	const struct description *d = fd_description(a[1]);
	bool shared = (a[5] & MAP_TYPE) != MAP_PRIVATE;
	bool anonymous = a[5] & MAP_ANONYMOUS;

	*page = (struct page){
		.kind = anonymous && !shared ? PAGE_ANONYMOUS : PAGE_FILE,
		.prot = (uint8_t)a[4],
		.shared = shared,
		.may_write = !shared || anonymous || fd_can_write(d),
		.locked = a[5] & MAP_LOCKED,
		.inode = (int8_t)inode,
		.file_page = (uint32_t)((anonymous ? 0 : a[2] / (int64_t)PAGE) + (int64_t)i),
		.vma = vma,
		.copy = -1,
	};
}

/* The inode behind a new mapping; -1 if it needs none, -2 if there is none left. */
static int inode_behind(const int64_t *a, size_t pages)
{
	int inode;

	if (!(a[5] & MAP_ANONYMOUS))
		return common->descriptions[fds[a[1]].description].inode;
	if ((a[5] & MAP_TYPE) == MAP_PRIVATE)
		return -1;
	inode = self->by == BY_THREAD ? -1 : inode_new();
	if (inode < 0)
		return -2;
	inode_at(inode)->anonymous = true;
	inode_at(inode)->size = (int64_t)(pages * PAGE);
	return inode;
}

static void mapped(struct slot *slot, void *p, size_t pages, const int64_t *a, int inode)
{
	uint32_t vma = new_vma();

	slot->base = p;
	slot->pages = pages;
	for (size_t i = 0; i < pages; i++)
		fill_page(&slot->page[i], a, i, inode, vma);
	if ((a[5] & MAP_LOCKED) || (a[5] & (MAP_POPULATE | MAP_NONBLOCK)) == MAP_POPULATE)
		populate(slot, 0, pages, false);
	if (overlaps_live(slot))
		wrong("it has a page in common with another");
}

static int flags_of(enum how how)
{
	return how == HOW_FIXED ? MAP_FIXED : how == HOW_NOREPLACE ? MAP_FIXED_NOREPLACE : 0;
}

static void map_at(const int64_t *a, struct slot *slot, size_t length, const struct target *t)
{
	size_t pages = (length + PAGE - 1) / PAGE;
	enum how how = t == NULL ? HOW_ANYWHERE : (enum how)a[6];
	int wanted = map_wanted(a, length);
	int inode = wanted == 0 ? inode_behind(a, pages) : -1;
	int fd = fd_description(a[1]) != NULL ? fds[a[1]].number : a[1] < 0 ? -1 : 9999;
	char *addr = t != NULL ? t->slot->base + t->first * PAGE : NULL;
	void *p;

	if (inode == -2) {
		say(" left out");
		return;
	}
	/* It looks for what is in the way before it looks at what is wanted there. */
	if (how == HOW_NOREPLACE && t->live && (a[2] & (int64_t)(PAGE - 1)) == 0 && wanted != EBADF)
		wanted = EEXIST;
	if ((how == HOW_FIXED || how == HOW_NOREPLACE) && !t->clear && wanted != EEXIST) {
		if (how == HOW_FIXED && wanted == 0)
			unmap_live(t);
		how = HOW_ANYWHERE;
		addr = NULL;
	}
	p = mmap(addr, length, (int)a[4], (int)a[5] | flags_of(how),
		 (a[5] & MAP_ANONYMOUS) ? -1 : fd, (off_t)a[2]);
	outcome(p == MAP_FAILED ? errno : 0, wanted);
	if (p == MAP_FAILED)
		return;
	if ((how == HOW_FIXED || how == HOW_NOREPLACE) && p != addr)
		wrong("it lies elsewhere");
	if (a[6] == HOW_FIXED && t != NULL) {
		slot_split(t->slot, t->first, t->count);
		kill_range(t->slot, t->first, t->count);
	}
	mapped(slot, p, pages, a, inode);
}

void run_map(const int64_t *a)
{
	size_t length = a[3] < 0 ? 0 : (size_t)a[3];
	size_t pages = (length + PAGE - 1) / PAGE;
	struct target t;
	bool has_target;

	/* An off_t of 32 bits counts as unsigned here, and nowhere else. */
	if ((sizeof(off_t) < sizeof(int64_t) && a[2] < 0) || !is_ours(a[0]) ||
	    !slot_dead(&slots[a[0]]) || pages > SLOT_PAGES ||
	    (self->by == BY_THREAD && a[6] != HOW_ANYWHERE && a[6] != HOW_HINT)) {
		say(" left out");
		return;
	}
	has_target = a[6] != HOW_ANYWHERE && a[7] != a[0] && length > 0 &&
		     target_of(a[7], a[8], pages, &t);
	map_at(a, &slots[a[0]], length, has_target ? &t : NULL);
}

/*
 * unmap
 */

static int call_unmap(void *addr, size_t length, int how)
{
	(void)how;
	return munmap(addr, length);
}

void draw_unmap(int64_t *a)
{
	draw_range(&a[0], &a[1], &a[2]);
	a[3] = one_in(100) ? 1 + draw(4095) : 0;
}

void run_unmap(const int64_t *a)
{
	struct operation_on o = {.call = call_unmap};
	struct range r;

	if (!range_of(a, &r)) {
		say(" left out");
		return;
	}
	if (r.skew != 0 || r.length == 0 || r.huge)
		o.wanted = EINVAL;
	else
		o.done = r.count;
	operate(&r, &o);
	if (o.wanted == 0)
		kill_range(r.slot, r.first, r.count);
}

void draw_unmap_many(int64_t *a)
{
	a[0] = draw_slot(true);
	a[1] = 2 + draw(6);
}

/* Whether every page in between is one of ours that is going, or one of ours that is dead. */
static bool nobody_between(const char *low, const char *high, int first, int end)
{
	if ((size_t)(high - low) > 4096 * PAGE)
		return false;
	for (const char *p = low; p < high; p += PAGE) {
		const struct slot *in = occupant(NULL, p);
		bool known = in != NULL && in - slots >= first && in - slots < end;

		for (int i = 0; i < SLOTS && in == NULL && !known; i++)
			known = p >= slots[i].base && p < slots[i].base + slots[i].pages * PAGE;
		if (!known)
			return false;
	}
	return true;
}

static void unmap_slot(struct slot *slot)
{
	struct target t = {.slot = slot, .count = slot->pages};

	unmap_live(&t);
}

/* Several slots in one call, if they lie together in this world. */
void run_unmap_many(const int64_t *a)
{
	int first = (int)a[0];
	int end = first + (int)a[1] < self->end_slot ? first + (int)a[1] : self->end_slot;
	char *low = NULL;
	char *high = NULL;

	if (!is_ours(first)) {
		say(" left out");
		return;
	}
	for (int i = first; i < end; i++) {
		char *slot_end = slots[i].base + slots[i].pages * PAGE;

		if (slot_dead(&slots[i]))
			continue;
		low = low == NULL || slots[i].base < low ? slots[i].base : low;
		high = slot_end > high ? slot_end : high;
	}
	if (low != NULL && nobody_between(low, high, first, end)) {
		outcome(error_of(munmap(low, (size_t)(high - low))), 0);
	} else {
		for (int i = first; i < end; i++)
			unmap_slot(&slots[i]);
		say(" ok");
	}
	for (int i = first; i < end; i++)
		kill_range(&slots[i], 0, slots[i].pages);
}
