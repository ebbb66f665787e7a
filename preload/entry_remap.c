/* The exported names: mappings that move, and that change their order (remap_file_pages). */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "entry.h"
#include "entry_map.h"
#include "estate.h"
#include "sys.h"
#include "view.h"

/* Whether mremap's arguments could be right at all (mm/mremap.c, check_mremap_params). */
static bool remap_is_sane(const void *addr, size_t old_length, size_t new_length, int flags,
			  const void *to)
{
	int known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
	size_t mask = sys_page_size() - 1;
	size_t old = (old_length + mask) & ~mask;
	size_t new = (new_length + mask) & ~mask;
	uintptr_t from = (uintptr_t)addr;
	uintptr_t target = (uintptr_t)to;

	if ((flags & ~known) != 0 || (from & mask) != 0 || new == 0 || new_length > SIZE_MAX / 2)
		return false;
	if (!(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)))
		return true;
	if (!(flags & MREMAP_MAYMOVE) || (target & mask) != 0 ||
	    ((flags & MREMAP_DONTUNMAP) && old != new))
		return false;
	return !(flags & MREMAP_FIXED) || from + old <= target || target + new <= from;
}

/* Whether the kernel would charge a writable private mapping of that length now. A view's region is
 * not charged, so growing what comes from it would not be refused where natively it is. */
static bool could_be_charged(size_t length)
{
	void *p = kernel.map(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);

	if (sys_failed(p))
		return false;
	kernel.unmap(p, length);
	return true;
}

/* Moves pages of the estate out of it, into a mapping of the program's own, without ever leaving a
 * hole: the kernel moves the page tables and leaves the mapping. The view ends only when all has
 * succeeded; else its pages go back, over what was left in their place. */
static void *move_out(void *addr, size_t old, size_t new, int flags, void *to)
{
	void *p = NEXT(mremap)(addr, old, old, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	void *moved;
	int saved;

	if (p == MAP_FAILED)
		return p;
	moved = NEXT(mremap)(p, old, new, flags, to);
	saved = errno;
	if (moved == MAP_FAILED) {
		view_change(addr, old, false);
		NEXT(mremap)(p, old, old, MREMAP_MAYMOVE | MREMAP_FIXED, addr);
	} else {
		map_count(1);
		view_unmap(addr, old, map_next_unmap);
	}
	errno = saved;
	return moved;
}

static void *remap_inside(void *addr, size_t old_length, size_t new_length, int flags, void *to)
{
	size_t mask = sys_page_size() - 1;
	size_t old = (old_length + mask) & ~mask;
	size_t new = (new_length + mask) & ~mask;
	bool placed;
	void *p;

	if (!remap_is_sane(addr, old_length, new_length, flags, to))
		return NEXT(mremap)(addr, old_length, new_length, flags, to);
	if (view_check(addr, old != 0 ? old : 1) != 0) {
		errno = EFAULT;
		return MAP_FAILED;
	}
	/* Of a copy there is no more, nor is it there again when its pages have moved. */
	if ((new > old || (flags & MREMAP_DONTUNMAP)) && view_is_copy(addr, old, &placed)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (old == 0 || (flags & MREMAP_DONTUNMAP))
		return NEXT(mremap)(addr, old_length, new_length, flags, to);
	if (!(flags & MREMAP_FIXED) && new <= old) {
		if (new < old)
			view_unmap((char *)addr + new, old - new, map_next_unmap);
		return addr;
	}
	/* Natively it may, or may not, have grown where it stands. */
	if (!(flags & MREMAP_MAYMOVE)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (new > old && view_writes_privately(addr) && !could_be_charged(new)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	placed = (flags & MREMAP_FIXED) && !estate_touches(to, new);
	/* Or the kernel might put the copy just where it is to go. */
	if (placed &&
	    NEXT(mmap)(to, new, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		       -1, 0) == MAP_FAILED)
		return MAP_FAILED;
	p = move_out(addr, old, new, flags, to);
	if (placed && p == MAP_FAILED)
		map_next_unmap(to, new);
	return p;
}

void *mc_mremap(void *addr, size_t old_length, size_t new_length, int flags, ...)
{
	void *to = NULL;
	bool covers;
	void *p;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_list list;

		va_start(list, flags);
		to = va_arg(list, void *);
		va_end(list);
	}
	covers = (flags & MREMAP_FIXED) && remap_is_sane(addr, old_length, new_length, flags, to) &&
		 map_is_possible(to, new_length) && estate_touches(to, new_length);
	if (covers && view_cover(to, new_length) != 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (estate_touches(addr, old_length != 0 ? old_length : 1))
		p = remap_inside(addr, old_length, new_length, flags, to);
	else
		p = NEXT(mremap)(addr, old_length, new_length, flags, to);
	if (p == MAP_FAILED && errno == ENOMEM && (flags & MREMAP_MAYMOVE) && view_relieve() &&
	    !estate_has(addr))
		p = NEXT(mremap)(addr, old_length, new_length, flags, to);
	if (covers)
		view_covered(to, new_length, p != MAP_FAILED);
	map_count_split();
	return p;
}

int mc_remap_file_pages(void *addr, size_t length, int prot, size_t page, int flags)
{
	/* The kernel rounds both down (mm/mmap.c), and refuses a hole like anything else. */
	size_t mask = sys_page_size() - 1;
	char *start = (char *)addr - ((uintptr_t)addr & mask);
	size_t whole = length & ~mask;
	int error = 0;

	if (whole != 0 && estate_touches(start, whole)) {
		if (view_check(start, whole) != 0)
			error = -EINVAL;
		else
			error = view_change(start, whole, true);
	}
	if (error != 0)
		return map_answer(error);
	return NEXT(remap_file_pages)(addr, length, prot, page, flags);
}

/* The same functions by names that are not exported, for system calls made by number. */
#define INNER(name)                                                                                \
	extern __typeof__(mc_##name) inner_##name                                                  \
		__attribute__((alias(#name), visibility("hidden")));

INNER(mremap)
INNER(remap_file_pages)
