#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "arena.h"
#include "budget.h"
#include "config.h"
#include "description.h"
#include "estate.h"
#include "fd.h"
#include "lock.h"
#include "log.h"
#include "mem.h"
#include "region.h"
#include "sys.h"
#include "tls.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* The flags that change nothing for a read-only mapping of a file. */
#define HARMLESS_FLAGS (MAP_TYPE | MAP_NORESERVE | MAP_FILE | MAP_POPULATE)

/* What is asked for, in pages of the file. */
struct span {
	enum kind kind;
	size_t page;
	size_t count;
	/* Other views may look at the same pages: see view_map_crowded. */
	bool crowded;
};

/* Budget: a handful of loads, one clock reading, an atomic operation for each 64 pages, 30-40 ns
 * with the statistics. */
static inline void *claim(const struct description *d, uint64_t handle, const struct span *span)
{
	struct region *region = __atomic_load_n(&d->layers[span->kind], __ATOMIC_ACQUIRE);

	/* A stale list may lead into another; it ends all the same. */
	for (int i = 0; region != NULL && i < 2 * MOST_LAYERS; i++) {
		void *p = region_claim(region, handle, span->page, span->count);

		if (p != NULL) {
			region_touch(region);
			return p;
		}
		region = __atomic_load_n(&region->next, __ATOMIC_ACQUIRE);
	}
	return NULL;
}

static inline enum kind kind_of(const struct view_request *request)
{
	bool shared = (request->flags & MAP_TYPE) == MAP_SHARED;

	if (request->prot & PROT_WRITE)
		return shared ? KIND_WRITE_SHARED : KIND_WRITE_PRIVATE;
	return shared ? KIND_READ_SHARED : KIND_READ_PRIVATE;
}

static inline bool access_allows(const struct description *d, enum kind kind)
{
	return kind != KIND_WRITE_SHARED || d->access == O_RDWR;
}

/* The claim stands if the number still means what it did: one that was closed meanwhile must get
 * what the kernel says of it now. */
static void *confirm(void *p, const struct fd_entry *entry, uint64_t state,
		     const struct view_request *request, enum reason *ret_reason)
{
	size_t first = estate_page(p);
	size_t count = estate_pages(request->length);
	struct region *region = estate_owner(first);

	*ret_reason = REASON_descriptor;
	if (region->kind == KIND_WRITE_SHARED &&
	    !region_freshen(region, first, count, request->fd)) {
		*ret_reason = REASON_refused;
	} else if (__builtin_expect(__atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) == state, 1)) {
		stats_view_begins(request->length);
		return p;
	}
	region_unclaim(region, first, count);
	return NULL;
}

static void *map_slowly(const struct view_request *request, const struct span *span,
			enum reason *ret_reason);

static struct span span_of(const struct view_request *request)
{
	unsigned int shift = sys_page_shift();

	return (struct span){
		.kind = kind_of(request),
		.page = (size_t)(request->offset >> shift),
		.count = (request->length + ((size_t)1 << shift) - 1) >> shift,
	};
}

void *view_map(const struct view_request *request, enum reason *ret_reason)
{
	struct span span = span_of(request);
	const struct fd_entry *entry = fd_find(request->fd);
	const struct description *d;
	uint64_t state;
	void *p;

	if (entry == NULL)
		return map_slowly(request, &span, ret_reason);
	state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
	d = description_at(state & FD_HANDLE);
	if (d == NULL || __atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) != POLICY_SERVE ||
	    !(state & FD_TRACKED) ||
	    __atomic_load_n(&entry->tick, __ATOMIC_RELAXED) != kernel.tick() ||
	    !access_allows(d, span.kind) || (request->flags & MAP_POPULATE) || tls.vfork_child)
		return map_slowly(request, &span, ret_reason);
	p = claim(d, state & FD_HANDLE, &span);
	if (p == NULL)
		return map_slowly(request, &span, ret_reason);
	return confirm(p, entry, state, request, ret_reason);
}

