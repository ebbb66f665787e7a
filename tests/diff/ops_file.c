/* Operations on files as such: sizes, names, times, and what the other process does to them. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void draw_truncate(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = one_in(30) ? -1 : one_in(8) ? 0 : draw_bytes();
}

void run_truncate(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	int wanted = a[1] < 0 ? EINVAL : d == NULL ? EBADF : fd_can_write(d) ? 0 : EINVAL;

	if (a[1] > FILE_BYTES) {
		say(" left out");
		return;
	}
	outcome(ftruncate(number_of(a[0]), (off_t)a[1]) == 0 ? 0 : errno, wanted);
	if (wanted == 0)
		inode_truncate(inode_at(d->inode), a[1]);
}

void draw_allocate(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = draw_of(4, 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		       FALLOC_FL_ZERO_RANGE);
	a[2] = draw_offset() + (one_in(3) ? draw(PAGE) : 0);
	a[3] = one_in(3) ? draw(3 * PAGE) : (1 + draw(4)) * (int64_t)PAGE;
}

static int allocate_wanted(const struct description *d, const int64_t *a)
{
	if (d == NULL)
		return EBADF;
	if (a[2] < 0 || a[3] <= 0)
		return EINVAL;
	if (!fd_can_write(d))
		return EBADF;
	return (a[1] & FALLOC_FL_ZERO_RANGE) && common->tmpfs ? EOPNOTSUPP : 0;
}

void run_allocate(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	int wanted = allocate_wanted(d, a);
	struct inode *inode;

	if (a[2] + a[3] > FILE_BYTES) {
		say(" left out");
		return;
	}
	outcome(fallocate(number_of(a[0]), (int)a[1], (off_t)a[2], (off_t)a[3]) == 0 ? 0 : errno,
		wanted);
	if (wanted != 0)
		return;
	inode = inode_at(d->inode);
	if (a[1] & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		inode_zero(inode, a[2], a[3]);
	if (!(a[1] & FALLOC_FL_KEEP_SIZE) && a[2] + a[3] > inode->size)
		inode->size = a[2] + a[3];
}

void draw_rename(int64_t *a)
{
	a[0] = draw(NAMES);
	a[1] = draw(NAMES);
}

void run_rename(const int64_t *a)
{
	char from[4200];
	int *names = common->names;

	snprintf(from, sizeof(from), "%s", path_of(a[0]));
	outcome(rename(from, path_of(a[1])) == 0 ? 0 : errno, names[a[0]] < 0 ? ENOENT : 0);
	if (names[a[0]] < 0 || names[a[0]] == names[a[1]])
		return;
	names[a[1]] = names[a[0]];
	names[a[0]] = -1;
}

void draw_unlink(int64_t *a)
{
	a[0] = draw(NAMES);
}

void run_unlink(const int64_t *a)
{
	outcome(unlink(path_of(a[0])) == 0 ? 0 : errno, common->names[a[0]] < 0 ? ENOENT : 0);
	common->names[a[0]] = -1;
}

void draw_size(int64_t *a)
{
	a[0] = draw_fd();
}

void run_size(const int64_t *a)
{
	const struct description *d = fd_description(a[0]);
	struct stat st;
	int answer = fstat(number_of(a[0]), &st);

	outcome(answer == 0 ? 0 : errno, d != NULL ? 0 : EBADF);
	if (answer != 0 || d == NULL)
		return;
	say(" %lld", (long long)st.st_size);
	if (st.st_size != inode_at(d->inode)->size)
		wrong("not %lld", (long long)inode_at(d->inode)->size);
}

/*
 * When a store through a shared mapping moves the file's time
 */

void draw_mtime(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = draw_offset() / (int64_t)PAGE;
	a[2] = one_in(2);
	/* Rather a page that somebody has stored to before. */
	for (int i = 0; i < 20; i++) {
		const struct slot *slot = &slots[draw_slot(true)];
		const struct description *d = fd_description(a[0]);

		if (slot->pages > 0 && page_live(&slot->page[0]) && d != NULL &&
		    slot->page[0].shared && slot->page[0].inode == d->inode)
			a[1] = slot->page[0].file_page;
	}
}

static struct timespec mtime_of(int number)
{
	struct stat st = {0};

	fstat(number, &st);
	return st.st_mtim;
}

static void wait_for_tick(void)
{
	struct timespec left = {.tv_nsec = 15000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR) {
	}
}

/* A mapping of its own, so that nothing was stored to it before. */
void run_mtime(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	struct timespec before;
	struct timespec after;
	unsigned char byte = 77;
	char *p;
	bool moved;

	if (d == NULL || d->access != O_RDWR || a[1] < 0 ||
	    a[1] * (int64_t)PAGE >= inode_at(d->inode)->size) {
		say(" left out");
		return;
	}
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[a[0]].number,
		 (off_t)(a[1] * (int64_t)PAGE));
	if (p == MAP_FAILED) {
		wrong("mmap: %s", strerrorname_np(errno));
		return;
	}
	if (a[2] != 0)
		copy_guarded(scratch(), p, 1);
	wait_for_tick();
	before = mtime_of(fds[a[0]].number);
	if (copy_guarded(p, &byte, 1) != 0)
		wrong("a fault");
	after = mtime_of(fds[a[0]].number);
	moved = before.tv_sec != after.tv_sec || before.tv_nsec != after.tv_nsec;
	say(" %s", moved ? "moved" : "not moved");
	/* tmpfs maps pages writable at once, if they are first loaded from. */
	if (moved == (common->tmpfs && a[2] != 0))
		wrong("it must be otherwise");
	munmap(p, PAGE);
	inode_at(d->inode)->bytes[a[1] * (int64_t)PAGE] = byte;
}

/*
 * What the other process does
 */

void draw_peer(int64_t *a)
{
	a[0] = draw(PEER_KINDS);
	a[1] = draw(NAMES);
	a[2] = draw_offset() + (one_in(2) ? draw(PAGE) : 0);
	a[3] = draw_of(3, (int)draw(100), (int)draw(3 * PAGE), (int)draw_bytes());
	a[4] = draw(1000);
}

static void peer_wrote(struct inode *inode, const int64_t *a, int64_t offset, size_t n)
{
	pattern(scratch(), n, (uint64_t)a[4]);
	inode_write(inode, offset, scratch(), n);
}

void run_peer(const int64_t *a)
{
	int index = a[1] >= 0 && a[1] < NAMES ? common->names[a[1]] : -1;
	struct inode *inode = index >= 0 ? inode_at(index) : NULL;
	size_t n = length_of(a[3]);

	if (inode == NULL || a[2] < 0 || a[3] <= 0 || a[2] + (int64_t)n > FILE_BYTES ||
	    a[3] > FILE_BYTES || inode->size + (int64_t)n > FILE_BYTES) {
		say(" left out");
		return;
	}
	outcome(peer_do((int)a[0], path_of(a[1]), a[2], a[0] == PEER_TRUNCATE ? a[3] : (int64_t)n,
			(uint64_t)a[4]),
		0);
	switch (a[0]) {
	case PEER_APPEND:
		peer_wrote(inode, a, inode->size, n);
		break;
	case PEER_TRUNCATE:
		inode_truncate(inode, a[3]);
		break;
	case PEER_OVERWRITE:
		peer_wrote(inode, a, a[2], n);
		break;
	default:
		inode_zero(inode, a[2], (int64_t)n);
		break;
	}
}
