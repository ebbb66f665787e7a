#include "plugin.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config.h"
#include "log.h"
#include "stats.h"

/* Hashes of the paths opened so far, for the statistics; there are three or four plugins. A path
 * beyond the last is not told from one that was opened before. */
#define MOST_SEEN 16

static uint64_t seen[MOST_SEEN];

/* Whether `path` is DIRECTORY/bfd-plugins/NAME, with `name` its last part. */
static bool in_plugin_directory(const char *path, const char *name)
{
	static const char directory[] = "/bfd-plugins/";
	size_t length = sizeof(directory) - 1;

	return (size_t)(name - path) >= length && memcmp(name - length, directory, length) == 0;
}

/* The plugin itself, or a version of it: liblto_plugin.so.0. */
static bool is_named(const char *name, const char *plugin)
{
	size_t length = strlen(plugin);

	return strncmp(name, plugin, length) == 0 && (name[length] == '\0' || name[length] == '.');
}

static bool stays_loaded(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	if (!is_named(name, "liblto_plugin.so") && !is_named(name, "libdep.so"))
		return false;
	return in_plugin_directory(path, name) || config_program_is_bfd();
}

static bool seen_before(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a; never 0 to speak of */

	for (; *path != '\0'; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3;
	for (unsigned int i = 0; i < MOST_SEEN; i++) {
		uint64_t found = 0;

		if (__atomic_compare_exchange_n(&seen[i], &found, hash, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return false;
		if (found == hash)
			return true;
	}
	return true;
}

int plugin_flags(const char *path, int flags)
{
	/* RTLD_NOLOAD asks whether it is loaded, and must not change whether it stays. */
	if (path == NULL || !(config.modes & MODE_plugins) || (flags & RTLD_NOLOAD) ||
	    !stays_loaded(path))
		return flags;
	stats_add(COUNT_plugin_opens, 1);
	if (seen_before(path))
		stats_add(COUNT_plugins_kept, 1);
	else if (log_wanted())
		log_line("%s: plugin %s", path,
			 config.dry_run ? "would stay loaded" : "stays loaded");
	return config.dry_run ? flags : flags | RTLD_NODELETE;
}
