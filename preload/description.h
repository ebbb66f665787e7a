/*
 * Descriptions: what is known of an open file description that this process has descriptors of.
 *
 * A description is named by a handle, (generation << 32 | index): handles are never used twice
 * within 2^30 generations of one record, so that a stale handle is recognised, not obeyed. Records
 * are never freed, only used again.
 *
 * A description is made when it is first needed: by dup (both numbers must come to know the same
 * regions), or when a second small mapping shows that its file is worth a look. Then its descriptor
 * is asked, once, what file it is and what may be done with it (description_resolve): three system
 * calls.
 *
 * Reference counting: `references` is the number of entries of the descriptor table (fd.h) that
 * hold the handle. The last one to go ends the regions.
 *
 * Synchronization: `generation` and `references` are atomic. What resolve finds out is written
 * under LOCK_VIEWS before `policy` (release) and constant until the generation changes. `layers`
 * is changed under LOCK_VIEWS and read at any moment.
 */
#ifndef DESCRIPTION_H
#define DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region.h"
#include "stats.h"
#include "sys.h"

enum policy {
	POLICY_UNRESOLVED,
	POLICY_PASS,  /* nothing can be done with it, for `reason` */
	POLICY_SERVE, /* its file may have regions */
};

struct description {
	/* Hot: read by every mapping. */
	uint32_t generation;
	uint8_t policy; /* enum policy */
	uint8_t reason; /* enum reason, with POLICY_PASS */
	uint8_t access; /* O_RDONLY or O_RDWR */
	bool seen;      /* a small mapping of it was passed through */
	bool reads;     /* positional reads may be served too; atomic */
	struct region *layers[KIND_COUNT];
	/* How far reads may be served, as last known, bytes: the file's size, or 0 where they may
	 * not, or a copy would do what a read does not (tmpfs). Atomic. */
	uint64_t readable;
	/* The largest size that was seen: offsets up to it can be seeked to. Atomic. */
	uint64_t reach;
	/* The last tick in which reads were found to be not for us, and in which the access time
	 * was found to be due. Atomic. */
	uint64_t refused_tick;
	uint64_t atime_tick;
	/* Proof that a descriptor still is this description. */
	uint64_t device;
	uint64_t inode;
	/* Cold. */
	/* What resolving has seen of the file, for the first proof in that same tick, of that same
	 * number: first_tick is 0 once it was used. */
	struct file_stat first_look;
	uint64_t first_tick; /* atomic */
	int first_fd;
	bool moves_atime; /* on a file system mounted relatime */
	bool tmpfs;
	int32_t references;
	int fd; /* a number that was this description's when last used; to be proved */
	uint32_t index;
	uint32_t free_next; /* index of the next free record */
};

/* How many regions of one kind a description may have at once of the same part of its file. */
#define MOST_LAYERS 64

/* A new description with one reference, unresolved; its handle, or 0 if there is no memory. No
 * lock, no system call but for memory. */
uint64_t description_new(void);

/* The record that a handle names, or NULL if it is over (or the handle is 0). */
struct description *description_at(uint64_t handle);

/* One more entry holds the handle; false if the description is over. */
bool description_hold(uint64_t handle);
/* One entry less. The last one ends the regions that have no views. */
void description_drop(uint64_t handle);

/* Asks the descriptor what its file is, and decides what may be done with it. The caller holds a
 * reference, so that the record can't begin again meanwhile. */
void description_resolve(struct description *d, int fd);

/* Proves by fstat that `fd` still is this description. REASON_none if so and it may be served;
 * REASON_atime if the kernel would move the file's access time now, so that one real call must be
 * let through; REASON_descriptor if it is another file. *ret_size: the file's size, bytes.
 * Refreshes `readable`. The fstat of resolving is good for the first time, if that is now. */
enum reason description_prove(struct description *d, int fd, uint64_t *ret_size);

/* From now on no read of it is served. */
void description_refuse_reads(struct description *d);

/* Makes a region for the request, one more layer; where address space is short, idle ones end for
 * it if they have to. NULL and the reason if that can't be. It is in no list yet. Caller holds
 * LOCK_VIEWS. */
struct region *description_make_region(struct description *d, const struct region_request *request,
				       enum reason *ret_reason);

/* Adds a region in front of a kind's layers. Caller holds LOCK_VIEWS. */
void description_add_layer(struct description *d, struct region *region);

/* How many regions of one kind and one part of its file a description may have, in this
 * configuration. */
unsigned int description_most_layers(void);

/* Ends the regions of one kind that have no view. Caller holds LOCK_VIEWS. */
unsigned int description_end_idle(struct description *d, int kind);

/* Ends all regions that have no view, whosever they are, to make room at the mapping limit or in
 * the address space; returns how many. */
unsigned int description_relieve(void);

/* Address space has become scarce, or dear (mlockall): gives back what is not used, ends what is
 * idle, and makes no new regions from now on. False if that was done before. */
bool description_retreat(void);
/* There is a limit on it from now on: the same, but for a narrow estate. */
void description_narrow(uint64_t limit);

#endif
