/* manymembers: write an ar archive of N copies of one object, each with symbol names of its own.
 *
 *   manymembers N TEMPLATE.o ARCHIVE
 *
 * In each copy every run of eight letters A is replaced by the copy's number in eight digits, so a
 * template that defines fAAAAAAAA and gAAAAAAAA becomes N objects that define f00000000, g00000000
 * and so on. A symbol index (the member "/", big-endian) precedes them; it names an f and a g for
 * each copy. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_PLACES = 64,
	DIGITS = 8,
	HEADER = 60,
	SYMBOL = DIGITS + 2 /* the letter before, the zero after */
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "manymembers: %s: %s\n", what, errno ? strerror(errno) : "not usable");
	exit(1);
}

static void put(FILE *out, const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, out) != size)
		die("write");
}

static void put_header(FILE *out, const char *name, unsigned long size)
{
	char header[2 * HEADER];
	snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8s%-10lu`\n", name, 0, 0, 0, "100644",
		 size);
	put(out, header, HEADER);
}

static void put_big_endian(FILE *out, uint32_t value)
{
	const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
					(unsigned char)(value >> 8), (unsigned char)value};
	put(out, bytes, sizeof bytes);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: manymembers N TEMPLATE.o ARCHIVE\n", stderr);
		return 2;
	}
	const long copies = atol(argv[1]);
	static char object[1 << 20];
	char *places[MAX_PLACES];
	int count = 0;

	FILE *in = fopen(argv[2], "r");
	if (!in)
		die(argv[2]);
	size_t size = fread(object, 1, sizeof object - 1, in);
	fclose(in);
	for (char *at = object; at + DIGITS <= object + size; at++)
		if (memcmp(at, "AAAAAAAA", DIGITS) == 0 && count < MAX_PLACES) {
			places[count++] = at;
			at += DIGITS - 1;
		}
	const uint64_t step = HEADER + size + size % 2,
		       index = 4 + (uint64_t)copies * 2 * (4 + SYMBOL);
	const uint64_t first = 8 + HEADER + index + index % 2;
	errno = 0;
	if (copies < 1 || copies > 99999999 || count == 0 ||
	    first + (uint64_t)copies * step > UINT32_MAX)
		die("number or template");

	FILE *out = fopen(argv[3], "w");
	if (!out)
		die(argv[3]);
	setvbuf(out, NULL, _IOFBF, 1 << 20);
	put(out, "!<arch>\n", 8);
	put_header(out, "/", (unsigned long)index);
	put_big_endian(out, (uint32_t)copies * 2);
	for (long i = 0; i < copies; i++)
		for (int symbol = 0; symbol < 2; symbol++)
			put_big_endian(out, (uint32_t)(first + (uint64_t)i * step));
	for (long i = 0; i < copies; i++)
		for (int symbol = 0; symbol < 2; symbol++) {
			char name[24];
			snprintf(name, sizeof name, "%c%08ld", "fg"[symbol], i);
			put(out, name, SYMBOL);
		}
	if (index % 2)
		put(out, "\n", 1);
	for (long i = 0; i < copies; i++) {
		char digits[24], name[24];
		snprintf(digits, sizeof digits, "%08ld", i);
		snprintf(name, sizeof name, "m%ld.o/", i);
		for (int p = 0; p < count; p++)
			memcpy(places[p], digits, DIGITS);
		put_header(out, name, (unsigned long)size);
		put(out, object, size);
		if (size % 2)
			put(out, "\n", 1);
	}
	if (fclose(out) != 0)
		die(argv[3]);
	return 0;
}
