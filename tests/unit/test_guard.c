/*
 * The guard (guard.c, arch/MACHINE/copy.S): copies that fault, threads that may copy, and what the
 * program sees of its own actions.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"
#include "lock.h"
#include "sys.h"
#include "tls.h"
#include "unit.h"

#define KERNEL (NORMAL | REAL_KERNEL)

/* The thread sanitizer's own handler stands in the kernel, in place of every other, and blocks all
 * signals; and one that is sent to the process kills it if a thread gets it that is just beginning
 * or ending (so does it in a program of threads, raise, kill and a handler alone). */
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define BARE_KERNEL 0
#else
#define BARE_KERNEL KERNEL
#endif

/* cmocka catches them itself. */
static void nothing_stands(void)
{
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
}

static void enable(void)
{
	guard_begin(sigaction);
	assert_true(guard_enable());
}

static char pattern(size_t i)
{
	return (char)(1 + i % 251);
}

/* An unlinked file of so many pages, filled with the pattern. */
static int file_of(size_t pages)
{
	char path[] = "/tmp/test_guard.XXXXXX";
	int fd = mkstemp(path);
	char page[65536];

	assert_true(fd >= 0);
	unlink(path);
	for (size_t offset = 0; offset < pages * PAGE; offset += PAGE) {
		for (size_t i = 0; i < PAGE; i++)
			page[i] = pattern(offset + i);
		assert_int_equal(pwrite(fd, page, PAGE, (off_t)offset), PAGE);
	}
	return fd;
}

/* Pages between two that can't be touched. */
static char *island(size_t pages)
{
	char *p = mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, pages * PAGE, PROT_READ | PROT_WRITE), 0);
	return p + PAGE;
}

static size_t next_size(size_t n)
{
	return n < 300 ? n + 1 : n + 97;
}

static void copies_exactly(void **state)
{
	size_t room = 2 * PAGE;
	char *from = island(2);
	char *to = island(2);

	for (size_t i = 0; i < room; i++)
		from[i] = pattern(i);
	for (size_t n = 0; n <= 5000; n = next_size(n)) {
		for (size_t shift = 0; shift < 17; shift += 3) {
			memset(to, 0, room);
			assert_true(guard_copy(to + 32 + shift, from + shift / 2, n));
			assert_memory_equal(to + 32 + shift, from + shift / 2, n);
			assert_int_equal(to[31 + shift], 0);
			assert_int_equal(to[32 + shift + n], 0);
		}
	}
}

static void reads_and_writes_nothing_beside(void **state)
{
	size_t room = 2 * PAGE;
	char *from = island(2);
	char *to = island(2);

	for (size_t n = 0; n <= 5000; n = next_size(n)) {
		assert_true(guard_copy(to, from, n));
		assert_true(guard_copy(to + room - n, from + room - n, n));
		assert_true(guard_copy(to, from + room - n, n));
		assert_true(guard_copy(to + room - n, from, n));
	}
}

static void faults_of_either_side_are_told(void **state)
{
	size_t room = 2 * PAGE;
	char *from = island(2);
	char *to = island(2);

	enable();
	for (size_t n = 1; n <= 5000; n = next_size(n)) {
		size_t behind = 1 + n / 3;

		assert_false(guard_copy(to, from + room - n + behind, n));
		assert_false(guard_copy(to + room - n + behind, from, n));
		assert_false(guard_copy(to, from - behind, n));
		assert_false(guard_copy(to - behind, from, n));
		assert_true(guard_copy(to, from, n));
	}
	assert_false(guard_copy(to, NULL, 1));
	assert_false(guard_copy(NULL, from, 100));
#if defined(__x86_64__)
	assert_false(guard_copy((void *)0x1234567812345678, from, 4096));
#endif
}

static void a_touch_asks_each_page(void **state)
{
	char *from = island(3);

	enable();
	assert_true(guard_touch(from + 100, from + PAGE, PAGE));
	assert_true(guard_touch(from, from + 2 * PAGE, PAGE));
	assert_true(guard_touch(from + PAGE - 1, from + 2 * PAGE, PAGE));
	assert_false(guard_touch(from + 2 * PAGE, from + 3 * PAGE, PAGE));
	assert_false(guard_touch(from - 1, from, PAGE));
	mprotect(from + PAGE, PAGE, PROT_NONE);
	assert_false(guard_touch(from, from + PAGE, PAGE));
	assert_false(guard_touch(from, from + 2 * PAGE, PAGE));
	assert_false(guard_touch(from + PAGE, from + 2 * PAGE, PAGE));
}

