/*
 * differ: runs a random or given sequence of operations on files and mappings, and keeps a model
 * of what must come of each. tests/diff/run runs it natively and with the library, compares the
 * transcripts, and shortens the sequence that makes a difference.
 *
 *   script.h: seed or script ──> line ──> run ──> transcript
 *                                 │        │
 *                                 v        v
 *                               model: files, descriptors, slots ──> what was seen must be this
 *
 * A *slot* is an address range that one call of mmap or mremap gave us. What is known of it is
 * known for each page: dead (unmapped, or moved away), or of which file, with what protection. The
 * ranges of two slots may have addresses in common, since the kernel uses dead ones again; live
 * pages never do.
 *
 * Where dead pages lie differs from world to world, and so does what has come to lie there since.
 * A call that reaches dead pages where another slot is alive now is therefore made for the live
 * pages only, and what is reported is what it would have answered (operate, ops_map.c).
 *
 * A page that is dead is never read or written: DESIGN.md, section 9, number 5.
 *
 * Blocks: `fork`, `handler`, `thread` are followed by lines for the child, the signal handler, the
 * second thread, up to `end`; a thread's lines are followed by `meanwhile` and lines that the first
 * thread runs at the same time. In a thread section each keeps to its own slots, and neither files
 * nor descriptors change.
 *
 * What is outside of memory and what a fork shares (files, offsets) is modelled in shared memory;
 * the rest is copied by fork itself. Nothing is allocated after the start, so that the kernel gives
 * the addresses of dead pages to nobody but us, and to the library.
 *
 * A new operation: a row in operations.c, a function that draws its operands, one that runs it.
 */
#ifndef DIFFER_H
#define DIFFER_H

#include "script.h"

#define FILE_PAGES 900 /* more than 2 MiB: the library places such files in another way */
#define FILE_BYTES ((int64_t)(FILE_PAGES * PAGE))
#define NAMES 4
#define INODES 14
#define FDS 10
#define DESCRIPTIONS 64
#define SLOTS 30
#define MAIN_SLOTS 20 /* the rest is the second thread's */
#define SLOT_PAGES 1000
#define COPIES 6000

/*
 * The model (model.c).
 */

struct inode {
	bool used;
	bool anonymous; /* the memory behind a shared anonymous mapping */
	bool held;      /* by our parent */
	int64_t size;
	/* How often each page was cut off: a private copy from before is void. */
	uint32_t cuts[FILE_PAGES];
	unsigned char bytes[FILE_PAGES * PAGE]; /* zero behind `size` */
};

struct description {
	int inode;
	int access; /* O_RDONLY, O_WRONLY, O_RDWR */
	bool append;
	int64_t offset;
};

/* Shared with our children. */
struct common {
	struct inode inodes[INODES];
	struct description descriptions[DESCRIPTIONS];
	int names[NAMES]; /* inode, or -1 */
	uint64_t wrong;   /* how often the model was contradicted */
	bool tmpfs;
	bool future; /* files get an access time that no access moves */
};

extern struct common *common;

struct fd {
	int number; /* -1 if never used */
	int description;
	bool open;
};

extern struct fd fds[FDS];

enum page_kind { PAGE_DEAD, PAGE_ANONYMOUS, PAGE_FILE };

struct page {
	uint8_t kind; /* enum page_kind */
	uint8_t prot;
	bool shared;
	bool may_write; /* mprotect may make it writable */
	bool locked;
	bool when_touched; /* locked, but not filled (MLOCK_ONFAULT) */
	bool no_fork;
	bool wiped; /* by fork */
	bool guard;
	int8_t inode;
	uint32_t file_page;
	uint32_t vma; /* pages with the same number are surely in one mapping of the kernel's */
	int32_t copy; /* a private copy, or -1 */
	uint32_t cut; /* of the file's page when it was copied */
};

struct slot {
	char *base; /* NULL if never used */
	size_t pages;
	struct page page[SLOT_PAGES];
};

extern struct slot slots[SLOTS];

void model_begin(void);
int inode_new(void); /* an index, or -1 */
int description_new(void);
struct inode *inode_at(int index);
/* The description of an open one of fds, or NULL. */
struct description *fd_description(int64_t index);
bool fd_can_read(const struct description *d);
bool fd_can_write(const struct description *d);
void inode_write(struct inode *inode, int64_t offset, const unsigned char *bytes, size_t n);
void inode_truncate(struct inode *inode, int64_t size);
void inode_zero(struct inode *inode, int64_t offset, int64_t length);

uint32_t new_vma(void);
bool slot_dead(const struct slot *slot);
bool page_live(const struct page *page);
/* Ends a page. */
void page_kill(struct page *page);
void page_drop_copy(struct page *page);
/* The pages are no longer surely one mapping with their neighbours. */
void slot_split(struct slot *slot, size_t first, size_t count);

enum sight { SEE_BYTES, SEE_SEGV, SEE_BUS };
/* What a load or store must meet; with SEE_BYTES, what is there. */
enum sight page_look(struct page *page, bool store, const unsigned char **ret_bytes);
/* Where a store that must succeed goes to. */
unsigned char *page_touch(struct page *page);
/* How many of a page's bytes are not behind the end of the file. */
size_t page_room(const struct page *page);
/* What MAP_POPULATE and the like do; the number of pages done before the first that failed. */
size_t populate(struct slot *slot, size_t first, size_t count, bool store);
/* In a child just forked. */
void model_forked(void);

/* A slot other than this that has a live page there now, or NULL. */
const struct slot *occupant(const struct slot *except, const char *addr);

/*
 * Drawing operands (draw.c).
 */

int64_t draw_slot(bool live);
int64_t draw_fd(void);
int64_t draw_bytes(void); /* the size of a file */
int64_t draw_offset(void);
size_t draw_pages(void);
int64_t draw_prot(void);
/* A place in a slot: its index, a page, bytes from there on. */
void draw_range(int64_t *slot, int64_t *page, int64_t *length);

/*
 * Memory (memory.c)
 */

/* Everything that is alive is what it must be; the sum of it. */
void check_all(void);
/* A new range shares no page with what is alive. */
bool overlaps_live(const struct slot *slot);

/* The mode in which both processes do as they like, and only invariants are checked (free.c). */
int free_run(uint64_t seed, double seconds);

/* The path of a name. */
const char *path_of(int64_t name);

#define DECLARE(name)                                                                              \
	void draw_##name(int64_t *a);                                                              \
	void run_##name(const int64_t *a);

DECLARE(map)
DECLARE(unmap)
DECLARE(unmap_many)
DECLARE(protect)
DECLARE(advise)
DECLARE(padvise)
DECLARE(sync)
DECLARE(lock)
DECLARE(unlock)
DECLARE(incore)
DECLARE(remap)
DECLARE(load)
DECLARE(store)
DECLARE(check)
DECLARE(mtime)
DECLARE(begin)
DECLARE(open)
DECLARE(close)
DECLARE(unseen_close)
DECLARE(dup)
DECLARE(dup_to)
DECLARE(pread)
DECLARE(pwrite)
DECLARE(read)
DECLARE(readv)
DECLARE(reads)
DECLARE(send)
DECLARE(write)
DECLARE(seek)
DECLARE(pread_to)
DECLARE(pwrite_from)
DECLARE(truncate)
DECLARE(allocate)
DECLARE(rename)
DECLARE(unlink)
DECLARE(size)
DECLARE(peer)
DECLARE(fork)
DECLARE(vfork)
DECLARE(thread)
DECLARE(handler)
DECLARE(timer)

#endif
