/*
 * The name of the executable file, behind links; and when /proc has to be asked.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executable.h"
#include "unit.h"

static char folder[] = "/tmp/executable-XXXXXX";
static char name[256];
static char own[256];

static const char *in_folder(const char *file)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return path;
}

static void make_link(const char *to, const char *file)
{
	unlink(in_folder(file));
	assert_int_equal(symlink(to, in_folder(file)), 0);
}

static void last_parts(void **state)
{
	char small[4];

	executable_base_name("/usr/bin/ld", name, sizeof(name));
	assert_string_equal(name, "ld");
	executable_base_name("ld", name, sizeof(name));
	assert_string_equal(name, "ld");
	executable_base_name("/usr/bin/", name, sizeof(name));
	assert_string_equal(name, "");
	executable_base_name(NULL, name, sizeof(name));
	assert_string_equal(name, "");
	executable_base_name("abc", small, sizeof(small));
	assert_string_equal(small, "abc");
	executable_base_name("abcd", small, sizeof(small));
	assert_string_equal(small, "");
}

static void links_are_followed(void **state)
{
	char target[PATH_MAX];

	make_link("/bin/sh", "no link itself");
	fclose(fopen(in_folder("machine-ld.bfd"), "w"));
	make_link("machine-ld.bfd", "ld.bfd");
	snprintf(target, sizeof(target), "%s", in_folder("ld.bfd"));
	make_link(target, "ld");
	executable_name("ld", in_folder("ld"), name, sizeof(name));
	assert_string_equal(name, "machine-ld.bfd");
	executable_name("/elsewhere/ld.bfd", in_folder("ld.bfd"), name, sizeof(name));
	assert_string_equal(name, "machine-ld.bfd");
	executable_name("machine-ld.bfd", in_folder("machine-ld.bfd"), name, sizeof(name));
	assert_string_equal(name, "machine-ld.bfd");
}

/* Where the two names differ it may be a script; where the path leads nowhere it has changed. */
static void proc_is_asked(void **state)
{
	char far[PATH_MAX];

	executable_name("/bin/sh", in_folder("ld"), name, sizeof(name));
	assert_string_equal(name, own);
	executable_name("gone", in_folder("gone"), name, sizeof(name));
	assert_string_equal(name, own);
	make_link("circle", "circle");
	executable_name("circle", in_folder("circle"), name, sizeof(name));
	assert_string_equal(name, own);
	make_link("/proc/self/exe", "self");
	executable_name("self", in_folder("self"), name, sizeof(name));
	assert_string_equal(name, own);
	executable_name(NULL, in_folder("ld"), name, sizeof(name));
	assert_string_equal(name, own);
	executable_name("ld", NULL, name, sizeof(name));
	assert_string_equal(name, own);
	memset(far, 'x', sizeof(far));
	far[0] = '/';
	far[sizeof(far) - 1] = '\0';
	executable_name(far, far, name, sizeof(name));
	assert_string_equal(name, own);
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(last_parts, NORMAL | REAL_KERNEL),
		CASE(links_are_followed, NORMAL | REAL_KERNEL),
		CASE(proc_is_asked, NORMAL | REAL_KERNEL),
	};
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int failed;

	if (mkdtemp(folder) == NULL || length < 0)
		return 1;
	path[length] = '\0';
	executable_base_name(path, own, sizeof(own));
	failed = RUN(cases);
	unlink(in_folder("no link itself"));
	unlink(in_folder("machine-ld.bfd"));
	unlink(in_folder("ld.bfd"));
	unlink(in_folder("ld"));
	unlink(in_folder("circle"));
	unlink(in_folder("self"));
	rmdir(folder);
	return failed;
}