enum reason view_excuse(const struct view_request *request)
{
	int type = request->flags & MAP_TYPE;

	if (request->flags & MAP_ANONYMOUS)
		return REASON_anonymous;
	if (request->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		return REASON_fixed;
	if (request->addr != NULL)
		return REASON_hint;
	if (request->fd < 0)
		return REASON_descriptor;
	if ((type != MAP_SHARED && type != MAP_PRIVATE) || (request->flags & ~HARMLESS_FLAGS))
		return REASON_flags;
	if (request->prot != PROT_READ && request->prot != (PROT_READ | PROT_WRITE))
		return REASON_protection;
	if (request->length == 0 || (request->offset & (sys_page_size() - 1)) != 0)
		return REASON_arguments;
	if (request->length > config.max_view)
		return REASON_too_large;
	if (request->offset > (uint64_t)INT64_MAX - request->length ||
	    request->offset >> sys_page_shift() > SIZE_MAX / 2)
		return REASON_arguments;
	return REASON_none;
}

static bool only_reads(enum kind kind)
{
	return kind == KIND_READ_SHARED || kind == KIND_READ_PRIVATE;
}

/* Whether views of that kind may have addresses in common. */
static bool may_share(enum kind kind)
{
	return only_reads(kind) && config_program_shares();
}

/* Notes that a small mapping passed; true if one had passed before, or need not. */
static bool seen_before(struct fd_entry *entry, uint64_t state, struct description *d,
			enum kind kind)
{
	if (may_share(kind))
		return true;
	if (d != NULL)
		return __atomic_exchange_n(&d->seen, true, __ATOMIC_RELAXED);
	if (state & FD_SEEN)
		return true;
	__atomic_compare_exchange_n(&entry->state, &state, state | FD_SEEN, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return false;
}

/* Whether the newest layer has the pages at all (in use, then), or the file has grown since. */
static bool covers(const struct region *region, const struct span *span)
{
	return region != NULL && span->count <= region->pages &&
	       span->page - region->file_page <= region->pages - span->count;
}

/* The bytes of the file that a new region must have for this request, or 0 if that is too far
 * beyond the end. */
static uint64_t bytes_wanted(const struct view_request *request, uint64_t size)
{
	uint64_t end = request->offset + request->length;

	if (request->offset >= size || end > size + config.max_view)
		return 0;
	return end > size ? end : size;
}

/* One more layer, with the request's view in it. Caller holds LOCK_VIEWS and a reference. */
static void *add_layer(struct description *d, const struct fd_entry *entry, uint64_t state,
		       const struct view_request *request, const struct span *span, uint64_t size,
		       enum reason *ret_reason)
{
	struct region_request wanted = {
		.owner = state & FD_HANDLE,
		.fd = request->fd,
		.kind = span->kind,
		.shared = may_share(span->kind) || span->crowded,
		.tmpfs = d->tmpfs,
		.crowded = span->crowded,
		.size = bytes_wanted(request, size),
		.page = span->page,
		.count = span->count,
	};
	struct region *newest = d->layers[span->kind];
	struct region *region;

	if (wanted.size == 0) {
		*ret_reason = REASON_past_end;
		return NULL;
	}
	region = description_make_region(d, &wanted, ret_reason);
	if (region == NULL)
		return NULL;
	/* It is of the right file only if the number meant the same before and after. */
	if (__atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) != state) {
		region_orphan(region);
		*ret_reason = REASON_descriptor;
		return NULL;
	}
	log_line("region %u: descriptor %d, kind %d, page %zu of %ju bytes at %zx%s", region->index,
		 request->fd, (int)span->kind, region->file_page, wanted.size,
		 (size_t)estate_address(region->first),
		 newest != NULL && newest->file_page == region->file_page && !covers(newest, span)
			 ? ", the file has grown"
			 : "");
	description_add_layer(d, region);
	return region_claim(region, wanted.owner, span->page, span->count);
}

/* What the number's file is was found out, now or before: serve it, if it may be served. */
static void *serve(struct description *d, struct fd_entry *entry, uint64_t state,
		   const struct view_request *request, const struct span *span,
		   enum reason *ret_reason)
{
	uint64_t tick = kernel.tick();
	uint64_t size = 0;
	struct lock_hold hold;
	void *p;

