#include "budget.h"

#include <fcntl.h>

#include "stats.h"
#include "sys.h"

/* The kernel's default (include/linux/mm.h: USHRT_MAX - 5). */
#define DEFAULT_MAX_MAP_COUNT 65530

/* Synchronization: relaxed atomic. */
static int64_t program_mappings;
/* The most mappings that the program's calls can have added, none ended; and where to look. */
static int64_t added;
static int64_t look_at = BUDGET_MANY;
static int64_t last_count;
static int64_t quiet_step;
static int64_t limit;
static bool crowded;

/* Synchronization: LOCK_VIEWS. */
static int64_t regions;

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
	char buffer[896]; /* a frame is to stay small */
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

static int64_t the_limit(void)
{
	if (__atomic_load_n(&limit, __ATOMIC_RELAXED) == 0) {
		long number = read_number("/proc/sys/vm/max_map_count");

		__atomic_store_n(&limit, number > 0 ? number : DEFAULT_MAX_MAP_COUNT,
				 __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&limit, __ATOMIC_RELAXED);
}

static int64_t near(void)
{
	return the_limit() / 10 * 8;
}

static bool may_have_added(int64_t n)
{
	return __atomic_add_fetch(&added, n, __ATOMIC_RELAXED) >=
	       __atomic_load_n(&look_at, __ATOMIC_RELAXED);
}

/* For the statistics only: a munmap in the middle of a mapping adds one, here it takes one off. */
static void estimate(int64_t n)
{
	int64_t now = __atomic_add_fetch(&program_mappings, n, __ATOMIC_RELAXED);

	if (n > 0 && now + __atomic_load_n(&regions, __ATOMIC_RELAXED) >=
			     __atomic_load_n(&measure_at, __ATOMIC_RELAXED))
		budget_measure();
}

bool budget_mapped(int64_t n)
{
	if (stats_wanted())
		estimate(n);
	return may_have_added(n > 0 ? n : 1);
}

bool budget_split(void)
{
	return may_have_added(2);
}

/* How many may be added before the next look. Near the limit a look is dear: each one that finds no
 * more than the last doubles the way to the next. */
static int64_t step_after(int64_t count)
{
	int64_t least = the_limit() / 32 + 1;
	int64_t most = the_limit() / 4 + 1;
	int64_t step = near() - count;

	if (count > last_count + least || quiet_step < least)
		quiet_step = least;
	else
		quiet_step = 2 * quiet_step < most ? 2 * quiet_step : most;
	step = step > quiet_step ? step : quiet_step;
	return step < most ? step : most;
}

int64_t budget_look(void)
{
	int64_t at = __atomic_load_n(&look_at, __ATOMIC_RELAXED);
	int64_t count;

	if (at == INT64_MAX || !__atomic_compare_exchange_n(&look_at, &at, INT64_MAX, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return -1;
	at = __atomic_load_n(&added, __ATOMIC_RELAXED);
	count = count_mappings();
	if (count < the_limit() - the_limit() / 8)
		__atomic_store_n(&crowded, false, __ATOMIC_RELAXED);
	at += step_after(count);
	__atomic_store_n(&last_count, count, __ATOMIC_RELAXED);
	__atomic_store_n(&look_at, at, __ATOMIC_SEQ_CST);
	return count;
}

bool budget_is_near(void)
{
	return __atomic_load_n(&last_count, __ATOMIC_RELAXED) >= near();
}

void budget_set_crowded(void)
{
	__atomic_store_n(&crowded, true, __ATOMIC_RELAXED);
}

bool budget_is_crowded(void)
{
	return __atomic_load_n(&crowded, __ATOMIC_RELAXED);
}

bool budget_allows_region(void)
{
	return regions < the_limit() / 2;
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
