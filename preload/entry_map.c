/*
 * The exported names: mappings. Argument fix-ups, errno, statistics and passing through; what a
 * call on a view means is decided in view.c and view_calls.c.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "budget.h"
#include "config.h"
#include "entry.h"
#include "estate.h"
#include "log.h"
#include "report.h"
#include "stats.h"
#include "sys.h"
#include "view.h"

/* The answer of a function that returns 0 or -errno, as libc gives it. */
static int answer_of(int error)
{
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

/* The next munmap, in the form that view_unmap wants. */
static int next_unmap(void *addr, size_t length)
{
	int saved = errno;
	int answer = NEXT(munmap)(addr, length) == 0 ? 0 : -errno;

	if (answer == 0)
		budget_mapped(-1);
	errno = saved;
	return answer;
}

static void note_passed(const struct view_request *request, const void *p, enum reason reason)
{
	stats_pass(reason);
	if (p != MAP_FAILED)
		budget_mapped(1);
	if (log_wanted() && reason != REASON_anonymous)
		log_line("mmap: descriptor %d, %zu bytes at %ju, prot %d, flags %x: passed, %s",
			 request->fd, request->length, request->offset, request->prot,
			 request->flags, stats_reason_name(reason));
}

/* A view if it can be, else NULL and the reason. */
static void *answer_with_view(const struct view_request *request, enum reason *ret_reason)
{
	int saved = errno;
	void *p = NULL;

	*ret_reason = view_excuse(request);
	if (config.dry_run)
		*ret_reason = report_mmap(request, *ret_reason);
	else if (!(config.modes & MODE_mmap))
		*ret_reason = REASON_mode;
	else if (*ret_reason == REASON_none)
		p = view_map(request, ret_reason);
	errno = saved;
	return p;
}

/* MAP_FIXED over part of the estate. `map` is the next definition. */
static void *map_over(const struct view_request *request, int flags,
		      void *(*map)(const struct view_request *request, int flags))
{
	int error;
	void *p;

	/* The kernel would see the estate where the program knows of nothing. What lies outside is
	 * the kernel's to judge. */
	if (flags & MAP_FIXED_NOREPLACE) {
		if (!estate_has(request->addr) ||
		    !estate_has((char *)request->addr + request->length - 1) ||
		    !view_none(request->addr, request->length))
			return map(request, flags);
		flags = (flags & ~MAP_FIXED_NOREPLACE) | MAP_FIXED;
	}
	error = view_cover(request->addr, request->length);
	if (error != 0) {
		errno = -error;
		return MAP_FAILED;
	}
	p = map(request, flags);
	view_covered(request->addr, request->length, p != MAP_FAILED);
	return p;
}

static void *map_any(const struct view_request *request,
		     void *(*map)(const struct view_request *request, int flags))
{
	bool fixed = (request->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
	enum reason reason;
	void *p;

	if (!config.active)
		return map(request, request->flags);
	stats_add(COUNT_mmap_calls, 1);
	p = answer_with_view(request, &reason);
	if (p != NULL)
		return p;
	if (fixed && estate_touches(request->addr, request->length))
		p = map_over(request, request->flags, map);
	else
		p = map(request, request->flags);
	if (p == MAP_FAILED && errno == ENOMEM && !fixed && view_relieve())
		p = map(request, request->flags);
	note_passed(request, p, reason);
	return p;
}

static void *map_next(const struct view_request *request, int flags)
{
	return NEXT(mmap)(request->addr, request->length, request->prot, flags, request->fd,
			  (off_t)request->offset);
}

static void *map_next64(const struct view_request *request, int flags)
{
	return NEXT(mmap64)(request->addr, request->length, request->prot, flags, request->fd,
			    (off64_t)request->offset);
}

void *mc_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct view_request request = {addr, length, prot, flags, fd, (uint64_t)offset};

	return map_any(&request, map_next);
}

void *mc_mmap64(void *addr, size_t length, int prot, int flags, int fd, off64_t offset)
{
	struct view_request request = {addr, length, prot, flags, fd, (uint64_t)offset};

	return map_any(&request, map_next64);
}

int mc_munmap(void *addr, size_t length)
{
	int answer;

	if (config.active)
		stats_add(COUNT_munmap_calls, 1);
	if (estate_touches(addr, length))
		return answer_of(view_unmap(addr, length, next_unmap));
	answer = NEXT(munmap)(addr, length);
	if (answer != 0 && errno == ENOMEM && view_relieve())
		answer = NEXT(munmap)(addr, length);
	if (answer == 0 && config.active)
		budget_mapped(-1);
	return answer;
}

/* Whether mremap's arguments could be right at all (mm/mremap.c). */
static bool remap_is_sane(const void *addr, size_t new_length, int flags)
{
	int known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

	return (flags & ~known) == 0 && ((uintptr_t)addr & (sys_page_size() - 1)) == 0 &&
	       new_length != 0 &&
	       ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) == 0 || (flags & MREMAP_MAYMOVE));
}

