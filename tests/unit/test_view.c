/*
 * Answers to mmap (view.c): when a request becomes a view, where, and why not.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "fd.h"
#include "program.h"
#include "tls.h"
#include "unit.h"

#define BYTES(pages) ((uint64_t)(pages)*PAGE)
#define CHAR(p) ((char *)(p))

static void first_passes_second_is_a_view(void **state)
{
	int fd = program_open(fake_file(BYTES(10)), O_RDONLY);
	char *p;

	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_first);
	assert_int_equal(estate.base, 0);
	p = program_map(fd, 3, 2);
	assert_non_null(p);
	assert_true(estate_has(p));
	assert_true(fake_all(p, BYTES(2), FILE_PAGES));
	assert_int_equal(fake_at(p).offset, BYTES(3));
	assert_int_equal(fake_at(p).prot, PROT_READ);
	assert_int_equal(program_unmap(p, BYTES(2)), 0);
	assert_int_equal(stats_sum(COUNT_mmap_views), 1);
	assert_int_equal(stats_sum(COUNT_munmap_views), 1);
	assert_int_equal(stats_sum(COUNT_bytes_mapped), BYTES(2));
	fake_check();
}

static void shared_programs_get_a_region_at_once(void **state)
{
	int fd = program_open(fake_file(BYTES(10)), O_RDONLY);
	char *p = program_map(fd, 1, 4);
	char *q = program_map(fd, 2, 2);

	assert_non_null(p);
	assert_ptr_equal(q, p + BYTES(1));
	assert_int_equal(pages_most_shared(estate_page(p), 4), 2);
	assert_int_equal(program_unmap(p, BYTES(4)), 0);
	assert_int_equal(claimed_pages(p, 4), 2);
	assert_ptr_equal(program_map(fd, 1, 1), p);
	assert_int_equal(program_unmap(q, BYTES(2)), 0);
	assert_int_equal(claimed_pages(p, 4), 1);
	assert_int_equal(stats_sum(COUNT_regions_made), 1);
	fake_check();
}

static void live_views_have_addresses_of_their_own(void **state)
{
	int file = fake_file(BYTES(10));
	int fd = program_open(file, O_RDONLY);
	char *p, *q, *r;

	program_first(fd);
	p = program_map(fd, 2, 3);
	q = program_map(fd, 4, 3);
	r = program_map(fd, 5, 2);
	assert_non_null(p);
	assert_non_null(q);
	/* p has pages 2-4 and q 4-6; r fits beside p, in p's region. */
	assert_ptr_not_equal(region_of(p), region_of(q));
	assert_ptr_equal(r, p + BYTES(3));
	assert_int_equal(fake_at(q).offset, BYTES(4));
	assert_int_equal(program_unmap(p, BYTES(3)), 0);
	assert_int_equal(claimed_pages(q, 3), 3);
	assert_true(fake_all(q, BYTES(3), FILE_PAGES));
	/* p's place is free again, and the newest layer is looked at first. */
	assert_ptr_equal(program_map(fd, 2, 2), q - BYTES(2));
	assert_ptr_equal(program_map(fd, 2, 3), p);
	fake_check();
}

static void tiny_mode_has_one_layer(void **state)
{
	int fd = program_open(fake_file(BYTES(10)), O_RDONLY);
	char *p;

	program_first(fd);
	p = program_map(fd, 2, 3);
	assert_non_null(p);
	assert_null(program_map(fd, 4, 1));
	assert_int_equal(program_reason, REASON_layers);
	assert_non_null(program_map(fd, 5, 1));
	program_unmap(p, BYTES(3));
	assert_ptr_equal(program_map(fd, 4, 1), p + BYTES(2));
}

static void layers_end_at_the_limit(void **state)
{
	int fd = program_open(fake_file(BYTES(4)), O_RDONLY);
	void *views[MOST_LAYERS];

	program_first(fd);
	for (int i = 0; i < MOST_LAYERS; i++) {
		views[i] = program_map(fd, 1, 1);
		assert_non_null(views[i]);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(views[i], views[j]);
	}
	assert_null(program_map(fd, 1, 1));
	assert_int_equal(program_reason, REASON_layers);
	assert_non_null(program_map(fd, 2, 1));
	assert_int_equal(program_unmap(views[0], 1), 0);
	assert_ptr_equal(program_map(fd, 1, 1), views[0]);
	fake_check();
}