static void truncated_pages_are_told(void **state)
{
	int fd = file_of(4);
	char *p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	char to[200];

	enable();
	assert_true(guard_copy(to, p + 3 * PAGE, sizeof(to)));
	assert_int_equal(ftruncate(fd, (off_t)(2 * PAGE)), 0);
	assert_false(guard_copy(to, p + 3 * PAGE, sizeof(to)));
	assert_false(guard_copy(to, p + 2 * PAGE - 100, sizeof(to)));
	assert_true(guard_copy(to, p + 2 * PAGE - 200, sizeof(to)));
	assert_memory_equal(to, p + 2 * PAGE - 200, sizeof(to));
}

/* Masks. */

static void set_mask(int how, int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(how, &set, NULL);
}

static void nobody_is_ready_before(void **state)
{
	assert_false(guard_ready());
	guard_begin(NULL);
	assert_false(guard_enable());
	guard_begin(sigaction);
	assert_false(guard_ready());
	assert_true(guard_enable());
	assert_true(guard_ready());
	assert_true(guard_enable());
}

static void a_blocking_thread_is_not_ready(void **state)
{
	enable();
	for (int i = 0; i < 2; i++) {
		int number = i == 0 ? SIGBUS : SIGSEGV;

		set_mask(SIG_BLOCK, number);
		guard_mask_changed();
		for (int k = 0; k < 1000; k++)
			assert_false(guard_ready());
		set_mask(SIG_UNBLOCK, number);
		guard_mask_changed();
		assert_true(guard_ready());
	}
	set_mask(SIG_BLOCK, SIGUSR1);
	guard_mask_changed();
	assert_true(guard_ready());
}

static void blocked_is_believed_for_a_while(void **state)
{
	int asked = 0;

	enable();
	set_mask(SIG_BLOCK, SIGBUS);
	assert_true(!guard_ready() && !guard_ready());
	/* By a call that nobody told us of. */
	set_mask(SIG_UNBLOCK, SIGBUS);
	while (!guard_ready())
		asked++;
	assert_in_range(asked, 100, 255);
}

static void holders_of_locks_are_not_ready(void **state)
{
	struct lock_hold hold;

	enable();
	assert_true(guard_ready());
	hold = lock_take(LOCK_REPORT);
	assert_false(guard_ready());
	lock_drop(LOCK_REPORT, hold);
	assert_true(guard_ready());
	tls.vfork_child = 1;
	guard_mask_changed();
	assert_false(guard_ready());
	tls.vfork_child = 0;
}

static void in_thread(unsigned int number)
{
	EXPECT(guard_ready() == (number == 0));
	set_mask(SIG_BLOCK, SIGSEGV);
	guard_mask_changed();
	EXPECT(!guard_ready());
}

static void threads_ask_for_themselves(void **state)
{
	enable();
	unit_threads(1, in_thread);
	assert_true(guard_ready());
}

static void handlers_that_block_make_everyone_ask(void **state)
{
	sigset_t mask;

	enable();
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	guard_note_mask(&mask);
	assert_int_equal(guard_trust, GUARD_CACHED);
	sigaddset(&mask, SIGSEGV);
	guard_note_mask(&mask);
	assert_int_equal(guard_trust, GUARD_ASK);
	assert_true(guard_ready());
	/* No hook sees what a handler's mask does. */
	set_mask(SIG_BLOCK, SIGSEGV);
	assert_false(guard_ready());
	set_mask(SIG_UNBLOCK, SIGSEGV);
	assert_true(guard_ready());
}

static void masks_without_handlers_are_no_matter(void **state)
{
	struct sigaction action = {.sa_handler = SIG_IGN};

	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	enable();
	assert_int_equal(guard_trust, GUARD_CACHED);
}

static int seen;
static char *wall;

static void count(int number)
{
	__atomic_fetch_add(&seen, number, __ATOMIC_RELAXED);
}

static void mend(int number, siginfo_t *info, void *context)
{
	(void)context;
	__atomic_fetch_add(&seen, number == SIGSEGV && info->si_addr == wall, __ATOMIC_RELAXED);
	mprotect(wall, PAGE, PROT_READ);
}

