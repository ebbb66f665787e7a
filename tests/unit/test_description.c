/*
 * Descriptions (description.c): handles, references, what is found out of a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "fake_kernel.h"
#include "lock.h"
#include "unit.h"

#define RUN_MS 300

static void handles_are_not_used_twice(void **state)
{
	uint64_t seen[100];

	assert_null(description_at(0));
	assert_false(description_hold(0));
	description_drop(0);
	for (size_t i = 0; i < LENGTH(seen); i++) {
		seen[i] = description_new();
		assert_int_not_equal(seen[i], 0);
		assert_non_null(description_at(seen[i]));
		for (size_t j = 0; j < i; j++) {
			assert_int_not_equal(seen[i], seen[j]);
			assert_null(description_at(seen[j]));
			assert_false(description_hold(seen[j]));
			description_drop(seen[j]); /* is not obeyed */
		}
		assert_non_null(description_at(seen[i]));
		description_drop(seen[i]);
		assert_null(description_at(seen[i]));
	}
}

static void records_are_used_again(void **state)
{
	uint64_t one = description_new();
	uint64_t two = description_new();
	struct description *first = description_at(one);

	assert_ptr_not_equal(first, description_at(two));
	first->seen = true;
	description_drop(one);
	one = description_new();
	assert_ptr_equal(description_at(one), first);
	assert_false(first->seen);
	assert_int_equal(first->policy, POLICY_UNRESOLVED);
	assert_int_equal(first->references, 1);
}

static void references_are_counted(void **state)
{
	uint64_t handle = description_new();

	for (int i = 0; i < 1000; i++)
		assert_true(description_hold(handle));
	for (int i = 0; i < 1000; i++)
		description_drop(handle);
	assert_non_null(description_at(handle));
	description_drop(handle);
	assert_null(description_at(handle));
}

static void many_at_once(void **state)
{
	enum { MANY = 3000 };
	static uint64_t handles[MANY];

	for (int i = 0; i < MANY; i++)
		handles[i] = description_new();
	for (int i = 0; i < MANY; i++) {
		assert_int_equal((uint32_t)handles[i], i + 1);
		assert_int_equal(description_at(handles[i])->index, i + 1);
		description_drop(handles[i]);
	}
}

static void memory_may_be_refused(void **state)
{
	fake_fail(CALL_TABLE, 1, ENOMEM);
	assert_int_equal(description_new(), 0);
	assert_true(fake_mend());
	assert_int_not_equal(description_new(), 0);
}

static enum reason resolve(int fd, enum policy *ret_policy)
{
	uint64_t handle = description_new();
	struct description *d = description_at(handle);
	enum reason reason;

	description_resolve(d, fd);
	*ret_policy = (enum policy)d->policy;
	reason = (enum reason)d->reason;
	description_drop(handle);
	return reason;
}

static void each_question_may_fail(void **state)
{
	int fd = fake_open(fake_file(5), O_RDONLY);
	enum policy policy;

	fake_fail(CALL_FLAGS, 1, EBADF);
	assert_int_equal(resolve(fd, &policy), REASON_descriptor);
	assert_int_equal(policy, POLICY_PASS);
	fake_fail(CALL_STAT, 1, EIO);
	assert_int_equal(resolve(fd, &policy), REASON_descriptor);
	fake_fail(CALL_FILESYSTEM, 1, EIO);
	assert_int_equal(resolve(fd, &policy), REASON_filesystem);
	assert_int_equal(resolve(fd, &policy), REASON_none);
	assert_int_equal(policy, POLICY_SERVE);
	assert_int_equal(resolve(99, &policy), REASON_descriptor);
}

static void is_resolved_once(void **state)
{
	uint64_t handle = description_new();
	struct description *d = description_at(handle);
	int fd = fake_open(fake_file(5), O_RDWR);
	int other = fake_open(fake_file(5), O_RDONLY);
	uint64_t inode;

	description_resolve(d, fd);
	inode = d->inode;
	assert_int_equal(d->access, O_RDWR);
	description_resolve(d, other);
	assert_int_equal(d->inode, inode);
	assert_int_equal(d->access, O_RDWR);
}

static void a_proof_says_which_file_and_how_long(void **state)
{
	uint64_t handle = description_new();
	struct description *d = description_at(handle);
	int file = fake_file(12345);
	int fd = fake_open(file, O_RDONLY);
	struct file_stat *stat = &fake_file_at(file)->stat;
	uint64_t size = 1;

	description_resolve(d, fd);
	assert_int_equal(description_prove(d, fd, &size), REASON_none);
	assert_int_equal(size, 12345);
	stat->size = 0;
	assert_int_equal(description_prove(d, fd, &size), REASON_empty);
	stat->size = 1;
	stat->mtime = stat->atime;
	assert_int_equal(description_prove(d, fd, &size), REASON_atime);
	stat->mtime = stat->ctime = 0;
	stat->atime = 1;
	assert_int_equal(description_prove(d, fd, &size), REASON_atime);
	stat->inode++;
	assert_int_equal(description_prove(d, fd, &size), REASON_descriptor);
	stat->inode--;
	stat->device++;
	assert_int_equal(description_prove(d, fd, &size), REASON_descriptor);
	stat->device--;
	fake_fail(CALL_STAT, 1, EBADF);
	assert_int_equal(description_prove(d, fd, &size), REASON_descriptor);
	fake_close(fd);
	assert_int_equal(description_prove(d, fd, &size), REASON_descriptor);
}

