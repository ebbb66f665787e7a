/* Operations on streams: characters, lines, formats, wide characters, databases. */
#include "stdiffer.h"

#include <err.h>
#include <errno.h>
#include <error.h>
#include <grp.h>
#include <mntent.h>
#include <pwd.h>
#include <shadow.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Until swap_back, *which is the stream: for the functions that are not given one. */
static FILE *swapped;

static void swap(FILE **which, FILE *fp)
{
	swapped = *which;
	*which = fp;
}

static void swap_back(FILE **which)
{
	*which = swapped;
}

/*
 * Characters
 */

void draw_getc(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = one_in(8) ? draw(9000) : 1 + draw(40);
	a[2] = draw(6);
}

static int get_one(FILE *fp, int64_t how)
{
	switch (how) {
	case 0:
		return getc(fp);
	case 1:
		return fgetc(fp);
	case 2:
		return getc_unlocked(fp);
	case 3:
		return fgetc_unlocked(fp);
	case 4:
		return getchar();
	default:
		return getchar_unlocked();
	}
}

void run_getc(const int64_t *a)
{
	FILE *fp = byte_stream_at(a[0]);
	size_t n = 0;
	size_t most = length_of(a[1]);
	int c = 0;

	if (fp == NULL)
		return;
	swap(&stdin, fp);
	clear();
	while (n < most && (c = get_one(fp, a[2])) != EOF)
		scratch()[n++] = (unsigned char)c;
	swap_back(&stdin);
	say_result((long long)n, c == EOF && ferror_unlocked(fp), fp);
	say_bytes(scratch(), n);
}

void draw_putc(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = one_in(8) ? draw(9000) : 1 + draw(40);
	a[2] = draw_value();
	a[3] = draw(6);
}

static int put_one(int c, FILE *fp, int64_t how)
{
	switch (how) {
	case 0:
		return putc(c, fp);
	case 1:
		return fputc(c, fp);
	case 2:
		return putc_unlocked(c, fp);
	case 3:
		return fputc_unlocked(c, fp);
	case 4:
		return putchar(c);
	default:
		return putchar_unlocked(c);
	}
}

void run_putc(const int64_t *a)
{
	FILE *fp = written_stream_at(a[0]);
	size_t n = 0;
	size_t most = length_of(a[1]);

	if (fp == NULL)
		return;
	fill(most, (uint64_t)a[2]);
	swap(&stdout, fp);
	clear();
	while (n < most && put_one(scratch()[n], fp, a[3]) != EOF)
		n++;
	swap_back(&stdout);
	say_result((long long)n, n < most, fp);
}

void draw_unget(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = one_in(10) ? draw(200) : 1 + draw(4);
	a[2] = one_in(20) ? EOF : draw(256);
}

void run_unget(const int64_t *a)
{
	FILE *fp = byte_stream_at(a[0]);
	int result = 0;
	int64_t n = 0;

	if (fp == NULL)
		return;
	/* As in written_stream_at, the other way round. */
	if (fp->_flags & (PUTTING | NO_READS)) {
		say(" left out");
		return;
	}
	clear();
	for (; n < a[1] && result != EOF; n++)
		result = ungetc(a[2] == EOF ? EOF : (int)((a[2] + n) & 255), fp);
	say_result(n, false, fp);
	say(" %d", result);
}

/*
 * Lines
 */

char *__fgets_chk(char *bytes, size_t room, int size, FILE *fp);

void draw_gets(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw_of(7, 1, 2, 10, 80, 80, 1000, 10000);
	a[2] = draw(6);
}

static char *get_string(FILE *fp, const int64_t *a)
{
	char *bytes = (char *)scratch();
	int size = (int)length_of(a[1]);

	switch (a[2]) {
	case 0:
		return fgets(bytes, size, fp);
	case 1:
		return fgets_unlocked(bytes, size, fp);
	default:
		return __fgets_chk(bytes, MOST_BYTES, size, fp);
	}
}

void run_gets(const int64_t *a)
{
	static char *line;
	static size_t room;
	FILE *fp = byte_stream_at(a[0]);
	ssize_t n;

	if (fp == NULL)
		return;
	clear();
	if (a[2] < 3) {
		memset(scratch(), 0xa5, length_of(a[1]));
		n = get_string(fp, a) != NULL;
		say_result(n, n == 0 && ferror_unlocked(fp), fp);
		say_bytes(scratch(), length_of(a[1]));
		return;
	}
	n = a[2] == 3 ? getline(&line, &room, fp) : getdelim(&line, &room, a[2] == 4 ? 'e' : 0, fp);
	say_result(n, n < 0 && ferror_unlocked(fp), fp);
	if (n > 0)
		say_bytes((unsigned char *)line, (size_t)n);
}

