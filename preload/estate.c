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

/* Where address space is short: a part of it, and what is worth having. */
#define NARROW_SHARE 16
#define NARROW_MOST ((uint64_t)128 << 20)
#define NARROW_LEAST ((size_t)1 << 20)
#define NARROW_SLOTS_TINY 128

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
/* From here on, what is free is shed. */
static size_t kept;
/* What was shed: the middle, in one piece, and a bit for each slot elsewhere. */
static size_t middle_first;
static size_t middle_end;
static uint64_t *shed;
/* How it was reserved; it may be narrow since. */
static bool reserved_narrow;
static bool ballast;
static bool reserve;

/* Pages of the reserve; each costs two mappings. */
#define RESERVE_PAGES 64

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

/* The last 2 MiB are the ballast's; fewer slots where they are dear. */
static size_t tail_slots(void)
{
	return reserved_narrow ? 4 : (size_t)1 << (HUGE_SHIFT - estate.slot_shift);
}

static bool make_tables(void)
{
	slot_count = estate.bytes >> estate.slot_shift;
	slots = mem_pages(slot_count / 8 + 8);
	shed = mem_pages(slot_count / 8 + 8);
	if (slots == NULL || shed == NULL)
		return false;
	low_hint = 0;
	low_top = 0;
	kept = slot_count;
	set_slots(slot_count - tail_slots(), tail_slots(), true);
	high_hint = slot_count - tail_slots();
	high_bottom = high_hint;
	return true;
}

/* How much of so much address space the estate may take; SIZE_MAX if it is not short. */
static size_t share_of(uint64_t limit)
{
	uint64_t share = limit / NARROW_SHARE;

	if (limit == UINT64_MAX && config.max_address_space == 0)
		return SIZE_MAX;
	if (share > NARROW_MOST)
		share = NARROW_MOST;
	if (config.max_address_space != 0 && share > config.max_address_space)
		share = config.max_address_space;
	if (config.tiny && share > (uint64_t)NARROW_SLOTS_TINY << estate.slot_shift)
		share = (uint64_t)NARROW_SLOTS_TINY << estate.slot_shift;
	return (size_t)(share >> estate.slot_shift << estate.slot_shift);
}

static bool affords(uint64_t limit, size_t bytes)
{
	return limit == UINT64_MAX || kernel.address_taken() + bytes <= limit / 2;
}

