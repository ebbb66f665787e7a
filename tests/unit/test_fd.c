/*
 * The descriptor table (fd.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "fake_kernel.h"
#include "fd.h"
#include "program.h"
#include "tls.h"
#include "unit.h"

#define RUN_MS 300

static uint64_t state_of(int fd)
{
	const struct fd_entry *entry = fd_find(fd);

	return entry == NULL ? 0 : __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
}

static struct description *description_of(int fd)
{
	return description_at(state_of(fd) & FD_HANDLE);
}

static void leaves_are_made_when_needed(void **state)
{
	static const int numbers[] = {0, 1, 1023, 1024, 1025, 1 << 20, (1 << 22) - 1};

	for (size_t i = 0; i < LENGTH(numbers); i++) {
		struct fd_entry *entry = fd_make(numbers[i]);

		assert_non_null(entry);
		assert_ptr_equal(fd_find(numbers[i]), entry);
		assert_ptr_equal(fd_make(numbers[i]), entry);
	}
	assert_null(fd_find(200000));
	assert_null(fd_find(-1));
	assert_null(fd_make(-1));
	assert_null(fd_find(INT32_MIN));
	assert_null(fd_make(1 << 22));
	assert_null(fd_make(INT32_MAX));
	fake_fail(CALL_TABLE, 1, ENOMEM);
	assert_null(fd_make(200000));
	assert_true(fake_mend());
	/* Without memory nothing is tracked, and nothing breaks. */
	fake_fail_always(CALL_TABLE, ENOMEM);
	fd_opened(200000);
	fd_duplicated(200000, 300000);
	fd_forget(200000);
	fd_forget_range(0, UINT32_MAX);
	fake_mend();
	assert_int_equal(state_of(200000), 0);
}

static void opening_tracks_and_closing_forgets(void **state)
{
	fd_opened(5);
	assert_int_equal(state_of(5), FD_TRACKED);
	fd_opened(5);
	assert_int_equal(state_of(5), FD_TRACKED);
	fd_forget(5);
	assert_int_equal(state_of(5), 0);
	fd_forget(5);
	fd_forget(-1);
	fd_opened(-1);
	fd_forget(1 << 30);
	assert_null(fd_find(1 << 30));
}

static void an_entry_holds_its_description(void **state)
{
	uint64_t handle = description_new();
	struct fd_entry *entry = fd_make(5);

	fd_opened(5);
	assert_false(fd_attach(entry, FD_TRACKED | FD_SEEN, handle));
	assert_true(fd_attach(entry, FD_TRACKED, handle));
	assert_int_equal(state_of(5), FD_TRACKED | handle);
	/* Opened again where the close was missed. */
	fd_opened(5);
	assert_int_equal(state_of(5), FD_TRACKED);
	assert_null(description_at(handle));
	handle = description_new();
	assert_true(fd_attach(entry, FD_TRACKED, handle));
	fd_forget(5);
	assert_null(description_at(handle));
}

static void copies_share_a_description(void **state)
{
	struct description *d;

	fd_opened(5);
	fd_duplicated(5, 6);
	fd_duplicated(6, 70000);
	d = description_of(5);
	assert_non_null(d);
	assert_ptr_equal(description_of(6), d);
	assert_ptr_equal(description_of(70000), d);
	assert_int_equal(d->references, 3);
	fd_forget(5);
	fd_forget(70000);
	assert_ptr_equal(description_of(6), d);
	assert_int_equal(d->references, 1);
	fd_duplicated(6, 6);
	assert_int_equal(d->references, 1);
	fd_duplicated(-1, 6);
	fd_duplicated(6, -1);
	assert_int_equal(d->references, 1);
	/* dup2 over a copy of itself. */
	fd_duplicated(6, 7);
	fd_duplicated(6, 7);
	assert_int_equal(d->references, 2);
	fd_forget(6);
	fd_forget(7);
	assert_int_equal(d->references, 0);
}

static void copies_remember_what_was_seen(void **state)
{
	fd_opened(5);
	fd_make(5)->state |= FD_SEEN;
	fd_duplicated(5, 6);
	assert_true(description_of(6)->seen);
	fd_opened(7);
	fd_duplicated(7, 8);
	assert_false(description_of(8)->seen);
}

static void copies_of_the_unknown_are_unknown(void **state)
{
	fd_opened(6);
	fd_duplicated(5, 6);
	assert_int_equal(state_of(6), 0);
	assert_int_equal(state_of(5), 0);
	fd_make(5)->state = FD_SEEN;
	fd_opened(6);
	fd_duplicated(5, 6);
	assert_int_equal(state_of(6), 0);
	assert_int_equal(state_of(5), FD_SEEN);
}

static void a_copy_may_want_memory(void **state)
{
	fd_opened(5);
	fd_opened(6);
	fake_fail_always(CALL_TABLE, ENOMEM);
	fd_duplicated(5, 6);
	fake_mend();
	assert_int_equal(state_of(5), FD_TRACKED);
	assert_int_equal(state_of(6), 0);
}

