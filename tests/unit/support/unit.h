/*
 * What every unit test program is made of.
 *
 * The modules keep static state that is made once and for good, so each case runs in a process of
 * its own, forked before anything was touched, and once in each world it asks for. A case that dies
 * is reported as failed; the others go on.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sys.h"

#define PAGE sys_page_size()
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The worlds, one bit each. The library is active in all of them, with mode mmap only. */
enum world {
	NORMAL = 1,      /* real sizes, exclusive views */
	TINY = 2,        /* config.tiny: two-page slots, one layer */
	SHARED = 4,      /* config.alias = ALIAS_ALWAYS */
	TINY_SHARED = 8, /* both */
	NARROW = 16,     /* config.max_address_space: regions are panes */
	TINY_NARROW = 32,
};
#define EXCLUSIVE_WORLDS (NORMAL | TINY)
#define SHARED_WORLDS (SHARED | TINY_SHARED)
#define NARROW_WORLDS (NARROW | TINY_NARROW)
#define ALL_WORLDS (EXCLUSIVE_WORLDS | SHARED_WORLDS)
/* Added to the worlds: the case makes real system calls; else fake_kernel.h is in place. */
#define REAL_KERNEL 64

struct unit_case {
	const char *name;
	CMUnitTestFunction run;
	unsigned int worlds;
};

#define CASE(function, worlds)                                                                     \
	{                                                                                          \
#function, function, worlds                                                        \
	}

/* Runs them; the exit status. */
int unit_run(const struct unit_case *cases, size_t count);
#define RUN(cases) unit_run(cases, LENGTH(cases))

/* Runs `f` in a child and returns its wait status; for what must die. */
int unit_status_of(void (*f)(void));

/* Pseudo-random numbers. The seed is TEST_SEED or ever another, and is printed. */
struct rng {
	uint64_t state;
};
struct rng unit_rng(void);
uint64_t rng_next(struct rng *rng);
/* Less than n, n > 0. */
size_t rng_below(struct rng *rng, size_t n);

/* Milliseconds since some moment; random tests run for so long. */
uint64_t unit_ms(void);

/* Threads: they must not use cmocka's assertions (which jump), but count what went wrong. */
#define EXPECT(condition) unit_expect(condition, #condition, __FILE__, __LINE__)
void unit_expect(bool condition, const char *text, const char *file, int line);
/* Runs f(0) … f(n - 1) in n threads, waits, and fails the case if an EXPECT failed. */
void unit_threads(unsigned int n, void (*f)(unsigned int number));

#endif
