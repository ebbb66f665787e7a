#include "range.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

bool is_ours(int64_t slot)
{
	return slot >= self->first_slot && slot < self->end_slot;
}

bool range_of(const int64_t *a, struct range *ret)
{
	size_t end;

	memset(ret, 0, sizeof(*ret));
	if (!is_ours(a[0]) || slots[a[0]].base == NULL || a[1] < 0 ||
	    (size_t)a[1] >= slots[a[0]].pages)
		return false;
	ret->slot = &slots[a[0]];
	ret->first = (size_t)a[1];
	ret->skew = (size_t)a[3] % PAGE;
	ret->addr = ret->slot->base + ret->first * PAGE + ret->skew;
	ret->length = (size_t)a[2];
	ret->huge = a[2] < 0;
	end = (ret->slot->pages - ret->first) * PAGE - ret->skew;
	if (!ret->huge && ret->length > end)
		ret->length = end;
	ret->count = ret->huge ? 0 : (ret->skew + ret->length + PAGE - 1) / PAGE;
	ret->whole = true;
	ret->clear = true;
	for (size_t i = ret->first; i < ret->first + ret->count; i++) {
		if (page_live(&ret->slot->page[i]))
			continue;
		ret->whole = false;
		if (self->by == BY_THREAD ||
		    occupant(ret->slot, ret->slot->base + i * PAGE) != NULL)
			ret->clear = false;
	}
	/* What the other thread has got there meanwhile can't be known. */
	return self->by != BY_THREAD || ret->whole;
}

int error_of(int answer)
{
	return answer == 0 ? 0 : errno;
}

void operate(const struct range *r, const struct operation_on *o)
{
	errno = 0;
	if (r->clear) {
		outcome(error_of(o->call(r->addr, r->length, o->how)), o->wanted);
		return;
	}
	if (o->wanted == ANY) {
		say(" left out");
		return;
	}
	for (size_t i = r->first; i < r->first + o->done; i++) {
		size_t n = 0;

		while (i + n < r->first + o->done && page_live(&r->slot->page[i + n]))
			n++;
		if (n == 0)
			continue;
		if (o->call(r->slot->base + i * PAGE, n * PAGE, o->how_in_part) != 0 &&
		    o->wanted == 0)
			wrong("in part, %s", strerrorname_np(errno));
		i += n - 1;
	}
	outcome(o->wanted, o->wanted);
}

bool target_of(int64_t slot, int64_t page, size_t pages, struct target *ret)
{
	if (!is_ours(slot) || slots[slot].base == NULL || page < 0 ||
	    (size_t)page + pages > slots[slot].pages)
		return false;
	ret->slot = &slots[slot];
	ret->first = (size_t)page;
	ret->count = pages;
	ret->live = false;
	ret->clear = true;
	for (size_t i = ret->first; i < ret->first + pages; i++) {
		if (page_live(&ret->slot->page[i]))
			ret->live = true;
		else if (self->by == BY_THREAD ||
			 occupant(ret->slot, ret->slot->base + i * PAGE) != NULL)
			ret->clear = false;
	}
	return true;
}

void kill_range(struct slot *slot, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		page_kill(&slot->page[i]);
}

void unmap_live(const struct target *t)
{
	for (size_t i = t->first; i < t->first + t->count; i++) {
		if (page_live(&t->slot->page[i]))
			munmap(t->slot->base + i * PAGE, PAGE);
	}
}
