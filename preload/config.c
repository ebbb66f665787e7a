#include "config.h"

#include <string.h>
#include <sys/auxv.h>

#include "log.h"
#include "executable.h"
#include "sys.h"
#include "text.h"

#define PREFIX "MAPCOALESCE_"

/* 64 MiB: gold's largest piece is a section, and the largest section of LLVM's archives is 3 MiB;
 * a larger request is usually a whole file, for which a mapping of its own is as good. */
#define DEFAULT_MAX_VIEW ((size_t)64 << 20)

/* Nothing is written behind a program's back unless asked for: `write` is on by default in the BFD
 * programs only, `anon` when asked for or under pressure. */
#define DEFAULT_MODES (MODE_mmap | MODE_read | MODE_stdio | MODE_plugins)

static unsigned int default_modes(void)
{
	return DEFAULT_MODES | (config_program_is_bfd() ? MODE_write : 0);
}

#define ALL_MODES ((1U << MODE_COUNT) - 1)

struct config config = {.max_view = DEFAULT_MAX_VIEW, .modes = DEFAULT_MODES};

static const char *const mode_names[MODE_COUNT] = {
#define X(name) #name,
	MODES(X)
#undef X
};

static void complain(const char *variable, const char *value, const char *allowed)
{
	log_complain(PREFIX "%s: bad value '%s'; allowed: %s", variable, value, allowed);
}

static bool equals(const char *s, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(s, word, length) == 0;
}

/* One word of the list: a mode, all, none; with a sign it edits, without one it sets. The first
 * plain word drops the default. */
static bool apply_mode(const char *word, size_t length, bool *plain_seen, unsigned int *modes)
{
	char sign = length > 0 && (*word == '+' || *word == '-') ? *word : '\0';
	unsigned int bits = 0;

	if (sign != '\0') {
		word++;
		length--;
	}
	for (unsigned int i = 0; i < MODE_COUNT; i++) {
		if (equals(word, length, mode_names[i]))
			bits = 1U << i;
	}
	if (equals(word, length, "all"))
		bits = ALL_MODES;
	else if (bits == 0 && !equals(word, length, "none"))
		return false;
	if (sign == '-') {
		*modes &= ~bits;
		return true;
	}
	if (sign == '\0' && !*plain_seen) {
		*plain_seen = true;
		*modes = 0;
	}
	*modes |= bits;
	return true;
}

static bool read_modes(const char *value)
{
	bool plain_seen = false;
	unsigned int modes = default_modes();

	for (const char *word = value;; word++) {
		size_t length = strcspn(word, ",");

		if (!apply_mode(word, length, &plain_seen, &modes)) {
			complain("MODES", value,
				 "a list of mmap, read, stdio, write, anon, plugins, all, none, "
				 "each with + or - to edit the default");
			return false;
		}
		word += length;
		if (*word == '\0')
			break;
	}
	config.modes = modes;
	return true;
}

static void read_flag(const char *variable, const char *value, bool *flag)
{
	if (strcmp(value, "1") == 0 || strcmp(value, "yes") == 0)
		*flag = true;
	else if (strcmp(value, "0") == 0 || strcmp(value, "no") == 0 || *value == '\0')
		*flag = false;
	else
		complain(variable, value, "0, 1, yes, no");
}

static void read_size(const char *variable, const char *value, size_t *size)
{
	size_t number = 0;
	unsigned int shift = 0;
	const char *s = value;

	for (; *s >= '0' && *s <= '9' && number < SIZE_MAX / 10 - 9; s++)
		number = number * 10 + (size_t)(*s - '0');
	if (s != value && *s != '\0') {
		static const char units[] = "KMGT";
		const char *unit = memchr(units, *s & ~0x20, sizeof(units) - 1);

		shift = unit == NULL ? 0 : 10U * (unsigned int)(unit - units + 1);
		s += unit != NULL;
	}
	if (s == value || *s != '\0' || shift >= 8 * sizeof(size_t) || number > SIZE_MAX >> shift) {
		complain(variable, value, "a number of bytes, with K, M or G after it if you like");
		return;
	}
	*size = number << shift;
}

static void read_alias(const char *value)
{
	if (strcmp(value, "auto") == 0)
		config.alias = ALIAS_AUTO;
	else if (strcmp(value, "always") == 0)
		config.alias = ALIAS_ALWAYS;
	else if (strcmp(value, "never") == 0)
		config.alias = ALIAS_NEVER;
	else
		complain("ALIAS", value, "auto, always, never");
}

static void read_name(const char *variable, const char *value, char *name, size_t size)
{
	if (strlen(value) >= size) {
		complain(variable, value, "stderr or a shorter file name");
		return;
	}
	memcpy(name, value, strlen(value) + 1);
}

static bool match_set(const char *set, const char *end, char c, const char **ret_after)
{
	bool negated = set < end && *set == '!';
	bool found = false;
	const char *s = set + negated;

	/* A ] that stands first is a member. */
	for (bool first = true; s < end && (first || *s != ']'); first = false) {
		char low = *s;
		char high = low;

		if (s + 2 < end && s[1] == '-' && s[2] != ']') {
			high = s[2];
			s += 2;
		}
		found = found || (low <= c && c <= high);
		s++;
	}
	*ret_after = s < end ? s + 1 : s;
	return found != negated;
}

