/*
 * dlopen in all its ways; prints what it saw. The test (tests/e2e/plugins.sh) has put copies of
 * load_so.so into DIRECTORY.
 *
 * Usage: load_calls DIRECTORY           all that must be as without the library
 *        load_calls DIRECTORY LIBRARY   loads DIRECTORY/LIBRARY three times, and prints its counter
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *directory;

static char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* A message without the part that is ours. */
static const char *message(void)
{
	const char *text = dlerror();

	if (text == NULL)
		return "no message";
	return strncmp(text, directory, strlen(directory)) == 0 ? text + strlen(directory) : text;
}

static void report(const char *what, void *library)
{
	printf("%s: %s\n", what, library != NULL ? "loaded" : message());
}

static int count(void *library)
{
	int (*counter)(void) = NULL;
	void *symbol = library != NULL ? dlsym(library, "load_count") : NULL;

	memcpy(&counter, &symbol, sizeof(counter));
	return counter != NULL ? counter() : -1;
}

static void *by_name(void *library, const char *name, int flags)
{
	void *(*load)(const char *, int) = NULL;
	void *symbol = dlsym(library, "load_by_name");

	memcpy(&load, &symbol, sizeof(load));
	return load(name, flags);
}

/* Loaded, unloaded and loaded again it begins anew. */
static void again(const char *name)
{
	printf("%s:", name);
	for (int i = 0; i < 3; i++) {
		void *library = dlopen(path_of(name), RTLD_NOW);

		printf(" %d", count(library));
		if (library == NULL || dlclose(library) != 0)
			printf(" failed: %s", message());
	}
	printf("\n");
}

static void the_program_itself(void)
{
	void *null = dlopen(NULL, RTLD_NOW);
	void *empty = dlopen("", RTLD_LAZY | RTLD_GLOBAL);

	printf("NULL and \"\": %s\n", null != NULL && null == empty ? "the same" : "not the same");
	printf("printf in it: %s\n",
	       dlsym(null, "printf") == dlsym(RTLD_DEFAULT, "printf") ? "yes" : "no");
}

static void failures(void)
{
	report("no such file", dlopen(path_of("none.so"), RTLD_NOW));
	report("no such plugin", dlopen(path_of("bfd-plugins/libdep.so"), RTLD_NOW));
	report("a directory", dlopen(path_of("hidden"), RTLD_NOW));
	report("no library", dlopen(path_of("bfd-plugins/liblto_plugin.so.text"), RTLD_NOW));
	report("no flags", dlopen(path_of("one.so"), 0));
	report("no flags, a plugin", dlopen(path_of("bfd-plugins/liblto_plugin.so"), 0));
	report("by its name", dlopen("libfound.so", RTLD_NOW));
	report("NOLOAD", dlopen(path_of("one.so"), RTLD_NOW | RTLD_NOLOAD));
	report("NOLOAD, a plugin",
	       dlopen(path_of("bfd-plugins/liblto_plugin.so"), RTLD_NOW | RTLD_NOLOAD));
}

/* What depends on who calls. */
static void search_paths(void)
{
	void *library = dlopen(path_of("one.so"), RTLD_LAZY);
	void *found = by_name(library, "libfound.so", RTLD_NOW);

	report("by its name, from a library with a RUNPATH", found);
	report("NOLOAD of what is loaded", dlopen(path_of("one.so"), RTLD_NOW | RTLD_NOLOAD));
	report("$ORIGIN, from a library", by_name(library, "$ORIGIN/hidden/libfound.so", RTLD_NOW));
	dlclose(found);
	setenv("LOAD_NESTED", "1", 1);
	report("from a constructor", dlopen(path_of("two.so"), RTLD_NOW));
	unsetenv("LOAD_NESTED");
}

static void namespaces(void)
{
	void *library = dlmopen(LM_ID_NEWLM, path_of("one.so"), RTLD_NOW);
	void *found;
	Lmid_t of_library = -1;
	Lmid_t of_found = -2;

	if (library == NULL) {
		report("dlmopen", library);
		return;
	}
	found = by_name(library, "libfound.so", RTLD_NOW);
	report("by its name, from another namespace", found);
	if (found != NULL && dlinfo(library, RTLD_DI_LMID, &of_library) == 0 &&
	    dlinfo(found, RTLD_DI_LMID, &of_found) == 0)
		printf("  into %s\n", of_library == of_found ? "the same" : "another one");
}

static void *load_often(void *argument)
{
	char path[4096];
	unsigned long bad = 0;

	snprintf(path, sizeof(path), "%s/%s", directory, (const char *)argument);
	for (int i = 0; i < 200; i++) {
		void *library = dlopen(path, RTLD_NOW);

		bad += library == NULL || count(library) < 1 || dlclose(library) != 0;
	}
	return (void *)bad;
}

static void threads(void)
{
	static const char *const names[] = {"one.so", "three.so", "bfd-plugins/liblto_plugin.so"};
	pthread_t thread[6];
	unsigned long bad = 0;

	/* To the end: what stays loaded has its destructor run at exit. */
	setenv("LOAD_QUIET", "1", 1);
	for (int i = 0; i < 6; i++) {
		if (pthread_create(&thread[i], NULL, load_often, (void *)names[i % 3]) != 0)
			abort();
	}
	for (int i = 0; i < 6; i++) {
		void *answer;

		pthread_join(thread[i], &answer);
		bad += (unsigned long)answer;
	}
	printf("six threads: %lu failures\n", bad);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	directory = argv[1];
	if (argc > 2) {
		setenv("LOAD_QUIET", "1", 1);
		again(argv[2]);
		return 0;
	}
	the_program_itself();
	failures();
	again("one.so");
	again("liblto_plugin.so");
	again("bfd-plugins/other.so");
	again("bfd-plugins/liblto_plugin.sox");
	again("bfd-plugins/xliblto_plugin.so");
	again("bfd-plugins/deeper/liblto_plugin.so");
	again("xbfd-plugins/liblto_plugin.so");
	report("DEEPBIND", dlopen(path_of("three.so"), RTLD_NOW | RTLD_DEEPBIND));
	search_paths();
	namespaces();
	threads();
	return 0;
}
