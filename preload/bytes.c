#include "bytes.h"

static inline bool look(const struct region *region, uint64_t handle, uint64_t offset,
			uint64_t after, struct region_source *ret)
{
	unsigned int shift = sys_page_shift();
	uint64_t pages;
	size_t first;

	/* Before all else: whatever is read after it and is not of this version, shows. */
	ret->stamp = __atomic_load_n(&region->stamp, __ATOMIC_ACQUIRE);
	first = __atomic_load_n(&region->first, __ATOMIC_ACQUIRE);
	pages = __atomic_load_n(&region->pages, __ATOMIC_ACQUIRE);
	ret->start = (uint64_t)__atomic_load_n(&region->file_page, __ATOMIC_ACQUIRE) << shift;
	ret->extent = ret->start + (pages << shift);
	ret->base = estate_address(first);
	ret->region = region;
	return offset >= ret->start && after < ret->extent &&
	       __atomic_load_n(&region->state, __ATOMIC_ACQUIRE) == REGION_LIVE &&
	       __atomic_load_n(&region->owner, __ATOMIC_ACQUIRE) == handle &&
	       __atomic_load_n(&region->marked, __ATOMIC_ACQUIRE) == 0;
}

static bool find_among(const struct description *d, enum kind kind, uint64_t handle,
		       uint64_t offset, struct region_source *ret, uint64_t after)
{
	struct region *region = __atomic_load_n(&d->layers[kind], __ATOMIC_ACQUIRE);

	/* A stale list may lead into another; it ends all the same. */
	for (int i = 0; region != NULL && i < 2 * MOST_LAYERS; i++) {
		if (look(region, handle, offset, after, ret)) {
			region_touch(region);
			return true;
		}
		region = __atomic_load_n(&region->next, __ATOMIC_ACQUIRE);
	}
	return false;
}

enum reason bytes_find(const struct description *d, uint64_t handle,
		       const struct bytes_request *request, struct region_source *ret_source)
{
	uint64_t after = bytes_after(request);

	if (after >= __atomic_load_n(&d->readable, __ATOMIC_RELAXED) || request->offset > after)
		return REASON_past_end;
	return find_among(d, KIND_READ_PRIVATE, handle, request->offset, ret_source, after) ||
			       find_among(d, KIND_READ_SHARED, handle, request->offset, ret_source,
					  after)
		       ? REASON_none
		       : REASON_first;
}

bool bytes_at_hand(const struct region_source *source, const struct bytes_request *request)
{
	return kernel.resident(bytes_at(source, request->offset),
			       bytes_at(source, bytes_after(request)));
}

#ifdef MC_UNIT_TEST
void (*bytes_copied)(void);
#endif

bool bytes_scatter(const struct bytes_request *request, const char *from)
{
	for (int i = 0; i < request->count; i++) {
		if (!guard_copy(request->pieces[i].iov_base, from, request->pieces[i].iov_len))
			return false;
		from += request->pieces[i].iov_len;
	}
	return true;
}
