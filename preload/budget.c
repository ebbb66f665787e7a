#include "budget.h"

#include <fcntl.h>

#include "stats.h"
#include "sys.h"

/* The kernel's default (include/linux/mm.h: USHRT_MAX - 5). */
#define DEFAULT_MAX_MAP_COUNT 65530

/* Synchronization: relaxed atomic. */
static int64_t program_mappings;

/* Synchronization: LOCK_VIEWS. */
static int64_t regions;
static int64_t regions_allowed;

/* The estimate at which the statistics look at /proc/self/maps next; 0 = at once. */
static int64_t measure_at;

static long read_number(const char *path)
{
	char buffer[32];
	long number = 0;
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long length;

	if (fd < 0)
		return -1;
	length = sys_read(fd, buffer, sizeof(buffer));
	sys_close(fd);
	for (long i = 0; i < length && buffer[i] >= '0' && buffer[i] <= '9'; i++)
		number = number * 10 + (buffer[i] - '0');
	return length > 0 ? number : -1;
}

static int64_t count_mappings(void)
{
	char buffer[512];
	int64_t lines = 0;
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	long length;

	if (fd < 0)
		return 0;
	while ((length = sys_read(fd, buffer, sizeof(buffer))) > 0) {
		for (long i = 0; i < length; i++)
			lines += buffer[i] == '\n';
	}
	sys_close(fd);
	return lines;
}

void budget_mapped(int64_t n)
{
	int64_t now = __atomic_add_fetch(&program_mappings, n, __ATOMIC_RELAXED);

	if (!stats_wanted() || n < 0)
		return;
	if (now + __atomic_load_n(&regions, __ATOMIC_RELAXED) >=
	    __atomic_load_n(&measure_at, __ATOMIC_RELAXED))
		budget_measure();
}

bool budget_allows_region(void)
{
	if (regions_allowed == 0) {
		long limit = read_number("/proc/sys/vm/max_map_count");

		regions_allowed = (limit > 0 ? limit : DEFAULT_MAX_MAP_COUNT) / 2;
	}
	return regions < regions_allowed;
}

void budget_regions(int64_t change)
{
	__atomic_store_n(&regions, regions + change, __ATOMIC_RELAXED);
	stats_regions((uint64_t)regions);
	if (stats_wanted() && change > 0 &&
	    __atomic_load_n(&program_mappings, __ATOMIC_RELAXED) + regions >=
		    __atomic_load_n(&measure_at, __ATOMIC_RELAXED))
		budget_measure();
}

void budget_measure(void)
{
	int64_t estimate = __atomic_load_n(&program_mappings, __ATOMIC_RELAXED) +
			   __atomic_load_n(&regions, __ATOMIC_RELAXED);

	stats_vmas((uint64_t)count_mappings());
	/* A twentieth more, and at least 64: the peak is then known to 5 %, at a cost that is
	 * linear in it. */
	__atomic_store_n(&measure_at, estimate + 64 + estimate / 20, __ATOMIC_RELAXED);
}
