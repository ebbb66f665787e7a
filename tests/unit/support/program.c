#include "program.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "fd.h"
#include "unit.h"

enum reason program_reason;

int program_open(int file, int flags)
{
	int fd = fake_open(file, flags);

	fd_opened(fd);
	return fd;
}

void program_close(int fd)
{
	fd_forget(fd);
	fake_close(fd);
}

int program_dup(int fd)
{
	int copy = fake_dup(fd);

	fd_duplicated(fd, copy);
	return copy;
}

void program_dup_to(int from, int to)
{
	fd_forget(to);
	fake_dup_to(from, to);
	fd_duplicated(from, to);
}

void *program_mmap(int fd, uint64_t offset, size_t length, int prot, int flags)
{
	struct view_request request = {NULL, length, prot, flags, fd, offset};
	void *p = NULL;

	program_reason = view_excuse(&request);
	if (program_reason == REASON_none)
		p = view_map(&request, &program_reason);
	return p;
}

void *program_map(int fd, size_t page, size_t count)
{
	return program_mmap(fd, (uint64_t)page * PAGE, count * PAGE, PROT_READ, MAP_PRIVATE);
}

void program_first(int fd)
{
	if (config_program_shares())
		return;
	assert_null(program_map(fd, 0, 1));
	assert_int_equal(program_reason, REASON_first);
}

int program_unmap(void *addr, size_t length)
{
	return view_unmap(addr, length, fake_program_unmap);
}

struct region *region_of(const void *addr)
{
	return estate_has(addr) ? estate_owner(estate_page(addr)) : NULL;
}

size_t claimed_pages(const void *addr, size_t count)
{
	size_t first = estate_page(addr);
	size_t claimed = 0;

	for (size_t page = first; page < first + count; page++) {
		const struct region *region = estate_owner(page);

		if (region != NULL)
			claimed += pages_find(page, 1, true, region->shared) == page;
	}
	return claimed;
}
