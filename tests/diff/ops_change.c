/* Operations that change what is mapped, or look at it. */
#include "range.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#define GUARD_INSTALL 102
#define GUARD_REMOVE 103

/*
 * protect
 */

static int call_protect(void *addr, size_t length, int how)
{
	return mprotect(addr, length, how);
}

void draw_protect(int64_t *a)
{
	draw_unmap(a);
	a[4] = one_in(60) ? 0x40 : one_in(4) ? PROT_NONE : draw_prot();
}

/* mm/mprotect.c, do_mprotect_pkey: page by page up to the first that must not be. */
static void plan_protect(const struct range *r, int prot, struct operation_on *o)
{
	if (r->skew != 0 || r->length == 0) {
		o->wanted = r->skew != 0 ? EINVAL : 0;
		return;
	}
	if (r->huge) {
		o->wanted = ANY;
		return;
	}
	if (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) {
		o->wanted = EINVAL;
		return;
	}
	for (; o->done < r->count; o->done++) {
		const struct page *page = &r->slot->page[r->first + o->done];

		if (!page_live(page)) {
			o->wanted = ENOMEM;
			return;
		}
		if ((prot & PROT_WRITE) && !page->may_write) {
			o->wanted = EACCES;
			return;
		}
	}
}

void run_protect(const int64_t *a)
{
	int prot = (int)a[4];
	struct operation_on o = {.call = call_protect, .how = prot, .how_in_part = prot};
	struct range r;

	if (!range_of(a, &r) || r.huge) {
		say(" left out");
		return;
	}
	plan_protect(&r, prot, &o);
	operate(&r, &o);
	if (o.done == 0)
		return;
	slot_split(r.slot, r.first, o.done);
	for (size_t i = r.first; i < r.first + o.done; i++) {
		struct page *page = &r.slot->page[i];
		bool fills = page->locked && !page->when_touched && !page->shared &&
			     !(page->prot & PROT_WRITE) && (prot & PROT_WRITE);

		page->prot = (uint8_t)prot;
		if (fills)
			populate(r.slot, i, 1, true);
	}
}

/*
 * advise
 */

static int call_advise(void *addr, size_t length, int how)
{
	return madvise(addr, length, how);
}

void draw_advise(int64_t *a)
{
	draw_unmap(a);
	a[4] = draw_of(8, MADV_DONTNEED, MADV_DONTNEED, MADV_DONTNEED, MADV_WILLNEED, MADV_RANDOM,
		       MADV_SEQUENTIAL, MADV_NORMAL, MADV_COLD);
	if (one_in(2))
		a[4] = draw_of(16, MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP, MADV_DODUMP,
			       MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_FREE,
			       MADV_REMOVE, MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_HUGEPAGE,
			       MADV_NOHUGEPAGE, MADV_DONTNEED_LOCKED, GUARD_INSTALL, GUARD_REMOVE);
	if (one_in(20))
		a[4] = draw_of(5, -1, 5, 6, 77, 1000);
}

/* What an advice answers for one live page. */
static int advice_for(const struct page *page, int advice)
{
	const unsigned char *bytes;

	switch (advice) {
	case MADV_DONTNEED:
	case MADV_COLD:
	case MADV_PAGEOUT:
	case GUARD_INSTALL:
		return page->locked ? EINVAL : 0;
	case MADV_FREE:
		return EINVAL; /* of anonymous pages: left out */
	case MADV_REMOVE:
		if (page->locked || page->kind != PAGE_FILE)
			return EINVAL;
		return page->shared && page->may_write ? 0 : EACCES;
	case MADV_WIPEONFORK:
		return page->kind == PAGE_FILE ? EINVAL : 0;
	case MADV_POPULATE_READ:
	case MADV_POPULATE_WRITE:
		if (!(page->prot & (advice == MADV_POPULATE_READ ? PROT_READ : PROT_WRITE)))
			return EINVAL;
		return page_look((struct page *)page, advice == MADV_POPULATE_WRITE, &bytes) ==
				       SEE_BYTES
			       ? 0
			       : EFAULT;
	default:
		return 0;
	}
}

static bool advice_known(int advice)
{
	return (advice >= 0 && advice <= 4) || (advice >= 8 && advice <= 24) ||
	       advice == GUARD_INSTALL || advice == GUARD_REMOVE;
}