/* Makes a resolved description with regions in front of each other. */
static uint64_t with_layers(int fd, int layers)
{
	uint64_t handle = description_new();
	struct description *d = description_at(handle);
	struct region_request request = {
		.owner = handle,
		.fd = fd,
		.kind = KIND_READ_PRIVATE,
		.size = 5,
	};
	enum reason reason;

	description_resolve(d, fd);
	for (int i = 0; i < layers; i++) {
		struct lock_hold hold = lock_take(LOCK_VIEWS);
		struct region *region = region_create(&request, &reason);

		if (region != NULL)
			description_add_layer(d, region);
		lock_drop(LOCK_VIEWS, hold);
		assert_ptr_equal(d->layers[KIND_READ_PRIVATE], region);
	}
	return handle;
}

static void the_last_reference_ends_the_layers(void **state)
{
	int fd = fake_open(fake_file(5), O_RDONLY);
	uint64_t handle = with_layers(fd, 5);
	struct region *used = description_at(handle)->layers[KIND_READ_PRIVATE]->next;

	assert_non_null(region_claim(used, handle, 0, 1));
	assert_true(description_hold(handle));
	description_drop(handle);
	assert_int_equal(used->state, REGION_LIVE);
	description_drop(handle);
	assert_int_equal(used->state, REGION_ORPHAN);
	assert_int_equal(fake_description_pages(fd), used->pages);
	region_unclaim(used, used->first, 1);
	assert_int_equal(fake_description_pages(fd), 0);
	fake_check();
}

static void idle_layers_can_be_ended(void **state)
{
	int fd = fake_open(fake_file(5), O_RDONLY);
	int other = fake_open(fake_file(5), O_RDONLY);
	uint64_t handle = with_layers(fd, 4);
	uint64_t another = with_layers(other, 1);
	struct description *d = description_at(handle);
	struct region *used = d->layers[KIND_READ_PRIVATE]->next;

	assert_non_null(region_claim(used, handle, 0, 1));
	assert_int_equal(description_relieve(), 4);
	assert_ptr_equal(d->layers[KIND_READ_PRIVATE], used);
	assert_null(used->next);
	assert_null(description_at(another)->layers[KIND_READ_PRIVATE]);
	assert_int_equal(description_relieve(), 0);
	assert_int_equal(fake_description_pages(other), 0);
	region_unclaim(used, used->first, 1);
	assert_int_equal(used->state, REGION_LIVE);
	description_drop(handle);
	description_drop(another);
	assert_int_equal(fake_description_pages(fd), 0);
	fake_check();
}

/* Some threads make and end descriptions, others hold what they find. */
enum { SLOTS = 4 };
static uint64_t slots[SLOTS];
static uint64_t race_end;

static void race(unsigned int number)
{
	struct rng rng = {number * 31 + 1};

	while (unit_ms() < race_end) {
		uint64_t *slot = &slots[rng_below(&rng, SLOTS)];
		uint64_t handle;

		if (number % 2 == 0) {
			handle = description_new();
			EXPECT(handle != 0);
			handle = __atomic_exchange_n(slot, handle, __ATOMIC_ACQ_REL);
			description_drop(handle);
			continue;
		}
		handle = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (handle == 0 || !description_hold(handle))
			continue;
		for (int i = 0; i < 10; i++)
			EXPECT(description_at(handle) != NULL);
		description_drop(handle);
	}
}

static void holding_and_ending_in_threads(void **state)
{
	race_end = unit_ms() + RUN_MS;
	unit_threads(4, race);
	for (int i = 0; i < SLOTS; i++) {
		const struct description *d = description_at(slots[i]);

		if (d == NULL)
			continue;
		assert_int_equal(d->references, 1);
		description_drop(slots[i]);
	}
	/* Nothing is lost: a handful of records was enough. */
	assert_true((uint32_t)description_new() <= 64);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(handles_are_not_used_twice, NORMAL),
		CASE(records_are_used_again, NORMAL),
		CASE(references_are_counted, NORMAL),
		CASE(many_at_once, NORMAL),
		CASE(memory_may_be_refused, NORMAL),
		CASE(each_question_may_fail, NORMAL),
		CASE(is_resolved_once, NORMAL),
		CASE(a_proof_says_which_file_and_how_long, NORMAL),
		CASE(the_last_reference_ends_the_layers, ALL_WORLDS),
		CASE(idle_layers_can_be_ended, ALL_WORLDS),
		CASE(holding_and_ending_in_threads, NORMAL),
	};

	return RUN(cases);
}
