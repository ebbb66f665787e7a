#include "alone.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "sys.h"
#include "text.h"

/* Both are read so much at a time: a frame is to stay small. */
#define BUFFER 768

/* A name in /proc/self/fd; -1: none of a descriptor. */
static int number_in(const char *name)
{
	int number = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		number = number * 10 + (*name - '0');
	return *name == '\0' ? number : -1;
}

bool alone_is_same(int fd, uint64_t device, uint64_t inode)
{
	struct file_stat stat;

	return kernel.stat(fd, &stat) == 0 && stat.device == device && stat.inode == inode;
}

static bool has_other_descriptor(int own, uint64_t device, uint64_t inode)
{
	_Alignas(struct dirent64) char buffer[BUFFER];
	int list = sys_open("/proc/self/fd", O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0);
	bool found = list < 0;
	long got = 0;

	while (!found && (got = sys_entries(list, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < got && !found;) {
			const struct dirent64 *entry = (const void *)(buffer + at);
			int fd = number_in(entry->d_name);

			found = fd >= 0 && fd != own && fd != list &&
				alone_is_same(fd, device, inode);
			at += entry->d_reclen;
		}
	}
	if (list >= 0)
		sys_close(list);
	return found || got < 0;
}

/* By the inode's number. */
static bool is_mapped(uint64_t inode)
{
	char needle[32];
	char buffer[BUFFER];
	size_t kept = 0;
	long got = -1;
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	bool found = fd < 0;
	struct text text = TEXT_ON(needle);

	text_add(&text, " %ju ", (uintmax_t)inode);
	while (!found && (got = sys_read(fd, buffer + kept, sizeof(buffer) - kept)) > 0) {
		size_t n = kept + (size_t)got;

		found = memmem(buffer, n, needle, strlen(needle)) != NULL;
		kept = n < sizeof(needle) ? n : sizeof(needle);
		memmove(buffer, buffer + n - kept, kept);
	}
	if (fd >= 0)
		sys_close(fd);
	return found || got < 0;
}

bool alone_in_process(int fd, uint64_t device, uint64_t inode)
{
	return !has_other_descriptor(fd, device, inode) && !is_mapped(inode);
}