/* mm/madvise.c: goes on over holes, stops at the first error. POPULATE stops at holes, too. */
static void plan_advise(const struct range *r, int advice, struct operation_on *o)
{
	bool populates = advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE;

	if (!advice_known(advice) || r->skew != 0) {
		o->wanted = EINVAL;
		return;
	}
	for (; o->done < r->count; o->done++) {
		const struct page *page = &r->slot->page[r->first + o->done];
		int error = page_live(page) ? advice_for(page, advice) : ENOMEM;

		if (error != 0)
			o->wanted = error;
		if (error != 0 && (error != ENOMEM || populates))
			return;
	}
}

static void advised(struct slot *slot, size_t i, int advice)
{
	struct page *page = &slot->page[i];

	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		page_drop_copy(page);
		break;
	case MADV_DONTFORK:
	case MADV_DOFORK:
		page->no_fork = advice == MADV_DONTFORK;
		break;
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
		page->wiped = advice == MADV_WIPEONFORK;
		break;
	case MADV_POPULATE_WRITE:
		populate(slot, i, 1, true);
		break;
	case MADV_REMOVE:
		inode_zero(inode_at(page->inode), (int64_t)(page->file_page * PAGE), PAGE);
		break;
	case GUARD_INSTALL:
		page_drop_copy(page);
		page->guard = true;
		break;
	case GUARD_REMOVE:
		page->guard = false;
		break;
	default:
		break;
	}
}

/* Some answers depend on how the kernel was built; what they leave of anonymous memory, on the
 * moment. */
static bool advice_open(const struct range *r, int advice)
{
	bool anonymous = false;

	for (size_t i = r->first; i < r->first + r->count; i++)
		anonymous = anonymous || r->slot->page[i].kind == PAGE_ANONYMOUS;
	switch (advice) {
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_MERGEABLE:
	case MADV_UNMERGEABLE:
		return true;
	case MADV_WILLNEED:
		return anonymous;
	default:
		return false;
	}
}

static bool advice_left_out(const struct range *r, int advice)
{
	/* The kernel's tests poison pages for these. */
	if (advice == 100 || advice == 101)
		return true;
	/* Another thread looks at the file. */
	if (advice == MADV_REMOVE && self->by == BY_THREAD)
		return true;
	for (size_t i = r->first; i < r->first + r->count; i++) {
		const struct page *page = &r->slot->page[i];

		if (advice == MADV_FREE && page->kind != PAGE_FILE)
			return true;
		if (advice == MADV_REMOVE && page->kind == PAGE_FILE &&
		    page->file_page >= FILE_PAGES)
			return true;
	}
	return r->huge;
}

void run_advise(const int64_t *a)
{
	int advice = (int)a[4];
	struct operation_on o = {.call = call_advise, .how = advice, .how_in_part = advice};
	struct range r;

	if (!range_of(a, &r) || advice_left_out(&r, advice)) {
		say(" left out");
		return;
	}
	plan_advise(&r, advice, &o);
	if (o.wanted == 0 && advice_open(&r, advice))
		o.wanted = ANY;
	operate(&r, &o);
	if (r.skew != 0 || !advice_known(advice))
		return;
	for (size_t i = r.first; i < r.first + o.done; i++) {
		if (page_live(&r.slot->page[i]))
			advised(r.slot, i, advice);
	}
	slot_split(r.slot, r.first, o.done);
}

static int call_padvise(void *addr, size_t length, int how)
{
	errno = posix_madvise(addr, length, how);
	return errno == 0 ? 0 : -1;
}

void draw_padvise(int64_t *a)
{
	draw_unmap(a);
	a[4] = draw_of(7, 0, 1, 2, 3, 4, 5, 77);
}

void run_padvise(const int64_t *a)
{
	int advice = (int)a[4];
	struct operation_on o = {.call = call_padvise, .how = advice, .how_in_part = advice};
	struct range r;

	if (!range_of(a, &r) || r.huge) {
		say(" left out");
		return;
	}
	/* glibc ignores this one, and means it. */
	if (advice != POSIX_MADV_DONTNEED)
		plan_advise(&r, advice, &o);
	if (o.wanted == 0 && advice_open(&r, advice))
		o.wanted = ANY;
	operate(&r, &o);
	slot_split(r.slot, r.first, o.done);
}

