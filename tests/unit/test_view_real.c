/*
 * Views with the real kernel: the bytes, the mappings, what a later change of the file shows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "description.h"
#include "estate.h"
#include "fd.h"
#include "unit.h"
#include "view.h"

#define BYTES(pages) ((size_t)(pages)*PAGE)

static int reader; /* tracked, O_RDONLY */
static int writer; /* unknown to the library */
static enum reason reason;

static int real_unmap(void *addr, size_t length)
{
	return munmap(addr, length) == 0 ? 0 : -errno;
}

static char *map(size_t page, size_t count, int flags)
{
	struct view_request request = {NULL, BYTES(count), PROT_READ, flags, reader, BYTES(page)};

	return view_map(&request, &reason);
}

static void unmap(char *p, size_t count)
{
	assert_int_equal(view_unmap(p, BYTES(count), real_unmap), 0);
}

static void write_page(size_t page, char byte)
{
	static char buffer[65536];

	memset(buffer, byte, PAGE);
	assert_int_equal(pwrite(writer, buffer, PAGE, (off_t)BYTES(page)), PAGE);
}

/* A file whose page n is full of 'a' + n. */
static void make_file(size_t pages)
{
	char name[64];

	writer = memfd_create("views", MFD_CLOEXEC);
	assert_true(writer >= 0);
	for (size_t page = 0; page < pages; page++)
		write_page(page, (char)('a' + page));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", writer);
	reader = open(name, O_RDONLY | O_CLOEXEC | O_NOATIME);
	assert_true(reader >= 0);
	fd_opened(reader);
	if (!config_program_shares())
		assert_null(map(0, 1, MAP_PRIVATE));
}

static void close_file(void)
{
	fd_forget(reader);
	close(reader);
	close(writer);
}

static bool is_full_of(const char *p, char byte)
{
	for (size_t i = 0; i < PAGE; i++) {
		if (p[i] != byte)
			return false;
	}
	return true;
}

/* Lines of /proc/self/maps: all, and those of the file. */
static int lines(bool of_file)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		n += !of_file || strstr(line, "memfd:views") != NULL;
	fclose(maps);
	return n;
}

static void the_bytes_are_the_files(void **state)
{
	static const int types[] = {MAP_PRIVATE, MAP_SHARED};

	make_file(10);
	for (size_t type = 0; type < LENGTH(types); type++) {
		for (size_t page = 0; page < 10; page++) {
			char *p = map(page, 10 - page, types[type]);

			assert_non_null(p);
			for (size_t i = page; i < 10; i++)
				assert_true(is_full_of(p + BYTES(i - page), (char)('a' + i)));
			unmap(p, 10 - page);
		}
	}
	close_file();
	assert_int_equal(lines(true), 0);
}

static void many_views_are_one_mapping(void **state)
{
	char *views[20];

	make_file(20);
	for (size_t page = 0; page < 20; page++) {
		views[page] = map(page, 1, MAP_PRIVATE);
		assert_non_null(views[page]);
	}
	assert_int_equal(lines(true), 1);
	close_file();
	for (size_t page = 0; page < 20; page++) {
		assert_int_equal(lines(true), 1);
		assert_true(is_full_of(views[page], (char)('a' + page)));
		unmap(views[page], 1);
	}
	assert_int_equal(lines(true), 0);
}

static void growth_within_the_slack_shows(void **state)
{
	size_t pages = ((size_t)4 << 20) / PAGE;
	char *p, *q;

	make_file(0);
	assert_int_equal(ftruncate(writer, (off_t)BYTES(pages)), 0);
	fd_opened(reader);
	map(0, 1, MAP_PRIVATE);
	p = map(0, 1, MAP_PRIVATE);
	assert_non_null(p);
	write_page(pages + 2, 'z');
	q = map(pages + 2, 1, MAP_PRIVATE);
	assert_ptr_equal(q, p + BYTES(pages + 2));
	assert_true(is_full_of(q, 'z'));
	assert_int_equal(lines(true), 1);
}