static void kinds_have_regions_of_their_own(void **state)
{
	int file = fake_file(BYTES(4));
	int fd = program_open(file, O_RDONLY);
	char *a, *b;

	program_first(fd);
	a = program_mmap(fd, 0, PAGE, PROT_READ, MAP_SHARED);
	b = program_mmap(fd, 0, PAGE, PROT_READ, MAP_PRIVATE);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(fake_at(a).flags, MAP_SHARED);
	assert_int_equal(fake_at(b).flags, MAP_PRIVATE);
	/* A shared one that may be written wants a descriptor that may be. */
	assert_null(program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED));
	assert_int_equal(program_reason, REASON_access);
	/* … and once more, now that there is a proof of this tick. */
	assert_null(program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED));
	assert_int_equal(program_reason, REASON_access);
	a = program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	assert_non_null(a);
	assert_int_equal(fake_at(a).prot, PROT_READ | PROT_WRITE);
	assert_int_equal(fake_at(a).flags & MAP_TYPE, MAP_PRIVATE);
	fd = program_open(file, O_RDWR);
	program_first(fd);
	a = program_mmap(fd, 0, PAGE, PROT_READ, MAP_SHARED);
	b = program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(fake_at(a).prot, PROT_READ);
	assert_int_equal(fake_at(b).prot, PROT_READ | PROT_WRITE);
	assert_int_equal(fake_at(b).flags & MAP_TYPE, MAP_SHARED);
}

static void private_writing_needs_overcommitment(void **state)
{
	int fd = program_open(fake_file(BYTES(4)), O_RDONLY);

	program_first(fd);
	fake.overcommit = 2;
	assert_null(program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE));
	assert_int_equal(program_reason, REASON_commit);
	fake.overcommit = 0;
	fake.data_limit = 1 << 30;
	assert_null(program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE));
	assert_int_equal(program_reason, REASON_commit);
	fake.data_limit = UINT64_MAX;
	assert_non_null(program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE));
}

/* What the advice was last given for. */
static void *dropped_from;
static size_t dropped_bytes;
static unsigned int drops;
static int drop_answer;

static int noting_advise(void *addr, size_t length, int advice)
{
	if (advice != MADV_DONTNEED)
		return drop_answer == 0 || advice == MADV_NORMAL ? 0 : drop_answer;
	drops++;
	dropped_from = addr;
	dropped_bytes = length;
	return drop_answer;
}

static void what_was_written_privately_is_dropped(void **state)
{
	int fd = program_open(fake_file(BYTES(200)), O_RDONLY);
	char *p;

	kernel.advise = noting_advise;
	program_first(fd);
	p = program_mmap(fd, 0, BYTES(3), PROT_READ | PROT_WRITE, MAP_PRIVATE);
	assert_non_null(p);
	/* Of a small view, all. */
	assert_int_equal(program_unmap(p, BYTES(3)), 0);
	assert_ptr_equal(dropped_from, p);
	assert_int_equal(dropped_bytes, BYTES(3));
	assert_ptr_equal(program_mmap(fd, 0, BYTES(100), PROT_READ | PROT_WRITE, MAP_PRIVATE), p);
	/* Of a large one, what pagemap says. */
	fake.written_count = 2;
	fake.written[0] = (struct run){p + 5 * PAGE, p + 6 * PAGE};
	fake.written[1] = (struct run){p + 90 * PAGE, p + 93 * PAGE};
	drops = 0;
	assert_int_equal(program_unmap(p, BYTES(100)), 0);
	assert_int_equal(drops, 2);
	assert_ptr_equal(dropped_from, p + 90 * PAGE);
	assert_int_equal(dropped_bytes, BYTES(3));
	/* All, if that can't be read. */
	assert_ptr_equal(program_mmap(fd, 0, BYTES(100), PROT_READ | PROT_WRITE, MAP_PRIVATE), p);
	fake.written_count = -ENOENT;
	assert_int_equal(program_unmap(p, BYTES(100)), 0);
	assert_ptr_equal(dropped_from, p);
	assert_int_equal(dropped_bytes, BYTES(100));
	/* What can't be dropped is never handed out again. */
	assert_ptr_equal(program_mmap(fd, 0, BYTES(2), PROT_READ | PROT_WRITE, MAP_PRIVATE), p);
	drop_answer = -EINVAL;
	assert_int_equal(program_unmap(p, BYTES(2)), 0);
	drop_answer = 0;
	assert_ptr_not_equal(program_mmap(fd, 0, BYTES(1), PROT_READ | PROT_WRITE, MAP_PRIVATE), p);
}

/* A view of 100 pages, of which pages up to `most` are written, begins and ends so many times: how
 * often was looked which they are, and was always dropped what had to be? */
