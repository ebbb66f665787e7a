/*
 * Statistics: 64-bit counters, one for each class of cost, and one for each reason to pass a call
 * through. Reported once a process, at its end, with one write(2): a JSON line appended to a file,
 * or a summary for people on stderr (MAPCOALESCE_STATS).
 *
 * Synchronization: a thread counts in its own shard: no two threads of a mapping loop write the
 * same cache line. The first OWN_SHARDS threads never share theirs, and where an addition to memory
 * is one instruction, which no signal divides, that is enough; all others share the rest, with
 * relaxed atomic additions. Sums are exact when the threads have stopped.
 */
#ifndef STATS_H
#define STATS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off: tables */
/* Counters; the names are the JSON keys. */
#define COUNTERS(X)                                                                                \
	X(mmap_calls)       /* calls of mmap and mmap64 */                                         \
	X(mmap_views)       /* of these, answered with a view */                                   \
	X(anonymous_views)  /* of these, memory out of the arena */                                \
	X(copies)           /* of these, copies made because there were too many mappings */       \
	X(shared_views)     /* of these, made to share pages for the same reason */                \
	X(munmap_calls)     /* calls of munmap */                                                  \
	X(munmap_views)     /* of these, that ended views and made no system call */               \
	X(read_calls)       /* calls of read, pread, readv … */                                  \
	X(read_mapped)      /* of these, answered by a copy from a region */                       \
	X(lseek_calls)      /* calls of lseek */                                                   \
	X(lseek_virtual)    /* of these, answered without a system call */                         \
	X(streams)          /* streams opened by name */                                           \
	X(streams_mapped)   /* of these, read from a region at some time */                        \
	X(streams_combined) /* of these, with combined writes at some time */                      \
	X(writes_combined)  /* writes of these that were kept for a while */                       \
	X(writes_made)      /* writes that they became */                                          \
	X(bytes_mapped)     /* bytes handed out as views or copied from regions */                 \
	X(regions_made)     /* regions mapped in all */                                            \
	X(plugin_opens)     /* calls of dlopen for linker plugins that stay loaded */              \
	X(plugins_kept)     /* of these, that found the plugin still loaded */                     \
	X(own_calls)        /* system calls made for the library's own sake */

/* Why a call was passed through; the names are the keys of the JSON object `passed`. */
#define REASONS(X)                                                                                 \
	X(none)        /* it was not: never counted */                                             \
	X(anonymous)   /* no file */                                                               \
	X(fixed)       /* MAP_FIXED or MAP_FIXED_NOREPLACE */                                      \
	X(hint)        /* an address was asked for */                                              \
	X(protection)  /* PROT_NONE, PROT_EXEC, or write-only */                                   \
	X(flags)       /* some other flag */                                                       \
	X(arguments)   /* length 0, offset not page-aligned: the kernel has the answer */          \
	X(too_large)   /* longer than MAPCOALESCE_MAX_VIEW */                                      \
	X(first)       /* the first small mapping of its file, or its first small reads */         \
	X(descriptor)  /* bad, or changed hands during the call */                                 \
	X(access)      /* the descriptor's access mode does not allow it, or none of our kinds */  \
	X(not_regular) /* not a regular file */                                                    \
	X(atime)       /* the access time would move now: one real mmap moves it */                \
	X(empty)       /* size 0: /proc and the like, or not written yet */                        \
	X(filesystem)  /* network, FUSE, or one we don't know */                                   \
	X(past_end)    /* beyond the end of the file and the slack; a read in its last page */     \
	X(layers)      /* the pages asked for are in use in every layer */                         \
	X(address_space) /* RLIMIT_AS, or no room in the estate */                                 \
	X(pane)          /* address space is short, and it reaches behind its pane */              \
	X(commit)        /* kind D: RLIMIT_DATA, or vm.overcommit_memory is 2 */                   \
	X(memory)        /* no memory for our own records */                                       \
	X(refused)       /* the kernel refused the region */                                       \
	X(budget)        /* as many regions as we allow ourselves */                               \
	X(retreat)       /* after mlockall, or a limit on address space: no new regions */         \
	X(reentered)     /* called while this thread was inside the library */                     \
	X(child)         /* a vfork child */                                                       \
	X(large)         /* a read of more than 64 KiB */                                          \
	X(untracked)     /* a read of a descriptor not seen being made */                          \
	X(direct)        /* a read with O_DIRECT, or of a file that may differ from its mapping */ \
	X(cold)          /* a read of a file that is not all in memory, as it seems */             \
	X(rare)          /* a read of what is not read often enough to be mapped for it */         \
	X(fault)         /* a read that met a fault: truncated, I/O error, bad pointer */          \
	X(guard)         /* the program blocks, ignores or took over SIGBUS or SIGSEGV */          \
	X(mode)          /* the mode is off */                                                     \
	X(dry_run)       /* would have been a view */
/* clang-format on */

enum counter {
#define X(name) COUNT_##name,
	COUNTERS(X)
#undef X
		COUNTER_COUNT
};

enum reason {
#define X(name) REASON_##name,
	REASONS(X)
#undef X
		REASON_COUNT
};

/* Counts. A few nanoseconds. */
void stats_add(enum counter counter, uint64_t n);
void stats_pass(enum reason reason);

/* A view was handed out (mmap_views, bytes_mapped, and the number of live views) … */
void stats_view_begins(uint64_t bytes);
/* … and was given back by one munmap. */
void stats_view_ends(void);

/* A read was answered by a copy (read_mapped, bytes_mapped; the sum of read_calls counts it too).
 */
void stats_read(uint64_t bytes);

/* The number of regions changed to `now`. Caller holds LOCK_VIEWS. */
void stats_regions(uint64_t now);

/* The number of mappings of the whole process, as far as known, is `now`. */
void stats_vmas(uint64_t now);

/* The name of a reason, as in the JSON object. */
const char *stats_reason_name(enum reason reason);

/* Whether statistics were asked for. */
bool stats_wanted(void);

/* Notes the time. Called by the constructor: all counts are 0, and their pages not yet touched. */
void stats_begin(void);
/* The counts of a fork's child start at nothing. */
void stats_forked(void);

/* Reports, the first time it is called. */
void stats_report(void);

/* Sums over all shards. */
uint64_t stats_sum(enum counter counter);
uint64_t stats_passed(enum reason reason);
uint64_t stats_views_live(void);
uint64_t stats_views_peak(void);

#endif
