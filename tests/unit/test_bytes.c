/*
 * Copies of a file's bytes (bytes.c), with the real kernel: what is proved to be in the file is
 * copied, and whatever happens between the steps, nothing else is taken for it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"
#include "guard.h"
#include "lock.h"
#include "unit.h"

#define KERNEL (EXCLUSIVE_WORLDS | REAL_KERNEL)

static char name[] = "/tmp/test_bytes.XXXXXX";
static int writer;
static int reader;
static uint64_t handle;
static struct description *d;
static struct region *region;
static unsigned char bytes[65536];

static unsigned char letter(size_t i)
{
	return (unsigned char)(1 + i % 251);
}

static void write_letters(size_t from, size_t to)
{
	unsigned char *p = malloc(to - from);

	for (size_t i = from; i < to; i++)
		p[i - from] = letter(i);
	assert_int_equal(pwrite(writer, p, to - from, (off_t)from), (long)(to - from));
	free(p);
}

static void map_it(enum kind kind, uint64_t size)
{
	struct region_request request = {.owner = handle, .fd = reader, .kind = kind, .size = size};
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	enum reason reason;

	region = region_create(&request, &reason);
	if (region != NULL)
		description_add_layer(d, region);
	lock_drop(LOCK_VIEWS, hold);
	assert_non_null(region);
}

static void know_the_size(void)
{
	uint64_t size;

	description_prove(d, reader, &size);
}

/* A file of so many letters, with a region. */
static void make(size_t length)
{
	/* cmocka catches them itself. */
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	writer = mkstemp(name);
	assert_true(writer >= 0);
	write_letters(0, length);
	reader = open(name, O_RDONLY | O_CLOEXEC | O_NOATIME);
	unlink(name);
	guard_begin(sigaction);
	assert_true(guard_enable());
	handle = description_new();
	d = description_at(handle);
	assert_non_null(d);
	description_resolve(d, reader);
	assert_int_equal(d->policy, POLICY_SERVE);
	know_the_size();
	map_it(KIND_READ_PRIVATE, length);
}

static enum reason find_and_copy(const struct bytes_request *request)
{
	struct region_source source;
	enum reason reason = bytes_find(d, handle, request, &source);

	assert_true(guard_ready());
	return reason != REASON_none ? reason : bytes_copy(&source, d->readable, request);
}

static enum reason copy(uint64_t offset, size_t n)
{
	struct bytes_request request = {.offset = offset, .n = n, .to = bytes};

	memset(bytes, 0, sizeof(bytes));
	return find_and_copy(&request);
}

static bool right(uint64_t offset, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != letter(offset + i))
			return false;
	}
	return bytes[n] == 0;
}

static void ranges_are_copied(void **state)
{
	struct rng rng = unit_rng();
	size_t last_page = 200000 / PAGE * PAGE;

	make(200000);
	for (int i = 0; i < 20000; i++) {
		size_t n = 1 + rng_below(&rng, i % 2 ? 100 : 60000);
		size_t offset = rng_below(&rng, last_page + 1 - n);

		assert_int_equal(copy(offset, n), REASON_none);
		assert_true(right(offset, n));
	}
	assert_int_equal(copy(last_page - 1, 1), REASON_none);
	assert_int_equal(copy(UINT64_MAX, 10), REASON_past_end);
	assert_int_equal(copy(UINT64_MAX - 5, 10), REASON_past_end);
	assert_int_equal(copy(INT64_MAX, 10), REASON_past_end);
}

/* Nothing proves them. */
static void the_last_page_is_not_copied(void **state)
{
	make(5 * PAGE + 1);
	assert_int_equal(copy(5 * PAGE - 1, 1), REASON_none);
	assert_int_equal(copy(5 * PAGE - 1, 2), REASON_past_end);
	assert_int_equal(copy(5 * PAGE, 1), REASON_past_end);
	assert_int_equal(ftruncate(writer, 5 * PAGE), 0);
	assert_int_equal(copy(5 * PAGE - 1, 1), REASON_fault);
	know_the_size();
	assert_int_equal(copy(5 * PAGE - 1, 1), REASON_past_end);
	assert_int_equal(copy(4 * PAGE, 1), REASON_past_end);
	assert_int_equal(copy(4 * PAGE - 1, 1), REASON_none);
}

static void pieces_are_filled(void **state)
{
	struct iovec pieces[3] = {{bytes, 10}, {bytes + 100, 0}, {bytes + 10, 5000}};
	struct bytes_request request = {.offset = 77, .n = 5010, .pieces = pieces, .count = 3};

	make(10000);
	assert_int_equal(find_and_copy(&request), REASON_none);
	assert_true(right(77, 5010));
	pieces[2].iov_base = NULL;
	assert_int_equal(find_and_copy(&request), REASON_fault);
}