static unsigned int looks_for(int fd, unsigned int times, size_t most)
{
	unsigned int before = fake.looks;

	for (unsigned int i = 0; i < times; i++) {
		char *p = program_mmap(fd, 0, BYTES(100), PROT_READ | PROT_WRITE, MAP_PRIVATE);

		assert_non_null(p);
		/* The clean page between them is not worth a call. */
		fake.written_count = 2;
		fake.written[0] = (struct run){p, p + PAGE};
		fake.written[1] = (struct run){p + 2 * PAGE, p + most * PAGE};
		drops = 0;
		assert_int_equal(program_unmap(p, BYTES(100)), 0);
		assert_int_equal(drops, 1);
		assert_ptr_equal(dropped_from, p);
		assert_true(dropped_bytes >= BYTES(most));
	}
	return fake.looks - before;
}

static void no_look_where_all_is_written(void **state)
{
	int fd = program_open(fake_file(BYTES(200)), O_RDONLY);

	kernel.advise = noting_advise;
	program_first(fd);
	/* Not much: each time. */
	assert_int_equal(looks_for(fd, 100, 74), 100);
	/* Most: twice, and once in a while. */
	assert_int_equal(looks_for(fd, 2, 75), 2);
	assert_int_equal(looks_for(fd, 62, 75), 0);
	assert_int_equal(looks_for(fd, 64 * 5, 100), 5);
	/* Not any more: that is seen in a while. */
	assert_int_equal(looks_for(fd, 200, 50), 200);
}

