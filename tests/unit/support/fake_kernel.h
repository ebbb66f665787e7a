/*
 * A kernel for the tests: a model of the address space and of the descriptors, in place of
 * `kernel` (sys.h).
 *
 *   - What is mapped is a list of mappings as the kernel keeps it: neighbours that are alike are
 *     one. Nothing is mapped in truth but the library's own tables (anonymous, writable), so
 *     addresses in the estate can be compared, not read.
 *   - The n-th call of some kinds can be made to fail, with any errno; a failing MAP_FIXED can be
 *     made to leave a hole, as Linux does when a file refuses after the old mapping is gone.
 *   - Files and descriptors are made by hand. The clock stands until it is set.
 *
 * Synchronization: one mutex; the settings are written while no other thread runs.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region.h"
#include "sys.h"

/* The calls, one bit each for `fail_calls`. */
enum fake_call {
	CALL_MAP = 1,     /* regions, and PROT_NONE in their place */
	CALL_RESERVE = 2, /* the estate */
	CALL_TABLE = 4,   /* memory for records */
	CALL_UNMAP = 8,
	CALL_PROTECT = 16,
	CALL_ADVISE = 32,
	CALL_STAT = 64,
	CALL_FILESYSTEM = 128,
	CALL_FLAGS = 256,
	CALL_ALL = 511,
};

struct fake_file {
	struct file_stat stat;
	struct filesystem filesystem;
};

/* What is mapped at some addresses. */
enum fake_what { NOTHING, RESERVED, FILE_PAGES, PROGRAM };

struct fake_mapping {
	uintptr_t start;
	uintptr_t end;
	enum fake_what what;
	int prot;
	int flags;
	int file;        /* FILE_PAGES: index; PROGRAM: a number of the program's choice */
	int description; /* FILE_PAGES */
	uint64_t offset; /* FILE_PAGES */
};

struct fake {
	/* Settings. */
	unsigned int fail_calls; /* which calls may fail */
	unsigned int fail_after; /* how many of them succeed before one fails */
	unsigned int fail_count; /* how many fail then; 0 = none */
	int fail_error;
	bool fail_leaves_hole;
	size_t limit; /* vm.max_map_count; 0 = none */
	uint64_t tick;
	uint64_t address_limit;
	uint64_t address_taken;
	uint64_t data_limit;
	int overcommit;
	/* What `written` answers, once: the first page of each run, and its length in pages; a
	 * negative count is an errno. */
	int written_count;
	struct run written[8];
	/* What happens during one of these calls, just before it returns: another thread. */
	unsigned int action_calls;
	unsigned int action_after; /* how many of them it lets go by */
	void (*action)(void);
	/* Counts. */
	unsigned int failed;
	unsigned int calls;
	unsigned int stats;
	unsigned int tables; /* live table mappings */
	unsigned int looks;  /* of `written` */
};

extern struct fake fake;

void fake_install(void);

/* From now on the n-th (from 1) of these calls fails. */
void fake_fail(unsigned int calls, unsigned int n, int error);
void fake_fail_always(unsigned int calls, int error);
/* No more failures; whether one had happened. */
bool fake_mend(void);

/* A regular file on ext4, mounted relatime, whose access time need not move. */
int fake_file(uint64_t size);
struct fake_file *fake_file_at(int file);
/* The lowest free number from 3. */
int fake_open(int file, int flags);
int fake_dup(int fd);
void fake_dup_to(int from, int to);
void fake_close(int fd);
/* Mappings of this file, and those of this descriptor's description, pages. */
size_t fake_file_pages(int file);
size_t fake_description_pages(int fd);

/* What is there. */
struct fake_mapping fake_at(const void *addr);
/* Whether [addr, addr + length) is all mapped as `what`. */
bool fake_all(const void *addr, size_t length, enum fake_what what);
size_t fake_mapping_count(void);
/* Fails the case if the estate has a hole outside its shed part, or file pages outside regions
 * that claim them. */
void fake_check(void);

/* The program maps something of its own, with MAP_FIXED, and unmaps (the `unmap` of view_unmap). */
void fake_program_map(void *addr, size_t length, int number);
int fake_program_unmap(void *addr, size_t length);
/* mprotect by the program. */
void fake_protect_pages(void *addr, size_t length, int prot);

#endif