/*
 * sync, lock, incore
 */

static int call_sync(void *addr, size_t length, int how)
{
	return msync(addr, length, how);
}

void draw_sync(int64_t *a)
{
	draw_unmap(a);
	a[4] = draw_of(7, MS_ASYNC, MS_ASYNC, MS_ASYNC, 0, MS_INVALIDATE, 8, MS_ASYNC | MS_SYNC);
	if (one_in(6))
		a[4] = MS_SYNC;
}

void run_sync(const int64_t *a)
{
	int flags = (int)a[4];
	struct operation_on o = {.call = call_sync, .how = flags, .how_in_part = flags};
	struct range r;

	if (!range_of(a, &r) || r.huge) {
		say(" left out");
		return;
	}
	if (r.skew != 0 || (flags & ~(MS_ASYNC | MS_SYNC | MS_INVALIDATE)) ||
	    ((flags & MS_ASYNC) && (flags & MS_SYNC)))
		o.wanted = EINVAL;
	for (; o.wanted != EINVAL && o.done < r.count; o.done++) {
		const struct page *page = &r.slot->page[r.first + o.done];

		if (!page_live(page))
			o.wanted = ENOMEM;
		if (page_live(page) && page->locked && (flags & MS_INVALIDATE)) {
			o.wanted = EBUSY;
			break;
		}
	}
	operate(&r, &o);
}

static int call_lock(void *addr, size_t length, int how)
{
	return how == 0 ? mlock(addr, length) : mlock2(addr, length, how);
}

void draw_lock(int64_t *a)
{
	draw_unmap(a);
	a[4] = draw_of(4, 0, 0, MLOCK_ONFAULT, 8);
}

static int call_unlock(void *addr, size_t length, int how)
{
	(void)how;
	return munlock(addr, length);
}

/* mm/mlock.c, apply_vma_lock_flags: up to the first hole. */
static void plan_lock(const struct range *r, struct operation_on *o)
{
	for (; o->done < r->count; o->done++) {
		if (!page_live(&r->slot->page[r->first + o->done])) {
			o->wanted = ENOMEM;
			return;
		}
	}
}

static void set_locked(const struct range *r, size_t done, bool locked, bool when_touched)
{
	for (size_t i = r->first; i < r->first + done; i++) {
		r->slot->page[i].locked = locked;
		r->slot->page[i].when_touched = when_touched;
	}
	if (done > 0)
		slot_split(r->slot, r->first, done);
}

void run_lock(const int64_t *a)
{
	struct operation_on o = {.call = call_lock};
	struct range r;
	bool fills;

	if (!range_of(a, &r) || r.huge) {
		say(" left out");
		return;
	}
	/* With a hole in the range it locks what it can, and fills nothing; so do its parts. */
	o.how = a[4] == 0 && !r.whole ? (int)MLOCK_ONFAULT : (int)a[4];
	o.how_in_part = o.how;
	if (o.how & ~MLOCK_ONFAULT)
		o.wanted = EINVAL;
	else
		plan_lock(&r, &o);
	fills = o.wanted == 0 && o.how == 0;
	if (fills && populate(r.slot, r.first, r.count, false) < r.count)
		o.wanted = ENOMEM;
	operate(&r, &o);
	set_locked(&r, o.done, true, o.how != 0);
}

void draw_unlock(int64_t *a)
{
	draw_unmap(a);
}

void run_unlock(const int64_t *a)
{
	struct operation_on o = {.call = call_unlock};
	struct range r;

	if (!range_of(a, &r) || r.huge) {
		say(" left out");
		return;
	}
	plan_lock(&r, &o);
	operate(&r, &o);
	set_locked(&r, o.done, false, false);
}

static int call_incore(void *addr, size_t length, int how)
{
	unsigned char vector[SLOT_PAGES + 1];

	(void)how;
	return mincore(addr, length, vector);
}

void draw_incore(int64_t *a)
{
	draw_unmap(a);
}

void run_incore(const int64_t *a)
{
	struct operation_on o = {.call = call_incore};
	struct range r;

	if (!range_of(a, &r) || r.huge) {
		say(" left out");
		return;
	}
	if (r.skew != 0)
		o.wanted = EINVAL;
	else if (!r.whole)
		o.wanted = ENOMEM;
	operate(&r, &o);
}
