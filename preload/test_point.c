#include "test_point.h"

#ifdef MC_TEST_POINTS

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "config.h"
#include "entry.h"
#include "guard.h"
#include "lock.h"
#include "sys.h"
#include "tls.h"

/* Ignored by default, and hardly a program uses it. */
#define POKE SIGURG

enum world { WORLD_UNKNOWN, WORLD_PLAIN, WORLD_SIGNAL, WORLD_REENTER };

static enum world world;

/* What a handler, or whatever else the kernel's answer may set off, could do with us at the worst
 * moment: open, map pieces so that a region is made, end some, close. errno is left alone. */
static void be_busy(void)
{
	int saved = errno;
	size_t page = sys_page_size();
	void *pieces[3];
	int fd = mc_open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		pieces[i] = mc_mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd,
				    (off_t)((size_t)(i % 2) * page));
	for (int i = 0; i < 3; i++) {
		if (pieces[i] != MAP_FAILED)
			mc_munmap(pieces[i], page);
	}
	mc_close(fd);
	errno = saved;
}

static void on_poke(int number)
{
	(void)number;
	if (tls.in_test_point)
		return;
	tls.in_test_point = 1;
	be_busy();
	tls.in_test_point = 0;
}

static void find_world(void)
{
	const char *name = getenv("MAPCOALESCE_WORLD");
	struct sigaction action;

	world = WORLD_PLAIN;
	if (name != NULL && strcmp(name, "signal") == 0) {
		memset(&action, 0, sizeof(action));
		action.sa_handler = on_poke;
		action.sa_flags = SA_RESTART | SA_ONSTACK;
		sigaction(POKE, &action, NULL);
		world = WORLD_SIGNAL;
	} else if (name != NULL && strcmp(name, "reenter") == 0) {
		world = WORLD_REENTER;
	}
}

void test_point(void)
{
	if (!config.active || tls.in_test_point || tls.vfork_child)
		return;
	if (world == WORLD_UNKNOWN)
		find_world();
	if (world == WORLD_SIGNAL) {
		sys_call(SYS_tkill, sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0), POKE, 0, 0, 0, 0);
	} else if (world == WORLD_REENTER && !lock_held()) {
		tls.in_test_point = 1;
		be_busy();
		tls.in_test_point = 0;
	}
}

void test_begin(void)
{
	const char *wants_guard = getenv("MAPCOALESCE_TEST_GUARD");

	if (wants_guard != NULL && *wants_guard == '1')
		guard_enable();
}

#else

/* Not an empty file: ISO C wants a declaration. */
typedef int no_test_points;

#endif