static void bad_places_fault(void **state)
{
	unsigned char *p =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bytes_request request = {.offset = 5, .n = 100, .to = p + PAGE - 50};

	make(10000);
	mprotect(p + PAGE, PAGE, PROT_NONE);
	assert_int_equal(find_and_copy(&request), REASON_fault);
	request.to = NULL;
	assert_int_equal(find_and_copy(&request), REASON_fault);
	mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE);
	request.to = p + PAGE - 50;
	assert_int_equal(find_and_copy(&request), REASON_none);
}

/* Their value means nothing. */
static void zeros_are_bytes(void **state)
{
	make(PAGE);
	assert_int_equal(ftruncate(writer, 40000), 0);
	know_the_size();
	map_it(KIND_READ_PRIVATE, 40000);
	assert_int_equal(copy(0, 30000), REASON_none);
	assert_int_equal(bytes[PAGE - 1], letter(PAGE - 1));
	assert_int_equal(bytes[PAGE], 0);
	assert_int_equal(fallocate(writer, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 30000),
			 0);
	memset(bytes, 1, sizeof(bytes));
	assert_int_equal(copy(0, 20000), REASON_none);
	assert_int_equal(bytes[0], 0);
}

static void what_was_cut_off_is_gone(void **state)
{
	make(40000);
	assert_int_equal(ftruncate(writer, 5000), 0);
	assert_int_equal(copy(20000, 10), REASON_fault);
	assert_int_equal(copy(4000, 10000), REASON_fault);
	assert_int_equal(copy(4095, 2), REASON_fault);
	assert_int_equal(copy(4096, 10), REASON_fault);
	assert_int_equal(copy(4090, 6), REASON_none);
	write_letters(5000, 30000);
	assert_int_equal(copy(6000, 20000), REASON_none);
	assert_true(right(6000, 20000));
}

static void append_again(void)
{
	write_letters(100, 3 * PAGE);
}

static void cut_it(void)
{
	EXPECT(ftruncate(writer, 100) == 0);
}

/* The file is short when the read begins, and long when it ends: the zeros in between are nobody's.
 */
static void appended_during_a_read(void **state)
{
	make(3 * PAGE);
	cut_it();
	bytes_copied = append_again;
	assert_int_not_equal(copy(1000, 16), REASON_none);
}

/* It was long when the read began. */
static void cut_during_a_read(void **state)
{
	make(3 * PAGE);
	bytes_copied = cut_it;
	assert_int_equal(copy(1000, 16), REASON_none);
	assert_true(right(1000, 16));
	assert_int_equal(copy(1000, 16), REASON_fault);
}

static void end_idle(void)
{
	EXPECT(description_relieve() == 1);
}

static void the_region_ends_during_a_read(void **state)
{
	make(3 * PAGE);
	bytes_copied = end_idle;
	assert_int_not_equal(copy(1000, 16), REASON_none);
	bytes_copied = NULL;
	assert_int_equal(copy(1000, 16), REASON_first);
	map_it(KIND_READ_SHARED, 3 * PAGE);
	assert_int_equal(copy(1000, 16), REASON_none);
}

static void change_page(void)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);

	EXPECT(region_mark(region, region->first, 1, MARK_TAKEN));
	lock_drop(LOCK_VIEWS, hold);
}

static void pages_change_during_a_read(void **state)
{
	make(3 * PAGE);
	bytes_copied = change_page;
	assert_int_equal(copy(1000, 16), REASON_descriptor);
	bytes_copied = NULL;
	assert_int_equal(copy(1000, 16), REASON_first);
}

/* Behind a region there may be another file's. */
static void the_file_outgrows_its_region(void **state)
{
	struct lock_hold hold;

	make(2 * PAGE);
	write_letters(2 * PAGE, 300000);
	know_the_size();
	assert_int_equal(copy(10, 100), REASON_none);
	assert_int_equal(copy((region->pages - 1) * PAGE - 1, 1), REASON_none);
	assert_int_equal(copy((region->pages - 1) * PAGE, 1), REASON_first);
	assert_int_equal(copy(250000, 10), REASON_first);
	hold = lock_take(LOCK_VIEWS);
	assert_int_equal(description_end_idle(d, KIND_READ_PRIVATE), 1);
	lock_drop(LOCK_VIEWS, hold);
	map_it(KIND_READ_PRIVATE, 300000);
	assert_int_equal(copy(PAGE, 100), REASON_none);
	assert_int_equal(copy(250000, 10), REASON_none);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(ranges_are_copied, KERNEL),
		CASE(the_last_page_is_not_copied, KERNEL),
		CASE(pieces_are_filled, KERNEL),
		CASE(bad_places_fault, KERNEL),
		CASE(zeros_are_bytes, KERNEL),
		CASE(what_was_cut_off_is_gone, KERNEL),
		CASE(appended_during_a_read, KERNEL),
		CASE(cut_during_a_read, KERNEL),
		CASE(the_region_ends_during_a_read, KERNEL),
		CASE(pages_change_during_a_read, KERNEL),
		CASE(the_file_outgrows_its_region, KERNEL),
	};

	return RUN(cases);
}