static void a_handler_that_blocks_is_found_at_the_start(void **state)
{
	struct sigaction action = {.sa_handler = count};

	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	enable();
	assert_int_equal(guard_trust, GUARD_ASK);
}

/* Actions. */

static void the_program_sees_its_own_actions(void **state)
{
	struct sigaction before, now;
	struct sigaction action = {.sa_handler = count, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

	sigaddset(&action.sa_mask, SIGHUP);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGSEGV, NULL, &before);
	enable();
	assert_int_equal(guard_action(SIGSEGV, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, count);
	assert_int_equal(now.sa_flags, before.sa_flags);
	assert_memory_equal(&now.sa_mask, &before.sa_mask, 8);
	assert_int_equal(guard_action(SIGSEGV, &action, &now), 0);
	assert_int_equal(now.sa_flags, before.sa_flags);
	assert_int_equal(guard_action(SIGSEGV, NULL, &now), 0);
	assert_int_equal(now.sa_flags, before.sa_flags);
	/* And what the kernel tells a vfork child is told as the program's. */
	sigaction(SIGSEGV, NULL, &now);
	guard_translate(SIGSEGV, &now);
	assert_ptr_equal(now.sa_handler, count);
	assert_true(guard_has(SIGSEGV) && guard_has(SIGBUS) && !guard_has(SIGUSR1));
}

static void faults_outside_are_the_programs(void **state)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO};
	char to[8];

	wall = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	enable();
	action.sa_sigaction = mend;
	assert_int_equal(guard_action(SIGSEGV, &action, NULL), 0);
	assert_false(guard_copy(to, wall, sizeof(to)));
	assert_int_equal(__atomic_load_n(&seen, __ATOMIC_RELAXED), 0);
	assert_int_equal(*(volatile char *)wall, 0);
	assert_int_equal(__atomic_load_n(&seen, __ATOMIC_RELAXED), 1);
	assert_true(guard_copy(to, wall, sizeof(to)));
}

static void touch_wall(void)
{
	*(volatile char *)wall;
}

