/*
 * The library's own memory. It comes from mmap, never from malloc: a hook may run inside malloc,
 * and the program's heap must look as it does without us.
 *
 * mem_pages() gives zeroed pages that are touched one by one as they are used, so that a large
 * table costs what is used of it. mem_take() cuts small things, for good, from such pages: records
 * are kept in free lists of their own kind by their owners and are never given back, so that a
 * reader without a lock never finds another type at an old address.
 */
#ifndef MEM_H
#define MEM_H

#include <stddef.h>

void mem_begin(void);

/* Zeroed memory, a whole number of pages, NULL if there is none. Any thread, any moment. */
void *mem_pages(size_t bytes);

/* Zeroed memory of any size up to a page, aligned to 64 bytes; NULL if there is none. */
void *mem_take(size_t bytes);

#endif
