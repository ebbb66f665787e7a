#include "executable.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sys.h"

/* As many as the kernel follows (MAXSYMLINKS). */
#define MOST_LINKS 40
/* Longer paths are rare; /proc knows them too. */
#define LONGEST_PATH 400

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

void executable_base_name(const char *path, char *name, size_t size)
{
	const char *base = path == NULL ? "" : last_part(path);

	name[0] = '\0';
	if (strlen(base) < size)
		memcpy(name, base, strlen(base) + 1);
}

/* Puts what a link says in place of its own name. False if there is no room. */
static bool replace(char *path, const char *target)
{
	size_t folder = *target == '/' ? 0 : (size_t)(last_part(path) - path);
	size_t length = strlen(target);

	if (folder + length >= LONGEST_PATH)
		return false;
	memcpy(path + folder, target, length + 1);
	return true;
}

/* False if it can't be told. */
static bool follow(char *path)
{
	char target[LONGEST_PATH];

	for (int links = 0; links < MOST_LINKS; links++) {
		int length = sys_readlink(path, target, sizeof(target));

		if (length == -EINVAL) /* it is no link */
			return true;
		/* Links in /proc lead to what their text is only a hint of. */
		if (length <= 0 || strncmp(path, "/proc/", 6) == 0 || !replace(path, target))
			return false;
	}
	return false;
}

static bool is_certain(const char *argv0, const char *started)
{
	return argv0 != NULL && started != NULL && strlen(started) < LONGEST_PATH &&
	       strcmp(last_part(argv0), last_part(started)) == 0;
}

void executable_name(const char *argv0, const char *started, char *name, size_t size)
{
	char path[LONGEST_PATH];

	name[0] = '\0';
	if (is_certain(argv0, started)) {
		memcpy(path, started, strlen(started) + 1);
		if (follow(path)) {
			executable_base_name(path, name, size);
			return;
		}
	}
	if (sys_readlink("/proc/self/exe", path, sizeof(path)) > 0)
		executable_base_name(path, name, size);
}
