#include "report.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "lock.h"
#include "log.h"
#include "mem.h"
#include "sys.h"
#include "text.h"

/* Files beyond this many are added up in one line. */
#define MOST_FILES 1024
#define NAME_BYTES 200

struct file_row {
	uint64_t device;
	uint64_t inode;
	uint64_t calls;
	uint64_t bytes;
	uint64_t views; /* of the calls, those that would have been views */
	uint32_t passed[REASON_COUNT];
	char name[NAME_BYTES];
};

static struct file_row *rows;
static unsigned int row_count;
static struct file_row others = {.name = "(further files)"};
static bool written;

static void name_row(struct file_row *row, int fd)
{
	char link[32];
	struct text text = TEXT_ON(link);

	text_add(&text, "/proc/self/fd/%d", fd);
	if (sys_readlink(link, row->name, sizeof(row->name)) < 0)
		memcpy(row->name, "(long name)", sizeof("(long name)"));
}

static struct file_row *find_row(const struct file_stat *stat, int fd)
{
	struct file_row *row;

	if (rows == NULL)
		rows = mem_pages(MOST_FILES * sizeof(*rows));
	if (rows == NULL)
		return &others;
	for (unsigned int i = 0; i < row_count; i++) {
		if (rows[i].inode == stat->inode && rows[i].device == stat->device)
			return &rows[i];
	}
	if (row_count == MOST_FILES)
		return &others;
	row = &rows[row_count++];
	row->device = stat->device;
	row->inode = stat->inode;
	name_row(row, fd);
	return row;
}

enum reason report_mmap(const struct view_request *request, enum reason reason)
{
	struct file_stat stat;
	struct file_row *row;
	struct lock_hold hold;

	/* What concerns no file is in the statistics. */
	if (request->fd < 0 || reason == REASON_anonymous || kernel.stat(request->fd, &stat) < 0)
		return reason;
	if (reason == REASON_none && (stat.mode & S_IFMT) != S_IFREG)
		reason = REASON_not_regular;
	if (reason == REASON_none && request->offset >= stat.size)
		reason = stat.size == 0 ? REASON_empty : REASON_past_end;
	if (reason == REASON_none && !(config.modes & MODE_mmap))
		reason = REASON_mode;
	hold = lock_take(LOCK_REPORT);
	row = find_row(&stat, request->fd);
	row->calls++;
	row->bytes += request->length;
	if (reason == REASON_none && row->calls == 1 && !config_program_shares())
		reason = REASON_first;
	if (reason == REASON_none)
		row->views++;
	else
		row->passed[reason]++;
	lock_drop(LOCK_REPORT, hold);
	return reason == REASON_none ? REASON_dry_run : reason;
}

static void write_row(const struct file_row *row)
{
	char buffer[1024];
	struct text text = TEXT_ON(buffer);
	bool first = true;

	text_add(&text, "  %s: %ju of %ju mmaps (%ju bytes) would have been views of one mapping",
		 row->name, row->views, row->calls, row->bytes);
	for (enum reason r = REASON_none + 1; r < REASON_COUNT; r++) {
		if (row->passed[r] == 0)
			continue;
		text_add(&text, "%s%s %u", first ? "; the rest not: " : ", ", stats_reason_name(r),
			 row->passed[r]);
		first = false;
	}
	text_add(&text, "\n");
	log_write("stderr", text.bytes, text.length);
}

static void write_head(void)
{
	char buffer[512];
	struct text text = TEXT_ON(buffer);
	uint64_t calls = others.calls;
	uint64_t views = others.views;

	for (unsigned int i = 0; i < row_count; i++) {
		calls += rows[i].calls;
		views += rows[i].views;
	}
	text_add(
		&text,
		"mapcoalesce[%d] %s: dry run, nothing was changed: %ju of %ju mmaps of files would "
		"have been views\n",
		sys_getpid(), config.invoked, views, calls);
	log_write("stderr", text.bytes, text.length);
}

static void write_plugins(void)
{
	char buffer[128];
	struct text text = TEXT_ON(buffer);

	if (stats_sum(COUNT_plugin_opens) == 0)
		return;
	text_add(&text, "  %ju of %ju opens of linker plugins would have found them loaded\n",
		 stats_sum(COUNT_plugins_kept), stats_sum(COUNT_plugin_opens));
	log_write("stderr", text.bytes, text.length);
}

void report_write(void)
{
	if (!config.dry_run || !config.active || written)
		return;
	written = true;
	write_head();
	for (unsigned int i = 0; i < row_count; i++)
		write_row(&rows[i]);
	if (others.calls != 0)
		write_row(&others);
	write_plugins();
}