static void overlapping_views_have_layers(void **state)
{
	char *p, *q;

	make_file(5);
	p = map(1, 3, MAP_PRIVATE);
	q = map(2, 3, MAP_PRIVATE);
	assert_true(q >= p + BYTES(3) || q + BYTES(3) <= p);
	unmap(p, 3);
	assert_true(is_full_of(q, 'c'));
	unmap(q, 3);
}

/* A private page that was written: the next view must see the file again. */
static void written_pages_are_restored(void **state)
{
	char *p, *q;

	make_file(5);
	p = map(0, 4, MAP_PRIVATE);
	assert_non_null(p);
	assert_int_equal(view_change(p + BYTES(1), BYTES(2), true), 0);
	assert_int_equal(mprotect(p + BYTES(1), BYTES(2), PROT_READ | PROT_WRITE), 0);
	memset(p + BYTES(1), '!', BYTES(2));
	unmap(p, 4);
	assert_int_equal(lines(true), 1);
	q = map(0, 4, MAP_PRIVATE);
	assert_ptr_equal(q, p);
	for (size_t i = 0; i < 4; i++)
		assert_true(is_full_of(q + BYTES(i), (char)('a' + i)));
	unmap(q, 4);
	close_file();
	assert_int_equal(lines(true), 0);
}

/* A change of the file is seen by shared and untouched private views alike. */
static void the_file_shows_through(void **state)
{
	char *p, *q;

	make_file(5);
	p = map(0, 5, MAP_PRIVATE);
	q = map(0, 5, MAP_SHARED);
	assert_true(is_full_of(p + BYTES(3), 'd'));
	write_page(3, 'X');
	assert_true(is_full_of(p + BYTES(3), 'X'));
	assert_true(is_full_of(q + BYTES(3), 'X'));
}

static void what_is_mapped_over_is_kept(void **state)
{
	char *p, *mine;
	int before = 0;

	make_file(5);
	p = map(0, 5, MAP_PRIVATE);
	assert_int_equal(view_cover(p + PAGE, PAGE), 0);
	mine = mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0);
	assert_ptr_equal(mine, p + PAGE);
	view_covered(p + PAGE, PAGE, true);
	memset(mine, 'M', PAGE);
	before = lines(false);
	unmap(p, 1);
	unmap(p + BYTES(2), 3);
	close_file();
	assert_true(is_full_of(mine, 'M'));
	assert_int_equal(lines(true), 0);
	assert_true(lines(false) <= before);
	unmap(mine, 1);
	/* Reserved again: no hole for the kernel to fill. */
	assert_int_equal(madvise(mine, PAGE, MADV_NORMAL), 0);
}

/* A descriptor whose file refuses to be mapped, by the kernel's own late refusal. */
static void a_hole_is_never_left(void **state)
{
	char *p;

	make_file(5);
	p = map(0, 1, MAP_PRIVATE);
	assert_int_equal(view_cover(p + PAGE, PAGE), 0);
	assert_int_equal(munmap(p + PAGE, PAGE), 0);
	view_covered(p + PAGE, PAGE, false);
	assert_int_equal(madvise(p + PAGE, PAGE, MADV_NORMAL), 0);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(the_bytes_are_the_files, ALL_WORLDS | REAL_KERNEL),
		CASE(many_views_are_one_mapping, ALL_WORLDS | REAL_KERNEL),
		CASE(growth_within_the_slack_shows, NORMAL | SHARED | REAL_KERNEL),
		CASE(overlapping_views_have_layers, NORMAL | REAL_KERNEL),
		CASE(written_pages_are_restored, ALL_WORLDS | REAL_KERNEL),
		CASE(the_file_shows_through, ALL_WORLDS | REAL_KERNEL),
		CASE(what_is_mapped_over_is_kept, ALL_WORLDS | REAL_KERNEL),
		CASE(a_hole_is_never_left, ALL_WORLDS | REAL_KERNEL),
	};

	return RUN(cases);
}
