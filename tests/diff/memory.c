/* Loads, stores, and looking at everything that is alive. */
#include "range.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const int signal_of[] = {[SEE_BYTES] = 0, [SEE_SEGV] = SIGSEGV, [SEE_BUS] = SIGBUS};

static const char *fault_name(int number)
{
	return number == 0 ? "bytes" : number == SIGSEGV ? "SEGV" : "BUS";
}

/* Loads part of a page, compares, and adds to the sum. */
static void load_page(const struct slot *slot, size_t i, size_t offset, size_t n, uint64_t *sum)
{
	struct page *page = (struct page *)&slot->page[i];
	unsigned char seen[PAGE];
	const unsigned char *bytes = NULL;
	enum sight sight = page_look(page, false, &bytes);
	int fault = copy_guarded(seen, slot->base + i * PAGE + offset, n);
	size_t k;

	if (fault != signal_of[sight])
		wrong("slot %d page %zu is %s, not %s", (int)(slot - slots), i, fault_name(fault),
		      fault_name(signal_of[sight]));
	*sum = (*sum ^ (uint64_t)fault) * 0x100000001b3U;
	if (fault != 0)
		return;
	if (sight == SEE_BYTES && memcmp(seen, bytes + offset, n) != 0) {
		for (k = 0; seen[k] == bytes[offset + k]; k++) {
		}
		wrong("slot %d page %zu byte %zu is %d, not %d", (int)(slot - slots), i, offset + k,
		      seen[k], bytes[offset + k]);
	}
	*sum = sum_of(seen, n, *sum);
}

static void check_slot(const struct slot *slot, uint64_t *sum)
{
	for (size_t i = 0; i < slot->pages; i++) {
		if (page_live(&slot->page[i]))
			load_page(slot, i, 0, PAGE, sum);
	}
}

static bool slots_overlap(const struct slot *a, const struct slot *b)
{
	const char *low = a->base > b->base ? a->base : b->base;
	const char *a_end = a->base + a->pages * PAGE;
	const char *b_end = b->base + b->pages * PAGE;

	for (; low < a_end && low < b_end; low += PAGE) {
		if (page_live(&a->page[(size_t)(low - a->base) / PAGE]) &&
		    page_live(&b->page[(size_t)(low - b->base) / PAGE]))
			return true;
	}
	return false;
}

bool overlaps_live(const struct slot *slot)
{
	/* The other thread's change while we look. */
	int first = self->by == BY_THREAD ? self->first_slot : 0;
	int end = self->by == BY_THREAD ? self->end_slot : SLOTS;

	for (int i = first; i < end; i++) {
		if (&slots[i] != slot && slots_overlap(&slots[i], slot))
			return true;
	}
	return false;
}

void check_all(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < SLOTS; i++) {
		check_slot(&slots[i], &sum);
		if (overlaps_live(&slots[i]))
			wrong("slot %d has a page in common with another", i);
	}
	say(" %llx", (unsigned long long)sum);
}

void draw_check(int64_t *a)
{
	(void)a;
}

void run_check(const int64_t *a)
{
	(void)a;
	check_all();
}

void draw_load(int64_t *a)
{
	draw_range(&a[0], &a[1], &a[3]);
	a[2] = one_in(2) ? 0 : draw(PAGE);
	a[3] = one_in(2) ? 1 + draw(PAGE) : 1 + draw(8 * PAGE);
}

void run_load(const int64_t *a)
{
	uint64_t sum = 0;
	size_t offset = (size_t)a[2] % PAGE;
	size_t left = (size_t)a[3] % (16 * PAGE);

	if (!is_ours(a[0])) {
		say(" left out");
		return;
	}
	for (size_t i = (size_t)a[1]; i < slots[a[0]].pages && left > 0; i++) {
		size_t n = left < PAGE - offset ? left : PAGE - offset;

		if (page_live(&slots[a[0]].page[i]))
			load_page(&slots[a[0]], i, offset, n, &sum);
		else
			say(" -");
		left -= n;
		offset = 0;
	}
	say(" %llx", (unsigned long long)sum);
}

void draw_store(int64_t *a)
{
	draw_load(a);
	a[4] = draw(1000);
}

static void store_page(struct slot *slot, size_t i, size_t offset, size_t n, uint64_t value)
{
	struct page *page = &slot->page[i];
	unsigned char bytes[PAGE];
	const unsigned char *old;
	enum sight sight = page_look(page, true, &old);
	int fault;

	/* Not behind the end of the file: DESIGN.md, section 9, number 1. */
	if (sight == SEE_BYTES) {
		size_t room = page_room(page);

		if (offset >= room)
			return;
		n = n < room - offset ? n : room - offset;
	}
	/* The other thread looks at the files. */
	if (page->shared && self->by == BY_THREAD)
		return;
	pattern(bytes, n, value);
	fault = copy_guarded(slot->base + i * PAGE + offset, bytes, n);
	say(" %s", fault_name(fault));
	if (fault != signal_of[sight])
		wrong("slot %d page %zu, not %s", (int)(slot - slots), i,
		      fault_name(signal_of[sight]));
	else if (fault == 0)
		memcpy(page_touch(page) + offset, bytes, n);
}

void run_store(const int64_t *a)
{
	size_t offset = (size_t)a[2] % PAGE;
	size_t left = (size_t)a[3] % (16 * PAGE);

	if (!is_ours(a[0])) {
		say(" left out");
		return;
	}
	for (size_t i = (size_t)a[1]; i < slots[a[0]].pages && left > 0; i++) {
		size_t n = left < PAGE - offset ? left : PAGE - offset;

		if (page_live(&slots[a[0]].page[i]))
			store_page(&slots[a[0]], i, offset, n, (uint64_t)a[4] + i);
		left -= n;
		offset = 0;
	}
}
