/*
 * The exported names: mappings. Argument fix-ups, errno, statistics and passing through; what a
 * call on a view means is decided in view.c and view_calls.c.
 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "advice.h"
#include "aside.h"
#include "budget.h"
#include "config.h"
#include "description.h"
#include "entry.h"
#include "entry_map.h"
#include "estate.h"
#include "log.h"
#include "region.h"
#include "stats.h"
#include "sys.h"
#include "view.h"

int map_answer(int error)
{
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

void map_count(int64_t n)
{
	if (budget_mapped(n))
		view_tend();
}

void map_count_split(void)
{
	if (config.active && budget_split())
		view_tend();
}

int map_next_unmap(void *addr, size_t length)
{
	int saved = errno;
	int answer = NEXT(munmap)(addr, length) == 0 ? 0 : -errno;

	if (answer == 0)
		map_count(-1);
	errno = saved;
	return answer;
}

static void note_passed(const struct view_request *request, const void *p, enum reason reason)
{
	stats_pass(reason);
	if (p != MAP_FAILED)
		map_count(1);
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
		*ret_reason = advice_mmap(request, *ret_reason);
	else if (!(config.modes & MODE_mmap))
		*ret_reason = REASON_mode;
	else if (*ret_reason == REASON_none)
		p = view_map(request, ret_reason);
	errno = saved;
	return p;
}

bool map_is_possible(const void *addr, size_t length)
{
	return ((uintptr_t)addr & (sys_page_size() - 1)) == 0 && length <= estate.bytes / 2;
}

static void *answer_without_mapping(const struct view_request *request, enum reason reason)
{
	int saved = errno;
	void *p = view_map_crowded(request, reason);

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
	if (request->fd >= 0 && !tls.vfork_child)
		aside_tell_fd(request->fd, ASIDE_MAPPED);
	p = answer_with_view(request, &reason);
	if (p == NULL && !fixed)
		p = answer_without_mapping(request, reason);
	if (p != NULL)
		return p;
	if (fixed && map_is_possible(request->addr, request->length) &&
	    estate_touches(request->addr, request->length))
		p = map_over(request, request->flags, map);
	else
		p = map(request, request->flags);
	if (p == MAP_FAILED && errno == ENOMEM && !fixed) {
		bool again = view_relieve();
		void *q = answer_without_mapping(request, reason);

		if (q != NULL)
			return q;
		if (again)
			p = map(request, request->flags);
	}
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
		return map_answer(view_unmap(addr, length, map_next_unmap));
	answer = NEXT(munmap)(addr, length);
	if (answer != 0 && errno == ENOMEM && view_relieve())
		answer = NEXT(munmap)(addr, length);
	if (answer == 0 && config.active)
		map_count(-1);
	return answer;
}

/* A call that changes pages, or only looks at them. */
struct call_on {
	int (*call)(void *addr, size_t length, int how); /* 0, or -1 and errno */
	int how;
	bool changes;  /* what it does must not reach later views */
	bool excludes; /* nor other views that share the page */
	bool goes_on;  /* over pages that are not mapped; else it ends there */
};

static int allow(void *addr, size_t length, const struct call_on *c)
{
	return c->changes ? view_change(addr, length, c->excludes) : view_check(addr, length);
}

/* Some of the range is not mapped, as far as the program knows: run by run, as the kernel does. */
static int call_in_parts(char *addr, size_t length, const struct call_on *c)
{
	const char *end = addr + length;
	bool hole = false;

	for (size_t run; addr < end; addr += run) {
		bool live;

		run = view_run(addr, (size_t)(end - addr), &live);
		if (live && allow(addr, run, c) == 0) {
			if (c->call(addr, run, c->how) == 0)
				continue;
			if (errno != ENOMEM || !c->goes_on)
				return -1;
		}
		hole = true;
		if (!c->goes_on)
			break;
	}
	if (hole)
		errno = ENOMEM;
	return hole ? -1 : 0;
}

/* `addr` is the start of a page. */
static int call_on_range(void *addr, size_t length, const struct call_on *c)
{
	size_t mask = sys_page_size() - 1;
	int saved = errno;

	/* What makes no sense, the kernel refuses. */
	if (!estate_touches(addr, length) || length > UINTPTR_MAX - mask - (uintptr_t)addr ||
	    allow(addr, length, c) == 0)
		return c->call(addr, length, c->how);
	/* So it does with what is wrong but for the range. */
	if (c->call(addr, 0, c->how) != 0)
		return -1;
	errno = saved;
	return call_in_parts(addr, (length + mask) & ~mask, c);
}

static bool is_aligned(const void *addr)
{
	return ((uintptr_t)addr & (sys_page_size() - 1)) == 0;
}

