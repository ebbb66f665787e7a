/*
 * The library's own memory. It comes from mmap, never from malloc: a hook may run inside malloc,
 * and the program's heap must look as it does without us.
 *
 * It is cut from a range that is reserved by the constructor, before the program has unmapped
 * anything: else it would come to lie where something of the program's has been, and a second
 * munmap of that, an mprotect, a MAP_FIXED there would hit our tables.
 *
 * mem_pages() gives zeroed pages that are touched one by one as they are used, so that a large
 * table costs what is used of it. Nothing is ever given back: records are kept in free lists of
 * their own kind by their owners, so that a reader without a lock never finds another type at an
 * old address.
 */
#ifndef MEM_H
#define MEM_H

#include <stddef.h>

/* Reserves the range. Called by the constructor. */
void mem_begin(void);

/* Gives what is left of the range to the kernel; memory then comes from anywhere. */
void mem_retreat(void);

/* Zeroed memory, a whole number of pages, NULL if there is none. Any thread, any moment. */
void *mem_pages(size_t bytes);

#endif
