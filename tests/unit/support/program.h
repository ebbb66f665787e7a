/*
 * What a program does, with the fake kernel: each call as the hook makes it.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "fake_kernel.h"
#include "view.h"

/* open, close, dup and dup2 that go through hooks; those of fake_kernel.h are missed by them. */
int program_open(int file, int flags);
void program_close(int fd);
int program_dup(int fd);
void program_dup_to(int from, int to);

/* mmap of pages, PROT_READ, MAP_PRIVATE: a view, or NULL and `program_reason`. */
void *program_map(int fd, size_t page, size_t count);
/* The same with a length in bytes and any protection and flags. */
void *program_mmap(int fd, uint64_t offset, size_t length, int prot, int flags);
extern enum reason program_reason;
/* The first mapping of a file, which passes, if it does: `program_map` then makes a region. */
void program_first(int fd);

int program_unmap(void *addr, size_t length);

/* The region that an address is in. */
struct region *region_of(const void *addr);
/* Claimed pages of the estate, by the tables. */
size_t claimed_pages(const void *addr, size_t count);

#endif
