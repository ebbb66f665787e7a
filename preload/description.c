#include "description.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "arena.h"
#include "config.h"
#include "lock.h"
#include "log.h"
#include "mem.h"

/* Layers in which views share their pages; each page is good for 65,534 (pages.c). */
#define CROWDED_LAYERS 32

#define BATCH 512
#define BATCHES 8192
#define GENERATION_MASK ((1U << 30) - 1)

/* Not all of these have names in every linux/magic.h. */
#define XFS_MAGIC 0x58465342
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e
#define EXFAT_MAGIC 0x2011bab0
#define NTFS3_MAGIC 0x7366746e
#define UDF_MAGIC 0x15013346
#define SMB2_MAGIC 0xfe534d42

static struct description *batches[BATCHES];
static uint32_t record_count = 1; /* index 0 is nobody */
/* The free records: (count of changes << 32 | index of the first), so that a compare-and-swap
 * never mistakes one list for another that begins alike. */
static uint64_t free_list;

static struct description *record_at(uint32_t index)
{
	struct description *batch;

	if (index == 0 || index / BATCH >= BATCHES)
		return NULL;
	batch = __atomic_load_n(&batches[index / BATCH], __ATOMIC_ACQUIRE);
	return batch == NULL ? NULL : &batch[index % BATCH];
}

static uint64_t handle_of(const struct description *d)
{
	return (uint64_t)__atomic_load_n(&d->generation, __ATOMIC_ACQUIRE) << 32 | d->index;
}

struct description *description_at(uint64_t handle)
{
	struct description *d = record_at((uint32_t)handle);

	return d != NULL && handle_of(d) == handle ? d : NULL;
}

static struct description *pop_free(void)
{
	uint64_t head = __atomic_load_n(&free_list, __ATOMIC_ACQUIRE);
	struct description *d;
	uint64_t rest;

