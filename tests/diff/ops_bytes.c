/* Operations that read and write. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* How much a read of n bytes gives. */
static size_t readable(const struct inode *inode, int64_t offset, size_t n)
{
	int64_t left = inode->size - offset;

	return left <= 0 ? 0 : left < (int64_t)n ? (size_t)left : n;
}

static int can_read(const struct description *d)
{
	return d != NULL && fd_can_read(d) ? 0 : EBADF;
}

static int can_write(const struct description *d)
{
	return d != NULL && fd_can_write(d) ? 0 : EBADF;
}

/* What a read gave: its length and a sum of the bytes, which must be the file's. */
static void was_read(ssize_t n, const struct description *d, int64_t offset, size_t length,
		     int wanted)
{
	size_t expected;

	outcome(n < 0 ? errno : 0, wanted);
	if (n < 0 || wanted != 0)
		return;
	expected = readable(inode_at(d->inode), offset, length);
	say(" %zd %llx", n, (unsigned long long)sum_of(scratch(), (size_t)n, 0));
	if ((size_t)n != expected)
		wrong("not %zu", expected);
	else if (memcmp(scratch(), inode_at(d->inode)->bytes + offset, expected) != 0)
		wrong("other bytes");
}

void draw_pread(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = draw_offset() + (one_in(2) ? draw(PAGE) : 0);
	a[2] = one_in(3) ? draw(3 * PAGE) : draw(100);
}

void run_pread(const int64_t *a)
{
	const struct description *d = fd_description(a[0]);
	size_t n = length_of(a[2]);
	int wanted = a[1] < 0 ? EINVAL : can_read(d);

	was_read(pread(number_of(a[0]), scratch(), n, (off_t)a[1]), d, a[1], n, wanted);
}

void draw_read(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = one_in(3) ? draw(3 * PAGE) : draw(100);
}

void run_read(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	size_t n = length_of(a[1]);
	ssize_t got = read(number_of(a[0]), scratch(), n);

	was_read(got, d, d != NULL ? d->offset : 0, n, can_read(d));
	if (got > 0 && d != NULL)
		d->offset += got;
}

void draw_readv(int64_t *a)
{
	draw_read(a);
}

/* In three pieces, one of them empty. */
void run_readv(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	size_t n = length_of(a[1]);
	struct iovec pieces[3] = {{scratch(), n / 3}, {NULL, 0}, {scratch() + n / 3, n - n / 3}};
	ssize_t got = readv(number_of(a[0]), pieces, 3);

	was_read(got, d, d != NULL ? d->offset : 0, n, can_read(d));
	if (got > 0 && d != NULL)
		d->offset += got;
}

void draw_reads(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = draw(20000);
	a[2] = 40 + draw(40);
}

/* Many small ones, so that the pattern shows. */
void run_reads(const int64_t *a)
{
	struct description *d = fd_description(a[0]);

	if (d == NULL || !fd_can_read(d) || a[1] < 0) {
		say(" left out");
		return;
	}
	d->offset = lseek(number_of(a[0]), (off_t)a[1], SEEK_SET);
	for (int64_t i = 0; i < a[2] && i < 1000; i++) {
		ssize_t got = read(number_of(a[0]), scratch(), 16);

		was_read(got, d, d->offset, 16, 0);
		if (got > 0)
			d->offset += got;
	}
}

void draw_send(int64_t *a)
{
	draw_read(a);
}

/* The kernel reads at the descriptor's own offset. */
void run_send(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	size_t n = length_of(a[1]);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ssize_t got;

	if (d == NULL || !fd_can_read(d) || n == 0) {
		say(" left out");
		close(nowhere);
		return;
	}
	got = sendfile(nowhere, number_of(a[0]), NULL, n);
	close(nowhere);
	outcome(got < 0 ? errno : 0, 0);
	if (got != (ssize_t)readable(inode_at(d->inode), d->offset, n))
		wrong("%zd were sent", got);
	if (got > 0)
		d->offset += got;
}

/* What a write did. */
static void was_written(ssize_t n, struct description *d, int64_t offset, size_t length, int wanted)
{
	outcome(n < 0 ? errno : 0, wanted);
	if (n < 0 || wanted != 0)
		return;
	say(" %zd", n);
	if ((size_t)n != length)
		wrong("not %zu", length);
	inode_write(inode_at(d->inode), offset, scratch(), (size_t)n);
}

/* Where a write begins, and that it stays within what the model can hold. */
static size_t place_write(const struct description *d, int64_t *offset, size_t n)
{
	if (d != NULL && d->append)
		*offset = inode_at(d->inode)->size;
	if (*offset >= FILE_BYTES)
		return 0;
	return *offset + (int64_t)n > FILE_BYTES ? (size_t)(FILE_BYTES - *offset) : n;
}

void draw_pwrite(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = draw_offset() + (one_in(2) ? draw(PAGE) : 0);
	a[2] = draw_of(3, (int)draw(100), (int)draw(3 * PAGE), (int)draw_bytes());
	a[3] = draw(1000);
}

void run_pwrite(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	int64_t offset = a[1];
	int wanted = a[1] < 0 ? EINVAL : can_write(d);
	size_t n = place_write(d, &offset, length_of(a[2]));

	if (n == 0) {
		say(" left out");
		return;
	}
	pattern(scratch(), n, (uint64_t)a[3]);
	was_written(pwrite(number_of(a[0]), scratch(), n, (off_t)a[1]), d, offset, n, wanted);
}