bool estate_is_affordable(void)
{
	return affords(kernel.address_limit(), 0);
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

/* Its size, the first of ever smaller ones that can be had. */
static uintptr_t reserve_some(void)
{
	uint64_t limit = kernel.address_limit();
	size_t share = share_of(limit);
	size_t bytes = share == SIZE_MAX ? LARGEST_BYTES : share;
	size_t least = share == SIZE_MAX ? SMALLEST_BYTES : NARROW_LEAST;
	uintptr_t base = 0;

	reserved_narrow = share != SIZE_MAX;
	if (!affords(limit, bytes))
		return 0;
	for (; bytes >= least && base == 0; bytes /= 2) {
		base = reserve_aligned(bytes);
		estate.bytes = bytes;
	}
	return base;
}

bool estate_reserve(void)
{
	uintptr_t base;

	if (estate.base != 0)
		return true;
	estate.page_shift = sys_page_shift();
	estate.slot_shift = config.tiny ? estate.page_shift + 1 : SLOT_SHIFT;
	if (estate.slot_shift < estate.page_shift)
		estate.slot_shift = estate.page_shift;
	base = reserve_some();
	if (base == 0)
		return false;
	if (!make_tables()) {
		kernel.unmap((void *)base, estate.bytes);
		return false;
	}
	__atomic_store_n(&estate.narrow, reserved_narrow, __ATOMIC_RELAXED);
	__atomic_store_n(&estate.base, base, __ATOMIC_RELEASE);
	estate_take_ballast();
	return true;
}

/* In the middle of the last slots, which are never given to a region. */
static void *ballast_page(void)
{
	return (void *)(estate.base + estate.bytes - (tail_slots() / 2 << estate.slot_shift));
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

static char *reserve_page(size_t i)
{
	return (char *)ballast_page() + ((2 * i + 2) << estate.page_shift);
}

/* As of the ballast. */
static bool reserve_is_ours(void)
{
	size_t first = estate_page(reserve_page(0));
	size_t end = estate_page(reserve_page(RESERVE_PAGES));

	return pages_mark_of(first) == MARK_NONE && pages_mark_run(first, end) == end;
}

void estate_take_reserve(void)
{
	if (estate.base == 0 || reserve || !reserve_is_ours())
		return;
	reserve = true;
	for (size_t i = 0; i < RESERVE_PAGES; i++)
		kernel.protect(reserve_page(i), (size_t)1 << estate.page_shift, PROT_READ);
	stats_add(COUNT_own_calls, RESERVE_PAGES);
}

bool estate_drop_reserve(void)
{
	if (!reserve)
		return false;
	reserve = false;
	if (!reserve_is_ours())
		return false;
	stats_add(COUNT_own_calls, 1);
	return kernel.protect(reserve_page(0),
			      (size_t)(reserve_page(RESERVE_PAGES) - reserve_page(0)),
			      PROT_NONE) == 0;
}

/* First fit, upwards. */
static bool take_low(size_t count, bool avoid_huge, size_t *ret_first)
{
	size_t huge_slots = (size_t)1 << (HUGE_SHIFT - estate.slot_shift);
	size_t end = high_bottom < kept ? high_bottom : kept;
	size_t first = low_hint;

	while (first + count <= end) {
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
	if (first + count > end)
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

	if (bytes == 0 || bytes > estate.bytes)
		return false;
	count = ((bytes + unit - 1) & ~(unit - 1)) >> estate.slot_shift;
	if (unit == huge)
		taken = kept == slot_count && take_high(count, &first);
	else
		taken = take_low(count, placement == PLACE_INCONGRUENT, &first);
	if (!taken)
		return false;
	set_slots(first, count, true);
	*ret_first = first << (estate.slot_shift - estate.page_shift);
	*ret_pages = count << (estate.slot_shift - estate.page_shift);
	return true;
}

/* Unmaps slots, whatever of ours is there; they stay taken. At the mapping limit the kernel may
 * refuse to cut a hole: then they are ours, and of no use. */
static void shed_slots(size_t first, size_t count)
{
	set_slots(first, count, true);
	stats_add(COUNT_own_calls, 1);
	if (kernel.unmap((void *)(estate.base + (first << estate.slot_shift)),
			 count << estate.slot_shift) != 0)
		return;
	for (size_t slot = first; slot < first + count; slot++)
		shed[slot / 64] |= (uint64_t)1 << slot % 64;
}

void estate_give(size_t first, size_t pages)
{
	unsigned int shift = estate.slot_shift - estate.page_shift;
	size_t slot = first >> shift;
	size_t count = pages >> shift;

	if (slot + count > kept) {
		size_t from = slot > kept ? slot : kept;

		shed_slots(from, slot + count - from);
		count = from - slot;
	}
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

	return slot < slot_count - tail_slots() && !estate_is_shed(first) &&
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

/* The free slots in all of the middle, where none was ever used or all were given back. */
static void shed_middle(void)
{
	size_t first = low_top > kept ? low_top : kept;
	size_t end = high_bottom;

	/* Slots that were given back since belong to it too. */
	while (first > kept && !slot_taken(first - 1))
		first--;
	while (end < slot_count && !slot_taken(end))
		end++;
	if (first >= end || middle_end != 0)
		return;
	if (kernel.unmap((void *)(estate.base + (first << estate.slot_shift)),
			 (end - first) << estate.slot_shift) != 0)
		return;
	middle_first = first;
	middle_end = end;
}

static void shed_holes(size_t first, size_t end)
{
	while (first < end) {
		size_t run = free_run(first, end - first);

		if (run > 0)
			shed_slots(first, run);
		first += run + 1;
	}
}

static void keep_only(size_t count)
{
	if (estate.base == 0)
		return;
	if (count < kept)
		kept = count;
	shed_middle();
	shed_holes(kept, middle_end != 0 ? middle_first : low_top);
	shed_holes(middle_end != 0 ? middle_end : high_bottom, slot_count);
}

void estate_shed(void)
{
	keep_only(0);
}

void estate_narrow(uint64_t limit)
{
	size_t share = share_of(limit);

	if (estate.base == 0 || share >= estate.bytes)
		return;
	__atomic_store_n(&estate.narrow, true, __ATOMIC_RELAXED);
	keep_only(share >> estate.slot_shift);
}

bool estate_is_shed(size_t page)
{
	size_t slot = page >> (estate.slot_shift - estate.page_shift);

	return (slot >= middle_first && slot < middle_end) || (shed[slot / 64] >> slot % 64 & 1);
}
