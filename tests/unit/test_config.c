/*
 * The environment (config.c).
 */
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "unit.h"

static const struct config defaults = {
	.modes = MODE_mmap | MODE_read | MODE_stdio | MODE_plugins,
	.max_view = (size_t)64 << 20,
};

/* Reads one variable, on top of the defaults. */
static void read_one(const char *setting)
{
	char copy[300];
	char *environment[] = {(char *)"PATH=/bin", copy, (char *)"HOME=/", NULL};

	memcpy(copy, setting, strlen(setting) + 1);
	config = defaults;
	config_read(environment, "/some/where/program");
	/* Values are copied. */
	memset(copy, '#', sizeof(copy));
}

/* The same, with its complaints thrown away. */
static void read_bad(const char *setting)
{
	int saved = dup(2);
	int pipe_ends[2];
	char line[200] = "";

	assert_int_equal(pipe(pipe_ends), 0);
	dup2(pipe_ends[1], 2);
	log_begin();
	read_one(setting);
	dup2(saved, 2);
	close(saved);
	close(pipe_ends[1]);
	/* One line, which names the variable. */
	assert_true(read(pipe_ends[0], line, sizeof(line) - 1) > 0);
	assert_int_equal(read(pipe_ends[0], line + 100, 1), strlen(line) > 198 ? 1 : 0);
	assert_non_null(strstr(line, "MAPCOALESCE_"));
	close(pipe_ends[0]);
}

/* Whoever looks into every mapping is left alone, unless he asks. */
static void under_valgrind_nothing(void **state)
{
	const char *preload = "LD_PRELOAD=/usr/libexec/valgrind/vgpreload_core-amd64-linux.so:x.so";

	read_one("LD_PRELOAD=/usr/lib/valgrind.so");
	assert_true(config.active);
	read_one(preload);
	assert_false(config.active);
	for (int i = 0; i < 2; i++) {
		char *modes = (char *)"MAPCOALESCE_MODES=mmap";
		char *environment[] = {i == 0 ? modes : (char *)preload,
				       i == 0 ? (char *)preload : modes, NULL};

		config = defaults;
		config_read(environment, "x");
		assert_true(config.active);
		assert_int_equal(config.modes, MODE_mmap);
	}
}

static void nothing_set(void **state)
{
	config = defaults;
	config_read(NULL, NULL);
	assert_true(config.active);
	assert_int_equal(config.modes, defaults.modes);
	assert_int_equal(config.max_view, defaults.max_view);
	assert_int_equal(config.alias, ALIAS_AUTO);
	assert_false(config.dry_run || config.tiny || config.network_fs);
	assert_string_equal(config.stats, "");
	assert_string_equal(config.log, "");
}

struct modes {
	const char *setting;
	unsigned int modes;
};

static void modes_are_set_and_edited(void **state)
{
	static const struct modes table[] = {
		{"mmap", MODE_mmap},
		{"mmap,read", MODE_mmap | MODE_read},
		{"none", 0},
		{"all", MODE_mmap | MODE_read | MODE_stdio | MODE_write | MODE_anon | MODE_plugins},
		{"+anon", MODE_mmap | MODE_read | MODE_stdio | MODE_plugins | MODE_anon},
		{"-mmap", MODE_read | MODE_stdio | MODE_plugins},
		{"-all,+write", MODE_write},
		{"all,-write,-anon", MODE_mmap | MODE_read | MODE_stdio | MODE_plugins},
		{"none,anon", MODE_anon},
		{"mmap,mmap", MODE_mmap},
	};

	for (size_t i = 0; i < LENGTH(table); i++) {
		char setting[100] = "MAPCOALESCE_MODES=";

		strcat(setting, table[i].setting);
		read_one(setting);
		assert_int_equal(config.modes, table[i].modes);
		assert_int_equal(config.active, table[i].modes != 0);
	}
}

