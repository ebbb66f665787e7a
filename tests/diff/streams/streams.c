/* The tables of streams, descriptors and names, and what operations have in common. */
#include "stdiffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct stream streams[STREAMS];
int fds[FDS] = {-1, -1, -1, -1};
bool tiny_disk;

static char paths[NAMES + ODD_NAMES][4200];
static char folder_path[4000];
static FILE *standard[3]; /* what stdin, stdout and stderr were in the beginning */

const char *path_in(const char *folder, const char *name)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/%s%s", folder_path, folder, name);
	return path;
}

const char *path_of(int64_t name)
{
	return paths[(uint64_t)name % (NAMES + ODD_NAMES)];
}

void name_files(const char *folder)
{
	static const char *const odd[] = {"/dev/full", "/dev/null", "/proc/version"};

	standard[0] = stdin;
	standard[1] = stdout;
	standard[2] = stderr;
	snprintf(folder_path, sizeof(folder_path), "%s", folder);
	for (int i = 0; i < NAMES; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%c", folder, 'a' + i);
	snprintf(paths[NAME_FOLDER], sizeof(paths[0]), "%s", folder);
	for (int i = NAME_FULL; i <= NAME_VERSION; i++)
		snprintf(paths[i], sizeof(paths[0]), "%s", odd[i - NAME_FULL]);
	snprintf(paths[NAME_MISSING], sizeof(paths[0]), "%s/none/x", folder);
}

FILE *stream_at(int64_t s)
{
	FILE *fp = s >= 0 && s < STREAMS ? streams[s].fp : NULL;

	if (fp == NULL)
		say(" closed");
	return fp;
}

FILE *byte_stream_at(int64_t s)
{
	FILE *fp = stream_at(s);

	/* Not by calling fwide: nothing may be called between two operations. */
	if (fp == NULL || fp->_mode <= 0)
		return fp;
	say(" wide");
	return NULL;
}

bool has_backup(const FILE *fp)
{
	return (fp->_flags & IN_BACKUP) || fp->_IO_save_base != NULL;
}

FILE *written_stream_at(int64_t s)
{
	FILE *fp = byte_stream_at(s);

	if (fp == NULL || !has_backup(fp))
		return fp;
	say(" pushed back");
	return NULL;
}

FILE *sought_stream_at(int64_t s)
{
	FILE *fp = byte_stream_at(s);

	if (fp == NULL || !has_backup(fp) || fp->_mode != 0)
		return fp;
	say(" pushed back");
	return NULL;
}

void stream_gone(int64_t s)
{
	const FILE *fp = streams[s].fp;

	if (stdin == fp)
		stdin = standard[0];
	if (stdout == fp)
		stdout = standard[1];
	if (stderr == fp)
		stderr = standard[2];
	streams[s].fp = NULL;
	streams[s].direction = 0;
}

int number_of(int64_t place)
{
	if (place < 0 || place >= PLACES)
		return -1;
	if (place >= STREAMS)
		return fds[place - STREAMS];
	return streams[place].fp != NULL ? fileno(streams[place].fp) : -1;
}

unsigned char *scratch(void)
{
	static unsigned char bytes[MOST_BYTES + 1];

	return bytes;
}

size_t length_of(int64_t n)
{
	return n < 0 ? 0 : n > (int64_t)MOST_BYTES ? MOST_BYTES : (size_t)n;
}

void fill(size_t n, uint64_t value)
{
	static const char alphabet[] = "abcdefghijklmnop  0123456789\n -\n";
	unsigned char *bytes = scratch();
	uint64_t x = value * 0x9e3779b97f4a7c15U + 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 6364136223846793005U + 1442695040888963407U;
		bytes[i] = (unsigned char)alphabet[x >> 59];
		if (x >> 33 < 1 << 21) /* one in 1,024 */
			bytes[i] = (unsigned char)(x >> 20);
	}
}

void say_bytes(const unsigned char *bytes, size_t n)
{
	say(" #%llx", (unsigned long long)(sum_of(bytes, n, 0) & 0xffffffff));
	for (size_t i = 0; i < n && n <= 8; i++)
		say("%c%02x", i == 0 ? '=' : '.', bytes[i]);
}

void clear(void)
{
	errno = 0;
}

void say_result(long long result, bool failed, FILE *fp)
{
	int error = errno;

	say(" %lld", result);
	if (failed)
		say(" %s", error == 0 ? "-" : strerrorname_np(error));
	if (fp == NULL)
		return;
	/* These are inlined, and touch nothing. */
	if (feof_unlocked(fp))
		say(" eof");
	if (ferror_unlocked(fp))
		say(" err");
}
