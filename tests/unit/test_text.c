/*
 * Text without stdio (text.c).
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sys.h"
#include "text.h"
#include "unit.h"

#define CHECK(expected, ...)                                                                       \
	do {                                                                                       \
		char buffer_[200];                                                                 \
		struct text text_ = TEXT_ON(buffer_);                                              \
                                                                                                   \
		text_add(&text_, __VA_ARGS__);                                                     \
		assert_string_equal(buffer_, expected);                                            \
		assert_int_equal(text_.length, strlen(expected));                                  \
		assert_false(text_.cut);                                                           \
	} while (0)

static void formats(void **state)
{
	CHECK("", "%s", "");
	CHECK("plain", "plain");
	CHECK("a b (null)", "%s %s %s", "a", "b", (char *)NULL);
	CHECK("x100%", "%c100%%", 'x');
	CHECK("0 1 -1 2147483647 -2147483648", "%d %d %d %d %d", 0, 1, -1, INT32_MAX, INT32_MIN);
	CHECK("4294967295 ffffffff 0", "%u %x %x", UINT32_MAX, UINT32_MAX, 0);
	CHECK("-5 5 -6 6", "%ld %lu %lld %llu", -5L, 5UL, -6LL, 6ULL);
	CHECK("-9223372036854775808 9223372036854775807", "%jd %jd", INT64_MIN, INT64_MAX);
	CHECK("18446744073709551615 ffffffffffffffff", "%ju %jx", UINT64_MAX, UINT64_MAX);
	CHECK("7 -7", "%zu %zd", (size_t)7, (ptrdiff_t)-7);
	CHECK("0.000000 0.000001 1.000000 12.345678", "%T %T %T %T", (uint64_t)0, (uint64_t)1,
	      (uint64_t)1000000, (uint64_t)12345678);
}

static void the_order_of_arguments_is_kept(void **state)
{
	CHECK("1 2 three 4 5 6.000000 c", "%d %ju %s %zu %ld %T %c", 1, (uint64_t)2, "three",
	      (size_t)4, 5L, (uint64_t)6000000, 'c');
}

static void json_strings_are_escaped(void **state)
{
	CHECK("a\\\"b\\\\c", "%S", "a\"b\\c");
	CHECK("\\u000a\\u001f\\u0001 \x7f\xc3\xa4", "%S", "\n\x1f\x01 \x7f\xc3\xa4");
}

static void what_does_not_fit_is_cut(void **state)
{
	for (size_t size = 0; size < 12; size++) {
		char buffer[16];
		struct text text = {.bytes = buffer, .size = size};

		memset(buffer, '#', sizeof(buffer));
		text_add(&text, "%s%d", "0123", 456789);
		assert_int_equal(text.cut, size < 11);
		if (size > 0)
			assert_int_equal(strlen(buffer), size < 11 ? size - 1 : 10);
		for (size_t i = size; i < sizeof(buffer); i++)
			assert_int_equal(buffer[i], '#');
		if (size > 0)
			assert_memory_equal(buffer, "0123456789", strlen(buffer));
	}
}

static void adding_goes_on_where_it_ended(void **state)
{
	char buffer[10];
	struct text text = TEXT_ON(buffer);

	text_add(&text, "abc");
	text_add(&text, "%d", 12);
	assert_string_equal(buffer, "abc12");
	text_add(&text, "%s", "too long");
	assert_true(text.cut);
	assert_string_equal(buffer, "abc12too ");
	text_add(&text, "more");
	assert_string_equal(buffer, "abc12too ");
}

/* A format that ends in the middle of a directive must not be read beyond its end. */
static void a_format_may_end_early(void **state)
{
	static const char *const formats_cut[] = {"a%", "a%l", "a%ll", "a%z", "a%j"};

	for (size_t i = 0; i < LENGTH(formats_cut); i++) {
		char guarded[8] = "";
		char buffer[20];
		struct text text = TEXT_ON(buffer);

		memset(guarded, '!', sizeof(guarded) - 1);
		memcpy(guarded, formats_cut[i], strlen(formats_cut[i]) + 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
		text_add(&text, guarded);
#pragma GCC diagnostic pop
		assert_string_equal(buffer, "a");
		assert_int_equal(text.length, 1);
	}
}

static void numbers_are_as_printf_writes_them(void **state)
{
	struct rng rng = unit_rng();

	for (int i = 0; i < 20000; i++) {
		uint64_t n = rng_next(&rng) >> rng_below(&rng, 64);
		char expected[64];
		char buffer[64];
		struct text text = TEXT_ON(buffer);

		snprintf(expected, sizeof(expected), "%jd|%ju|%jx|%d|%x", (intmax_t)n, (uintmax_t)n,
			 (uintmax_t)n, (int)n, (unsigned int)n);
		text_add(&text, "%jd|%ju|%jx|%d|%x", n, n, n, (int)n, (unsigned int)n);
		if (!text.cut && strlen(expected) < sizeof(expected) - 1)
			assert_string_equal(buffer, expected);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		CASE(formats, NORMAL),
		CASE(the_order_of_arguments_is_kept, NORMAL),
		CASE(json_strings_are_escaped, NORMAL),
		CASE(what_does_not_fit_is_cut, NORMAL),
		CASE(adding_goes_on_where_it_ended, NORMAL),
		CASE(a_format_may_end_early, NORMAL),
		CASE(numbers_are_as_printf_writes_them, NORMAL),
	};

	return RUN(cases);
}