static void bad_values_leave_the_default(void **state)
{
	static const char *const settings[] = {
		"MODES=mmap,nonsense",
		"MODES=mmap,",
		"MODES=mm",
		"MAX_VIEW=",
		"MAX_VIEW=x",
		"MAX_VIEW=1X",
		"MAX_VIEW=1KB",
		"MAX_VIEW=-1",
		"MAX_VIEW=1 ",
		"MAX_VIEW= 1",
		"MAX_VIEW=1.5M",
		"ALIAS=sometimes",
		"ALIAS=",
		"DRY_RUN=maybe",
		"TINY=2",
		"NETWORK_FS=on",
		"MAX_VIEW=99999999999999999999",
		"MAX_ADDRESS_SPACE=18446744073709551616",
		"MAX_ADDRESS_SPACE=16777216T",
	};

	for (size_t i = 0; i < LENGTH(settings); i++) {
		char setting[100] = "MAPCOALESCE_";

		strcat(setting, settings[i]);
		read_bad(setting);
		assert_int_equal(config.modes, defaults.modes);
		assert_int_equal(config.max_view, defaults.max_view);
		assert_int_equal(config.max_address_space, 0);
		assert_int_equal(config.alias, ALIAS_AUTO);
		assert_false(config.dry_run || config.tiny || config.network_fs);
		assert_true(config.active);
	}
}

static void sizes_have_units(void **state)
{
	read_one("MAPCOALESCE_MAX_VIEW=0");
	assert_int_equal(config.max_view, 0);
	read_one("MAPCOALESCE_MAX_VIEW=4096");
	assert_int_equal(config.max_view, 4096);
	read_one("MAPCOALESCE_MAX_VIEW=3k");
	assert_int_equal(config.max_view, 3 << 10);
	read_one("MAPCOALESCE_MAX_VIEW=3M");
	assert_int_equal(config.max_view, 3 << 20);
	read_one("MAPCOALESCE_MAX_ADDRESS_SPACE=2G");
	assert_int_equal(config.max_address_space, (size_t)2 << 30);
#if SIZE_MAX > UINT32_MAX
	read_one("MAPCOALESCE_MAX_ADDRESS_SPACE=5t");
	assert_int_equal(config.max_address_space, (size_t)5 << 40);
	read_one("MAPCOALESCE_MAX_ADDRESS_SPACE=16777215T");
	assert_int_equal(config.max_address_space, (size_t)16777215 << 40);
#endif
}

static void flags_names_and_aliases(void **state)
{
	char long_name[5000] = "MAPCOALESCE_STATS=";
	char *environment[] = {long_name, NULL};

	read_one("MAPCOALESCE_DRY_RUN=1");
	assert_true(config.dry_run);
	read_one("MAPCOALESCE_TINY=yes");
	assert_true(config.tiny);
	read_one("MAPCOALESCE_NETWORK_FS=no");
	assert_false(config.network_fs);
	read_one("MAPCOALESCE_ALIAS=always");
	assert_int_equal(config.alias, ALIAS_ALWAYS);
	read_one("MAPCOALESCE_ALIAS=never");
	assert_int_equal(config.alias, ALIAS_NEVER);
	read_one("MAPCOALESCE_STATS=stderr");
	assert_string_equal(config.stats, "stderr");
	read_one("MAPCOALESCE_LOG=/some/where");
	assert_string_equal(config.log, "/some/where");
	read_one("MAPCOALESCE_UNKNOWN=1");
	read_one("MAPCOALESCE_");
	read_one("MAPCOALESCE_A_VERY_LONG_NAME_THAT_IS_NOT_KNOWN_TO_ANYBODY=1");
	assert_true(config.active);
	/* A name that does not fit. */
	config = defaults;
	memset(long_name + strlen(long_name), 'x', 4500);
	config_read(environment, "x");
	assert_string_equal(config.stats, "");
	assert_string_equal(config.invoked, "x");
}

static void statistics_alone_are_something_to_do(void **state)
{
	char *environment[] = {(char *)"MAPCOALESCE_MODES=none", (char *)"MAPCOALESCE_STATS=x",
			       NULL};

	config = defaults;
	config_read(environment, NULL);
	assert_true(config.active);
	environment[1] = (char *)"MAPCOALESCE_DRY_RUN=1";
	config = defaults;
	config_read(environment, NULL);
	assert_true(config.active);
}

