#include "bytes.h"

#include "guard.h"
#include "sys.h"

/* The range in a region, and what the region was when we looked. */
struct source {
	const char *from;
	const char *after; /* the page after the range */
	const struct region *region;
	uint32_t version;
	uint32_t changes;
};

/* `reach`: from `offset` to the page after the range. */
static inline bool look(const struct region *region, uint64_t handle, uint64_t offset, size_t reach,
			struct source *ret)
{
	unsigned int shift = sys_page_shift();
	size_t first;
	uint64_t start;
	uint64_t bytes;

	/* Before all else: whatever is read after it and is not of this version, shows. */
	ret->version = __atomic_load_n(&region->version, __ATOMIC_ACQUIRE);
	ret->changes = __atomic_load_n(&region->changes, __ATOMIC_ACQUIRE);
	first = __atomic_load_n(&region->first, __ATOMIC_ACQUIRE);
	bytes = (uint64_t)__atomic_load_n(&region->pages, __ATOMIC_ACQUIRE) << shift;
	start = (uint64_t)__atomic_load_n(&region->file_page, __ATOMIC_ACQUIRE) << shift;
	if (offset < start || offset - start >= bytes || reach >= bytes - (offset - start))
		return false;
	if (__atomic_load_n(&region->state, __ATOMIC_ACQUIRE) != REGION_LIVE ||
	    __atomic_load_n(&region->owner, __ATOMIC_ACQUIRE) != handle ||
	    __atomic_load_n(&region->marked, __ATOMIC_ACQUIRE) != 0)
		return false;
	ret->region = region;
	ret->from = (const char *)estate_address(first) + (size_t)(offset - start);
	ret->after = ret->from + reach;
	return true;
}

static inline bool find_among(const struct description *d, enum kind kind, uint64_t handle,
			      uint64_t offset, size_t reach, struct source *ret)
{
	const struct region *region = __atomic_load_n(&d->layers[kind], __ATOMIC_ACQUIRE);

	/* A stale list may lead into another; it ends all the same. */
	for (int i = 0; region != NULL && i < 2 * MOST_LAYERS; i++) {
		if (look(region, handle, offset, reach, ret))
			return true;
		region = __atomic_load_n(&region->next, __ATOMIC_ACQUIRE);
	}
	return false;
}

static inline enum reason find(const struct description *d, uint64_t handle,
			       const struct bytes_request *request, struct source *ret)
{
	uint64_t size = __atomic_load_n(&d->readable, __ATOMIC_RELAXED);
	size_t mask = sys_page_size() - 1;
	size_t in_page = (size_t)request->offset & mask;
	size_t reach = ((in_page + request->n - 1) | mask) + 1 - in_page;

	if (request->offset >= size || reach >= size - request->offset)
		return REASON_past_end;
	return find_among(d, KIND_READ_PRIVATE, handle, request->offset, reach, ret) ||
			       find_among(d, KIND_READ_SHARED, handle, request->offset, reach, ret)
		       ? REASON_none
		       : REASON_first;
}

/* Touches the range's pages, and then the one after them. */
static inline bool prove(const struct source *source)
{
	uintptr_t mask = sys_page_size() - 1;
	const char *p = source->from;
	unsigned char byte;

	do {
		if (!guard_peek(p, &byte))
			return false;
		p = (const char *)(((uintptr_t)p | mask) + 1);
	} while (p < source->after);
	return guard_peek(source->after, &byte);
}

#ifdef MC_UNIT_TEST
void (*bytes_copied)(void);
static inline void note_copied(void)
{
	if (bytes_copied != NULL)
		bytes_copied();
}
#else
static inline void note_copied(void)
{
}
#endif

static bool scatter(const struct bytes_request *request, const char *from)
{
	for (int i = 0; i < request->count; i++) {
		if (!guard_copy(request->pieces[i].iov_base, from, request->pieces[i].iov_len))
			return false;
		from += request->pieces[i].iov_len;
	}
	return true;
}

static inline bool stands(const struct source *source)
{
	/* After everything that was read from its addresses. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&source->region->version, __ATOMIC_RELAXED) == source->version &&
	       __atomic_load_n(&source->region->changes, __ATOMIC_RELAXED) == source->changes;
}

/* Budget: three loads of the description, eight of the region, the proof and the copy. */
enum reason bytes_copy(const struct description *d, uint64_t handle,
		       const struct bytes_request *request)
{
	struct source source;
	enum reason reason = find(d, handle, request, &source);
	bool copied;

	if (__builtin_expect(reason != REASON_none, 0))
		return reason;
	if (__builtin_expect(!prove(&source), 0))
		return REASON_fault;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	copied = __builtin_expect(request->count == 0, 1)
			 ? guard_copy(request->to, source.from, request->n)
			 : scatter(request, source.from);
	if (__builtin_expect(!copied, 0))
		return REASON_fault;
	note_copied();
	return __builtin_expect(stands(&source), 1) ? REASON_none : REASON_descriptor;
}

enum reason bytes_at_hand(const struct description *d, uint64_t handle,
			  const struct bytes_request *request)
{
	struct source source;
	enum reason reason = find(d, handle, request, &source);

	if (reason == REASON_none && !kernel.resident(source.from, source.after))
		reason = REASON_cold;
	return reason;
}
