/*
 * The library's beginning and end.
 *
 * The constructor is the table of contents: bind, read the configuration, watch for forks, count.
 * Until it has run every hook passes through (config.active is false). There is no destructor but
 * the report: hooks stay valid until the process is gone, and nothing at exit can hang.
 */
#include <pthread.h>
#include <stddef.h>

#include "aside.h"
#include "config.h"
#include "death.h"
#include "guard.h"
#include "lock.h"
#include "log.h"
#include "mem.h"
#include "next.h"
#include "offset.h"
#include "region.h"
#include "report.h"
#include "stats.h"
#include "stream.h"
#include "test_point.h"

/* A child shares the descriptions, and has a copy of all that was not written. */
static void fork_prepare(void)
{
	aside_share_all();
	lock_fork_prepare();
	/* Those that another thread has opened meanwhile. */
	offset_forking();
}

static void tell_all(void)
{
	aside_all();
}

static void fork_child(void)
{
	lock_fork_child();
	region_forked();
	stream_forked();
	stats_forked();
	report_forked();
}

/* glibc hands argc, argv and envp to constructors. */
__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
	next_begin();
	log_begin();
	config_read(environment, argc > 0 ? argv[0] : NULL);
	if (!config.active)
		return;
	mem_begin();
	stats_begin();
	pthread_atfork(fork_prepare, lock_fork_parent, fork_child);
	guard_begin(NEXT(sigaction));
	death_begin(NEXT(sigaction), tell_all);
	stream_begin();
	offset_start();
	test_begin();
}

__attribute__((destructor)) static void end(void)
{
	stream_finish();
	report_write();
	stats_report();
}
