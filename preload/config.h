/*
 * What the user asked for: the environment, read once by the constructor.
 *
 * Every variable is listed in config.c with what it takes. A bad value gives one line on stderr
 * that names the variable and what is allowed, and the default. Values are copied: a program may
 * overwrite its environment.
 *
 * Synchronization: written by config_read() only, before `config.active` is set; constant after,
 * but for `active` itself, which ends where a sandbox begins.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The modes, one bit each (DESIGN: the things the library does). */
#define MODES(X)                                                                                   \
	X(mmap)                                                                                    \
	X(read)                                                                                    \
	X(stdio)                                                                                   \
	X(write)                                                                                   \
	X(anon)                                                                                    \
	X(plugins)

enum mode_bit {
#define X(name) MODE_BIT_##name,
	MODES(X)
#undef X
		MODE_COUNT
};

enum mode {
#define X(name) MODE_##name = 1 << MODE_BIT_##name,
	MODES(X)
#undef X
};

enum alias { ALIAS_AUTO, ALIAS_ALWAYS, ALIAS_NEVER };

struct config {
	/* Whether anything is to be done in this process: some mode is on, and the process is
	 * one of MAPCOALESCE_PROGRAMS. Every hook passes through while it is false. */
	bool active;
	/* Observe and report, change nothing. */
	bool dry_run;
	/* Serve files of network and FUSE file systems too. */
	bool network_fs;
	/* One-page panes, two-page estate slots, one layer, nothing kept idle: reaches in a
	 * second what real sizes reach in a week. For the tests (MAPCOALESCE_TINY). */
	bool tiny;
	/* MODE_* bits that are on. */
	unsigned int modes;
	/* Whether views may share addresses (MAPCOALESCE_ALIAS). */
	enum alias alias;
	/* The largest mmap that is served by a view, bytes. */
	size_t max_view;
	/* How much address space regions may take, bytes; 0 = no limit of its own. */
	size_t max_address_space;
	/* "stderr", a file name, or "". */
	char stats[4096];
	char log[4096];
	/* The name of this program: the last part of argv[0], and of the executable file behind
	 * any link. */
	char invoked[256];
	char executable[256];
};

extern struct config config;

/* Reads the environment. `environment` is environ's form. */
void config_read(char *const *environment, const char *argv0);

/* Whether this program is known to use its views as read-only bytes, whatever their addresses:
 * then overlapping views may share them, and a file gets its region at the first mapping. */
bool config_program_shares(void);

/* Whether this program is one of those that do their I/O through libbfd. */
bool config_program_is_bfd(void);

/* Whether `name` matches the shell-like pattern (* ? [a-z] [!a-z]). */
bool config_match(const char *pattern, size_t pattern_length, const char *name);

#endif
