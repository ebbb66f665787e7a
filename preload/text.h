/*
 * Text for people and for JSON, built in a buffer of the caller's, without stdio, locale or
 * allocation: it may be wanted inside malloc, in a signal handler, or after exit began.
 *
 * A text that does not fit is cut; it is always terminated.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *bytes;
	size_t length;
	size_t size;
	bool cut; /* something did not fit */
};

#define TEXT_ON(buffer)                                                                            \
	{                                                                                          \
		.bytes = (buffer), .length = 0, .size = sizeof(buffer), .cut = false               \
	}

/*
 * Appends. Knows %s, %c, %d, %u, %x with the lengths none, l, ll, z and j, and %%. Further:
 * %S  a string as the inside of a JSON string (quotes, backslashes and control bytes escaped)
 * %T  a uint64_t of microseconds as seconds with six decimals
 */
void text_add(struct text *text, const char *format, ...);
void text_add_list(struct text *text, const char *format, va_list list);

#endif
