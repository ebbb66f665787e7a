/* A program that limits its own address space, and one that locks its memory, in the midst of
 * mapping. argv[1]: a folder. */
#include "map_common.h"

#include <sys/resource.h>

static int fd;

static void map_all(const char *what)
{
	int wrong = 0;

	for (size_t i = 0; i < 40; i++) {
		unsigned char *p = mmap(NULL, PAGE, PROT_READ, i % 2 ? MAP_PRIVATE : MAP_SHARED, fd,
					(off_t)(i * PAGE));

		wrong += p == MAP_FAILED || !bytes_are(p, PAGE, 3, i * PAGE);
		if (i % 3 != 0)
			munmap(p, PAGE);
	}
	printf("%s: %d wrong\n", what, wrong);
}

static void in_child(void (*part)(void))
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		part();
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	result("status", status);
}

static void limited(void)
{
	struct rlimit limit = {(rlim_t)256 << 20, (rlim_t)256 << 20};
	unsigned char *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	void *block;

	map_all("before the limit");
	result("setrlimit", setrlimit(RLIMIT_AS, &limit));
	block = malloc((size_t)50 << 20);
	say("50 MiB", block != NULL);
	map_all("behind the limit");
	result("mprotect", mprotect(p, PAGE, PROT_READ | PROT_WRITE));
	say("300 MiB are refused", malloc((size_t)300 << 20) == NULL);
	say("what was mapped before", bytes_are(p, 2 * PAGE, 3, 0));
	result("munmap", munmap(p, 2 * PAGE));
	free(block);
}

static void locked(void)
{
	map_all("before locking");
	result("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
	map_all("after locking");
	result("munlockall", munlockall());
	map_all("after unlocking");
}

int main(int argc, char **argv)
{
	char name[4096];

	(void)argc;
	snprintf(name, sizeof(name), "%s/limits", argv[1]);
	fd = make_file(name, 3, 50 * PAGE);
	map_all("at first");
	in_child(limited);
	in_child(locked);
	map_all("at last");
	return 0;
}
