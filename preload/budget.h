/*
 * The budget: how many mappings (VMAs) the process has, and how many it may still have.
 *
 * Our own regions are counted exactly. Of the program's mappings no count of its calls can be
 * exact: an mmap may merge with a neighbour, a munmap or mprotect may split what was one. So each
 * call counts as the most that it can have added, and what is really there is counted in
 * /proc/self/maps, which costs 0.2 ms for each thousand: not before a thousand could have been
 * added, and then only when, at the worst, NEAR of vm.max_map_count may have been reached since
 * the last count. A program that never nears the limit pays the counter.
 *
 *   0 ......... 1,000 ........................ 80 % ............. limit
 *     counter     first look: the arena and      idle regions       ENOMEM: the reserve is let go,
 *     only        the reserve are taken          are ended          the process is crowded
 *
 * Calls that no hook sees (malloc's, thread stacks) are why a look comes at least each quarter of
 * the limit, and why there is a reserve at all (estate.h).
 *
 * Synchronization: atomic but for `regions`.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* The program made, or ended, n mappings of its own. True if it is time for budget_look. */
bool budget_mapped(int64_t n);

/* A call changed part of its mappings, which may have added as many as two. */
bool budget_split(void);

/* Counts what is there. Its number, or -1 if another thread is at it. */
int64_t budget_look(void);

/* As many as this, and the arena is worth having. */
#define BUDGET_MANY 1000

/* Whether there were NEAR of the limit when last looked. */
bool budget_is_near(void);

/* The kernel has said that there are too many: from now on whatever can do without a mapping of its
 * own does, until a look finds them fewer. */
void budget_set_crowded(void);
bool budget_is_crowded(void);

/* May one more region be made? We allow ourselves half of vm.max_map_count. Caller holds
 * LOCK_VIEWS. */
bool budget_allows_region(void);
/* The number of our own mappings changed. Caller holds LOCK_VIEWS. */
void budget_regions(int64_t change);

/* Counts the mappings now, for the statistics. */
void budget_measure(void);

#endif
