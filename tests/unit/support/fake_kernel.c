#include "fake_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "estate.h"
#include "unit.h"

#define MOST_FILES 512
#define MOST_FDS 70000
#define HOUR ((int64_t)3600 * 1000000000)

#if UINTPTR_MAX > UINT32_MAX
#define FIRST_ADDRESS ((uintptr_t)0x100000005000)
#else
#define FIRST_ADDRESS ((uintptr_t)0x40005000)
#endif

struct fake_fd {
	bool open;
	int file;
	int flags;
	int description;
};

struct fake fake;

static struct kernel real;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fake_mapping *mappings;
static size_t mapping_count;
static size_t mapping_room;
static uintptr_t next_address = FIRST_ADDRESS;
static struct fake_file files[MOST_FILES];
static int file_count;
static struct fake_fd fds[MOST_FDS];
static int description_count;

void fake_fail(unsigned int calls, unsigned int n, int error)
{
	fake.fail_calls = calls;
	fake.fail_after = n - 1;
	fake.fail_count = 1;
	fake.fail_error = error;
	fake.failed = 0;
}

void fake_fail_always(unsigned int calls, int error)
{
	fake_fail(calls, 1, error);
	fake.fail_count = UINT32_MAX;
}

bool fake_mend(void)
{
	fake.fail_count = 0;
	fake.fail_leaves_hole = false;
	return fake.failed != 0;
}

/* 0, or the errno that this call is to fail with. Caller holds the mutex. */
static int failure(enum fake_call call)
{
	fake.calls++;
	if (!(fake.fail_calls & call) || fake.fail_count == 0)
		return 0;
	if (fake.fail_after > 0) {
		fake.fail_after--;
		return 0;
	}
	fake.fail_count--;
	fake.failed++;
	return fake.fail_error;
}

/* Caller does not hold the mutex. */
static void act(enum fake_call call)
{
	void (*action)(void) = fake.action;

	if (action == NULL || !(fake.action_calls & call))
		return;
	if (fake.action_after > 0) {
		fake.action_after--;
		return;
	}
	fake.action = NULL;
	action();
}

