/* What the descriptor and process programs share: files A and B, and a look at what a number is,
 * by mapping through it. */
#ifndef FD_COMMON_H
#define FD_COMMON_H

#include "map_common.h"

#define FILE_A "file.a"
#define FILE_B "file.b"
#define FILE_PAGES 8

static inline void make_files(const char *folder)
{
	if (chdir(folder) != 0) {
		perror(folder);
		exit(99);
	}
	close(make_file(FILE_A, 'A', FILE_PAGES * PAGE));
	close(make_file(FILE_B, 'B', FILE_PAGES * PAGE));
}

/* What one page shows, as one letter. */
static inline char look_once(int fd, size_t page)
{
	unsigned char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(page * PAGE));
	struct stat st;
	char seen = 'x';

	if (p == MAP_FAILED)
		return errno == EBADF ? 'f' : errno == EACCES ? 'c' : errno == ENODEV ? 'd' : 'e';
	if (fstat(fd, &st) != 0 || (size_t)st.st_size < (page + 1) * PAGE)
		seen = 'z';
	else if (bytes_are(p, PAGE, 'A', page * PAGE))
		seen = 'A';
	else if (bytes_are(p, PAGE, 'B', page * PAGE))
		seen = 'B';
	munmap(p, PAGE);
	return seen;
}

/* What the number is: A or B; f bad, c no access, d no such thing as mapping it, e some other
 * error, x some other file, z an empty one; ? if several looks do not agree. From the second on
 * they are views. */
static inline char look(int fd)
{
	char seen = look_once(fd, 0);

	for (size_t i = 1; i < FILE_PAGES; i++) {
		if (look_once(fd, i % FILE_PAGES) != seen)
			return '?';
	}
	return seen;
}

/* A tick of the clock, and more. */
static inline void pass_time(void)
{
	usleep(20000);
}

#endif
