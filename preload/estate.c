#include "estate.h"

#include <sys/mman.h>

#include "config.h"
#include "mem.h"
#include "stats.h"
#include "sys.h"

#if UINTPTR_MAX > UINT32_MAX
#define LARGEST_BYTES ((size_t)1 << 40)
#else
#define LARGEST_BYTES ((size_t)1 << 28)
#endif
/* Less than this is not worth having: files pass through. */
#define SMALLEST_BYTES ((size_t)1 << 26)

#define SLOT_SHIFT 16
#define HUGE_SHIFT 21

/* Unaccessible, and not charged to anything. */
#define RESERVE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

struct estate estate;

/* One bit a slot: taken. Synchronization: LOCK_VIEWS. */
static uint64_t *slots;
static size_t slot_count;
static size_t low_hint;  /* every slot below is taken */
static size_t low_top;   /* every slot from here to high_bottom is free */
static size_t high_hint; /* every slot from here on is taken */
static size_t high_bottom;
static bool ballast;

static bool slot_taken(size_t slot)
{
	return slots[slot / 64] >> slot % 64 & 1;
}

static void set_slots(size_t first, size_t count, bool taken)
{
	for (size_t slot = first; slot < first + count; slot++) {
		uint64_t bit = (uint64_t)1 << slot % 64;

		slots[slot / 64] = taken ? slots[slot / 64] | bit : slots[slot / 64] & ~bit;
	}
}

/* How many of `count` slots from `first` are free before one that is not. */
static size_t free_run(size_t first, size_t count)
{
	size_t n = 0;

	while (n < count && first + n < slot_count && !slot_taken(first + n))
		n++;
	return n;
}

static bool make_tables(void)
{
	size_t huge_slots = (size_t)1 << (HUGE_SHIFT - estate.slot_shift);

	slot_count = estate.bytes >> estate.slot_shift;
	slots = mem_pages(slot_count / 8 + 8);
	if (slots == NULL)
		return false;
	low_hint = 0;
	low_top = 0;
	/* The last 2 MiB are the ballast's. */
	set_slots(slot_count - huge_slots, huge_slots, true);
	high_hint = slot_count - huge_slots;
	high_bottom = high_hint;
	return true;
}

/* Reserves `bytes` at a multiple of 2 MiB; the rest, reserved for the alignment, goes back, for
 * what lies beside the estate must not be mapped by us. */
static uintptr_t reserve_aligned(size_t bytes)
{
	size_t huge = (size_t)1 << HUGE_SHIFT;
	char *p = kernel.map(NULL, bytes + huge, PROT_NONE, RESERVE_FLAGS, -1, 0);
	uintptr_t base = ((uintptr_t)p + huge - 1) & ~(huge - 1);
	size_t below = base - (uintptr_t)p;

	stats_add(COUNT_own_calls, 1);
	if (sys_failed(p))
		return 0;
	if (below > 0)
		kernel.unmap(p, below);
	if (below < huge)
		kernel.unmap((void *)(base + bytes), huge - below);
	return base;
}

bool estate_reserve(void)
{
	uintptr_t base = 0;
	size_t bytes;

	if (estate.base != 0)
		return true;
	if (kernel.address_limit() != UINT64_MAX)
		return false;
	estate.page_shift = sys_page_shift();
	estate.slot_shift = config.tiny ? estate.page_shift + 1 : SLOT_SHIFT;
	if (estate.slot_shift < estate.page_shift)
		estate.slot_shift = estate.page_shift;
	for (bytes = LARGEST_BYTES; bytes >= SMALLEST_BYTES && base == 0; bytes /= 2) {
		base = reserve_aligned(bytes);
		estate.bytes = bytes;
	}
	if (base == 0)
		return false;
	if (!make_tables()) {
		kernel.unmap((void *)base, estate.bytes);
		return false;
	}
	__atomic_store_n(&estate.base, base, __ATOMIC_RELEASE);
	estate_take_ballast();
	return true;
}

/* In the middle of the last 2 MiB, which are never given to a region. */
static void *ballast_page(void)
{
	return (void *)(estate.base + estate.bytes - ((uintptr_t)1 << (HUGE_SHIFT - 1)));
}

/* Unless the program has mapped something of its own there. */
static bool ballast_is_ours(void)
{
	return pages_mark_of(estate_page(ballast_page())) == MARK_NONE;
}

void estate_take_ballast(void)
{
	if (estate.base == 0 || ballast || !ballast_is_ours())
		return;
	ballast = kernel.protect(ballast_page(), (size_t)1 << estate.page_shift, PROT_READ) == 0;
	stats_add(COUNT_own_calls, 1);
}

void estate_drop_ballast(void)
{
	if (!ballast)
		return;
	ballast = false;
	if (!ballast_is_ours())
		return;
	kernel.protect(ballast_page(), (size_t)1 << estate.page_shift, PROT_NONE);
	stats_add(COUNT_own_calls, 1);
}