void draw_puts(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = one_in(10) ? draw(10000) : draw(100);
	a[2] = draw_value();
	a[3] = draw(3);
}

void run_puts(const int64_t *a)
{
	FILE *fp = written_stream_at(a[0]);
	char *bytes = (char *)scratch();
	int result;

	if (fp == NULL)
		return;
	fill(length_of(a[1]), (uint64_t)a[2]);
	bytes[length_of(a[1])] = 0;
	swap(&stdout, fp);
	clear();
	result = a[3] == 0 ? fputs(bytes, fp) : a[3] == 1 ? fputs_unlocked(bytes, fp) : puts(bytes);
	swap_back(&stdout);
	say_result(result >= 0, result < 0, fp);
}

/*
 * Formats
 */

int __fprintf_chk(FILE *fp, int flag, const char *format, ...);

static int print_list(FILE *fp, const char *format, ...)
{
	va_list list;
	int result;

	va_start(list, format);
	result = vfprintf(fp, format, list);
	va_end(list);
	return result;
}

void draw_print(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw_value();
	a[2] = draw(11);
}

static int print_message(int value, int64_t how)
{
	switch (how) {
	case 5:
		errno = value % 100;
		perror("what");
		return 0;
	case 6:
		warnx("number %d", value);
		return 0;
	case 7:
		psignal(1 + value % 31, "sent");
		return 0;
	default:
		error(0, 0, "number %d", value);
		return 0;
	}
}

static int print_one(FILE *fp, int value, int64_t how)
{
	switch (how) {
	case 0:
		return fprintf(fp, "%d %s %5.2f\n", value, "text", value / 7.0);
	case 1:
		return print_list(fp, "%*d\n", value % 9000, value);
	case 2:
		return printf("[%x]", (unsigned int)value);
	case 3:
		return dprintf(fileno(fp), "to the descriptor %d\n", value);
	case 4:
		return __fprintf_chk(fp, 1, "%o,", (unsigned int)value);
	case 9:
		return putw(value, fp);
	case 10:
		return fprintf(fp, "%s", "");
	default:
		return print_message(value, how);
	}
}

void run_print(const int64_t *a)
{
	FILE *fp = written_stream_at(a[0]);
	FILE *before = stderr;
	int result;

	if (fp == NULL)
		return;
	if (a[2] >= 5 && a[2] <= 8)
		stderr = fp;
	swap(&stdout, a[2] == 2 ? fp : stdout);
	clear();
	result = print_one(fp, (int)(a[1] & 0xffffff), a[2]);
	swap_back(&stdout);
	stderr = before;
	say_result(result, result < 0, fp);
}

void draw_scan(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw(7);
}

void run_scan(const int64_t *a)
{
	FILE *fp = byte_stream_at(a[0]);
	char word[64] = "";
	int number = -1;
	int result;

	if (fp == NULL)
		return;
	swap(&stdin, fp);
	clear();
	switch (a[1]) {
	case 0:
		result = fscanf(fp, "%50s", word);
		break;
	case 1:
		result = fscanf(fp, "%d", &number);
		break;
	case 2:
		result = fscanf(fp, "%*[^\n]%n", &number);
		break;
	case 3:
		result = scanf("%50[a-m ]%3d", word, &number);
		break;
	case 4:
		result = scanf("%9s %x", word, (unsigned int *)&number);
		break;
	case 5:
		result = getw(fp);
		break;
	default:
		result = fscanf(fp, "%50c", word);
		break;
	}
	swap_back(&stdin);
	say_result(result, result == EOF && ferror_unlocked(fp), fp);
	say(" %d", number);
	say_bytes((unsigned char *)word, sizeof(word));
}

/*
 * Wide characters
 */

void draw_wide(int64_t *a)
{
	a[0] = draw_stream();
	/* A stream that has gone wide is of little use to others. */
	for (int i = 0; i < 4; i++) {
		const FILE *fp = streams[a[0]].fp;

		if (fp != NULL && fp->_mode > 0)
			break;
		a[0] = draw(STREAMS);
	}
	a[1] = draw_value();
	a[2] = one_in(8) ? 1 : draw(10);
}