	if (!access_allows(d, span->kind)) {
		*ret_reason = REASON_access;
		return NULL;
	}
	*ret_reason = description_prove(d, request->fd, &size);
	if (*ret_reason == REASON_descriptor) {
		/* Closed and used again where no hook saw it. */
		fd_forget(request->fd);
		return NULL;
	}
	if (*ret_reason == REASON_empty ||
	    (*ret_reason == REASON_atime &&
	     __atomic_load_n(&d->layers[span->kind], __ATOMIC_ACQUIRE) != NULL))
		return NULL;
	__atomic_store_n(&entry->tick, tick, __ATOMIC_RELAXED);
	__atomic_store_n(&d->fd, request->fd, __ATOMIC_RELAXED);
	p = claim(d, state & FD_HANDLE, span);
	if (p == NULL) {
		hold = lock_take(LOCK_VIEWS);
		p = claim(d, state & FD_HANDLE, span);
		if (p == NULL)
			p = add_layer(d, entry, state, request, span, size, ret_reason);
		lock_drop(LOCK_VIEWS, hold);
	}
	if (p != NULL)
		p = confirm(p, entry, state, request, ret_reason);
	/* What MAP_POPULATE would have done (mm/gup.c, populate_vma_page_range: it copies the pages
	 * of a private writable mapping); its failures show nowhere either. */
	if (p != NULL && (request->flags & MAP_POPULATE))
		kernel.advise(p, request->length,
			      span->kind == KIND_WRITE_PRIVATE ? MADV_POPULATE_WRITE
							       : MADV_POPULATE_READ);
	return p;
}

static void *map_slowly(const struct view_request *request, const struct span *span,
			enum reason *ret_reason)
{
	struct fd_entry *entry;
	struct description *d;
	uint64_t state;
	void *p = NULL;

	if (tls.vfork_child || lock_held() || region_has_retreated()) {
		*ret_reason = tls.vfork_child ? REASON_child
			      : lock_held()   ? REASON_reentered
					      : REASON_retreat;
		return NULL;
	}
	*ret_reason = REASON_memory;
	entry = fd_make(request->fd);
	if (entry == NULL)
		return NULL;
	state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
	d = description_at(state & FD_HANDLE);
	if ((d == NULL || __atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_UNRESOLVED) &&
	    !seen_before(entry, state, d, span->kind)) {
		*ret_reason = REASON_first;
		return NULL;
	}
	state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
	d = fd_describe(entry, &state);
	if (d == NULL)
		return NULL;
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_UNRESOLVED)
		description_resolve(d, request->fd);
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_SERVE)
		p = serve(d, entry, state, request, span, ret_reason);
	else
		*ret_reason = (enum reason)d->reason;
	description_drop(state & FD_HANDLE);
	return p;
}

/* Memory that the program may do anything with. */
static bool is_plain_memory(const struct view_request *request)
{
	return request->addr == NULL && request->offset == 0 &&
	       (request->flags & ~MAP_NORESERVE) == (MAP_PRIVATE | MAP_ANONYMOUS) &&
	       request->prot == (PROT_READ | PROT_WRITE) && request->length > 0 &&
	       request->length <= ARENA_LARGEST;
}