/* First fit, upwards. */
static bool take_low(size_t count, bool avoid_huge, size_t *ret_first)
{
	size_t huge_slots = (size_t)1 << (HUGE_SHIFT - estate.slot_shift);
	size_t first = low_hint;

	while (first + count <= high_bottom) {
		size_t run;

		if (avoid_huge && first % huge_slots == 0) {
			first++;
			continue;
		}
		if (first % 64 == 0 && slots[first / 64] == UINT64_MAX) {
			first += 64;
			continue;
		}
		run = free_run(first, count);
		if (run == count)
			break;
		first += run + 1;
	}
	if (first + count > high_bottom)
		return false;
	if (first == low_hint)
		low_hint = first + count;
	if (first + count > low_top)
		low_top = first + count;
	*ret_first = first;
	return true;
}

/* First fit, downwards, in steps of 2 MiB. */
static bool take_high(size_t count, size_t *ret_first)
{
	size_t huge_slots = (size_t)1 << (HUGE_SHIFT - estate.slot_shift);
	size_t first = high_hint & ~(huge_slots - 1);

	do {
		if (first < low_top + huge_slots)
			return false;
		first -= huge_slots;
	} while (first + count > slot_count || free_run(first, count) < count);
	if (first + count == high_hint)
		high_hint = first;
	if (first < high_bottom)
		high_bottom = first;
	*ret_first = first;
	return true;
}

bool estate_take(size_t bytes, enum placement placement, size_t *ret_first, size_t *ret_pages)
{
	size_t slot_bytes = (size_t)1 << estate.slot_shift;
	size_t huge = (size_t)1 << HUGE_SHIFT;
	size_t unit = placement == PLACE_CONGRUENT && huge > slot_bytes ? huge : slot_bytes;
	size_t count;
	size_t first;
	bool taken;

	if (bytes == 0 || bytes > estate.bytes || estate.shed_end != 0)
		return false;
	count = ((bytes + unit - 1) & ~(unit - 1)) >> estate.slot_shift;
	if (unit == huge)
		taken = take_high(count, &first);
	else
		taken = take_low(count, placement == PLACE_INCONGRUENT, &first);
	if (!taken)
		return false;
	set_slots(first, count, true);
	*ret_first = first << (estate.slot_shift - estate.page_shift);
	*ret_pages = count << (estate.slot_shift - estate.page_shift);
	return true;
}

void estate_give(size_t first, size_t pages)
{
	unsigned int shift = estate.slot_shift - estate.page_shift;
	size_t slot = first >> shift;
	size_t count = pages >> shift;

	set_slots(slot, count, false);
	if (slot < low_hint)
		low_hint = slot;
	if (slot + count > high_hint)
		high_hint = slot + count;
}

void estate_spoil(size_t first, size_t pages)
{
	unsigned int shift = estate.slot_shift - estate.page_shift;
	size_t slot = first >> shift;
	size_t end = (first + pages + ((size_t)1 << shift) - 1) >> shift;

	set_slots(slot, end - slot, true);
	/* Both zones look past it; neither may count it free. */
	if (slot < high_bottom && end > low_top)
		low_top = end < high_bottom ? end : high_bottom;
}

static bool slot_is_empty(size_t slot)
{
	unsigned int shift = estate.slot_shift - estate.page_shift;
	size_t first = slot << shift;
	size_t huge_slots = (size_t)1 << (HUGE_SHIFT - estate.slot_shift);

	return slot < slot_count - huge_slots && !estate_is_shed(first) &&
	       estate_owner(first) == NULL && pages_mark_of(first) == MARK_NONE &&
	       pages_mark_run(first, first + ((size_t)1 << shift)) == first + ((size_t)1 << shift);
}

void estate_unspoil(size_t first, size_t pages)
{
	unsigned int shift = estate.slot_shift - estate.page_shift;
	size_t end = (first + pages + ((size_t)1 << shift) - 1) >> shift;

	for (size_t slot = first >> shift; slot < end; slot++) {
		if (slot_taken(slot) && slot_is_empty(slot))
			estate_give(slot << shift, (size_t)1 << shift);
	}
}

void estate_shed(void)
{
	size_t first = low_top;
	size_t end = high_bottom;

	if (estate.base == 0 || estate.shed_end != 0)
		return;
	/* Slots that were given back since belong to the middle too. */
	while (first > 0 && !slot_taken(first - 1))
		first--;
	while (end < slot_count && !slot_taken(end))
		end++;
	if (first >= end)
		return;
	kernel.unmap((void *)(estate.base + (first << estate.slot_shift)),
		     (end - first) << estate.slot_shift);
	estate.shed_first = first;
	estate.shed_end = end;
}

bool estate_is_shed(size_t page)
{
	size_t slot = page >> (estate.slot_shift - estate.page_shift);

	return slot >= estate.shed_first && slot < estate.shed_end;
}