static long long wide_line(FILE *fp)
{
	static wchar_t text[300];

	memset(text, 0, sizeof(text));
	if (fgetws(text, 300, fp) == NULL)
		return -1;
	say_bytes((unsigned char *)text, sizeof(text));
	return (long long)wcslen(text);
}

static long long wide_word(FILE *fp)
{
	wchar_t word[32] = {0};
	int result = fwscanf(fp, L"%30ls", word);

	say_bytes((unsigned char *)word, sizeof(word));
	return result;
}

static long long wide_one(FILE *fp, int value, int64_t how)
{
	switch (how) {
	case 0:
		return fwide(fp, 0);
	case 1:
		return fwide(fp, 1);
	case 2:
		return (int)fputwc((wchar_t)(32 + value % 3000), fp);
	case 3:
	case 4:
		return (int)fgetwc(fp);
	case 5:
		return fputws(L"wide \u00e4\u20ac\n", fp) >= 0;
	case 6:
		return wide_line(fp);
	case 7:
		return (int)ungetwc((wint_t)(32 + value % 3000), fp);
	case 8:
		return fwprintf(fp, L"%d %ls\n", value, L"text");
	default:
		return wide_word(fp);
	}
}

/* Whether it goes on as it began: glibc's wide streams do not survive a turn, nor what is already
 * in the buffer of a stream that becomes one. */
static bool same_direction(struct stream *stream, int64_t how)
{
	char direction = how == 2 || how == 5 || how == 8 ? 'w' : 'r';
	const FILE *fp = stream->fp;

	if (fp->_mode == 0 && (fp->_IO_read_base != NULL || fp->_IO_write_base != NULL))
		return false;
	/* The one that does not ask which kind it is. */
	if (how == 7 && fp->_mode <= 0)
		return false;
	if (how < 2 || stream->direction == direction)
		return true;
	if (stream->direction != 0)
		return false;
	stream->direction = direction;
	return true;
}

void run_wide(const int64_t *a)
{
	FILE *fp = stream_at(a[0]);
	long long result;

	if (fp == NULL)
		return;
	if (!same_direction(&streams[a[0]], a[2])) {
		say(" left out");
		return;
	}
	clear();
	result = wide_one(fp, (int)(a[1] & 0xffffff), a[2]);
	say_result(result, ferror_unlocked(fp), fp);
	say(" %d", fwide(fp, 0) > 0);
}

/*
 * Databases
 */

void draw_database(int64_t *a)
{
	a[0] = draw_stream();
	a[1] = draw(6);
}

static const char *name_or_none(const char *name)
{
	return name != NULL ? name : "none";
}

/* Not fgetpwent and the like, which try for ever where going back does not succeed. */
static const char *entry(FILE *fp, int64_t how)
{
	static char text[6][12] = {"dev", "/mnt", "type", "rw", "user", "/home"};
	struct mntent mount = {text[0], text[1], text[2], text[3], 1, 2};
	struct passwd user = {text[4], text[4], 1, 2, text[4], text[5], text[5]};
	const struct mntent *m;
	struct passwd *p = NULL;
	struct group g;
	struct group *gp = NULL;
	struct spwd shadow;
	struct spwd *sp = NULL;
	char room[1000];

	switch (how) {
	case 0:
		m = getmntent(fp);
		return m != NULL ? m->mnt_fsname : NULL;
	case 1:
		return addmntent(fp, &mount) == 0 ? "added" : "not added";
	case 2:
		fgetpwent_r(fp, &user, room, sizeof(room), &p);
		return p != NULL ? "user" : NULL;
	case 3:
		return putpwent(&user, fp) == 0 ? "put" : "not put";
	case 4:
		fgetgrent_r(fp, &g, room, sizeof(room), &gp);
		return gp != NULL ? "group" : NULL;
	default:
		fgetspent_r(fp, &shadow, room, sizeof(room), &sp);
		return sp != NULL ? "shadow" : NULL;
	}
}

void run_database(const int64_t *a)
{
	FILE *fp = written_stream_at(a[0]);
	const char *name;

	if (fp == NULL)
		return;
	name = name_or_none(entry(fp, a[1]));
	say_bytes((const unsigned char *)name, strlen(name));
	say_result(0, false, fp);
}
