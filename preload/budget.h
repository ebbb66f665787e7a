/*
 * The budget: how many mappings (VMAs) the process has, and how many it may still have.
 *
 * Our own regions are counted exactly; the program's mappings by its calls that were passed
 * through; what no hook sees (malloc's, the dynamic linker's) by counting the lines of
 * /proc/self/maps, which costs 0.2 ms for each thousand of them and is therefore done rarely.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* The program made, or ended, n mappings of its own. */
void budget_mapped(int64_t n);

/* May one more region be made? We allow ourselves half of vm.max_map_count. Caller holds
 * LOCK_VIEWS. */
bool budget_allows_region(void);
/* The number of our own mappings changed. Caller holds LOCK_VIEWS. */
void budget_regions(int64_t change);

/* Counts the mappings now, for the statistics. */
void budget_measure(void);

#endif