static void ranges_are_forgotten(void **state)
{
	static const int numbers[] = {3, 10, 65535, 65536, 131071, 131072, 1000000};

	for (unsigned int first = 0; first < LENGTH(numbers); first++) {
		for (unsigned int last = first; last < LENGTH(numbers); last++) {
			for (size_t i = 0; i < LENGTH(numbers); i++)
				fd_opened(numbers[i]);
			fd_forget_range((unsigned int)numbers[first], (unsigned int)numbers[last]);
			for (size_t i = 0; i < LENGTH(numbers); i++)
				assert_int_equal(state_of(numbers[i]) == 0,
						 i >= first && i <= last);
		}
	}
	fd_forget_range(5, 4);
	fd_forget_range(UINT32_MAX, UINT32_MAX);
	fd_forget_range(11, 12);
	fd_opened(3);
	fd_forget_range(4, UINT32_MAX);
	assert_int_equal(state_of(3), FD_TRACKED);
	assert_int_equal(state_of(1000000), 0);
	fd_forget_range(0, UINT32_MAX);
	assert_int_equal(state_of(3), 0);
}

static void ranges_drop_descriptions(void **state)
{
	uint64_t handle;

	fd_opened(5);
	fd_duplicated(5, 70000);
	handle = state_of(5) & FD_HANDLE;
	fd_forget_range(6, 100000);
	assert_non_null(description_at(handle));
	fd_forget_range(5, 5);
	assert_null(description_at(handle));
}

static void tracking_can_be_stopped_for_good(void **state)
{
	uint64_t handle;

	fd_opened(5);
	fd_duplicated(5, 6);
	handle = state_of(5) & FD_HANDLE;
	fd_stop_tracking();
	assert_int_equal(state_of(5), 0);
	assert_null(description_at(handle));
	fd_opened(5);
	assert_int_equal(state_of(5), 0);
	fd_duplicated(5, 6);
	assert_int_equal(state_of(6), 0);
}

static void nothing_is_done_while_idle(void **state)
{
	fd_opened(5);
	for (int i = 0; i < 2; i++) {
		config.active = i == 0;
		tls.vfork_child = i == 0;
		fd_opened(6);
		fd_forget(5);
		fd_forget_range(0, 100);
		fd_duplicated(5, 7);
		fd_stop_tracking();
		assert_int_equal(state_of(5), FD_TRACKED);
		assert_int_equal(state_of(6), 0);
		assert_int_equal(state_of(7), 0);
	}
	config.active = true;
	fd_opened(6);
	assert_int_equal(state_of(6), FD_TRACKED);
}

/* Threads that make, copy and end the same few numbers. */
enum { NUMBERS = 12 };
static uint64_t race_end;

static void race(unsigned int number)
{
	struct rng rng = {number * 97 + 5};

	while (unit_ms() < race_end) {
		int fd = (int)rng_below(&rng, NUMBERS) * 20000;
		int other = (int)rng_below(&rng, NUMBERS) * 20000;

		switch (rng_below(&rng, 6)) {
		case 0:
		case 1:
			fd_opened(fd);
			break;
		case 2:
			fd_forget(fd);
			break;
		case 3:
			fd_forget_range((unsigned int)fd, (unsigned int)other);
			break;
		default:
			fd_duplicated(fd, other);
			break;
		}
	}
}

static void references_are_exact_after_a_race(void **state)
{
	int32_t references = 0;
	int32_t held = 0;

	race_end = unit_ms() + RUN_MS;
	unit_threads(4, race);
	for (int i = 0; i < NUMBERS; i++) {
		const struct description *d = description_of(i * 20000);
		bool first = true;

		held += d != NULL;
		/* No entry holds what is over. */
		assert_true(d != NULL || (state_of(i * 20000) & FD_HANDLE) == 0);
		for (int j = 0; j < i; j++)
			first = first && (d == NULL || description_of(j * 20000) != d);
		if (d != NULL && first)
			references += d->references;
	}
	assert_int_equal(references, held);
	fd_forget_range(0, UINT32_MAX);
	for (uint32_t index = 1; index < 64; index++) {
		uint64_t handle = description_new();

		assert_int_equal(description_at(handle)->references, 1);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(leaves_are_made_when_needed, NORMAL),
		CASE(opening_tracks_and_closing_forgets, NORMAL),
		CASE(an_entry_holds_its_description, NORMAL),
		CASE(copies_share_a_description, NORMAL),
		CASE(copies_remember_what_was_seen, NORMAL),
		CASE(copies_of_the_unknown_are_unknown, NORMAL),
		CASE(a_copy_may_want_memory, NORMAL),
		CASE(ranges_are_forgotten, NORMAL),
		CASE(ranges_drop_descriptions, NORMAL),
		CASE(tracking_can_be_stopped_for_good, NORMAL),
		CASE(nothing_is_done_while_idle, NORMAL),
		CASE(references_are_exact_after_a_race, NORMAL),
	};

	return RUN(cases);
}