static void shared_pages_are_cleaned_when_claimed(void **state)
{
	int file = fake_file(BYTES(200));
	int fd = program_open(file, O_RDWR | O_NOATIME);
	char *p;

	kernel.advise = noting_advise;
	fake_file_at(file)->stat.mtime = 1000;
	fake_file_at(file)->stat.ctime = 1000;
	program_first(fd);
	/* The first time, all of the region; the file's times tell from then on. */
	p = program_mmap(fd, 0, BYTES(3), PROT_READ | PROT_WRITE, MAP_SHARED);
	assert_non_null(p);
	assert_int_equal(drops, 1);
	assert_true(dropped_bytes >= BYTES(200));
	for (int i = 0; i < 10; i++) {
		assert_int_equal(program_unmap(p, BYTES(3)), 0);
		assert_ptr_equal(program_mmap(fd, 0, BYTES(3), PROT_READ | PROT_WRITE, MAP_SHARED),
				 p);
	}
	assert_int_equal(drops, 1);
	/* Somebody wrote: each view is cleaned. */
	fake_file_at(file)->stat.mtime++;
	assert_int_equal(program_unmap(p, BYTES(3)), 0);
	assert_ptr_equal(program_mmap(fd, 0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED), p);
	assert_int_equal(drops, 2);
	assert_ptr_equal(dropped_from, p);
	assert_int_equal(dropped_bytes, PAGE);
	/* Those of other pages too: a store maps what lies around it writable. */
	p = program_mmap(fd, BYTES(50), PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	assert_non_null(p);
	assert_int_equal(drops, 3);
	assert_ptr_equal(dropped_from, p);
}

static void descriptions_have_regions_of_their_own(void **state)
{
	int file = fake_file(BYTES(4));
	int one = program_open(file, O_RDONLY);
	int other = program_open(file, O_RDONLY);
	void *p, *q;

	program_first(one);
	program_first(other);
	p = program_map(one, 0, 1);
	q = program_map(other, 0, 1);
	assert_ptr_not_equal(region_of(p), region_of(q));
	assert_int_equal(fake_description_pages(one), region_of(p)->pages);
	assert_int_equal(fake_description_pages(other), region_of(q)->pages);
}

static void the_end_of_the_file(void **state)
{
	int file = fake_file(BYTES(4) + 1);
	int fd = program_open(file, O_RDONLY);
	void *p;

	program_first(fd);
	assert_null(program_map(fd, 5, 1));
	assert_int_equal(program_reason, REASON_past_end);
	assert_null(program_map(fd, 1000000, 1));
	assert_int_equal(program_reason, REASON_past_end);
	/* Begins inside, ends outside: the region reaches as far. */
	p = program_map(fd, 4, 20);
	assert_non_null(p);
	assert_true(fake_all(p, BYTES(20), FILE_PAGES));
	assert_int_equal(fake_at(p).offset, BYTES(4));
	assert_true(region_of(p)->pages >= 24);
}

static void pages_behind_the_end_are_served_if_the_region_has_them(void **state)
{
	int fd = program_open(fake_file(BYTES(2)), O_RDONLY);
	char *p;

	program_first(fd);
	p = program_map(fd, 0, 1);
	/* The slack of the slot; in tiny mode it has two pages and there is none. */
	if (config.tiny)
		assert_null(program_map(fd, 2, 1));
	else
		assert_ptr_equal(program_map(fd, 2, 1), p + BYTES(2));
}

static void growth_past_the_slack_makes_a_layer(void **state)
{
	int file = fake_file(PAGE);
	int fd = program_open(file, O_RDONLY);
	size_t slot, far;
	char *p, *q;

	program_first(fd);
	p = program_map(fd, 0, 1);
	slot = region_of(p)->pages;
	far = slot + 3;
	assert_null(program_map(fd, far, 1));
	assert_int_equal(program_reason, REASON_past_end);
	fake_file_at(file)->stat.size = BYTES(far + 1);
	q = program_map(fd, far, 1);
	if (config.tiny && !config_program_shares()) {
		assert_null(q);
		assert_int_equal(program_reason, REASON_layers);
		return;
	}
	if (q == NULL) {
		assert_true(config.tiny);
		return;
	}
	assert_ptr_not_equal(region_of(p), region_of(q));
	assert_int_equal(fake_at(q).offset, BYTES(far));
	/* The old view stands, and both regions serve. */
	assert_true(fake_all(p, PAGE, FILE_PAGES));
	fake_check();
}

static void large_files_have_slack_and_stand_congruent(void **state)
{
	size_t huge = (size_t)2 << 20;
	int file = fake_file(huge);
	int fd = program_open(file, O_RDONLY);
	char *p;

	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_int_equal((uintptr_t)p % huge, 0);
	assert_int_equal(region_of(p)->pages * PAGE, 2 * huge);
	/* Grows within the slack: same region. */
	fake_file_at(file)->stat.size = huge + BYTES(5);
	assert_ptr_equal(program_map(fd, huge / PAGE + 4, 1), p + huge + BYTES(4));
	/* One byte less is packed. */
	fd = program_open(fake_file(huge - 1), O_RDONLY);
	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_int_equal(region_of(p)->pages * PAGE, huge);
	/* Huge tmpfs must not be congruent. */
	file = fake_file(2 * huge);
	fake_file_at(file)->filesystem.type = TMPFS_MAGIC;
	fd = program_open(file, O_RDONLY);
	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_int_not_equal((uintptr_t)p % huge, 0);
	fake_check();
}

/* One file after another is unfit, each for a reason of its own. */
struct unfit {
	int flags;
	uint32_t mode;
	uint32_t type;
	uint32_t mount;
	enum reason reason;
};

static void unfit_files_pass(void **state)
{
	static const struct unfit table[] = {
		{O_WRONLY, S_IFREG, EXT4_SUPER_MAGIC, ST_RELATIME, REASON_access},
		{O_PATH, S_IFREG, EXT4_SUPER_MAGIC, ST_RELATIME, REASON_descriptor},
		{O_RDONLY, S_IFCHR, EXT4_SUPER_MAGIC, ST_RELATIME, REASON_not_regular},
		{O_RDONLY, S_IFIFO, EXT4_SUPER_MAGIC, ST_RELATIME, REASON_not_regular},
		{O_RDONLY, S_IFDIR, EXT4_SUPER_MAGIC, ST_RELATIME, REASON_not_regular},
		{O_RDONLY, S_IFREG, 0x12345678, ST_RELATIME, REASON_filesystem},
		{O_RDONLY, S_IFREG, NFS_SUPER_MAGIC, ST_RELATIME, REASON_filesystem},
		{O_RDONLY, S_IFREG, PROC_SUPER_MAGIC, ST_RELATIME, REASON_filesystem},
		{O_RDONLY, S_IFREG, EXT4_SUPER_MAGIC, 0, REASON_filesystem},
		{O_RDONLY | O_NOATIME, S_IFREG, EXT4_SUPER_MAGIC, 0, REASON_none},
		{O_RDONLY, S_IFREG, EXT4_SUPER_MAGIC, ST_NOATIME, REASON_none},
		{O_RDONLY, S_IFREG, EXT4_SUPER_MAGIC, ST_RDONLY, REASON_none},
		{O_RDWR, S_IFREG, BTRFS_SUPER_MAGIC, ST_RELATIME, REASON_none},
	};

	for (size_t i = 0; i < LENGTH(table); i++) {
		int file = fake_file(BYTES(3));
		int fd = program_open(file, table[i].flags);

		fake_file_at(file)->stat.mode = table[i].mode | 0644;
		fake_file_at(file)->filesystem.type = table[i].type;
		fake_file_at(file)->filesystem.flags = table[i].mount;
		program_first(fd);
		for (int again = 0; again < 3; again++) {
			void *p = program_map(fd, 0, 1);

			assert_int_equal(p == NULL, table[i].reason != REASON_none);
			if (p == NULL)
				assert_int_equal(program_reason, table[i].reason);
			else
				program_unmap(p, PAGE);
		}
		assert_int_equal(fake_file_pages(file) != 0, table[i].reason == REASON_none);
	}
}

static void network_files_are_served_if_asked_for(void **state)
{
	int file = fake_file(BYTES(3));
	int fd = program_open(file, O_RDONLY);

	config.network_fs = true;
	fake_file_at(file)->filesystem.type = NFS_SUPER_MAGIC;
	program_first(fd);
	assert_non_null(program_map(fd, 0, 1));
}

static void empty_files_pass_until_they_are_not(void **state)
{
	int file = fake_file(0);
	int fd = program_open(file, O_RDONLY);

	program_first(fd);
	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_empty);
	fake_file_at(file)->stat.size = 5;
	assert_non_null(program_map(fd, 0, 1));
}

