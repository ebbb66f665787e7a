#include "stats.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "budget.h"
#include "config.h"
#include "log.h"
#include "sys.h"
#include "text.h"
#include "tls.h"

/* Shards of one thread each, then those that threads may have in common. */
#define OWN_SHARDS 16
#define SHARDS 32
#define REPORT_BYTES 8192

struct shard {
	uint64_t counts[COUNTER_COUNT];
	uint64_t passed[REASON_COUNT];
	int64_t views;      /* begun minus ended on this shard's threads: may be negative */
	int64_t views_high; /* the most that `views` has been */
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];
static uint32_t shards_used;

/* Synchronization: relaxed atomics; each only grows. */
static uint64_t views_peak;
static uint64_t vmas_peak;
static uint64_t saved_peak;
/* Synchronization: LOCK_VIEWS writes, anybody reads. */
static uint64_t regions_now;
static uint64_t regions_peak;

static uint64_t begin_us;
static uint32_t reported;

static const char *const reason_names[REASON_COUNT] = {
#define X(name) #name,
	REASONS(X)
#undef X
};

static __attribute__((noinline, cold)) struct shard *choose_shard(void)
{
	uint32_t n = __atomic_fetch_add(&shards_used, 1, __ATOMIC_RELAXED);

	tls.shard = (uint16_t)(n < OWN_SHARDS ? n + 1 : OWN_SHARDS + n % (SHARDS - OWN_SHARDS) + 1);
	return &shards[tls.shard - 1];
}

static inline struct shard *my_shard(void)
{
	uint32_t n = tls.shard;

	return __builtin_expect(n != 0, 1) ? &shards[n - 1] : choose_shard();
}

static inline void add(uint64_t *cell, uint64_t n)
{
	__atomic_fetch_add(cell, n, __ATOMIC_RELAXED);
}

/* To a cell of this thread's shard. A handler that interrupts it may do the same. */
static inline void add_own(uint64_t *cell, uint64_t n)
{
#if defined(__x86_64__)
	/* A tenth of what the locked addition takes. */
	if (__builtin_expect(tls.shard <= OWN_SHARDS, 1)) {
		__asm__ volatile("addq %1, %0" : "+m"(*cell) : "er"(n) : "cc");
		return;
	}
#endif
	add(cell, n);
}

static void raise_to(uint64_t *peak, uint64_t value)
{
	uint64_t seen = __atomic_load_n(peak, __ATOMIC_RELAXED);

	while (value > seen && !__atomic_compare_exchange_n(peak, &seen, value, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
	}
}

void stats_add(enum counter counter, uint64_t n)
{
	add_own(&my_shard()->counts[counter], n);
}

void stats_pass(enum reason reason)
{
	add_own(&my_shard()->passed[reason], 1);
}

void stats_read(uint64_t bytes)
{
	struct shard *shard = my_shard();

	add_own(&shard->counts[COUNT_read_mapped], 1);
	add_own(&shard->counts[COUNT_bytes_mapped], bytes);
}

/* A shard reached a new height: only then can the sum have. (With several threads the sum may pass
 * its peak between two heights; the peak reported is then a little low.) */
static __attribute__((noinline)) void update_peaks(void)
{
	uint64_t live = stats_views_live();
	uint64_t regions = __atomic_load_n(&regions_now, __ATOMIC_RELAXED);

	raise_to(&views_peak, live);
	if (live > regions)
		raise_to(&saved_peak, live - regions);
}

void stats_view_begins(uint64_t bytes)
{
	struct shard *shard = my_shard();
	int64_t views;

	add_own(&shard->counts[COUNT_mmap_views], 1);
	add_own(&shard->counts[COUNT_bytes_mapped], bytes);
	views = __atomic_add_fetch(&shard->views, 1, __ATOMIC_RELAXED);
	if (views > __atomic_load_n(&shard->views_high, __ATOMIC_RELAXED)) {
		__atomic_store_n(&shard->views_high, views, __ATOMIC_RELAXED);
		update_peaks();
	}
}

void stats_view_ends(void)
{
	struct shard *shard = my_shard();

	add_own(&shard->counts[COUNT_munmap_views], 1);
	__atomic_fetch_sub(&shard->views, 1, __ATOMIC_RELAXED);
}

void stats_regions(uint64_t now)
{
	__atomic_store_n(&regions_now, now, __ATOMIC_RELAXED);
	raise_to(&regions_peak, now);
}

void stats_vmas(uint64_t now)
{
	raise_to(&vmas_peak, now);
}

const char *stats_reason_name(enum reason reason)
{
	return reason_names[reason];
}

uint64_t stats_sum(enum counter counter)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < SHARDS; i++)
		sum += __atomic_load_n(&shards[i].counts[counter], __ATOMIC_RELAXED);
	/* Counted apart, so that one addition is enough for those that are served. */
	if (counter == COUNT_read_calls)
		sum += stats_sum(COUNT_read_mapped);
	else if (counter == COUNT_lseek_calls)
		sum += stats_sum(COUNT_lseek_virtual);
	return sum;
}

uint64_t stats_passed(enum reason reason)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < SHARDS; i++)
		sum += __atomic_load_n(&shards[i].passed[reason], __ATOMIC_RELAXED);
	return sum;
}

uint64_t stats_views_live(void)
{
	uint32_t used = __atomic_load_n(&shards_used, __ATOMIC_RELAXED);
	int64_t sum = 0;

	for (unsigned int i = 0; i < SHARDS && i < used; i++)
		sum += __atomic_load_n(&shards[i].views, __ATOMIC_RELAXED);
	return sum > 0 ? (uint64_t)sum : 0;
}

