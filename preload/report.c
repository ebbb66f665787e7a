#include "report.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "advice.h"
#include "config.h"
#include "log.h"
#include "mem.h"
#include "sys.h"
#include "text.h"

/* So many files are shown for their calls, and so many further ones for their bytes. */
#define TOP_CALLS 20
#define TOP_BYTES 10
#define TOP (TOP_CALLS + TOP_BYTES)

#define TEXT_BYTES 65536

/* From so many on it is a pattern. */
#define MANY 16
#define SMALL_WRITE 65536

/* An open and close of a plugin is so many system calls (plugin.h). */
#define CALLS_A_PLUGIN 10

static bool written;

typedef uint64_t measure(const struct advice_file *file);

static bool is_among(const struct advice_file *file, const struct advice_file *const *list,
		     unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		if (list[i] == file)
			return true;
	}
	return false;
}

/* Appends up to `most` files that have the most of it and are not in the list yet; how many there
 * are in the list then. */
static unsigned int add_top(const struct advice_file **list, unsigned int count, unsigned int most,
			    measure *of)
{
	for (; most > 0; most--) {
		const struct advice_file *best = NULL;

		for (unsigned int i = 0; i < advice_count(); i++) {
			const struct advice_file *file = advice_at(i);

			if (!is_among(file, list, count) && (best == NULL || of(file) > of(best)))
				best = file;
		}
		if (best == NULL)
			break;
		list[count++] = best;
	}
	return count;
}

static void add_pattern(struct text *text, const struct advice_file *file)
{
	const struct advice_tally *writes = &file->stream_writes;
	uint64_t seeks = file->seeks + file->stream_seeks;
	uint64_t moves = file->reads.calls + file->stream_reads.calls + writes->calls;

	if (file->views >= MANY)
		text_add(text, "; piecemeal maps");
	if (seeks >= MANY && seeks >= moves / 4)
		text_add(text, "; seek thrash");
	if (advice_reread(file) != 0)
		text_add(text, "; %ju bytes read again", advice_reread(file));
	if (writes->calls >= MANY && writes->bytes / writes->calls < SMALL_WRITE)
		text_add(text, "; small writes");
}

static void add_mmaps(struct text *text, const struct advice_file *file)
{
	bool first = true;

	text_add(text, "    %ju of %ju mmaps (%ju bytes) would have been views of one mapping",
		 file->views, file->mmaps.calls, file->mmaps.bytes);
	for (enum reason r = REASON_none + 1; r < REASON_COUNT; r++) {
		if (file->passed[r] == 0)
			continue;
		text_add(text, "%s%s %u", first ? "; the rest not: " : ", ", stats_reason_name(r),
			 file->passed[r]);
		first = false;
	}
	text_add(text, "\n");
}

static void add_file(struct text *text, const struct advice_file *file)
{
	text_add(text, "  %s: %ju calls, %ju bytes", file->name, advice_calls(file),
		 advice_bytes(file));
	add_pattern(text, file);
	text_add(text, "\n");
	if (file->mmaps.calls != 0)
		add_mmaps(text, file);
	if (file->reads.calls + file->seeks != 0)
		text_add(text, "    %ju reads (%ju bytes), %ju seeks\n", file->reads.calls,
			 file->reads.bytes, file->seeks);
	if (file->stream_reads.calls + file->stream_writes.calls + file->stream_seeks != 0)
		text_add(text,
			 "    inside stdio: %ju reads (%ju bytes), %ju seeks, %ju writes (%ju "
			 "bytes)\n",
			 file->stream_reads.calls, file->stream_reads.bytes, file->stream_seeks,
			 file->stream_writes.calls, file->stream_writes.bytes);
}

static void add_head(struct text *text)
{
	uint64_t calls = advice_others()->mmaps.calls;
	uint64_t views = advice_others()->views;

	for (unsigned int i = 0; i < advice_count(); i++) {
		calls += advice_at(i)->mmaps.calls;
		views += advice_at(i)->views;
	}
	text_add(
		text,
		"mapcoalesce[%d] %s: dry run, nothing was changed: %ju of %ju mmaps of files would "
		"have been views\n",
		sys_getpid(), config.invoked, views, calls);
}

static void add_files(struct text *text)
{
	const struct advice_file *top[TOP];
	unsigned int count = add_top(top, 0, TOP_CALLS, advice_calls);

	count = add_top(top, count, TOP_BYTES, advice_bytes);
	for (unsigned int i = 0; i < count; i++)
		add_file(text, top[i]);
	if (count < advice_count())
		text_add(text, "  (%u files with fewer calls and bytes)\n", advice_count() - count);
	if (advice_calls(advice_others()) != 0)
		add_file(text, advice_others());
}

static uint64_t now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* How long an empty system call takes here: the best of a few, for others run here too. */
static uint64_t call_ns(void)
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < 8; batch++) {
		uint64_t begun = now_ns();
		uint64_t ns;

		for (int i = 0; i < 32; i++)
			sys_getpid();
		ns = (now_ns() - begun) / 32;
		if (ns < best)
			best = ns;
	}
	return best;
}

static void add_savings(struct text *text)
{
	static const char *const names[MODE_COUNT] = {
#define X(name) #name,
		MODES(X)
#undef X
	};
	struct advice_saving savings[MODE_COUNT];
	uint64_t ns = call_ns();
	uint64_t plugins = CALLS_A_PLUGIN * stats_sum(COUNT_plugins_kept);

	memset(savings, 0, sizeof(savings));
	for (unsigned int i = 0; i < advice_count(); i++)
		advice_savings(advice_at(i), savings);
	advice_savings(advice_others(), savings);
	advice_memory_savings(savings);
	savings[MODE_BIT_plugins] = (struct advice_saving){plugins, 10 * plugins};
	for (unsigned int i = 0; i < MODE_COUNT; i++) {
		if (savings[i].calls == 0)
			continue;
		text_add(text, "  mode %s%s would save about %ju system calls and %T s\n", names[i],
			 config.modes >> i & 1 ? "" : " (off)", savings[i].calls,
			 savings[i].tenths * ns / 10000);
	}
	text_add(text, "  (seconds: estimated from an empty system call, %ju ns here)\n", ns);
}

static void add_plugins(struct text *text)
{
	if (stats_sum(COUNT_plugin_opens) == 0)
		return;
	text_add(text, "  %ju of %ju opens of linker plugins would have found them loaded\n",
		 stats_sum(COUNT_plugins_kept), stats_sum(COUNT_plugin_opens));
}

void report_write(void)
{
	struct text text = {.size = TEXT_BYTES};

	if (!config.dry_run || !config.active || written)
		return;
	written = true;
	text.bytes = mem_pages(TEXT_BYTES);
	if (text.bytes == NULL)
		return;
	add_head(&text);
	add_files(&text);
	add_plugins(&text);
	add_savings(&text);
	log_write("stderr", text.bytes, text.length);
}

void report_forked(void)
{
	written = false;
	advice_forked();
}
