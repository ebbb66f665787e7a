/*
 * Locks (lock.c): exclusion, signals, ranks, fork.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock.h"
#include "mem.h"
#include "sys.h"
#include "unit.h"

#define ROUNDS 20000

static uint64_t counter;

static bool blocked(int signal)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, signal) == 1;
}

static void signals_wait(void **state)
{
	struct lock_hold hold, inner;

	assert_false(lock_held());
	hold = lock_take(LOCK_VIEWS);
	assert_true(lock_held());
	assert_true(blocked(SIGUSR1));
	inner = lock_take(LOCK_REPORT);
	lock_drop(LOCK_REPORT, inner);
	assert_true(lock_held());
	assert_true(blocked(SIGUSR1));
	lock_drop(LOCK_VIEWS, hold);
	assert_false(lock_held());
	assert_false(blocked(SIGUSR1));
}

static void the_mask_is_put_back(void **state)
{
	struct lock_hold hold;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	hold = lock_take(LOCK_REPORT);
	lock_drop(LOCK_REPORT, hold);
	assert_true(blocked(SIGUSR2));
	assert_false(blocked(SIGUSR1));
}

/* Half of the threads hold another one around it. */
static void count(unsigned int number)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct lock_hold outer = {0};
		struct lock_hold hold;

		if (number % 2 == 0)
			outer = lock_take(LOCK_VIEWS);
		hold = lock_take(LOCK_REPORT);
		counter++;
		lock_drop(LOCK_REPORT, hold);
		if (number % 2 == 0)
			lock_drop(LOCK_VIEWS, outer);
	}
}

static void one_at_a_time(void **state)
{
	unit_threads(4, count);
	assert_int_equal(counter, 4 * ROUNDS);
}

static void wrong_order(void)
{
	signal(SIGILL, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	lock_take(LOCK_REPORT);
	lock_take(LOCK_VIEWS);
}

static void twice(void)
{
	signal(SIGILL, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	lock_take(LOCK_VIEWS);
	lock_take(LOCK_VIEWS);
}

static void ranks_are_checked(void **state)
{
	int status = unit_status_of(wrong_order);

	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
	status = unit_status_of(twice);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

static void take_all(void)
{
	for (enum lock_rank rank = 0; rank < LOCK_COUNT; rank++)
		lock_drop(rank, lock_take(rank));
}

static int stop;

/* A child that waits for a lock has every signal blocked but one. */
static int wait_for(pid_t pid)
{
	uint64_t end = unit_ms() + 3000;
	int status = -1;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (unit_ms() > end)
			kill(pid, SIGKILL);
		usleep(20);
	}
	return status;
}

/* A thread works while another forks: the child must find every lock free. */
static void work_or_fork(unsigned int number)
{
	if (number != 0) {
		while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
			take_all();
		return;
	}
	for (int i = 0, status = 0; i < 100 && status == 0; i++) {
		pid_t pid;

		lock_fork_prepare();
		pid = fork();
		if (pid == 0) {
			lock_fork_child();
			take_all();
			_exit(blocked(SIGUSR1) ? 3 : 0);
		}
		lock_fork_parent();
		status = wait_for(pid);
		EXPECT(status == 0);
		EXPECT(!blocked(SIGUSR1));
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static void a_child_finds_them_free(void **state)
{
	unit_threads(3, work_or_fork);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(signals_wait, NORMAL),
		CASE(the_mask_is_put_back, NORMAL),
		CASE(one_at_a_time, NORMAL),
		CASE(ranks_are_checked, NORMAL),
		CASE(a_child_finds_them_free, NORMAL),
	};

	return RUN(cases);
}
