/* What every file and every page must be. */
#include "differ.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct common *common;
struct fd fds[FDS];
struct slot slots[SLOTS];

/* Private copies of pages. Two threads may take and give back at once. */
static unsigned char copies[COPIES][PAGE];
static int32_t free_copies[COPIES];
static int free_count;
static bool copies_busy;

static uint32_t last_vma;

void model_begin(void)
{
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (common == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	for (int i = 0; i < NAMES; i++)
		common->names[i] = -1;
	for (int i = 0; i < FDS; i++)
		fds[i].number = -1;
	for (int i = 0; i < COPIES; i++)
		free_copies[free_count++] = i;
}

uint32_t new_vma(void)
{
	return __atomic_add_fetch(&last_vma, 1, __ATOMIC_RELAXED);
}

struct inode *inode_at(int index)
{
	return &common->inodes[index];
}

static bool inode_needed(int index)
{
	for (int i = 0; i < NAMES; i++) {
		if (common->names[i] == index)
			return true;
	}
	for (int i = 0; i < FDS; i++) {
		if (fds[i].open && common->descriptions[fds[i].description].inode == index)
			return true;
	}
	for (int i = 0; i < SLOTS; i++) {
		for (size_t k = 0; k < slots[i].pages; k++) {
			if (slots[i].page[k].kind == PAGE_FILE && slots[i].page[k].inode == index)
				return true;
		}
	}
	return false;
}

int inode_new(void)
{
	for (int i = 0; i < INODES; i++) {
		struct inode *inode = inode_at(i);

		if (inode->held || (inode->used && inode_needed(i)))
			continue;
		memset(inode->bytes, 0, (size_t)inode->size);
		inode->used = true;
		inode->anonymous = false;
		inode->size = 0;
		return i;
	}
	return -1;
}

int description_new(void)
{
	/* A child's are not its parent's. */
	int first = self->by == BY_CHILD ? DESCRIPTIONS / 2 : 0;

	for (int i = first; i < first + DESCRIPTIONS / 2; i++) {
		bool used = false;

		for (int k = 0; k < FDS; k++)
			used = used || (fds[k].open && fds[k].description == i);
		if (!used)
			return i;
	}
	return -1;
}

struct description *fd_description(int64_t index)
{
	if (index < 0 || index >= FDS || !fds[index].open)
		return NULL;
	return &common->descriptions[fds[index].description];
}

bool fd_can_read(const struct description *d)
{
	return d->access == O_RDONLY || d->access == O_RDWR;
}

bool fd_can_write(const struct description *d)
{
	return d->access == O_WRONLY || d->access == O_RDWR;
}

void inode_write(struct inode *inode, int64_t offset, const unsigned char *bytes, size_t n)
{
	memcpy(inode->bytes + offset, bytes, n);
	if (offset + (int64_t)n > inode->size)
		inode->size = offset + (int64_t)n;
}

void inode_truncate(struct inode *inode, int64_t size)
{
	if (size < inode->size) {
		memset(inode->bytes + size, 0, (size_t)(inode->size - size));
		/* Private copies of pages that are cut off go too; not that of the last page. */
		for (size_t page = ((size_t)size + PAGE - 1) / PAGE; page < FILE_PAGES; page++)
			inode->cuts[page]++;
	}
	inode->size = size;
}

void inode_zero(struct inode *inode, int64_t offset, int64_t length)
{
	int64_t end = offset + length < inode->size ? offset + length : inode->size;

	if (offset < end)
		memset(inode->bytes + offset, 0, (size_t)(end - offset));
}

static void lock_copies(void)
{
	while (__atomic_test_and_set(&copies_busy, __ATOMIC_ACQUIRE)) {
	}
}

static void unlock_copies(void)
{
	__atomic_clear(&copies_busy, __ATOMIC_RELEASE);
}

static int32_t take_copy(void)
{
	int32_t copy = -1;

	lock_copies();
	if (free_count > 0)
		copy = free_copies[--free_count];
	unlock_copies();
	if (copy < 0) {
		fprintf(stderr, "differ: no room for another private page\n");
		_exit(98);
	}
	return copy;
}

void page_drop_copy(struct page *page)
{
	if (page->copy < 0)
		return;
	lock_copies();
	free_copies[free_count++] = page->copy;
	unlock_copies();
	page->copy = -1;
}

bool page_live(const struct page *page)
{
	return page->kind != PAGE_DEAD;
}

bool slot_dead(const struct slot *slot)
{
	for (size_t i = 0; i < slot->pages; i++) {
		if (page_live(&slot->page[i]))
			return false;
	}
	return true;
}

void page_kill(struct page *page)
{
	if (!page_live(page))
		return;
	page_drop_copy(page);
	page->kind = PAGE_DEAD;
}

/* Pages of one old mapping that lie together stay together. */
static void renumber(struct slot *slot, size_t first, size_t end)
{
	uint32_t old = 0;
	uint32_t now = 0;

	for (size_t i = first; i < end; i++) {
		if (i == first || slot->page[i].vma != old) {
			old = slot->page[i].vma;
			now = new_vma();
		}
		slot->page[i].vma = now;
	}
}

void slot_split(struct slot *slot, size_t first, size_t count)
{
	renumber(slot, first, first + count);
	renumber(slot, first + count, slot->pages);
}

/* Whether a page of the file is all behind its end. */
static bool behind_end(const struct page *page)
{
	int64_t size = inode_at(page->inode)->size;

	return (int64_t)page->file_page >= (size + (int64_t)PAGE - 1) / (int64_t)PAGE;
}

static const unsigned char *content(struct page *page)
{
	static const unsigned char zeros[PAGE];
	struct inode *inode = inode_at(page->inode);

	if (page->kind == PAGE_FILE && page->copy >= 0 && page->cut != inode->cuts[page->file_page])
		page_drop_copy(page);
	if (page->copy >= 0)
		return copies[page->copy];
	if (page->kind == PAGE_ANONYMOUS)
		return zeros;
	return behind_end(page) ? NULL : inode->bytes + page->file_page * PAGE;
}

enum sight page_look(struct page *page, bool store, const unsigned char **ret_bytes)
{
	int needed = store ? PROT_WRITE : PROT_READ | PROT_WRITE | PROT_EXEC;

	if (page->guard || (page->prot & needed) == 0)
		return SEE_SEGV;
	*ret_bytes = content(page);
	return *ret_bytes == NULL ? SEE_BUS : SEE_BYTES;
}

unsigned char *page_touch(struct page *page)
{
	const unsigned char *bytes = content(page);

	if (page->shared)
		return inode_at(page->inode)->bytes + page->file_page * PAGE;
	if (page->copy < 0) {
		page->copy = take_copy();
		memcpy(copies[page->copy], bytes, PAGE);
		if (page->kind == PAGE_FILE)
			page->cut = inode_at(page->inode)->cuts[page->file_page];
	}
	return copies[page->copy];
}

size_t page_room(const struct page *page)
{
	int64_t left;

	if (page->kind != PAGE_FILE || !page->shared)
		return PAGE;
	left = inode_at(page->inode)->size - (int64_t)(page->file_page * PAGE);
	return left < 0 ? 0 : left < (int64_t)PAGE ? (size_t)left : PAGE;
}

size_t populate(struct slot *slot, size_t first, size_t count, bool store)
{
	const unsigned char *bytes;

	for (size_t i = first; i < first + count; i++) {
		struct page *page = &slot->page[i];

		if (!page_live(page) || page_look(page, store, &bytes) != SEE_BYTES)
			return i - first;
		if (!page->shared && (page->prot & PROT_WRITE))
			page_touch(page);
	}
	return count;
}

void model_forked(void)
{
	for (int i = 0; i < SLOTS; i++) {
		for (size_t k = 0; k < slots[i].pages; k++) {
			struct page *page = &slots[i].page[k];

			page->locked = false;
			if (page->no_fork)
				page_kill(page);
			if (page->wiped) {
				page_drop_copy(page);
				page->guard = false;
			}
		}
	}
}

const struct slot *occupant(const struct slot *except, const char *addr)
{
	for (int i = 0; i < SLOTS; i++) {
		const struct slot *slot = &slots[i];

		if (slot != except && addr >= slot->base &&
		    addr < slot->base + slot->pages * PAGE &&
		    page_live(&slot->page[(size_t)(addr - slot->base) / PAGE]))
			return slot;
	}
	return NULL;
}
