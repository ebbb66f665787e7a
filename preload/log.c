#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "config.h"
#include "sys.h"
#include "text.h"

#define LINE_BYTES 1024

/* What descriptor 2 was at the start: a program that closes it may get the same number for a file
 * of its own, in which our line would be a wrong byte. */
static struct file_stat stderr_stat;
static bool stderr_known;

void log_begin(void)
{
	stderr_known = kernel.stat(2, &stderr_stat) == 0;
}

static bool stderr_is_ours_to_use(void)
{
	struct file_stat now;

	return stderr_known && kernel.stat(2, &now) == 0 && now.device == stderr_stat.device &&
	       now.inode == stderr_stat.inode;
}

void log_write(const char *where, const char *bytes, unsigned long length)
{
	int fd;

	if (strcmp(where, "stderr") == 0) {
		if (stderr_is_ours_to_use())
			sys_write(2, bytes, length);
		return;
	}
	fd = sys_open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		return;
	sys_write(fd, bytes, length);
	sys_close(fd);
}

static void write_line(const char *where, const char *format, va_list list)
{
	char buffer[LINE_BYTES];
	struct text text = TEXT_ON(buffer);

	text_add(&text, "mapcoalesce[%d]: ", sys_getpid());
	text_add_list(&text, format, list);
	if (text.cut)
		text.length = sizeof(buffer) - 2;
	text_add(&text, "\n");
	log_write(where, text.bytes, text.length);
}

bool log_wanted(void)
{
	return config.log[0] != '\0';
}

void log_line(const char *format, ...)
{
	va_list list;

	if (!log_wanted())
		return;
	va_start(list, format);
	write_line(config.log, format, list);
	va_end(list);
}

void log_complain(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	write_line("stderr", format, list);
	va_end(list);
}