/* The first mapping that ends after `addr`. */
static size_t index_of(uintptr_t addr)
{
	size_t low = 0;
	size_t high = mapping_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (mappings[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert_at(size_t i, const struct fake_mapping *m)
{
	if (mapping_count == mapping_room) {
		mapping_room = mapping_room * 2 + 64;
		mappings = realloc(mappings, mapping_room * sizeof(*mappings));
		if (mappings == NULL)
			abort();
	}
	memmove(&mappings[i + 1], &mappings[i], (mapping_count - i) * sizeof(*mappings));
	mappings[i] = *m;
	mapping_count++;
}

static void remove_at(size_t i)
{
	mapping_count--;
	memmove(&mappings[i], &mappings[i + 1], (mapping_count - i) * sizeof(*mappings));
}

/* Cuts the mapping that `addr` lies inside, if one does. */
static void cut_at(uintptr_t addr)
{
	size_t i = index_of(addr);
	struct fake_mapping upper;

	if (i == mapping_count || mappings[i].start >= addr)
		return;
	upper = mappings[i];
	upper.offset += addr - upper.start;
	upper.start = addr;
	mappings[i].end = addr;
	insert_at(i + 1, &upper);
}

static bool alike(const struct fake_mapping *a, const struct fake_mapping *b)
{
	if (a->end != b->start || a->what != b->what || a->prot != b->prot ||
	    a->flags != b->flags || a->file != b->file || a->description != b->description)
		return false;
	return a->what != FILE_PAGES || a->offset + (a->end - a->start) == b->offset;
}

static void join_at(size_t i)
{
	if (i == 0 || i >= mapping_count || !alike(&mappings[i - 1], &mappings[i]))
		return;
	mappings[i - 1].end = mappings[i].end;
	remove_at(i);
}

static void clear(uintptr_t start, uintptr_t end)
{
	size_t i;

	cut_at(start);
	cut_at(end);
	for (i = index_of(start); i < mapping_count && mappings[i].start < end;)
		remove_at(i);
}

static void place(const struct fake_mapping *m)
{
	size_t i;

	clear(m->start, m->end);
	i = index_of(m->start);
	insert_at(i, m);
	join_at(i + 1);
	join_at(i);
}

/* A change is made, and unmade if it is more than the limit allows. */
static bool place_within_limit(const struct fake_mapping *m)
{
	size_t cuts = 0;
	size_t i = index_of(m->start);

	if (fake.limit == 0) {
		place(m);
		return true;
	}
	/* The kernel's rule (mm/mmap.c): no more than the limit before, and a hole punched into
	 * the middle of one mapping needs one more. */
	cuts += i < mapping_count && mappings[i].start < m->start && mappings[i].end > m->end;
	if (mapping_count + cuts > fake.limit)
		return false;
	place(m);
	return true;
}

static bool is_open(int fd)
{
	return fd >= 0 && fd < MOST_FDS && fds[fd].open;
}

static bool all_mapped(uintptr_t start, uintptr_t end)
{
	for (size_t i = index_of(start); start < end; i++) {
		if (i == mapping_count || mappings[i].start > start)
			return false;
		start = mappings[i].end;
	}
	return true;
}

static bool any_mapped(uintptr_t start, uintptr_t end)
{
	size_t i = index_of(start);

	return i < mapping_count && mappings[i].start < end;
}

static void *map_fixed(uintptr_t addr, size_t length, int prot, int flags, int fd, uint64_t offset)
{
	struct fake_mapping m = {
		.start = addr,
		.end = addr + length,
		.what = fd < 0 ? RESERVED : FILE_PAGES,
		.prot = prot,
		.flags = flags & MAP_TYPE,
		.file = -1,
		.description = -1,
		.offset = offset,
	};
	int error = failure(CALL_MAP);

	if (error == 0 && (flags & MAP_FIXED_NOREPLACE) && any_mapped(m.start, m.end))
		return (void *)(intptr_t)-EEXIST;
	if (error != 0) {
		if (fake.fail_leaves_hole)
			clear(m.start, m.end);
		return (void *)(intptr_t)-error;
	}
	if (fd >= 0 && !is_open(fd))
		return (void *)(intptr_t)-EBADF;
	if (fd >= 0 && (fds[fd].flags & O_ACCMODE) == O_WRONLY)
		return (void *)(intptr_t)-EACCES;
	if (fd >= 0) {
		m.file = fds[fd].file;
		m.description = fds[fd].description;
	} else {
		m.offset = 0;
	}
	return place_within_limit(&m) ? (void *)addr : (void *)(intptr_t)-ENOMEM;
}

static void *reserve(size_t length, int prot, int flags)
{
	struct fake_mapping m = {
		.start = next_address,
		.end = next_address + length,
		.what = RESERVED,
		.prot = prot,
		.flags = flags & MAP_TYPE,
		.file = -1,
		.description = -1,
	};
	int error = failure(CALL_RESERVE);

	if (error != 0)
		return (void *)(intptr_t)-error;
	next_address += length + ((size_t)16 << 20);
	place(&m);
	return (void *)m.start;
}

static void *map_table(size_t length, int prot, int flags)
{
	int error = failure(CALL_TABLE);

	if (error != 0)
		return (void *)(intptr_t)-error;
	fake.tables++;
	return real.map(NULL, length, prot, flags, -1, 0);
}

static void *fake_map(void *addr, size_t length, int prot, int flags, int fd, uint64_t offset)
{
	void *p;

	pthread_mutex_lock(&mutex);
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		p = map_fixed((uintptr_t)addr, length, prot, flags, fd, offset);
	else if (prot == PROT_NONE)
		p = reserve(length, prot, flags);
	else
		p = map_table(length, prot, flags);
	pthread_mutex_unlock(&mutex);
	if (flags & MAP_FIXED)
		act(CALL_MAP);
	return p;
}

static int fake_unmap(void *addr, size_t length)
{
	uintptr_t start = (uintptr_t)addr;
	int error;

	pthread_mutex_lock(&mutex);
	error = failure(CALL_UNMAP);
	if (error == 0 && start >= FIRST_ADDRESS && start < next_address) {
		clear(start, start + length);
	} else if (error == 0) {
		fake.tables--;
		error = -real.unmap(addr, length);
	}
	pthread_mutex_unlock(&mutex);
	return -error;
}

/* Whole mappings, or as much of one as the limit lets be cut off. */
static int fake_protect(void *addr, size_t length, int prot)
{
	uintptr_t start = (uintptr_t)addr;
	uintptr_t end = start + length;
	int error;

	pthread_mutex_lock(&mutex);
	error = failure(CALL_PROTECT);
	if (error == 0 && !all_mapped(start, end))
		error = ENOMEM;
	if (error == 0 && fake.limit != 0 && mapping_count >= fake.limit) {
		size_t i = index_of(start);

		if (mappings[i].start != start || mappings[index_of(end - 1)].end != end)
			error = ENOMEM;
	}
	if (error == 0) {
		cut_at(start);
		cut_at(end);
		for (size_t i = index_of(start); i < mapping_count && mappings[i].start < end; i++)
			mappings[i].prot = prot;
	}
	pthread_mutex_unlock(&mutex);
	return -error;
}

void fake_protect_pages(void *addr, size_t length, int prot)
{
	uintptr_t start = (uintptr_t)addr;
	uintptr_t end = start + length;

	pthread_mutex_lock(&mutex);
	cut_at(start);
	cut_at(end);
	for (size_t i = index_of(start); i < mapping_count && mappings[i].start < end; i++)
		mappings[i].prot = prot;
	for (size_t i = index_of(start); i < mapping_count && mappings[i].start <= end; i++)
		join_at(i);
	pthread_mutex_unlock(&mutex);
}

/* As an older kernel. */
static int fake_drop(const struct run *runs, size_t count)
{
	return -ENOSYS;
}

static int fake_advise(void *addr, size_t length, int advice)
{
	int error;

	(void)advice;
	pthread_mutex_lock(&mutex);
	error = failure(CALL_ADVISE);
	if (error == 0 && !all_mapped((uintptr_t)addr, (uintptr_t)addr + length))
		error = ENOMEM;
	pthread_mutex_unlock(&mutex);
	return -error;
}

static void *fake_remap(void *addr, size_t old, size_t new, int flags, void *to)
{
	(void)addr;
	(void)old;
	(void)new;
	(void)flags;
	(void)to;
	return (void *)(intptr_t)-ENOSYS;
}

static int fake_stat(int fd, struct file_stat *ret_stat)
{
	int error;

	pthread_mutex_lock(&mutex);
	fake.stats++;
	error = failure(CALL_STAT);
	if (error == 0 && !is_open(fd))
		error = EBADF;
	if (error == 0)
		*ret_stat = files[fds[fd].file].stat;
	pthread_mutex_unlock(&mutex);
	act(CALL_STAT);
	return -error;
}

static int fake_filesystem(int fd, struct filesystem *ret_filesystem)
{
	int error;

	pthread_mutex_lock(&mutex);
	error = failure(CALL_FILESYSTEM);
	if (error == 0 && !is_open(fd))
		error = EBADF;
	if (error == 0)
		*ret_filesystem = files[fds[fd].file].filesystem;
	pthread_mutex_unlock(&mutex);
	return -error;
}

static int fake_status_flags(int fd)
{
	int answer;

	pthread_mutex_lock(&mutex);
	answer = -failure(CALL_FLAGS);
	if (answer == 0)
		answer = is_open(fd) ? fds[fd].flags : -EBADF;
	pthread_mutex_unlock(&mutex);
	act(CALL_FLAGS);
	return answer;
}

static uint64_t fake_address_limit(void)
{
	return fake.address_limit;
}

static uint64_t fake_address_taken(void)
{
	return fake.address_taken;
}

static uint64_t fake_data_limit(void)
{
	return fake.data_limit;
}

static int fake_overcommit(void)
{
	return fake.overcommit;
}

static int fake_written(char *start, char *end, struct run *runs, int most, char **ret_stop)
{
	int count = 0;

	fake.looks++;
	if (fake.written_count < 0)
		return fake.written_count;
	*ret_stop = end;
	for (int i = 0; i < fake.written_count; i++) {
		if (fake.written[i].start < start)
			continue;
		if (count == most) {
			*ret_stop = fake.written[i].start;
			break;
		}
		runs[count++] = fake.written[i];
	}
	return count;
}

static bool fake_resident(const void *first, const void *last)
{
	(void)first;
	(void)last;
	return true;
}

static uint64_t fake_major_faults(void)
{
	return 0;
}

static uint64_t fake_tick(void)
{
	return __atomic_load_n(&fake.tick, __ATOMIC_RELAXED);
}

void fake_install(void)
{
	static const struct kernel fakes = {
		.map = fake_map,
		.unmap = fake_unmap,
		.protect = fake_protect,
		.advise = fake_advise,
		.drop = fake_drop,
		.remap = fake_remap,
		.stat = fake_stat,
		.filesystem = fake_filesystem,
		.status_flags = fake_status_flags,
		.address_limit = fake_address_limit,
		.address_taken = fake_address_taken,
		.data_limit = fake_data_limit,
		.overcommit = fake_overcommit,
		.written = fake_written,
		.resident = fake_resident,
		.major_faults = fake_major_faults,
		.tick = fake_tick,
	};

	real = kernel;
	kernel = fakes;
	fake.tick = 1;
	fake.address_limit = UINT64_MAX;
	fake.data_limit = UINT64_MAX;
}

int fake_file(uint64_t size)
{
	struct fake_file *file = &files[file_count];
	int64_t now = (int64_t)time(NULL) * 1000000000;

	if (file_count == MOST_FILES)
		abort();
	file->stat.device = 77;
	file->stat.inode = 1000 + (uint64_t)file_count;
	file->stat.size = size;
	file->stat.atime = now - HOUR;
	file->stat.mtime = now - 2 * HOUR;
	file->stat.ctime = now - 2 * HOUR;
	file->stat.mode = S_IFREG | 0644;
	file->filesystem.type = EXT4_SUPER_MAGIC;
	file->filesystem.flags = ST_RELATIME;
	return file_count++;
}

struct fake_file *fake_file_at(int file)
{
	return &files[file];
}

static int lowest_free(void)
{
	int fd = 3;

	while (fds[fd].open)
		fd++;
	return fd;
}

int fake_open(int file, int flags)
{
	int fd;

	pthread_mutex_lock(&mutex);
	fd = lowest_free();
	fds[fd] = (struct fake_fd){true, file, flags, description_count++};
	pthread_mutex_unlock(&mutex);
	return fd;
}

int fake_dup(int fd)
{
	int copy;

	pthread_mutex_lock(&mutex);
	copy = lowest_free();
	fds[copy] = fds[fd];
	pthread_mutex_unlock(&mutex);
	return copy;
}

void fake_dup_to(int from, int to)
{
	pthread_mutex_lock(&mutex);
	fds[to] = fds[from];
	pthread_mutex_unlock(&mutex);
}

void fake_close(int fd)
{
	pthread_mutex_lock(&mutex);
	fds[fd].open = false;
	pthread_mutex_unlock(&mutex);
}

static size_t pages_of(int file, int description)
{
	size_t pages = 0;

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < mapping_count; i++) {
		const struct fake_mapping *m = &mappings[i];

		if (m->what == FILE_PAGES && (file < 0 || m->file == file) &&
		    (description < 0 || m->description == description))
			pages += (m->end - m->start) / PAGE;
	}
	pthread_mutex_unlock(&mutex);
	return pages;
}

size_t fake_file_pages(int file)
{
	return pages_of(file, -1);
}

size_t fake_description_pages(int fd)
{
	return pages_of(-1, fds[fd].description);
}

struct fake_mapping fake_at(const void *addr)
{
	struct fake_mapping m = {.what = NOTHING};
	size_t i = index_of((uintptr_t)addr);

	if (i < mapping_count && mappings[i].start <= (uintptr_t)addr) {
		m = mappings[i];
		m.offset += (uintptr_t)addr - m.start;
	}
	return m;
}

bool fake_all(const void *addr, size_t length, enum fake_what what)
{
	uintptr_t start = (uintptr_t)addr;
	uintptr_t end = start + length;

	if (what != NOTHING && !all_mapped(start, end))
		return false;
	for (size_t i = index_of(start); i < mapping_count && mappings[i].start < end; i++) {
		if (mappings[i].what != what)
			return false;
	}
	return true;
}

size_t fake_mapping_count(void)
{
	return mapping_count;
}

void fake_check(void)
{
	uintptr_t slot = (uintptr_t)1 << estate.slot_shift;
	uintptr_t seen = estate.base;

	if (estate.base == 0)
		return;
	/* What is not mapped was shed. */
	for (size_t i = 0; i <= mapping_count; i++) {
		uintptr_t end = estate.base + estate.bytes;
		uintptr_t start =
			i < mapping_count && mappings[i].start < end ? mappings[i].start : end;

		for (; seen < start; seen += slot)
			assert_true(estate_is_shed(estate_page((void *)seen)));
		if (i < mapping_count && mappings[i].end > seen)
			seen = mappings[i].end;
	}
	for (size_t i = 0; i < mapping_count; i++) {
		const struct fake_mapping *m = &mappings[i];

		if (m->what == FILE_PAGES && m->prot != PROT_NONE) {
			size_t page = estate_page((void *)m->start);

			assert_true(estate_owner(page) != NULL ||
				    pages_mark_of(page) == MARK_FOREIGN);
		}
	}
}

void fake_program_map(void *addr, size_t length, int number)
{
	struct fake_mapping m = {
		.start = (uintptr_t)addr,
		.end = (uintptr_t)addr + length,
		.what = PROGRAM,
		.prot = PROT_READ | PROT_WRITE,
		.file = number,
		.description = -1,
	};

	pthread_mutex_lock(&mutex);
	place(&m);
	pthread_mutex_unlock(&mutex);
}

int fake_program_unmap(void *addr, size_t length)
{
	int error;

	pthread_mutex_lock(&mutex);
	error = failure(CALL_UNMAP);
	if (error == 0)
		clear((uintptr_t)addr, (uintptr_t)addr + length);
	pthread_mutex_unlock(&mutex);
	return -error;
}