static void *map_memory(const struct view_request *request)
{
	static bool asked; /* atomic */
	struct lock_hold hold;

	if (!is_plain_memory(request))
		return NULL;
	if (!__atomic_load_n(&asked, __ATOMIC_RELAXED) && !lock_held()) {
		hold = lock_take(LOCK_VIEWS);
		__atomic_store_n(&asked, true, __ATOMIC_RELAXED);
		if (!region_has_retreated())
			arena_reserve_anonymous();
		lock_drop(LOCK_VIEWS, hold);
	}
	return arena_map(request->length);
}

/* A view of pages that others look at too; this program's views of its file must be so many that
 * they fill all layers, or it would have got one of its own. */
static void *map_shared(const struct view_request *request)
{
	struct span span = span_of(request);
	enum reason reason;
	void *p;

	span.crowded = true;
	p = only_reads(span.kind) ? map_slowly(request, &span, &reason) : NULL;
	if (p != NULL)
		stats_add(COUNT_shared_views, 1);
	return p;
}

void *view_map_crowded(const struct view_request *request, enum reason reason)
{
	bool crowded = budget_is_crowded();
	void *p = NULL;

	if (config.dry_run || tls.vfork_child || (!crowded && !(config.modes & MODE_anon)))
		return NULL;
	if (reason == REASON_anonymous) {
		p = map_memory(request);
	} else if (crowded && (config.modes & MODE_mmap) && view_excuse(request) == REASON_none) {
		if (reason == REASON_layers)
			return map_shared(request);
		if ((request->flags & MAP_TYPE) == MAP_PRIVATE)
			p = arena_copy(request->fd, request->offset, request->length,
				       (request->prot & PROT_WRITE) != 0);
	}
	if (p != NULL)
		stats_view_begins(request->length);
	return p;
}

static bool may_tidy(void)
{
	return config.active && !config.dry_run && !tls.vfork_child && !lock_held();
}

/* Whether two more mappings are refused: one that splits takes two. Their length counts for nothing
 * and they are charged to nobody, so that memory is not the reason. */
static bool too_many_mappings(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *p = kernel.map(NULL, sys_page_size(), PROT_NONE, flags, -1, 0);
	void *q = kernel.map(NULL, sys_page_size(), PROT_READ, flags, -1, 0);

	if (!sys_failed(p))
		kernel.unmap(p, sys_page_size());
	if (!sys_failed(q))
		kernel.unmap(q, sys_page_size());
	return sys_failed(p) || sys_failed(q);
}

static bool let_reserve_go(void)
{
	struct lock_hold hold;
	bool was_there;

	if (region_has_retreated() || !too_many_mappings())
		return false;
	budget_set_crowded();
	hold = lock_take(LOCK_VIEWS);
	was_there = estate_drop_reserve();
	lock_drop(LOCK_VIEWS, hold);
	log_line("too many mappings%s", was_there ? ": the reserve is let go" : "");
	return was_there;
}

bool view_relieve(void)
{
	bool ended;
	int saved = errno;
	bool again;

	if (!may_tidy() || __atomic_load_n(&estate.base, __ATOMIC_ACQUIRE) == 0)
		return false;
	ended = description_relieve() > 0;
	if (saved == ENOMEM && kernel.address_limit() != UINT64_MAX)
		ended = description_retreat() || ended;
	log_line("out of mappings or memory: %s", ended ? "idle regions ended" : "none are idle");
	again = ended || let_reserve_go();
	errno = saved;
	return again;
}

void view_tend(void)
{
	int saved = errno;
	struct lock_hold hold;
	int64_t count;

	if (!may_tidy() || (count = budget_look()) < BUDGET_MANY)
		return;
	log_line("%jd mappings", (intmax_t)count);
	hold = lock_take(LOCK_VIEWS);
	if (!region_has_retreated() && !budget_is_crowded() &&
	    kernel.address_limit() == UINT64_MAX && estate_reserve())
		estate_take_reserve();
	if (!region_has_retreated())
		arena_reserve();
	lock_drop(LOCK_VIEWS, hold);
	if (budget_is_near())
		description_relieve();
	errno = saved;
}
