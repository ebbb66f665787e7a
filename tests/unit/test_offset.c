/*
 * Offsets that are kept in user space (offset.c), with the real kernel: when they become ours, and
 * that the kernel is told before anybody looks.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "aside.h"
#include "bytes.h"
#include "config.h"
#include "lock.h"
#include "offset.h"
#include "unit.h"

#define KERNEL (EXCLUSIVE_WORLDS | REAL_KERNEL)

static char name[] = "/tmp/test_offset.XXXXXX";
static int fd;
static struct offset_call call;

static int open_hooked(void)
{
	int number = open(name, O_RDONLY | O_CLOEXEC | O_NOATIME);

	assert_true(number >= 0);
	fd_opened(number);
	offset_opened(number);
	return number;
}

static void make(void)
{
	static char bytes[100000];
	int writer = mkstemp(name);

	assert_true(writer >= 0);
	assert_int_equal(write(writer, bytes, sizeof(bytes)), (long)sizeof(bytes));
	close(writer);
	config.modes |= MODE_read;
	offset_start();
	fd = open_hooked();
}

/* A real read, or one of ours. */
static enum offset_way read_some(int number, size_t n)
{
	enum offset_way way = offset_begin(&call, number, n);
	char bytes[64];

	assert_true(n <= sizeof(bytes) || n == BYTES_TOO_MANY);
	if (way == OFFSET_SERVE) {
		assert_true(offset_move(&call, offset_at(&call) + n));
		return way;
	}
	if (n <= sizeof(bytes))
		assert_int_equal(read(number, bytes, n), (long)n);
	if (way == OFFSET_COUNT)
		offset_end(&call);
	return way;
}

/* Until it is ours; how many real ones that took. */
static int warm(int number)
{
	int real = 0;

	while (read_some(number, 10) != OFFSET_SERVE && real < 1000)
		real++;
	return real;
}

static long stands(int number)
{
	return lseek(number, 0, SEEK_CUR);
}

static void becomes_ours_and_is_told(void **state)
{
	int real;

	make();
	real = warm(fd);
	assert_true(real >= 2 && real < 1000);
	assert_int_equal(offset_count(), 1);
	assert_int_equal(stands(fd), real * 10);
	assert_int_equal(offset_begin(&call, fd, 0), OFFSET_SERVE);
	assert_int_equal(offset_at(&call), real * 10 + 10);
	assert_true(offset_move(&call, 5000));
	assert_int_equal(stands(fd), real * 10);
	aside_fd(fd);
	assert_int_equal(stands(fd), 5000);
	assert_int_equal(offset_count(), 0);
	assert_int_equal(aside_pending, 0);
	/* And again. */
	assert_int_equal(warm(fd), 0);
	assert_int_equal(offset_count(), 1);
	aside_tell_fd(fd, ASIDE_LOOKED);
	assert_int_equal(offset_count(), 1);
}

static void a_number_that_is_copied_is_never_ours_again(void **state)
{
	make();
	warm(fd);
	aside_share(fd);
	assert_int_equal(offset_count(), 0);
	assert_int_equal(offset_begin(&call, fd, 10), OFFSET_PASS);
	fd_forget(fd);
	close(fd);
	fd = open_hooked();
	/* Before it was ours, too. */
	aside_share(fd);
	assert_int_equal(warm(fd), 1000);
}

static void all_are_told(void **state)
{
	int other;

	make();
	other = open_hooked();
	warm(fd);
	warm(other);
	assert_int_equal(offset_count(), 2);
	assert_int_equal(offset_begin(&call, other, 0), OFFSET_SERVE);
	assert_true(offset_move(&call, 77));
	aside_share_all();
	assert_int_equal(stands(other), 77);
	assert_int_equal(offset_count(), 0);
	assert_int_equal(warm(fd), 1000);
	/* One that is opened later is nobody else's. */
	other = open_hooked();
	assert_true(warm(other) < 1000);
	/* As fork does it. */
	lock_fork_prepare();
	offset_forking();
	lock_fork_parent();
	assert_int_equal(offset_count(), 0);
}

static void told_between_a_copy_and_its_move(void **state)
{
	make();
	warm(fd);
	assert_int_equal(offset_begin(&call, fd, 10), OFFSET_SERVE);
	aside_fd(fd);
	assert_false(offset_move(&call, offset_at(&call) + 10));
	/* Ours again, where it was: but not the same. */
	warm(fd);
	assert_int_equal(offset_begin(&call, fd, 10), OFFSET_SERVE);
	{
		struct offset_call first = call;

		assert_true(offset_move(&call, 1));
		assert_int_equal(offset_begin(&call, fd, 10), OFFSET_SERVE);
		assert_true(offset_move(&call, offset_at(&first)));
		assert_false(offset_move(&first, 2));
	}
}

static void not_while_a_real_call_is_in_flight(void **state)
{
	struct offset_call slow;

	make();
	assert_int_equal(offset_begin(&slow, fd, 10), OFFSET_COUNT);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(read_some(fd, 10), OFFSET_COUNT);
	offset_end(&slow);
	assert_int_equal(warm(fd), 0);
}

static void what_gains_nothing_is_left_alone(void **state)
{
	int large = 0;

	make();
	while (read_some(fd, BYTES_TOO_MANY) == OFFSET_COUNT && large < 1000)
		large++;
	assert_true(large < 1000);
	assert_int_equal(warm(fd), 1000);
	fd_forget(fd);
	close(fd);
	fd = open_hooked();
	for (int i = 0; i < 20; i++) {
		lseek(fd, 0, SEEK_SET);
		if (warm(fd) == 1000)
			return;
		aside_fd(fd);
	}
	fail_msg("told for ever");
}

/* Its number is another file's by now, and nobody has said so. */
static void another_file_is_not_moved(void **state)
{
	char other_name[] = "/tmp/test_offset.XXXXXX";
	int other = mkstemp(other_name);

	make();
	unlink(other_name);
	warm(fd);
	assert_int_equal(offset_begin(&call, fd, 0), OFFSET_SERVE);
	assert_true(offset_move(&call, 1234));
	dup2(other, fd);
	/* At most a tick. */
	usleep(20000);
	aside_fd(fd);
	assert_int_equal(stands(fd), 0);
	assert_int_equal(offset_count(), 0);
}

static void ends_with_its_number(void **state)
{
	make();
	warm(fd);
	fd_forget(fd);
	assert_int_equal(offset_count(), 0);
	assert_int_equal(aside_pending, 0);
	assert_int_equal(offset_begin(&call, fd, 10), OFFSET_PASS);
	offset_finish();
	close(fd);
	fd = open_hooked();
	assert_int_equal(warm(fd), 1000);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(becomes_ours_and_is_told, KERNEL),
		CASE(a_number_that_is_copied_is_never_ours_again, KERNEL),
		CASE(all_are_told, KERNEL),
		CASE(told_between_a_copy_and_its_move, KERNEL),
		CASE(not_while_a_real_call_is_in_flight, KERNEL),
		CASE(what_gains_nothing_is_left_alone, KERNEL),
		CASE(another_file_is_not_moved, KERNEL),
		CASE(ends_with_its_number, KERNEL),
	};

	return RUN(cases);
}
