/*
 * Symbols: the next definitions of many names, without asking the dynamic linker for each.
 *
 *   our own object ──> the objects behind it, in the order of their search, up to libc
 *                        each: its GNU hash table, symbols, strings, versions
 *                           │
 *   name ──> hash ──> the first that defines it ──> its address; or NULL: only dlsym can tell
 *
 * dlsym(RTLD_NEXT) costs about a thousand instructions a name, and there are five hundred: a tenth
 * of what it takes to start and end a small process. And it can't be asked at any moment, so that
 * all would have to be. This is the same search over the same tables (the rules are glibc's
 * elf/dl-lookup.c, with no version asked for: the default version of the first object that has
 * one).
 *
 * Whatever is not quite ordinary is left to dlsym: an indirect function, a name with several or no
 * default versions, an object without a GNU hash table, more objects than there is room for, no
 * libc behind us, an auditor that wants to hear of each binding.
 *
 * Synchronization: collected by the constructor. These objects were loaded with the program, so
 * they stay; what is looked at never changes, and nothing is called but strcmp. So names may be
 * looked up on any thread, and in signal handlers.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define SYMBOL_OBJECTS 64

struct symbol_object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint16_t *versions; /* NULL: it has none */
	/* The GNU hash table. */
	const ElfW(Addr) * bloom;
	const uint32_t *buckets;
	const uint32_t *chains; /* from the first symbol in the table on */
	uint32_t bloom_mask;
	uint32_t bloom_shift;
	uint32_t bucket_count;
	uint32_t first;
};

struct symbol_objects {
	unsigned int count;
	struct symbol_object objects[SYMBOL_OBJECTS];
};

/* Collects the objects behind ours. False: dlsym has to be asked. */
bool symbol_collect(struct symbol_objects *ret_objects);

/* The address of the next definition, or NULL: dlsym has to be asked. */
void *symbol_find(const struct symbol_objects *objects, const char *name);

#endif