static void a_region_is_one_access_and_later_ones_are_let_through(void **state)
{
	int file = fake_file(BYTES(3));
	struct file_stat *stat = &fake_file_at(file)->stat;
	int fd = program_open(file, O_RDONLY);
	void *p;

	/* The region's own mapping moves the access time. */
	stat->atime = stat->mtime;
	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_non_null(p);
	/* Within a tick nobody asks; in the next the time would move. */
	assert_non_null(program_map(fd, 1, 1));
	fake.tick++;
	assert_null(program_map(fd, 2, 1));
	assert_int_equal(program_reason, REASON_atime);
	stat->atime = stat->mtime + 1;
	assert_non_null(program_map(fd, 2, 1));
	/* A change of the inode, and a day, count too. */
	fake.tick++;
	stat->ctime = stat->atime;
	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_atime);
	stat->ctime = stat->mtime = 0;
	stat->atime = 1;
	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_atime);
}

static void access_times_that_never_move_do_not_matter(void **state)
{
	for (int i = 0; i < 2; i++) {
		int file = fake_file(BYTES(3));
		int fd = program_open(file, i == 0 ? O_RDONLY | O_NOATIME : O_RDONLY);

		fake_file_at(file)->stat.atime = 0;
		if (i == 1)
			fake_file_at(file)->filesystem.flags = ST_NOATIME;
		program_first(fd);
		assert_non_null(program_map(fd, 0, 1));
		fake.tick++;
		assert_non_null(program_map(fd, 1, 1));
	}
}

static void one_proof_a_tick(void **state)
{
	int fd = program_open(fake_file(BYTES(30)), O_RDONLY);
	unsigned int before;

	program_first(fd);
	assert_non_null(program_map(fd, 0, 1));
	before = fake.calls;
	for (size_t page = 1; page < 10; page++)
		assert_non_null(program_map(fd, page, 1));
	assert_int_equal(fake.calls, before);
	fake.tick++;
	for (size_t page = 10; page < 20; page++)
		assert_non_null(program_map(fd, page, 1));
	assert_int_equal(fake.calls, before + 1);
}

static void untracked_numbers_are_proved_each_time(void **state)
{
	int fd = fake_open(fake_file(BYTES(30)), O_RDONLY);
	unsigned int before;

	program_first(fd);
	assert_non_null(program_map(fd, 0, 1));
	before = fake.stats;
	for (size_t page = 1; page < 10; page++)
		assert_non_null(program_map(fd, page, 1));
	assert_int_equal(fake.stats, before + 9);
}

static void a_stale_number_passes_and_is_forgotten(void **state)
{
	int file = fake_file(BYTES(4));
	int fd = program_open(file, O_RDONLY);
	void *p;

	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_non_null(p);
	/* Closed and opened where no hook saw it. */
	fake_close(fd);
	assert_int_equal(fake_open(fake_file(BYTES(4)), O_RDONLY), fd);
	fake.tick++;
	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_descriptor);
	assert_int_equal(fd_find(fd)->state, 0);
	/* The view stands as long as it is mapped, and the region no longer. */
	assert_true(fake_all(p, PAGE, FILE_PAGES));
	program_unmap(p, PAGE);
	assert_int_equal(fake_file_pages(file), 0);
	/* The number begins anew, untracked. */
	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_non_null(p);
	assert_int_not_equal(fake_at(p).file, file);
	fake_check();
}

static void a_bad_descriptor_passes(void **state)
{
	assert_null(program_map(-1, 0, 1));
	assert_int_equal(program_reason, REASON_descriptor);
	program_first(99);
	assert_null(program_map(99, 0, 1));
	assert_int_equal(program_reason, REASON_descriptor);
	assert_null(program_map(INT32_MAX, 0, 1));
}

static void closing_releases_an_idle_region(void **state)
{
	int file = fake_file(BYTES(4));
	int fd = program_open(file, O_RDONLY);
	void *p;

	program_first(fd);
	p = program_map(fd, 0, 1);
	program_unmap(p, PAGE);
	assert_int_not_equal(fake_file_pages(file), 0);
	program_close(fd);
	assert_int_equal(fake_file_pages(file), 0);
	assert_null(region_of(p));
	fake_check();
}