static int call_mprotect(void *addr, size_t length, int prot)
{
	int answer = NEXT(mprotect)(addr, length, prot);

	if (answer != 0 && errno == ENOMEM && view_relieve())
		answer = NEXT(mprotect)(addr, length, prot);
	if (answer == 0)
		map_count_split();
	return answer;
}

/* The bits that are refused whatever the range (and with length 0 are not). */
static bool prot_is_known(int prot)
{
	return (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) == 0;
}

int mc_mprotect(void *addr, size_t length, int prot)
{
	const struct call_on c = {call_mprotect, prot, true, prot != PROT_READ, false};

	if (!estate_touches(addr, length) || !is_aligned(addr) || !prot_is_known(prot))
		return call_mprotect(addr, length, prot);
	if (length != 0 && view_is_protected(addr, length, prot))
		return 0;
	return call_on_range(addr, length, &c);
}

static int call_pkey_mprotect(void *addr, size_t length, int how)
{
	map_count_split();
	return NEXT(pkey_mprotect)(addr, length, how & 0xff, how >> 8);
}

int mc_pkey_mprotect(void *addr, size_t length, int prot, int pkey)
{
	const struct call_on c = {call_pkey_mprotect, prot + pkey * 256, true, true, false};

	if (!is_aligned(addr) || !prot_is_known(prot) || pkey < -1)
		return NEXT(pkey_mprotect)(addr, length, prot, pkey);
	return call_on_range(addr, length, &c);
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

static int call_madvise(void *addr, size_t length, int advice)
{
	if (advice == MADV_DONTFORK && estate_touches(addr, length))
		region_will_not_fork();
	if (effect_of(advice) == EFFECT_NOTHING && length > 0 && estate_has(addr) &&
	    estate_has((const char *)addr + length - 1))
		return 0;
	if (effect_of(advice) == EFFECT_CHANGE)
		map_count_split();
	return NEXT(madvise)(addr, length, advice);
}

/* What is natively a private mapping of a file can't be told to forget what is written, if its
 * bytes are a copy. A mapping that is only read loses nothing by it. */
static int call_madvise_on_copy(void *addr, size_t length, int advice, bool writable)
{
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		if (!writable)
			return 0;
		log_line("refused to drop pages of a copy at %p", addr);
		break;
	case MADV_FREE:
	case MADV_WIPEONFORK:
	case MADV_REMOVE:
		break;
	default:
		return call_madvise(addr, length, advice);
	}
	errno = EINVAL;
	return -1;
}

static int call_madvise_anywhere(void *addr, size_t length, int advice)
{
	bool writable;

	if (estate_touches(addr, length) && view_is_copy(addr, length, &writable))
		return call_madvise_on_copy(addr, length, advice, writable);
	return call_madvise(addr, length, advice);
}

static bool stops_at_holes(int advice)
{
	return advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE;
}

static int advise(void *addr, size_t length, int advice)
{
	const struct call_on c = {call_madvise_anywhere, advice, effect_of(advice) == EFFECT_CHANGE,
				  true, !stops_at_holes(advice)};

	if (!is_aligned(addr))
		return NEXT(madvise)(addr, length, advice);
	return call_on_range(addr, length, &c);
}

int mc_madvise(void *addr, size_t length, int advice)
{
	return advise(addr, length, advice);
}

int mc_posix_madvise(void *addr, size_t length, int advice)
{
	int saved = errno;
	int answer;

	if (!estate_touches(addr, length))
		return NEXT(posix_madvise)(addr, length, advice);
	/* glibc ignores it: what MADV_DONTNEED does is not what POSIX means by it. */
	if (advice == POSIX_MADV_DONTNEED)
		return 0;
	answer = advise(addr, length, advice) == 0 ? 0 : errno;
	errno = saved;
	return answer;
}

ssize_t mc_process_madvise(int pidfd, const struct iovec *ranges, size_t count, int advice,
			   unsigned int flags)
{
	/* Its advices (COLD, PAGEOUT, WILLNEED, COLLAPSE) act on pages, not on mappings. */
	return NEXT(process_madvise)(pidfd, ranges, count, advice, flags);
}

static int call_msync(void *addr, size_t length, int flags)
{
	return NEXT(msync)(addr, length, flags);
}

int mc_msync(void *addr, size_t length, int flags)
{
	const struct call_on c = {call_msync, flags, false, false, true};

	if (!is_aligned(addr))
		return NEXT(msync)(addr, length, flags);
	return call_on_range(addr, length, &c);
}

static int call_mlock(void *addr, size_t length, int how)
{
	(void)how;
	map_count_split();
	return NEXT(mlock)(addr, length);
}

static int call_mlock2(void *addr, size_t length, int flags)
{
	map_count_split();
	return NEXT(mlock2)(addr, length, (unsigned int)flags);
}

static int call_munlock(void *addr, size_t length, int how)
{
	(void)how;
	map_count_split();
	return NEXT(munlock)(addr, length);
}

