#include "text.h"

#include <string.h>

static void add_char(struct text *text, char c)
{
	if (text->length + 1 >= text->size) {
		text->cut = true;
		return;
	}
	text->bytes[text->length++] = c;
}

static void add_string(struct text *text, const char *s)
{
	for (s = s == NULL ? "(null)" : s; *s != '\0'; s++)
		add_char(text, *s);
}

static void add_number(struct text *text, uint64_t value, unsigned int base, unsigned int width)
{
	char digits[24];
	unsigned int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0 || n < width);
	while (n > 0)
		add_char(text, digits[--n]);
}

static void add_signed(struct text *text, int64_t value)
{
	if (value < 0)
		add_char(text, '-');
	add_number(text, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, 1);
}

/* The inside of a JSON string. Bytes above 127 go as they are: names of files are seldom anything
 * but UTF-8, and a JSON reader that minds can be told. */
static void add_escaped(struct text *text, const char *s)
{
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\') {
			add_char(text, '\\');
			add_char(text, (char)c);
		} else if (c < 0x20) {
			add_string(text, "\\u");
			add_number(text, c, 16, 4);
		} else {
			add_char(text, (char)c);
		}
	}
}

enum width { WIDTH_INT, WIDTH_LONG, WIDTH_LONG_LONG, WIDTH_SIZE, WIDTH_MAX };

static const char *read_width(const char *f, enum width *ret_width)
{
	*ret_width = WIDTH_INT;
	if (*f == 'l') {
		f++;
		*ret_width = WIDTH_LONG;
		if (*f == 'l') {
			f++;
			*ret_width = WIDTH_LONG_LONG;
		}
	} else if (*f == 'z') {
		f++;
		*ret_width = WIDTH_SIZE;
	} else if (*f == 'j') {
		f++;
		*ret_width = WIDTH_MAX;
	}
	return f;
}

/* A va_list handed to a function is spent by it, hence the pointer to one. */
struct arguments {
	va_list list;
};

static uint64_t take_unsigned(struct arguments *arguments, enum width width)
{
	switch (width) {
	case WIDTH_INT:
		return va_arg(arguments->list, unsigned int);
	case WIDTH_LONG:
		return va_arg(arguments->list, unsigned long);
	case WIDTH_SIZE:
		return va_arg(arguments->list, size_t);
	case WIDTH_LONG_LONG:
	case WIDTH_MAX:
		break;
	}
	return va_arg(arguments->list, uint64_t);
}

static int64_t take_signed(struct arguments *arguments, enum width width)
{
	uint64_t value = take_unsigned(arguments, width);

	if (width == WIDTH_INT)
		return (int32_t)value;
	if (sizeof(long) == 4 && (width == WIDTH_LONG || width == WIDTH_SIZE))
		return (int32_t)value;
	return (int64_t)value;
}

static void add_time(struct text *text, uint64_t microseconds)
{
	add_number(text, microseconds / 1000000, 10, 1);
	add_char(text, '.');
	add_number(text, microseconds % 1000000, 10, 6);
}

static void add_argument(struct text *text, char kind, enum width width,
			 struct arguments *arguments)
{
	switch (kind) {
	case 's':
		add_string(text, va_arg(arguments->list, const char *));
		break;
	case 'S':
		add_escaped(text, va_arg(arguments->list, const char *));
		break;
	case 'c':
		add_char(text, (char)va_arg(arguments->list, int));
		break;
	case 'd':
		add_signed(text, take_signed(arguments, width));
		break;
	case 'u':
		add_number(text, take_unsigned(arguments, width), 10, 1);
		break;
	case 'x':
		add_number(text, take_unsigned(arguments, width), 16, 1);
		break;
	case 'T':
		add_time(text, va_arg(arguments->list, uint64_t));
		break;
	default:
		add_char(text, kind);
		break;
	}
}

void text_add_list(struct text *text, const char *format, va_list list)
{
	struct arguments arguments;

	va_copy(arguments.list, list);
	for (const char *f = format; *f != '\0'; f++) {
		enum width width;

		if (*f != '%') {
			add_char(text, *f);
			continue;
		}
		f = read_width(f + 1, &width);
		if (*f == '\0')
			break;
		add_argument(text, *f, width, &arguments);
	}
	va_end(arguments.list);
	if (text->size > 0)
		text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	text_add_list(text, format, list);
	va_end(list);
}