	do {
		d = record_at((uint32_t)head);
		if (d == NULL)
			return NULL;
		rest = ((head >> 32) + 1) << 32 | __atomic_load_n(&d->free_next, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&free_list, &head, rest, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return d;
}

static void push_free(struct description *d)
{
	uint64_t head = __atomic_load_n(&free_list, __ATOMIC_RELAXED);
	uint64_t more;

	do {
		__atomic_store_n(&d->free_next, (uint32_t)head, __ATOMIC_RELAXED);
		more = ((head >> 32) + 1) << 32 | d->index;
	} while (!__atomic_compare_exchange_n(&free_list, &head, more, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
}

static struct description *fresh_record(void)
{
	uint32_t index = __atomic_fetch_add(&record_count, 1, __ATOMIC_RELAXED);
	struct description **cell;
	struct description *batch;

	if (index / BATCH >= BATCHES) {
		__atomic_fetch_sub(&record_count, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	cell = &batches[index / BATCH];
	batch = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
	if (batch == NULL) {
		struct description *made = mem_pages(BATCH * sizeof(*made));

		if (made == NULL)
			return NULL;
		/* Another thread may be faster; what mem_pages gave is then lost. */
		if (__atomic_compare_exchange_n(cell, &batch, made, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			batch = made;
	}
	batch[index % BATCH].index = index;
	return &batch[index % BATCH];
}

uint64_t description_new(void)
{
	struct description *d = pop_free();

	if (d == NULL)
		d = fresh_record();
	if (d == NULL)
		return 0;
	__atomic_store_n(&d->seen, false, __ATOMIC_RELAXED);
	__atomic_store_n(&d->reads, false, __ATOMIC_RELAXED);
	__atomic_store_n(&d->readable, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&d->reach, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&d->refused_tick, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&d->atime_tick, 0, __ATOMIC_RELAXED);
	d->reason = REASON_none;
	for (int kind = 0; kind < KIND_COUNT; kind++)
		__atomic_store_n(&d->layers[kind], NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&d->policy, POLICY_UNRESOLVED, __ATOMIC_RELAXED);
	__atomic_store_n(&d->references, 1, __ATOMIC_RELEASE);
	return handle_of(d);
}

bool description_hold(uint64_t handle)
{
	struct description *d = description_at(handle);
	int32_t seen;

	if (d == NULL)
		return false;
	seen = __atomic_load_n(&d->references, __ATOMIC_ACQUIRE);
	do {
		if (seen == 0)
			return false;
	} while (!__atomic_compare_exchange_n(&d->references, &seen, seen + 1, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	if (handle_of(d) == handle)
		return true;
	/* It ended and began again in between. */
	description_drop(handle_of(d));
	return false;
}

static void end_layers(struct description *d)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		struct region *region =
			__atomic_exchange_n(&d->layers[kind], NULL, __ATOMIC_ACQ_REL);

		while (region != NULL) {
			struct region *next = region->next;

			region_orphan(region);
			region = next;
		}
	}
}

void description_drop(uint64_t handle)
{
	struct description *d = description_at(handle);
	uint32_t next;

	if (d == NULL || __atomic_sub_fetch(&d->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	next = (d->generation + 1) & GENERATION_MASK;
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_SERVE) {
		struct lock_hold hold = lock_take(LOCK_VIEWS);

		/* Under the lock: whoever makes a layer under it looks at the generation. */
		__atomic_store_n(&d->generation, next, __ATOMIC_RELEASE);
		end_layers(d);
		lock_drop(LOCK_VIEWS, hold);
	} else {
		__atomic_store_n(&d->generation, next, __ATOMIC_RELEASE);
	}
	push_free(d);
}

/* What may be done with files of a file system. Local ones whose mappings show what read shows;
 * unknown ones pass through. Network and FUSE file systems revalidate at each mmap, which one
 * mapping kept for long would not (FACTS: NFS, FUSE with FOPEN_DIRECT_IO). */
static bool filesystem_serves(uint32_t type)
{
	switch (type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case ISOFS_SUPER_MAGIC:
	case REISERFS_SUPER_MAGIC:
	case NILFS_SUPER_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case ZFS_MAGIC:
	case BCACHEFS_MAGIC:
	case EXFAT_MAGIC:
	case NTFS3_MAGIC:
	case UDF_MAGIC:
		return true;
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case SMB2_MAGIC:
	case CIFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case CEPH_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case AFS_FS_MAGIC:
	case CODA_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
		return config.network_fs;
	default:
		return false;
	}
}

/* Whether, of these, a mapping shows at any time what a read of the same descriptor would: not
 * where a copy-up leaves the mapping with the old file, or another machine writes the file. */
static bool reads_as_mapped(uint32_t type)
{
	switch (type) {
	case OVERLAYFS_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case SMB2_MAGIC:
	case CIFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case CEPH_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case AFS_FS_MAGIC:
	case CODA_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
		return false;
	default:
		return true;
	}
}

/* What there is to know, before it is written down. */
struct findings {
	struct file_stat stat;
	struct filesystem filesystem;
	uint64_t tick; /* before it was asked for */
	int flags;
};

static enum reason examine(int fd, struct findings *f)
{
	stats_add(COUNT_own_calls, 3);
	f->tick = kernel.tick();
	f->flags = kernel.status_flags(fd);
	if (f->flags < 0 || kernel.stat(fd, &f->stat) < 0 || (f->flags & O_PATH))
		return REASON_descriptor;
	if ((f->flags & O_ACCMODE) == O_WRONLY)
		return REASON_access;
	if ((f->stat.mode & S_IFMT) != S_IFREG)
		return REASON_not_regular;
	if (kernel.filesystem(fd, &f->filesystem) < 0 || !filesystem_serves(f->filesystem.type))
		return REASON_filesystem;
	/* strictatime: each mmap moves the access time, and must be made. */
	if (!(f->filesystem.flags & (ST_NOATIME | ST_RELATIME | ST_RDONLY)) &&
	    !(f->flags & O_NOATIME))
		return REASON_filesystem;
	return REASON_none;
}

static void write_down(struct description *d, int fd, const struct findings *f, enum reason reason)
{
	d->reason = (uint8_t)reason;
	if (reason == REASON_none) {
		d->access = (uint8_t)(f->flags & O_ACCMODE);
		d->device = f->stat.device;
		d->inode = f->stat.inode;
		d->moves_atime = !(f->filesystem.flags & (ST_NOATIME | ST_RDONLY)) &&
				 !(f->flags & O_NOATIME);
		d->tmpfs = f->filesystem.type == TMPFS_MAGIC || f->filesystem.type == RAMFS_MAGIC;
		d->first_look = f->stat;
		d->first_fd = fd;
		__atomic_store_n(&d->first_tick, f->tick, __ATOMIC_RELAXED);
		__atomic_store_n(&d->reads,
				 !(f->flags & O_DIRECT) && reads_as_mapped(f->filesystem.type),
				 __ATOMIC_RELAXED);
	}
	__atomic_store_n(&d->policy, reason == REASON_none ? POLICY_SERVE : POLICY_PASS,
			 __ATOMIC_RELEASE);
}

void description_resolve(struct description *d, int fd)
{
	struct findings f;
	enum reason reason = examine(fd, &f);
	struct lock_hold hold = lock_take(LOCK_VIEWS);

	if (d->policy == POLICY_UNRESOLVED)
		write_down(d, fd, &f, reason);
	lock_drop(LOCK_VIEWS, hold);
}

/* The kernel's rule (fs/inode.c, relatime_need_update): an access moves the access time if it is
 * not after the last change, or a day old. */
static bool access_would_show(const struct file_stat *stat)
{
	struct timespec now;
	int64_t day = (int64_t)24 * 60 * 60;

	if (stat->mtime >= stat->atime || stat->ctime >= stat->atime)
		return true;
	return clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 &&
	       now.tv_sec - stat->atime / 1000000000 >= day;
}

/* Of a file on tmpfs. A read of a hole gives zeros; a load fills it, which shows in st_blocks and
 * takes memory. Of a huge page that reaches behind the end of the file all can be mapped (bytes.h):
 * st_blksize says that there may be some, st_blocks that there are. */
static bool fully_held(const struct file_stat *stat)
{
	uint64_t mask = sys_page_size() - 1;

	return stat->held == ((stat->size + mask) & ~mask) && stat->unit <= mask + 1;
}

/* Either this sees that reads are refused now, or who refuses them sees this. */
static void set_readable(struct description *d, uint64_t size)
{
	__atomic_store_n(&d->readable, size, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&d->reads, __ATOMIC_SEQ_CST))
		__atomic_store_n(&d->readable, 0, __ATOMIC_SEQ_CST);
}

void description_refuse_reads(struct description *d)
{
	__atomic_store_n(&d->reads, false, __ATOMIC_SEQ_CST);
	__atomic_store_n(&d->readable, 0, __ATOMIC_SEQ_CST);
}

static int look(struct description *d, int fd, struct file_stat *ret_stat)
{
	uint64_t first = __atomic_exchange_n(&d->first_tick, 0, __ATOMIC_ACQ_REL);

	if (first != 0 && first == kernel.tick() && fd == d->first_fd) {
		*ret_stat = d->first_look;
		return 0;
	}
	stats_add(COUNT_own_calls, 1);
	return kernel.stat(fd, ret_stat);
}

/* Once a tick: whether a narrow estate is still a burden to nobody. */
static void look_at_room(void)
{
	static uint64_t looked;
	uint64_t tick = kernel.tick();

	if (__atomic_exchange_n(&looked, tick, __ATOMIC_RELAXED) == tick || lock_held() ||
	    region_has_retreated() || estate_is_affordable())
		return;
	log_line("the process takes half of its address space: no more regions");
	description_retreat();
}

enum reason description_prove(struct description *d, int fd, uint64_t *ret_size)
{
	struct file_stat stat;

	if (estate_is_narrow())
		look_at_room();
	if (look(d, fd, &stat) < 0 || stat.device != d->device || stat.inode != d->inode)
		return REASON_descriptor;
	*ret_size = stat.size;
	if (stat.size > __atomic_load_n(&d->reach, __ATOMIC_RELAXED))
		__atomic_store_n(&d->reach, stat.size, __ATOMIC_RELAXED);
	set_readable(d, d->tmpfs && !fully_held(&stat) ? 0 : stat.size);
	if (stat.size == 0)
		return REASON_empty;
	return d->moves_atime && access_would_show(&stat) ? REASON_atime : REASON_none;
}

void description_add_layer(struct description *d, struct region *region)
{
	__atomic_store_n(&region->next, d->layers[region->kind], __ATOMIC_RELEASE);
	__atomic_store_n(&d->layers[region->kind], region, __ATOMIC_RELEASE);
}

unsigned int description_most_layers(void)
{
	return config.tiny ? 1 : MOST_LAYERS;
}

static unsigned int count_layers(const struct description *d, enum kind kind, size_t start)
{
	unsigned int count = 0;

	for (const struct region *region = d->layers[kind]; region != NULL; region = region->next)
		count += region->file_page == start;
	return count;
}

/* Ends an idle region; false if there is none. */
static bool end_oldest(void)
{
	struct region *region;

	while ((region = region_oldest_idle()) != NULL) {
		struct description *d = description_at(region->owner);
		struct region **link = d == NULL ? NULL : &d->layers[region->kind];
		struct region *next = region->next;

		while (link != NULL && *link != NULL && *link != region)
			link = &(*link)->next;
		if (link == NULL || *link == NULL)
			return false;
		/* If it is claimed just now it is idle no more. */
		if (!region_end_idle(region))
			continue;
		__atomic_store_n(link, next, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

struct region *description_make_region(struct description *d, const struct region_request *request,
				       enum reason *ret_reason)
{
	struct region *region;

	if (count_layers(d, request->kind, region_start(request->page)) >=
	    description_most_layers() + (request->crowded ? CROWDED_LAYERS : 0)) {
		*ret_reason = REASON_layers;
		return NULL;
	}
	do
		region = region_create(request, ret_reason);
	while (region == NULL && *ret_reason == REASON_address_space && estate_is_narrow() &&
	       end_oldest());
	return region;
}

unsigned int description_end_idle(struct description *d, int kind)
{
	struct region **link = &d->layers[kind];
	unsigned int ended = 0;

	while (*link != NULL) {
		struct region *region = *link;
		struct region *next = region->next;

		if (!region_end_idle(region)) {
			link = &region->next;
			continue;
		}
		/* A claimer that still stands on the record sees that it is over. */
		__atomic_store_n(link, next, __ATOMIC_RELEASE);
		ended++;
	}
	return ended;
}

unsigned int description_relieve(void)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	uint32_t count = __atomic_load_n(&record_count, __ATOMIC_RELAXED);
	unsigned int ended = 0;

	for (uint32_t i = 1; i < count; i++) {
		struct description *d = record_at(i);

		for (int kind = 0; d != NULL && kind < KIND_COUNT; kind++)
			ended += description_end_idle(d, kind);
	}
	estate_take_ballast();
	lock_drop(LOCK_VIEWS, hold);
	return ended;
}

bool description_retreat(void)
{
	struct lock_hold hold;

	if (region_has_retreated())
		return false;
	description_relieve();
	hold = lock_take(LOCK_VIEWS);
	region_retreat();
	arena_retreat();
	estate_shed();
	mem_retreat();
	lock_drop(LOCK_VIEWS, hold);
	return true;
}

void description_narrow(uint64_t limit)
{
	struct lock_hold hold;

	description_relieve();
	hold = lock_take(LOCK_VIEWS);
	arena_retreat();
	estate_narrow(limit);
	mem_retreat();
	lock_drop(LOCK_VIEWS, hold);
}