/* Moves pages of the estate out of it, into a mapping of the program's own, without ever leaving a
 * hole: the kernel moves the page tables and leaves the mapping. */
static void *move_out(void *addr, size_t length)
{
	void *p = NEXT(mremap)(addr, length, length, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	if (p == MAP_FAILED)
		return p;
	budget_mapped(1);
	view_unmap(addr, length, next_unmap);
	return p;
}

static void *remap_inside(void *addr, size_t old_length, size_t new_length, int flags, void *to)
{
	size_t mask = sys_page_size() - 1;
	size_t old = (old_length + mask) & ~mask;
	size_t new = (new_length + mask) & ~mask;
	void *p;

	if (!remap_is_sane(addr, new_length, flags) || old_length == 0)
		return NEXT(mremap)(addr, old_length, new_length, flags, to);
	if (view_check(addr, old) != 0) {
		errno = EFAULT;
		return MAP_FAILED;
	}
	if (flags & MREMAP_DONTUNMAP)
		return NEXT(mremap)(addr, old_length, new_length, flags, to);
	if (!(flags & MREMAP_FIXED) && new <= old) {
		if (new < old)
			view_unmap((char *)addr + new, old - new, next_unmap);
		return addr;
	}
	/* Natively it may, or may not, have grown where it stands. */
	if (!(flags & MREMAP_MAYMOVE)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	p = move_out(addr, old);
	if (p == MAP_FAILED)
		return p;
	return NEXT(mremap)(p, old, new, flags, to);
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
	covers = (flags & MREMAP_FIXED) && estate_touches(to, new_length);
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
	return p;
}

/* Before a call that changes pages for good: 0, or errno is set. */
static int before_change(const void *addr, size_t length, bool excludes)
{
	if (!estate_touches(addr, length))
		return 0;
	return answer_of(view_change((void *)addr, length, excludes));
}

/* Before a call that only looks, or acts on the file. */
static int before_look(const void *addr, size_t length)
{
	if (!estate_touches(addr, length))
		return 0;
	return answer_of(view_check((void *)addr, length));
}

int mc_mprotect(void *addr, size_t length, int prot)
{
	int answer;

	if (((uintptr_t)addr & (sys_page_size() - 1)) == 0 && length != 0 &&
	    estate_touches(addr, length) && view_is_protected(addr, length, prot))
		return 0;
	if (before_change(addr, length, prot != PROT_READ) != 0)
		return -1;
	answer = NEXT(mprotect)(addr, length, prot);
	if (answer != 0 && errno == ENOMEM && view_relieve())
		answer = NEXT(mprotect)(addr, length, prot);
	return answer;
}

int mc_pkey_mprotect(void *addr, size_t length, int prot, int pkey)
{
	if (before_change(addr, length, true) != 0)
		return -1;
	return NEXT(pkey_mprotect)(addr, length, prot, pkey);
}

/* What an advice does to a mapping. */
enum effect { EFFECT_NOTHING, EFFECT_LOOK, EFFECT_CHANGE };

static enum effect effect_of(int advice)
{
	switch (advice) {
	/* How to read ahead: it would split the region's mapping, and means nothing. */
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
		return EFFECT_NOTHING;
	/* Act on pages, not on the mapping. On pages that only read a file, DONTNEED and what is
	 * like it lose nothing. */
	case MADV_WILLNEED:
	case MADV_DONTNEED:
	case MADV_COLD:
	case MADV_PAGEOUT:
	case MADV_POPULATE_READ:
	case MADV_POPULATE_WRITE:
	case MADV_FREE:
	case MADV_REMOVE:
	case MADV_HWPOISON:
		return EFFECT_LOOK;
	/* HUGEPAGE, DONTFORK, DONTDUMP …, and what is not known yet. */
	default:
		return EFFECT_CHANGE;
	}
}

static int before_advice(void *addr, size_t length, int advice, bool *swallow)
{
	enum effect effect = effect_of(advice);

	*swallow = false;
	if (!estate_touches(addr, length) || ((uintptr_t)addr & (sys_page_size() - 1)) != 0)
		return 0;
	if (effect == EFFECT_CHANGE)
		return before_change(addr, length, true);
	*swallow = effect == EFFECT_NOTHING && estate_has(addr) &&
		   estate_has((const char *)addr + length - 1);
	return before_look(addr, length);
}

int mc_madvise(void *addr, size_t length, int advice)
{
	bool swallow;

	if (before_advice(addr, length, advice, &swallow) != 0)
		return -1;
	return swallow ? 0 : NEXT(madvise)(addr, length, advice);
}

int mc_posix_madvise(void *addr, size_t length, int advice)
{
	bool swallow;
	int saved = errno;

	/* It answers with an errno, and glibc ignores DONTNEED, the one value that differs. */
	if (before_advice(addr, length, advice, &swallow) != 0) {
		int error = errno;

		errno = saved;
		return error;
	}
	return swallow ? 0 : NEXT(posix_madvise)(addr, length, advice);
}

ssize_t mc_process_madvise(int pidfd, const struct iovec *ranges, size_t count, int advice,
			   unsigned int flags)
{
	/* Its advices (COLD, PAGEOUT, WILLNEED, COLLAPSE) act on pages, not on mappings. */
	return NEXT(process_madvise)(pidfd, ranges, count, advice, flags);
}

int mc_msync(void *addr, size_t length, int flags)
{
	if (before_look(addr, length) != 0)
		return -1;
	return NEXT(msync)(addr, length, flags);
}

int mc_mlock(const void *addr, size_t length)
{
	if (before_change(addr, length, false) != 0)
		return -1;
	return NEXT(mlock)(addr, length);
}

int mc_mlock2(const void *addr, size_t length, unsigned int flags)
{
	if (before_change(addr, length, false) != 0)
		return -1;
	return NEXT(mlock2)(addr, length, flags);
}

int mc_munlock(const void *addr, size_t length)
{
	if (before_change(addr, length, false) != 0)
		return -1;
	return NEXT(munlock)(addr, length);
}

int mc_mlockall(int flags)
{
	/* The reserved part would count against RLIMIT_MEMLOCK; and a region that is mapped from
	 * now on would be locked, and read, as a whole. */
	if (config.active)
		view_retreat();
	return NEXT(mlockall)(flags);
}

int mc_mincore(void *addr, size_t length, unsigned char *vector)
{
	if (before_look(addr, length) != 0)
		return -1;
	return NEXT(mincore)(addr, length, vector);
}

int mc_remap_file_pages(void *addr, size_t length, int prot, size_t page, int flags)
{
	if (before_change(addr, length, true) != 0)
		return -1;
	return NEXT(remap_file_pages)(addr, length, prot, page, flags);
}

void *mc_shmat(int id, const void *addr, int flags)
{
	struct shmid_ds segment;
	bool covers = (flags & SHM_REMAP) && addr != NULL && estate_has(addr) &&
		      shmctl(id, IPC_STAT, &segment) == 0;
	void *p;

	if (covers && view_cover((void *)addr, segment.shm_segsz) != 0) {
		errno = ENOMEM;
		return (void *)-1;
	}
	p = NEXT(shmat)(id, addr, flags);
	if (covers)
		view_covered((void *)addr, segment.shm_segsz, p != (void *)-1);
	return p;
}

/* The same functions by names that are not exported, for system calls made by number. */
#define INNER(name)                                                                                \
	extern __typeof__(mc_##name) inner_##name                                                  \
		__attribute__((alias(#name), visibility("hidden")));

INNER(mmap64)
INNER(munmap)
INNER(mremap)
INNER(mprotect)
INNER(pkey_mprotect)
INNER(madvise)
INNER(msync)
INNER(mlock)
INNER(mlock2)
INNER(munlock)
INNER(mlockall)
INNER(mincore)
INNER(remap_file_pages)
INNER(shmat)