static void closing_leaves_a_used_region_to_its_last_view(void **state)
{
	int file = fake_file(BYTES(4));
	int fd = program_open(file, O_RDONLY);
	char *p, *q;

	program_first(fd);
	p = program_map(fd, 0, 2);
	q = program_map(fd, 2, 2);
	program_close(fd);
	assert_int_equal(region_of(p)->state, REGION_ORPHAN);
	assert_int_equal(program_unmap(p, BYTES(2)), 0);
	assert_true(fake_all(q, BYTES(2), FILE_PAGES));
	assert_int_equal(program_unmap(q, PAGE), 0);
	assert_true(fake_all(q + PAGE, PAGE, FILE_PAGES));
	assert_int_equal(program_unmap(q + PAGE, PAGE), 0);
	assert_int_equal(fake_file_pages(file), 0);
	fake_check();
}

static void dup_keeps_the_region(void **state)
{
	int file = fake_file(BYTES(8));
	int fd = program_open(file, O_RDONLY);
	int copy = program_dup(fd);
	char *p, *q;
	int later;

	program_first(fd);
	p = program_map(copy, 0, 1);
	assert_non_null(p);
	q = program_map(fd, 1, 1);
	assert_ptr_equal(q, p + PAGE);
	later = program_dup(fd);
	program_close(fd);
	program_close(copy);
	program_unmap(p, PAGE);
	program_unmap(q, PAGE);
	assert_int_not_equal(fake_file_pages(file), 0);
	assert_ptr_equal(program_map(later, 0, 1), p);
	program_unmap(p, PAGE);
	program_close(later);
	assert_int_equal(fake_file_pages(file), 0);
}

static void dup2_over_a_number_ends_what_it_was(void **state)
{
	int one = fake_file(BYTES(4));
	int other = fake_file(BYTES(4));
	int fd = program_open(one, O_RDONLY);
	int target = program_open(other, O_RDONLY);
	void *p;

	program_first(fd);
	program_first(target);
	p = program_map(target, 0, 1);
	program_unmap(p, PAGE);
	program_dup_to(fd, target);
	assert_int_equal(fake_file_pages(other), 0);
	p = program_map(target, 0, 1);
	assert_non_null(p);
	assert_int_equal(fake_at(p).file, one);
}

static void arguments_that_are_no_view(void **state)
{
	int file = fake_file(BYTES(4));
	int fd = program_open(file, O_RDONLY);
	struct {
		struct view_request request;
		enum reason reason;
	} table[] = {
		{{NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}, REASON_anonymous},
		{{&table, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0}, REASON_fixed},
		{{&table, PAGE, PROT_READ, MAP_PRIVATE, fd, 0}, REASON_hint},
		{{NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0}, REASON_descriptor},
		{{NULL, PAGE, PROT_READ, 0, fd, 0}, REASON_flags},
		{{NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE, fd, 0}, REASON_flags},
		{{NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_LOCKED, fd, 0}, REASON_flags},
		{{NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_HUGETLB, fd, 0}, REASON_flags},
		{{NULL, PAGE, PROT_NONE, MAP_PRIVATE, fd, 0}, REASON_protection},
		{{NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0}, REASON_protection},
		{{NULL, PAGE, PROT_WRITE, MAP_PRIVATE, fd, 0}, REASON_protection},
		{{NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0}, REASON_none},
		{{NULL, 0, PROT_READ, MAP_PRIVATE, fd, 0}, REASON_arguments},
		{{NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 1}, REASON_arguments},
		{{NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, -(uint64_t)PAGE}, REASON_arguments},
		{{NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (uint64_t)INT64_MAX + 1 - PAGE},
		 REASON_arguments},
		{{NULL, SIZE_MAX, PROT_READ, MAP_PRIVATE, fd, 0}, REASON_too_large},
		{{NULL, config.max_view + 1, PROT_READ, MAP_PRIVATE, fd, 0}, REASON_too_large},
		{{NULL, config.max_view, PROT_READ, MAP_PRIVATE, fd, 0}, REASON_none},
		{{NULL, 1, PROT_READ, MAP_SHARED | MAP_NORESERVE | MAP_POPULATE, fd, 0},
		 REASON_none},
	};

	for (size_t i = 0; i < LENGTH(table); i++)
		assert_int_equal(view_excuse(&table[i].request), table[i].reason);
}

static void populate_reads_the_view_and_no_more(void **state)
{
	int fd = program_open(fake_file(BYTES(8)), O_RDONLY);
	unsigned int before;
	void *p;

	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_non_null(p);
	before = fake.calls;
	p = program_mmap(fd, BYTES(2), PAGE, PROT_READ, MAP_PRIVATE | MAP_POPULATE);
	assert_non_null(p);
	assert_int_equal(fake.calls, before + 2); /* a proof, and the advice */
	fake_fail_always(CALL_ADVISE, EFAULT);
	assert_non_null(program_mmap(fd, BYTES(4), PAGE, PROT_READ, MAP_PRIVATE | MAP_POPULATE));
}

