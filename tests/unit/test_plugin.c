/*
 * Which libraries stay loaded (plugin.c).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "plugin.h"
#include "stats.h"
#include "unit.h"

static void be(const char *executable)
{
	memset(config.executable, 0, sizeof(config.executable));
	strcpy(config.executable, executable);
	config.modes = MODE_plugins;
}

static bool stays(const char *path)
{
	int flags = plugin_flags(path, RTLD_NOW | RTLD_GLOBAL);

	assert_int_equal(flags & ~RTLD_NODELETE, RTLD_NOW | RTLD_GLOBAL);
	return flags & RTLD_NODELETE;
}

static void in_the_directory_of_plugins(void **state)
{
	be("program");
	assert_true(stays("/usr/lib/bfd-plugins/liblto_plugin.so"));
	assert_true(stays("/usr/bin/../lib/bfd-plugins/liblto_plugin.so.0"));
	assert_true(stays("/bfd-plugins/libdep.so"));
	assert_false(stays("bfd-plugins/libdep.so"));
	assert_false(stays("/usr/lib/xbfd-plugins/libdep.so"));
	assert_false(stays("/usr/lib/bfd-plugins/sub/libdep.so"));
	assert_false(stays("/usr/lib/bfd-plugins//libdep.so"));
	assert_false(stays("/usr/lib/libdep.so"));
	assert_false(stays("libdep.so"));
}

static void by_their_names(void **state)
{
	be("nm");
	assert_true(stays("/usr/lib/gcc/x86_64-linux-gnu/12/liblto_plugin.so"));
	assert_true(stays("liblto_plugin.so.0.0.0"));
	assert_true(stays("./libdep.so"));
	assert_false(stays("/usr/lib/bfd-plugins/LLVMgold.so"));
	assert_false(stays("/usr/lib/bfd-plugins/liblto_plugin.so5"));
	assert_false(stays("/usr/lib/bfd-plugins/liblto_plugin"));
	assert_false(stays("/usr/lib/bfd-plugins/xlibdep.so"));
	assert_false(stays("/usr/lib/bfd-plugins/libdep.so/"));
	assert_false(stays("/usr/lib/bfd-plugins/"));
	assert_false(stays("/"));
	assert_false(stays(""));
	assert_int_equal(plugin_flags(NULL, RTLD_NOW), RTLD_NOW);
}

static void by_the_program(void **state)
{
	static const char *const programs[] = {"nm", "x86_64-linux-gnu-ar", "ld", "arm-ld.bfd",
					       "as"};
	static const char *const others[] = {"", "xnm", "nm2", "-", "ld.gold", "gold", "basename"};

	for (size_t i = 0; i < LENGTH(programs); i++) {
		be(programs[i]);
		assert_true(stays("liblto_plugin.so"));
	}
	for (size_t i = 0; i < LENGTH(others); i++) {
		be(others[i]);
		assert_false(stays("liblto_plugin.so"));
	}
}

static void as_asked_for(void **state)
{
	be("nm");
	assert_int_equal(plugin_flags("libdep.so", RTLD_LAZY | RTLD_NOLOAD),
			 RTLD_LAZY | RTLD_NOLOAD);
	assert_int_equal(plugin_flags("libdep.so", RTLD_LAZY | RTLD_NODELETE),
			 RTLD_LAZY | RTLD_NODELETE);
	config.dry_run = true;
	assert_int_equal(plugin_flags("libdep.so", RTLD_NOW), RTLD_NOW);
	config.dry_run = false;
	config.modes = MODE_mmap | MODE_read | MODE_stdio | MODE_write | MODE_anon;
	assert_int_equal(plugin_flags("libdep.so", RTLD_NOW), RTLD_NOW);
}

static void counted(void **state)
{
	be("nm");
	for (int i = 0; i < 3; i++) {
		stays("libdep.so");
		stays("/usr/lib/bfd-plugins/liblto_plugin.so");
		stays("other.so");
	}
	assert_int_equal(stats_sum(COUNT_plugin_opens), 6);
	assert_int_equal(stats_sum(COUNT_plugins_kept), 4);
	/* More than there can be in earnest: nothing breaks. */
	for (int i = 0; i < 100; i++) {
		char path[32];

		snprintf(path, sizeof(path), "%d/libdep.so", i);
		assert_true(stays(path));
	}
	assert_int_equal(stats_sum(COUNT_plugin_opens), 106);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(in_the_directory_of_plugins, NORMAL),
		CASE(by_their_names, NORMAL),
		CASE(by_the_program, NORMAL),
		CASE(as_asked_for, NORMAL),
		CASE(counted, NORMAL),
	};

	return RUN(cases);
}
