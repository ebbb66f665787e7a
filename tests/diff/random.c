/* Random numbers, and bytes that a number stands for. */
#include "script.h"

#include <string.h>

uint64_t draw_bits(void)
{
	uint64_t x = self->random += 0x9e3779b97f4a7c15U;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
	x = (x ^ x >> 27) * 0x94d049bb133111ebU;
	return x ^ x >> 31;
}

int64_t draw(int64_t n)
{
	return (int64_t)(draw_bits() % (uint64_t)n);
}

bool one_in(int n)
{
	return draw(n) == 0;
}

int64_t draw_of(int count, ...)
{
	int which = (int)draw(count);
	int64_t value = 0;
	va_list list;

	va_start(list, count);
	for (int i = 0; i <= which; i++)
		value = va_arg(list, int);
	va_end(list);
	return value;
}

void pattern(unsigned char *to, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)((value * 0x9e3779b97f4a7c15U >> 32) + i * 167 + (i >> 8));
}

/* In words where that can be, since files of megabytes are looked at again and again. */
uint64_t sum_of(const unsigned char *bytes, size_t n, uint64_t sum)
{
	size_t i = 0;
	uint64_t word;

	for (; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15U;
		sum ^= sum >> 32;
	}
	for (; i < n; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3U;
	return sum;
}
