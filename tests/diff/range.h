/*
 * Ranges of slots, as calls get them, and what becomes of a call that reaches dead pages where
 * another slot is alive in this world (differ.h).
 */
#ifndef RANGE_H
#define RANGE_H

#include "differ.h"

/* A range of one slot, as a call gets it. */
struct range {
	struct slot *slot;
	size_t first; /* pages */
	size_t count;
	char *addr;
	size_t length;
	size_t skew;
	bool huge;  /* it makes no sense: the kernel must refuse it */
	bool whole; /* every page of it is alive */
	bool clear; /* no other slot is alive where this one is dead */
};

/* The arguments SLOT PAGE LENGTH SKEW as a range; false if the line is to be left out. */
bool range_of(const int64_t *a, struct range *ret);

/* A call on a range: what it does, and what must come of it. */
struct operation_on {
	int (*call)(void *addr, size_t length, int how);
	int how;
	int how_in_part;
	int wanted;  /* 0, an errno, or ANY */
	size_t done; /* pages of the range that it acts on, dead ones among them */
};

/* Makes the call; if dead pages of the range are somebody else's by now, for the live ones only. */
void operate(const struct range *r, const struct operation_on *o);

/* Where a mapping is to lie: in the slot OVER, from PAGE on. */
struct target {
	struct slot *slot;
	size_t first;
	size_t count;
	bool live; /* any page of it */
	bool clear;
};

bool target_of(int64_t slot, int64_t page, size_t pages, struct target *ret);
/* Unmaps the live pages, where a call that replaces all would hit somebody else. */
void unmap_live(const struct target *t);
void kill_range(struct slot *slot, size_t first, size_t count);

/* Whether the slot is this thread's. */
bool is_ours(int64_t slot);
/* 0, or errno. */
int error_of(int answer);

#endif
