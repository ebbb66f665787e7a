#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "fake_kernel.h"
#include "tls.h"

static const char *const world_names[] = {"",         ", tiny",       ", shared", ", tiny shared",
					  ", narrow", ", tiny narrow"};

static void enter_world(unsigned int world)
{
	memset(&config, 0, sizeof(config));
	config.active = true;
	config.modes = MODE_mmap;
	config.max_view = (size_t)64 << 20;
	config.tiny = world == TINY || world == TINY_SHARED || world == TINY_NARROW;
	config.max_address_space = world & NARROW_WORLDS ? (size_t)8 << 20 : 0;
	config.alias = world == SHARED || world == TINY_SHARED ? ALIAS_ALWAYS : ALIAS_NEVER;
	memset(&tls, 0, sizeof(tls));
}

/* In the child: cmocka writes the line, and the exit status says it again. */
static _Noreturn void run_one(const struct unit_case *c, unsigned int world, const char *name)
{
	const struct CMUnitTest test = {name, c->run, NULL, NULL, NULL};
	int failures;

	enter_world(world);
	if (!(c->worlds & REAL_KERNEL))
		fake_install();
	failures = _cmocka_run_group_tests(name, &test, 1, NULL, NULL);
	/* The library's destructor has nothing to report of a test. */
	config.active = false;
	exit(failures != 0);
}

static bool run_in_child(const struct unit_case *c, unsigned int index)
{
	char name[160];
	int status = 0;
	pid_t pid;

	snprintf(name, sizeof(name), "%s%s", c->name, world_names[index]);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_one(c, 1U << index, name);
	while (waitpid(pid, &status, 0) < 0) {
	}
	if (WIFSIGNALED(status))
		printf("not ok - %s: killed by signal %d\n", name, WTERMSIG(status));
	else if (WEXITSTATUS(status) > 1)
		printf("not ok - %s: exit status %d\n", name, WEXITSTATUS(status));
	return status == 0;
}

int unit_run(const struct unit_case *cases, size_t count)
{
	const char *only = getenv("TEST_CASE");
	int failures = 0;

	for (size_t i = 0; i < count; i++) {
		if (only != NULL && strstr(cases[i].name, only) == NULL)
			continue;
		for (unsigned int world = 0; world < LENGTH(world_names); world++) {
			if (cases[i].worlds >> world & 1)
				failures += !run_in_child(&cases[i], world);
		}
	}
	return failures != 0;
}

int unit_status_of(void (*f)(void))
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		f();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0) {
	}
	return status;
}

struct rng unit_rng(void)
{
	const char *given = getenv("TEST_SEED");
	struct timespec now;
	struct rng rng;

	clock_gettime(CLOCK_REALTIME, &now);
	rng.state = given != NULL ? strtoull(given, NULL, 0)
				  : (uint64_t)now.tv_nsec * 1000003 + (uint64_t)getpid();
	printf("# TEST_SEED=%llu\n", (unsigned long long)rng.state);
	return rng;
}

/* splitmix64 */
uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

size_t rng_below(struct rng *rng, size_t n)
{
	return (size_t)(rng_next(rng) % n);
}

uint64_t unit_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint32_t expectations_failed;

void unit_expect(bool condition, const char *text, const char *file, int line)
{
	if (condition || __atomic_fetch_add(&expectations_failed, 1, __ATOMIC_RELAXED) >= 5)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
}

struct worker {
	pthread_t thread;
	unsigned int number;
	void (*f)(unsigned int number);
};

static void *work(void *argument)
{
	const struct worker *worker = argument;

	worker->f(worker->number);
	return NULL;
}

void unit_threads(unsigned int n, void (*f)(unsigned int number))
{
	struct worker workers[16];

	assert_true(n <= LENGTH(workers));
	for (unsigned int i = 0; i < n; i++) {
		workers[i].number = i;
		workers[i].f = f;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	assert_int_equal(__atomic_load_n(&expectations_failed, __ATOMIC_RELAXED), 0);
}
