/* What the hooks of mmap (entry_map.c) and mremap (entry_remap.c) have in common. */
#ifndef ENTRY_MAP_H
#define ENTRY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The answer of a function that returns 0 or -errno, as libc gives it. */
int map_answer(int error);

/* The program has n mappings more; or some call may have split one in three. */
void map_count(int64_t n);
void map_count_split(void);

/* The next munmap, in the form that view_unmap wants. */
int map_next_unmap(void *addr, size_t length);

/* Whether a program may mean that range: a senseless one fails, and must not be taken down first.
 */
bool map_is_possible(const void *addr, size_t length);

#endif