/* The calls that take any address act on all of its page, even for no bytes (mm/mlock.c, do_mlock
 * and munlock; what wraps around there wraps around here). */
static int call_on_whole_pages(const void *addr, size_t length, const struct call_on *c)
{
	size_t mask = sys_page_size() - 1;
	size_t skew = (uintptr_t)addr & mask;
	char *start = (char *)addr - skew;
	size_t whole = (length + skew + mask) & ~mask;

	if (!estate_touches(start, whole))
		return c->call((void *)addr, length, c->how);
	return call_on_range(start, whole, c);
}

int mc_mlock(const void *addr, size_t length)
{
	const struct call_on c = {call_mlock, 0, true, false, false};

	return call_on_whole_pages(addr, length, &c);
}

int mc_mlock2(const void *addr, size_t length, unsigned int flags)
{
	const struct call_on c = {call_mlock2, (int)flags, true, false, false};

	return call_on_whole_pages(addr, length, &c);
}

int mc_munlock(const void *addr, size_t length)
{
	const struct call_on c = {call_munlock, 0, true, false, false};

	return call_on_whole_pages(addr, length, &c);
}

int mc_mlockall(int flags)
{
	/* The reserved part would count against RLIMIT_MEMLOCK; and a region that is mapped from
	 * now on would be locked, and read, as a whole. */
	if (config.active)
		description_retreat();
	return NEXT(mlockall)(flags);
}

int mc_mincore(void *addr, size_t length, unsigned char *vector)
{
	if (is_aligned(addr) && estate_touches(addr, length) &&
	    length <= UINTPTR_MAX - sys_page_size() - (uintptr_t)addr &&
	    view_check(addr, length) != 0) {
		errno = ENOMEM;
		return -1;
	}
	return NEXT(mincore)(addr, length, vector);
}

void *mc_shmat(int id, const void *addr, int flags)
{
	struct shmid_ds segment;
	bool covers = (flags & SHM_REMAP) && addr != NULL && estate_has(addr) &&
		      (is_aligned(addr) || (flags & SHM_RND)) &&
		      shmctl(id, IPC_STAT, &segment) == 0;
	char *start = (char *)addr - ((uintptr_t)addr & (sys_page_size() - 1));
	void *p;

	if (covers && view_cover(start, segment.shm_segsz) != 0) {
		errno = ENOMEM;
		return (void *)-1;
	}
	p = NEXT(shmat)(id, addr, flags);
	if (covers)
		view_covered(start, segment.shm_segsz, p != (void *)-1);
	return p;
}

int mc_shmdt(const void *addr)
{
	int answer = NEXT(shmdt)(addr);

	if (answer == 0 && estate_has(addr))
		view_detached((void *)addr);
	return answer;
}

/* Pages that a userfaultfd watches must not be watched in the next view. What was not mapped was
 * not there to be registered. */
static int registered(int fd, const struct uffdio_register *what)
{
	struct uffdio_range range = what->range;
	void *addr = (void *)(uintptr_t)range.start;
	int error;

	if (!estate_touches(addr, (size_t)range.len))
		return 0;
	error = view_check(addr, (size_t)range.len) != 0
			? -EINVAL
			: view_change(addr, (size_t)range.len, true);
	if (error != 0)
		NEXT(ioctl)(fd, UFFDIO_UNREGISTER, &range);
	return map_answer(error);
}

/* The argument, if there is one, is a word. */
#define IOCTL(name)                                                                                \
	int mc_##name(int fd, unsigned long request, ...)                                          \
	{                                                                                          \
		void *argument;                                                                    \
		va_list list;                                                                      \
		int answer;                                                                        \
                                                                                                   \
		va_start(list, request);                                                           \
		argument = va_arg(list, void *);                                                   \
		va_end(list);                                                                      \
		aside_fd(fd);                                                                      \
		aside_bytes();                                                                     \
		answer = NEXT(name)(fd, request, argument);                                        \
		/* Once it has succeeded, the argument is known to be good. */                     \
		if ((unsigned int)request == UFFDIO_REGISTER && answer == 0)                       \
			answer = registered(fd, argument);                                         \
		return answer;                                                                     \
	}

IOCTL(ioctl)
#ifdef __i386__
IOCTL(__ioctl_time64)
#endif

/* The same functions by names that are not exported, for system calls made by number. */
#define INNER(name)                                                                                \
	extern __typeof__(mc_##name) inner_##name                                                  \
		__attribute__((alias(#name), visibility("hidden")));

INNER(mmap64)
INNER(munmap)
INNER(mprotect)
INNER(pkey_mprotect)
INNER(madvise)
INNER(msync)
INNER(mlock)
INNER(mlock2)
INNER(munlock)
INNER(mlockall)
INNER(mincore)
INNER(shmat)
INNER(shmdt)
INNER(ioctl)