static void programs_are_chosen_by_name(void **state)
{
	read_one("MAPCOALESCE_PROGRAMS=program");
	assert_true(config.active);
	assert_string_equal(config.invoked, "program");
	read_one("MAPCOALESCE_PROGRAMS=ld,pro*");
	assert_true(config.active);
	read_one("MAPCOALESCE_PROGRAMS=ld,prog");
	assert_false(config.active);
	/* By the executable file too, whatever its name was when called. */
	read_one("MAPCOALESCE_PROGRAMS=*test_confi?");
	assert_true(config.active);
	read_one("MAPCOALESCE_PROGRAMS=");
	assert_true(config.active);
	assert_non_null(strstr(config.executable, "test_config"));
}

static void patterns(void **state)
{
	static const char *const yes[][2] = {
		{"", ""},
		{"*", ""},
		{"*", "abc"},
		{"a*c", "abbc"},
		{"a*b*c", "aXbYbZc"},
		{"?b?", "abc"},
		{"[a-c]x", "bx"},
		{"[!a-c]x", "dx"},
		{"[]]", "]"},
		{"[!]]", "a"},
		{"[a-]", "-"},
		{"ld*", "ld.gold"},
		{"**a**", "bab"},
		{"*ab", "aab"},
		{"*.gold", "x.gold.gold"},
	};
	static const char *const no[][2] = {
		{"", "a"},     {"a", ""},        {"?", ""},     {"a*c", "abd"},
		{"ab", "abc"}, {"[a-c]x", "dx"}, {"[!a]", "a"}, {"[]]", "a"},
		{"abc", "ab"}, {"*a", "ab"},     {"[", "["},    {"[!]]", "]"},
	};

	for (size_t i = 0; i < LENGTH(yes); i++)
		assert_true(config_match(yes[i][0], strlen(yes[i][0]), yes[i][1]));
	for (size_t i = 0; i < LENGTH(no); i++)
		assert_false(config_match(no[i][0], strlen(no[i][0]), no[i][1]));
	/* A part of a list. */
	assert_true(config_match("ab,cd", 2, "ab"));
	assert_false(config_match("a*,cd", 1, "ab"));
	assert_false(config_match("[a-c]", 3, "b,"));
}

static void gold_is_known_by_its_file(void **state)
{
	static const char *const shares[] = {"ld.gold", "x86_64-linux-gnu-ld.gold"};
	static const char *const not [] = {"ld", "ld.bfd", "old.gold", "ld.gold2", "gold", ""};

	config = defaults;
	for (size_t i = 0; i < LENGTH(shares); i++) {
		strcpy(config.executable, shares[i]);
		assert_true(config_program_shares());
		config.alias = ALIAS_NEVER;
		assert_false(config_program_shares());
		config.alias = ALIAS_AUTO;
	}
	for (size_t i = 0; i < LENGTH(not ); i++) {
		strcpy(config.executable, not [i]);
		assert_false(config_program_shares());
		config.alias = ALIAS_ALWAYS;
		assert_true(config_program_shares());
		config.alias = ALIAS_AUTO;
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(under_valgrind_nothing, NORMAL),
		CASE(nothing_set, NORMAL | REAL_KERNEL),
		CASE(modes_are_set_and_edited, NORMAL | REAL_KERNEL),
		CASE(bad_values_leave_the_default, NORMAL | REAL_KERNEL),
		CASE(sizes_have_units, NORMAL | REAL_KERNEL),
		CASE(flags_names_and_aliases, NORMAL | REAL_KERNEL),
		CASE(statistics_alone_are_something_to_do, NORMAL | REAL_KERNEL),
		CASE(programs_are_chosen_by_name, NORMAL | REAL_KERNEL),
		CASE(patterns, NORMAL | REAL_KERNEL),
		CASE(gold_is_known_by_its_file, NORMAL | REAL_KERNEL),
	};

	return RUN(cases);
}