uint64_t stats_views_peak(void)
{
	return __atomic_load_n(&views_peak, __ATOMIC_RELAXED);
}

bool stats_wanted(void)
{
	return config.stats[0] != '\0';
}

static uint64_t now_us(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void stats_begin(void)
{
	begin_us = stats_wanted() ? now_us() : 0;
	__atomic_store_n(&reported, 0, __ATOMIC_RELEASE);
}

void stats_forked(void)
{
	memset(shards, 0, sizeof(shards));
	views_peak = 0;
	saved_peak = 0;
	vmas_peak = 0;
	regions_peak = regions_now;
	stats_begin();
}

/* What the program asked for and the kernel never saw, less what we asked for ourselves. */
static uint64_t calls_saved(void)
{
	uint64_t served = stats_sum(COUNT_mmap_views) + stats_sum(COUNT_munmap_views) +
			  stats_sum(COUNT_read_mapped) + stats_sum(COUNT_lseek_virtual);
	uint64_t own = stats_sum(COUNT_own_calls);

	return served > own ? served - own : 0;
}

static uint64_t microseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void add_modes(struct text *text)
{
	static const char *const names[MODE_COUNT] = {
#define X(name) #name,
		MODES(X)
#undef X
	};
	bool first = true;

	for (unsigned int i = 0; i < MODE_COUNT; i++) {
		if (!(config.modes >> i & 1))
			continue;
		text_add(text, "%s%s", first ? "" : ",", names[i]);
		first = false;
	}
	if (first)
		text_add(text, "none");
}

static void add_passed(struct text *text, const char *format, const char *between)
{
	bool first = true;

	for (enum reason r = REASON_none + 1; r < REASON_COUNT; r++) {
		uint64_t n = stats_passed(r);

		if (n == 0)
			continue;
		text_add(text, "%s", first ? "" : between);
		text_add(text, format, reason_names[r], n);
		first = false;
	}
}

static void json_line(struct text *text, const struct rusage *usage)
{
	text_add(text, "{\"program\":\"%S\",\"pid\":%d,\"modes\":\"", config.invoked, sys_getpid());
	add_modes(text);
	text_add(text, "\",\"wall_s\":%T,\"user_s\":%T,\"sys_s\":%T", now_us() - begin_us,
		 microseconds(usage->ru_utime), microseconds(usage->ru_stime));
	text_add(text, ",\"minflt\":%ld,\"majflt\":%ld,\"nvcsw\":%ld,\"nivcsw\":%ld",
		 usage->ru_minflt, usage->ru_majflt, usage->ru_nvcsw, usage->ru_nivcsw);
	text_add(text, ",\"maxrss_kb\":%ld", usage->ru_maxrss);
	for (enum counter c = 0; c < COUNTER_COUNT; c++) {
		static const char *const names[COUNTER_COUNT] = {
#define X(name) #name,
			COUNTERS(X)
#undef X
		};

		text_add(text, ",\"%s\":%ju", names[c], stats_sum(c));
	}
	text_add(text, ",\"views_peak\":%ju,\"regions_peak\":%ju", stats_views_peak(),
		 regions_peak);
	text_add(text, ",\"vmas_peak\":%ju,\"vmas_saved_peak\":%ju,\"syscalls_saved\":%ju",
		 vmas_peak, saved_peak, calls_saved());
	text_add(text, ",\"passed\":{");
	add_passed(text, "\"%s\":%ju", ",");
	text_add(text, "}}\n");
}

static void summary(struct text *text, const struct rusage *usage)
{
	const char *who = config.invoked;

	text_add(text, "mapcoalesce[%d] %s: %T s, user %T, system %T, %ld minor faults, %ld KiB\n",
		 sys_getpid(), who, now_us() - begin_us, microseconds(usage->ru_utime),
		 microseconds(usage->ru_stime), usage->ru_minflt, usage->ru_maxrss);
	text_add(text, "  %ju of %ju mmaps were views (%ju bytes), %ju of %ju munmaps\n",
		 stats_sum(COUNT_mmap_views), stats_sum(COUNT_mmap_calls),
		 stats_sum(COUNT_bytes_mapped), stats_sum(COUNT_munmap_views),
		 stats_sum(COUNT_munmap_calls));
	text_add(text,
		 "  at the peak %ju views in %ju regions, %ju mappings; %ju mappings and "
		 "%ju system calls saved\n",
		 stats_views_peak(), regions_peak, vmas_peak, saved_peak, calls_saved());
	if (stats_sum(COUNT_plugin_opens) != 0)
		text_add(text, "  %ju of %ju opens of linker plugins found them loaded\n",
			 stats_sum(COUNT_plugins_kept), stats_sum(COUNT_plugin_opens));
	text_add(text, "  passed through: ");
	add_passed(text, "%s %ju", ", ");
	text_add(text, "\n");
}

void stats_report(void)
{
	/* Written once, and perhaps by a signal handler, on a small stack. */
	static char buffer[REPORT_BYTES];
	struct text text = TEXT_ON(buffer);
	struct rusage usage;

	if (!stats_wanted() || !config.active)
		return;
	if (__atomic_exchange_n(&reported, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	memset(&usage, 0, sizeof(usage));
	sys_rusage(&usage);
	budget_measure();
	if (strcmp(config.stats, "stderr") == 0)
		summary(&text, &usage);
	else
		json_line(&text, &usage);
	log_write(config.stats, text.bytes, text.length);
}