bool config_match(const char *pattern, size_t pattern_length, const char *name)
{
	const char *end = pattern + pattern_length;
	const char *star = NULL; /* where to go on in the pattern after a mismatch */
	const char *resume = NULL;

	while (*name != '\0') {
		const char *after = pattern + 1;
		bool same;

		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = name;
			continue;
		}
		if (pattern >= end)
			same = false;
		else if (*pattern == '[')
			same = match_set(pattern + 1, end, *name, &after);
		else
			same = *pattern == '?' || *pattern == *name;
		if (same) {
			pattern = after;
			name++;
		} else if (star != NULL) {
			pattern = star;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static bool list_matches(const char *list)
{
	for (const char *word = list;; word++) {
		size_t length = strcspn(word, ",");

		if (config_match(word, length, config.invoked) ||
		    config_match(word, length, config.executable))
			return true;
		word += length;
		if (*word == '\0')
			return false;
	}
}

static void read_program_names(const char *argv0)
{
	executable_base_name(argv0, config.invoked, sizeof(config.invoked));
	executable_name(argv0, (const char *)getauxval(AT_EXECFN), config.executable,
			sizeof(config.executable));
	if (config.executable[0] == '\0')
		memcpy(config.executable, config.invoked, sizeof(config.executable));
}

/* Each variable, and what it takes. Returns false if the process is not to be touched. */
static bool read_variable(const char *name, const char *value)
{
	if (strcmp(name, "MODES") == 0)
		read_modes(value);
	else if (strcmp(name, "PROGRAMS") == 0)
		return *value == '\0' || list_matches(value);
	else if (strcmp(name, "STATS") == 0)
		read_name(name, value, config.stats, sizeof(config.stats));
	else if (strcmp(name, "LOG") == 0)
		read_name(name, value, config.log, sizeof(config.log));
	else if (strcmp(name, "DRY_RUN") == 0)
		read_flag(name, value, &config.dry_run);
	else if (strcmp(name, "MAX_VIEW") == 0)
		read_size(name, value, &config.max_view);
	else if (strcmp(name, "MAX_ADDRESS_SPACE") == 0)
		read_size(name, value, &config.max_address_space);
	else if (strcmp(name, "ALIAS") == 0)
		read_alias(value);
	else if (strcmp(name, "NETWORK_FS") == 0)
		read_flag(name, value, &config.network_fs);
	else if (strcmp(name, "TINY") == 0)
		read_flag(name, value, &config.tiny);
	return true;
}

/* One of our variables; false if the process is not to be touched. */
static bool read_own(const char *variable, bool *ret_modes_given)
{
	const char *value = strchr(variable, '=');
	size_t length = (size_t)(value - variable);
	char name[32];

	if (length >= sizeof(name))
		return true;
	memcpy(name, variable, length);
	name[length] = '\0';
	*ret_modes_given = *ret_modes_given || strcmp(name, "MODES") == 0;
	return read_variable(name, value + 1);
}

/* Valgrind puts libraries of its own in front of ours, whatever the tool. */
static bool is_valgrind(const char *variable)
{
	return strncmp(variable, "LD_PRELOAD=", 11) == 0 &&
	       strstr(variable, "/vgpreload_core") != NULL;
}

void config_read(char *const *environment, const char *argv0)
{
	bool wanted = true;
	bool watched = false;
	bool modes_given = false;

	read_program_names(argv0);
	config.modes = default_modes();
	/* A set-uid program takes no orders from the environment (what secure_getenv looks at). */
	if (getauxval(AT_SECURE) != 0)
		environment = NULL;
	for (; environment != NULL && *environment != NULL; environment++) {
		const char *variable = *environment;

		watched = watched || is_valgrind(variable);
		if (strncmp(variable, PREFIX, strlen(PREFIX)) == 0 && strchr(variable, '=') != NULL)
			wanted = read_own(variable + strlen(PREFIX), &modes_given) && wanted;
	}
	/* Valgrind sees into every mapping of the program, interprets our code at ten times what a
	 * system call costs there, and would miss uses of what was unmapped. */
	if (watched && !modes_given) {
		config.modes = 0;
		log_line("under valgrind: nothing is done (unless MAPCOALESCE_MODES is set)");
	}
	config.active = wanted && (config.modes != 0 || config.stats[0] != '\0' || config.dry_run);
}

/* Whether the executable file is called that, or has it behind a prefix: Debian's ld.gold is a link
 * to x86_64-linux-gnu-ld.gold. */
static bool executable_is(const char *known)
{
	size_t length = strlen(config.executable);
	size_t known_length = strlen(known);

	if (length < known_length || strcmp(config.executable + length - known_length, known) != 0)
		return false;
	return length == known_length || config.executable[length - known_length - 1] == '-';
}

bool config_program_shares(void)
{
	if (config.alias != ALIAS_AUTO)
		return config.alias == ALIAS_ALWAYS;
	return executable_is("ld.gold");
}

bool config_program_is_bfd(void)
{
	/* llvm-nm and its like pass too; they do nothing of what is asked for in this name. */
	static const char *const known[] = {
		"addr2line", "ar",      "as",     "gdb",     "ld",   "ld.bfd",  "nm",
		"objcopy",   "objdump", "ranlib", "readelf", "size", "strings", "strip",
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (executable_is(known[i]))
			return true;
	}
	return false;
}