static void die_by_default(void **state)
{
	int status;

	wall = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	nothing_stands();
	enable();
	status = unit_status_of(touch_wall);
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void ignored_is_left_to_the_kernel(void **state)
{
	struct sigaction action = {.sa_handler = SIG_IGN};
	struct sigaction now;

	enable();
	assert_int_equal(guard_action(SIGBUS, &action, NULL), 0);
	assert_false(guard_ready());
	assert_int_equal(guard_action(SIGBUS, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, SIG_IGN);
	sigaction(SIGBUS, NULL, &now);
	assert_ptr_equal(now.sa_handler, SIG_IGN);
	raise(SIGBUS);
	action.sa_handler = SIG_DFL;
	assert_int_equal(guard_action(SIGBUS, &action, &now), 0);
	assert_ptr_equal(now.sa_handler, SIG_IGN);
	assert_true(guard_ready());
	assert_true(guard_stands(1));
}

static void whoever_replaces_it_ends_it(void **state)
{
	struct sigaction action = {.sa_handler = count};
	struct sigaction now;

	nothing_stands();
	enable();
	assert_true(guard_stands(1));
	sigaction(SIGSEGV, &action, NULL);
	/* Not asked twice in a tick. */
	assert_true(guard_stands(1));
	assert_false(guard_stands(2));
	assert_false(guard_ready());
	assert_false(guard_enable());
	assert_false(guard_stands(2));
	assert_int_equal(guard_action(SIGSEGV, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, count);
	raise(SIGSEGV);
	assert_int_equal(__atomic_load_n(&seen, __ATOMIC_RELAXED), SIGSEGV);
	/* The other one is as it was. */
	assert_int_equal(guard_action(SIGBUS, &action, &now), 0);
	assert_ptr_equal(now.sa_handler, SIG_DFL);
	raise(SIGBUS);
	assert_int_equal(__atomic_load_n(&seen, __ATOMIC_RELAXED), SIGSEGV + SIGBUS);
}

static void giving_up_puts_everything_back(void **state)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
	struct sigaction now;

	nothing_stands();
	sigaction(SIGSEGV, &action, NULL);
	enable();
	guard_give_up();
	assert_false(guard_ready());
	assert_false(guard_enable());
	sigaction(SIGSEGV, NULL, &now);
	assert_ptr_equal(now.sa_handler, count);
	assert_true(now.sa_flags & SA_RESTART);
	assert_false(now.sa_flags & SA_SIGINFO);
	sigaction(SIGBUS, NULL, &now);
	assert_ptr_equal(now.sa_handler, SIG_DFL);
}

/* At once. */

static char *source;

static void copy_often(unsigned int number)
{
	char to[4096];
	uint64_t end = unit_ms() + 300;

	while (unit_ms() < end) {
		for (int i = 0; i < 50; i++) {
			EXPECT(guard_copy(to, source + number * PAGE, PAGE < 4096 ? PAGE : 4096));
			EXPECT(!guard_copy(to, wall, 64));
		}
		if (number == 0)
			raise(SIGSEGV);
		else
			kill(getpid(), SIGBUS);
	}
}

static void signals_that_are_sent_are_not_faults(void **state)
{
	struct sigaction action = {.sa_handler = count};

	source = island(4);
	wall = source - PAGE;
	enable();
	guard_action(SIGSEGV, &action, NULL);
	guard_action(SIGBUS, &action, NULL);
	unit_threads(4, copy_often);
	assert_true(__atomic_load_n(&seen, __ATOMIC_RELAXED) > 0);
}

/* Truncates and fills the file again and again, in another process. */
static _Noreturn void truncate_and_fill(int fd, size_t pages)
{
	struct rng rng = unit_rng();
	char page[65536];

	for (;;) {
		size_t first = rng_below(&rng, pages);

		ftruncate(fd, (off_t)(first * PAGE));
		for (size_t n = first; n < pages; n++) {
			for (size_t i = 0; i < PAGE; i++)
				page[i] = pattern(n * PAGE + i);
			pwrite(fd, page, PAGE, (off_t)(n * PAGE));
		}
	}
}

static void truncation_at_any_moment(void **state)
{
	size_t pages = 64;
	int fd = file_of(pages);
	char *p = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	struct rng rng = unit_rng();
	uint64_t end = unit_ms() + 2000;
	size_t copied = 0, failed = 0;
	char to[20000];
	pid_t pid;

	enable();
	pid = fork();
	if (pid == 0)
		truncate_and_fill(fd, pages);
	while (unit_ms() < end) {
		size_t n = 1 + rng_below(&rng, sizeof(to));
		size_t offset = rng_below(&rng, pages * PAGE - n);

		if (!guard_copy(to, p + offset, n)) {
			failed++;
			continue;
		}
		copied++;
		/* A page that has just been made is zero before it is filled. */
		for (size_t i = 0; i < n; i++) {
			if (to[i] != pattern(offset + i) && to[i] != 0)
				fail_msg("byte %zu is %d", offset + i, to[i]);
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("# %zu copied, %zu failed\n", copied, failed);
	assert_true(copied > 0 && failed > 0);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(copies_exactly, KERNEL),
		CASE(reads_and_writes_nothing_beside, KERNEL),
		CASE(faults_of_either_side_are_told, KERNEL),
		CASE(a_touch_asks_each_page, KERNEL),
		CASE(truncated_pages_are_told, KERNEL),
		CASE(nobody_is_ready_before, KERNEL),
		CASE(a_blocking_thread_is_not_ready, KERNEL),
		CASE(blocked_is_believed_for_a_while, BARE_KERNEL),
		CASE(holders_of_locks_are_not_ready, KERNEL),
		CASE(threads_ask_for_themselves, KERNEL),
		CASE(handlers_that_block_make_everyone_ask, BARE_KERNEL),
		CASE(masks_without_handlers_are_no_matter, BARE_KERNEL),
		CASE(a_handler_that_blocks_is_found_at_the_start, KERNEL),
		CASE(the_program_sees_its_own_actions, KERNEL),
		CASE(faults_outside_are_the_programs, KERNEL),
		CASE(die_by_default, KERNEL),
		CASE(ignored_is_left_to_the_kernel, BARE_KERNEL),
		CASE(whoever_replaces_it_ends_it, BARE_KERNEL),
		CASE(giving_up_puts_everything_back, KERNEL),
		CASE(signals_that_are_sent_are_not_faults, BARE_KERNEL),
		CASE(truncation_at_any_moment, KERNEL),
	};

	return RUN(cases);
}
