/* build: -shared -fPIC -Wl,-rpath,$ORIGIN/hidden */
/* A library for load_calls: says when it is loaded and unloaded, counts, uses hooked calls in its
 * constructor, and loads others by name, which are found through its own search path only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int counter;

int load_count(void)
{
	return ++counter;
}

/* Not a tail call: the return address must lie in this library. */
void *load_by_name(const char *name, int flags)
{
	void *library = dlopen(name, flags);

	counter++;
	return library;
}

static void say(const char *what)
{
	if (getenv("LOAD_QUIET") == NULL)
		printf("  (%s)\n", what);
}

__attribute__((constructor)) static void begin(void)
{
	static int nested;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < 3; i++) {
		unsigned char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED || memcmp(p, "\177ELF", 4) != 0)
			abort();
		munmap(p, 4096);
	}
	close(fd);
	say("loaded");
	if (getenv("LOAD_NESTED") != NULL && nested++ == 0) {
		void *library = dlopen("libfound.so", RTLD_NOW);

		printf("  (inside its constructor: %s)\n", library != NULL ? "found" : dlerror());
	}
}

__attribute__((destructor)) static void end(void)
{
	say("unloaded");
}