/* Whatever call fails, the answer is "pass through", with a reason, and nothing is left behind. */
static void each_failing_call_passes_cleanly(void **state)
{
	static const int errors[] = {ENOMEM, EINTR, ENODEV, EPERM, EAGAIN};
	unsigned int round = 0;

	for (unsigned int n = 1;; n++) {
		int file = fake_file(BYTES(5));
		int fd = program_open(file, O_RDONLY);
		size_t before;
		void *p;

		program_first(fd);
		before = fake_mapping_count();
		fake_fail(CALL_ALL, n, errors[round++ % LENGTH(errors)]);
		p = program_map(fd, 1, 1);
		if (!fake_mend()) {
			assert_non_null(p);
			assert_true(n > 3);
			break;
		}
		assert_null(p);
		assert_int_not_equal(program_reason, REASON_none);
		assert_int_not_equal(program_reason, REASON_first);
		assert_int_equal(fake_file_pages(file), 0);
		assert_true(fake_mapping_count() <= before + 3);
		fake_check();
		/* The number still works, or was found unfit once and for all. */
		p = program_map(fd, 1, 1);
		if (p != NULL)
			program_unmap(p, PAGE);
		program_close(fd);
		assert_int_equal(fake_file_pages(file), 0);
		fake_check();
	}
}

/* Linux takes the old mapping away before it asks the file, which may then refuse. */
static void a_refused_region_leaves_no_hole(void **state)
{
	int fd = program_open(fake_file(BYTES(5)), O_RDONLY);

	program_first(fd);
	fake_fail(CALL_MAP, 1, ENODEV);
	fake.fail_leaves_hole = true;
	assert_null(program_map(fd, 1, 1));
	assert_int_equal(program_reason, REASON_refused);
	assert_true(fake_mend());
	fake_check();
}

static void no_address_space_passes(void **state)
{
	int fd = program_open(fake_file(BYTES(5)), O_RDONLY);

	fake.address_limit = (uint64_t)1 << 33;
	fake.address_taken = (uint64_t)1 << 32;
	program_first(fd);
	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_address_space);
	assert_int_equal(estate.base, 0);
}

static void a_smaller_estate_does_too(void **state)
{
	int fd = program_open(fake_file(BYTES(5)), O_RDONLY);

	program_first(fd);
	fake_fail(CALL_RESERVE, 1, ENOMEM);
	assert_non_null(program_map(fd, 0, 1));
	assert_true(fake_mend());
	assert_int_not_equal(estate.bytes, 0);
	fake_check();
}

static void after_mlockall_nothing_new(void **state)
{
	int file = fake_file(BYTES(5));
	int fd = program_open(file, O_RDONLY);
	void *p;

	program_first(fd);
	p = program_map(fd, 0, 1);
	assert_non_null(p);
	description_retreat();
	assert_true(estate_is_shed(estate_page(p) + ((size_t)32 << 20 >> estate.page_shift)));
	assert_true(fake_all((char *)p + ((size_t)32 << 20), (size_t)16 << 20, NOTHING));
	fake_check();
	fake.tick++;
	assert_null(program_map(fd, 2, 1));
	assert_int_equal(program_reason, REASON_retreat);
	assert_int_equal(program_unmap(p, PAGE), 0);
	program_close(fd);
	assert_int_equal(fake_file_pages(file), 0);
	fake_check();
}

static void a_vfork_child_passes(void **state)
{
	int fd = program_open(fake_file(BYTES(5)), O_RDONLY);
	uint64_t before;

	program_first(fd);
	assert_non_null(program_map(fd, 0, 1));
	before = fd_find(fd)->state;
	tls.vfork_child = 1;
	assert_null(program_map(fd, 2, 1));
	assert_int_equal(program_reason, REASON_child);
	program_close(fd);
	program_open(fake_file(1), O_RDONLY);
	tls.vfork_child = 0;
	assert_int_equal(fd_find(fd)->state, before);
}

static int closed_meanwhile;
static int opened_meanwhile;

/* Another thread closes the number, and gets it back for another file. */
static void close_and_open(void)
{
	program_close(closed_meanwhile);
	opened_meanwhile = program_open(fake_file(BYTES(9)), O_RDONLY);
}

/* At each call that the library makes on the way: the answer must not be a view of what the number
 * meant before, nor what was made for it stay. */
