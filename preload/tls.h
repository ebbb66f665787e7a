/*
 * What the library keeps for each thread: a few words, initial-exec, so that they take none of the
 * dynamic linker's spare static TLS to speak of and need no call to reach.
 */
#ifndef TLS_H
#define TLS_H

#include <stdint.h>

struct stream;

/* A stream that a thread is about to enter or has just left, and in what frame; or NULL. */
struct tls_between {
	struct stream *stream;
	uintptr_t frame;
};

struct tls {
	/* This thread is a vfork child (entry_process.c): it shares our memory, but not our
	 * descriptors, so the descriptor tables must not be touched. */
	uint8_t vfork_child;
	/* Inside dlsym for our own sake: whatever it calls gets the fallback (next.c). */
	uint8_t binding;
	/* Lock ranks that this thread holds, one bit each (lock.c). */
	uint8_t locks;
	/* Inside a test point (test_point.h; test builds only). */
	uint8_t in_test_point;
	/* Which shard of the statistics this thread counts in, plus one; 0 = not yet chosen. */
	uint16_t shard;
	/* Whether this thread's mask lets through what the guard needs: GUARD_MASK_* (guard.h). */
	uint8_t signal_mask;
	/* After so many more reads that are served, and with what period, as a logarithm, it is
	 * asked whether they wait for a disk; its answer the last time; and how many were left when
	 * they were last counted (reads.c). */
	uint8_t reads_period;
	uint16_t reads_left;
	uint16_t reads_counted;
	uint32_t reads_waited;
	/* The stream that this thread has entered last (stream.h), or NULL. */
	struct stream *stream;
	struct tls_between between;
};

extern __thread struct tls tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