void draw_write(int64_t *a)
{
	draw_read(a);
	a[2] = draw(1000);
}

void run_write(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	int64_t offset = d != NULL ? d->offset : 0;
	size_t n = place_write(d, &offset, length_of(a[1]));
	ssize_t put;

	if (n == 0) {
		say(" left out");
		return;
	}
	pattern(scratch(), n, (uint64_t)a[2]);
	put = write(number_of(a[0]), scratch(), n);
	was_written(put, d, offset, n, can_write(d));
	if (put > 0 && d != NULL)
		d->offset = offset + put;
}

void draw_seek(int64_t *a)
{
	a[0] = draw_fd();
	a[1] = draw_of(3, 0, (int)draw(20000), (int)draw_offset());
	a[2] = draw_of(4, SEEK_SET, SEEK_CUR, SEEK_END, 77);
}

void run_seek(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	int64_t base = d == NULL          ? 0
		       : a[2] == SEEK_CUR ? d->offset
		       : a[2] == SEEK_END ? inode_at(d->inode)->size
					  : 0;
	bool bad = a[2] != SEEK_SET && a[2] != SEEK_CUR && a[2] != SEEK_END;
	int wanted = d == NULL ? EBADF : bad || base + a[1] < 0 ? EINVAL : 0;
	off_t at = lseek(number_of(a[0]), (off_t)a[1], (int)a[2]);

	outcome(at < 0 ? errno : 0, wanted);
	if (at < 0 || wanted != 0)
		return;
	say(" %lld", (long long)at);
	if (at != base + a[1])
		wrong("not %lld", (long long)base + a[1]);
	d->offset = at;
}

/*
 * Reading into a mapping and writing from one
 */

/* A page that the kernel is to copy to or from. */
static struct page *operand_page(const int64_t *a, size_t *ret_offset, char **ret_addr)
{
	const struct slot *slot;

	if (a[0] < self->first_slot || a[0] >= self->end_slot || a[1] < 0)
		return NULL;
	slot = &slots[a[0]];
	if ((size_t)a[1] >= slot->pages || !page_live(&slot->page[a[1]]))
		return NULL;
	*ret_offset = (size_t)a[2] % PAGE;
	*ret_addr = slot->base + (size_t)a[1] * PAGE + *ret_offset;
	return (struct page *)&slot->page[a[1]];
}

/* Whether the page shows bytes of the file that the descriptor is open on: what is copied to where
 * it comes from depends on the kernel's order. */
static bool same_file(const struct page *page, const struct description *d)
{
	return d != NULL && page->kind == PAGE_FILE && page->inode == d->inode;
}

void draw_pread_to(int64_t *a)
{
	int64_t length;

	draw_pread(a);
	draw_range(&a[3], &a[4], &length);
	a[5] = one_in(2) ? 0 : draw(PAGE);
}

void run_pread_to(const int64_t *a)
{
	const struct description *d = fd_description(a[0]);
	size_t offset = 0;
	char *addr = NULL;
	struct page *page = operand_page(a + 3, &offset, &addr);
	size_t n = (size_t)a[2] % PAGE;
	int wanted = a[1] < 0 ? EINVAL : can_read(d);
	const unsigned char *bytes;
	size_t expected;
	ssize_t got;

	n = n < PAGE - offset ? n : PAGE - offset;
	if (page == NULL || same_file(page, d) || (wanted == 0 && offset + n > page_room(page))) {
		say(" left out");
		return;
	}
	expected = wanted == 0 ? readable(inode_at(d->inode), a[1], n) : 0;
	if (expected > 0 && page_look(page, true, &bytes) != SEE_BYTES)
		wanted = EFAULT;
	got = pread(number_of(a[0]), addr, n, (off_t)a[1]);
	outcome(got < 0 ? errno : 0, wanted);
	if (got < 0 || wanted != 0)
		return;
	say(" %zd", got);
	if ((size_t)got != expected)
		wrong("not %zu", expected);
	if (expected > 0)
		memcpy(page_touch(page) + offset, inode_at(d->inode)->bytes + a[1], expected);
}

void draw_pwrite_from(int64_t *a)
{
	draw_pread_to(a);
}

void run_pwrite_from(const int64_t *a)
{
	struct description *d = fd_description(a[0]);
	size_t offset = 0;
	char *addr = NULL;
	struct page *page = operand_page(a + 3, &offset, &addr);
	int64_t to = a[1];
	size_t n = (size_t)a[2] % PAGE;
	int wanted = a[1] < 0 ? EINVAL : can_write(d);
	const unsigned char *bytes = NULL;

	n = n < PAGE - offset ? n : PAGE - offset;
	n = place_write(d, &to, n);
	if (page == NULL || n == 0 || same_file(page, d)) {
		say(" left out");
		return;
	}
	if (wanted == 0 && page_look(page, false, &bytes) != SEE_BYTES)
		wanted = EFAULT;
	if (wanted == 0)
		memcpy(scratch(), bytes + offset, n);
	/* Linux 6.18 makes the file longer all the same. */
	if (wanted == EFAULT && to > inode_at(d->inode)->size) {
		say(" left out");
		return;
	}
	was_written(pwrite(number_of(a[0]), addr, n, (off_t)a[1]), d, to, n, wanted);
}