static void a_number_that_changes_hands_meanwhile(void **state)
{
	/* To resolve: flags, stat. That proves it too. Then the region. */
	static const unsigned int calls[] = {CALL_FLAGS, CALL_STAT, CALL_MAP, CALL_STAT};

	for (size_t i = 0; i < LENGTH(calls); i++) {
		int file = fake_file(BYTES(9));
		int fd = program_open(file, O_RDONLY);
		int copy = program_dup(fd);
		void *p;

		program_first(fd);
		/* The last time it has a region already, and only the proof is wanted. */
		if (i == 3) {
			p = program_map(fd, 0, 1);
			assert_non_null(p);
			program_unmap(p, PAGE);
			fake.tick++;
		}
		closed_meanwhile = fd;
		fake.action_calls = calls[i];
		fake.action_after = 0;
		fake.action = close_and_open;
		p = program_map(fd, 0, 1);
		assert_null(fake.action);
		assert_int_equal(opened_meanwhile, fd);
		assert_null(p);
		assert_int_equal(program_reason, REASON_descriptor);
		/* The copy still is what it was. */
		p = program_map(copy, 0, 1);
		if (p != NULL) {
			assert_int_equal(fake_at(p).file, file);
			program_unmap(p, PAGE);
		}
		program_close(copy);
		assert_int_equal(fake_file_pages(file), 0);
		/* The number's new file is served as any other. */
		program_first(fd);
		p = program_map(fd, 8, 1);
		assert_non_null(p);
		assert_int_not_equal(fake_at(p).file, file);
		fake_check();
	}
}

static void the_mapping_count_is_regions_and_one(void **state)
{
	size_t before = 0;

	for (int i = 0; i < 20; i++) {
		int fd = program_open(fake_file(BYTES(3) + 7), O_RDONLY);

		program_first(fd);
		for (size_t page = 0; page < 4; page++)
			assert_non_null(program_map(fd, page, 1));
		if (i == 0)
			before = fake_mapping_count();
	}
	/* Packed: each further region is one mapping more, slack included. */
	assert_int_equal(fake_mapping_count(), before + 19);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(first_passes_second_is_a_view, EXCLUSIVE_WORLDS),
		CASE(shared_programs_get_a_region_at_once, SHARED_WORLDS),
		CASE(live_views_have_addresses_of_their_own, NORMAL),
		CASE(tiny_mode_has_one_layer, TINY),
		CASE(layers_end_at_the_limit, NORMAL),
		CASE(private_writing_needs_overcommitment, NORMAL),
		CASE(what_was_written_privately_is_dropped, NORMAL),
		CASE(no_look_where_all_is_written, NORMAL),
		CASE(shared_pages_are_cleaned_when_claimed, NORMAL),
		CASE(kinds_have_regions_of_their_own, ALL_WORLDS),
		CASE(descriptions_have_regions_of_their_own, ALL_WORLDS),
		CASE(the_end_of_the_file, ALL_WORLDS),
		CASE(pages_behind_the_end_are_served_if_the_region_has_them, EXCLUSIVE_WORLDS),
		CASE(growth_past_the_slack_makes_a_layer, ALL_WORLDS),
		CASE(large_files_have_slack_and_stand_congruent, NORMAL | SHARED),
		CASE(unfit_files_pass, ALL_WORLDS),
		CASE(network_files_are_served_if_asked_for, NORMAL),
		CASE(empty_files_pass_until_they_are_not, ALL_WORLDS),
		CASE(a_region_is_one_access_and_later_ones_are_let_through, ALL_WORLDS),
		CASE(access_times_that_never_move_do_not_matter, NORMAL),
		CASE(one_proof_a_tick, ALL_WORLDS),
		CASE(untracked_numbers_are_proved_each_time, ALL_WORLDS),
		CASE(a_stale_number_passes_and_is_forgotten, ALL_WORLDS),
		CASE(a_bad_descriptor_passes, ALL_WORLDS),
		CASE(closing_releases_an_idle_region, ALL_WORLDS),
		CASE(closing_leaves_a_used_region_to_its_last_view, ALL_WORLDS),
		CASE(dup_keeps_the_region, ALL_WORLDS),
		CASE(dup2_over_a_number_ends_what_it_was, ALL_WORLDS),
		CASE(arguments_that_are_no_view, NORMAL),
		CASE(populate_reads_the_view_and_no_more, ALL_WORLDS),
		CASE(each_failing_call_passes_cleanly, ALL_WORLDS),
		CASE(a_refused_region_leaves_no_hole, ALL_WORLDS),
		CASE(no_address_space_passes, ALL_WORLDS),
		CASE(a_smaller_estate_does_too, ALL_WORLDS),
		CASE(after_mlockall_nothing_new, ALL_WORLDS),
		CASE(a_vfork_child_passes, ALL_WORLDS),
		CASE(a_number_that_changes_hands_meanwhile, ALL_WORLDS),
		CASE(the_mapping_count_is_regions_and_one, ALL_WORLDS),
	};

	return RUN(cases);
}
