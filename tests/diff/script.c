/* Lines: drawing them or reading them, running them, and writing down what came of it. */
#include "script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_LINES 100000

__thread struct runner *self;
uint64_t *wrong_count;

/* A script that is replayed. A word of its own (end, meanwhile) has a NULL operation and the word's
 * number as operand. */
static struct line lines[MOST_LINES];
static size_t line_count;
static bool replays;

enum { WORD_END = 1, WORD_MEANWHILE };

bool replaying(void)
{
	return replays;
}

const struct operation *operation_named(const char *name)
{
	for (const struct operation *o = operations; o->name != NULL; o++) {
		if (strcmp(o->name, name) == 0)
			return o;
	}
	return NULL;
}

void text_flush(struct text *text)
{
	size_t done = 0;

	while (text->fd >= 0 && done < text->length) {
		ssize_t n = write(text->fd, text->bytes + done, text->length - done);

		if (n < 0 && errno != EINTR)
			_exit(97);
		done += n > 0 ? (size_t)n : 0;
	}
	if (text->fd >= 0)
		text->length = 0;
}

void text_add(struct text *text, const char *bytes, size_t n)
{
	if (n > text->size - text->length)
		text_flush(text);
	if (n > text->size - text->length)
		n = text->size - text->length;
	memcpy(text->bytes + text->length, bytes, n);
	text->length += n;
}

static void say_list(const char *format, va_list list)
{
	char bytes[256];
	int n = vsnprintf(bytes, sizeof(bytes), format, list);

	text_add(self->transcript, bytes, n < (int)sizeof(bytes) ? (size_t)n : sizeof(bytes) - 1);
}

void say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say_list(format, list);
	va_end(list);
}

void wrong(const char *format, ...)
{
	va_list list;

	__atomic_fetch_add(wrong_count, 1, __ATOMIC_RELAXED);
	say(" MODEL: ");
	va_start(list, format);
	say_list(format, list);
	va_end(list);
}

void outcome(int error, int wanted)
{
	say(" %s", error == 0 ? "ok" : strerrorname_np(error));
	if (wanted != ANY && error != wanted)
		wrong("not %s", wanted == 0 ? "ok" : strerrorname_np(wanted));
}

static void write_line(struct text *text, const struct line *line)
{
	char bytes[32];
	int n;

	text_add(text, line->operation->name, strlen(line->operation->name));
	for (unsigned int i = 0; i < line->operation->operands; i++) {
		n = snprintf(bytes, sizeof(bytes), " %lld", (long long)line->a[i]);
		text_add(text, bytes, (size_t)n);
	}
}

static void run_line(const struct line *line)
{
	char bytes[32];
	int n = snprintf(bytes, sizeof(bytes), "%llu ", (unsigned long long)++self->number);

	if (self->script != NULL && !replays) {
		write_line(self->script, line);
		text_add(self->script, "\n", 1);
		text_flush(self->script);
	}
	text_add(self->transcript, bytes, (size_t)n);
	write_line(self->transcript, line);
	say(":");
	if (line->operation->by & self->by)
		line->operation->run(line->a);
	else
		say(" left out");
	say("\n");
	text_flush(self->transcript);
}

void script_word(const char *word)
{
	if (self->script == NULL || replays)
		return;
	text_add(self->script, word, strlen(word));
	text_add(self->script, "\n", 1);
	text_flush(self->script);
}

/* By weights, among what this runner may do. */
static const struct operation *draw_operation(void)
{
	unsigned int sum = 0;
	int64_t at;

	for (size_t i = 0; operations[i].name != NULL; i++) {
		if (operations[i].by & self->by)
			sum += operations[i].weight * draw_liking(i);
	}
	if (sum == 0)
		return operation_named("check");
	at = draw(sum);
	for (size_t i = 0; operations[i].name != NULL; i++) {
		if (!(operations[i].by & self->by))
			continue;
		at -= (int64_t)operations[i].weight * draw_liking(i);
		if (at < 0)
			return &operations[i];
	}
	return NULL;
}

static void run_drawn(void)
{
	for (; self->left > 0; self->left--) {
		struct line line = {0};

		if (!draw_phase(&line)) {
			line.operation = draw_operation();
			line.operation->draw(line.a);
		}
		run_line(&line);
	}
}

void run_lines(void)
{
	if (!replays) {
		run_drawn();
		return;
	}
	while (self->at < line_count) {
		const struct line *line = &lines[self->at++];

		if (line->operation != NULL)
			run_line(line);
		else if (self->by != BY_MAIN)
			return;
	}
}

size_t block_end(size_t at, bool ret_at_meanwhile)
{
	while (at < line_count) {
		const struct line *line = &lines[at++];

		if (line->operation == NULL && (line->a[0] == WORD_END || ret_at_meanwhile))
			break;
	}
	return at;
}

static bool parse_word(const char *name, struct line *ret_line)
{
	ret_line->operation = operation_named(name);
	if (ret_line->operation != NULL)
		return true;
	if (strcmp(name, "end") == 0)
		ret_line->a[0] = WORD_END;
	else if (strcmp(name, "meanwhile") == 0)
		ret_line->a[0] = WORD_MEANWHILE;
	return ret_line->a[0] != 0;
}

static bool parse(char *text, struct line *ret_line)
{
	char *rest = NULL;
	const char *word = strtok_r(text, " \n", &rest);

	memset(ret_line, 0, sizeof(*ret_line));
	if (word == NULL || !parse_word(word, ret_line))
		return false;
	for (unsigned int i = 0; ret_line->operation != NULL && i < ret_line->operation->operands;
	     i++) {
		word = strtok_r(NULL, " \n", &rest);
		if (word == NULL)
			return false;
		ret_line->a[i] = strtoll(word, NULL, 10);
	}
	return true;
}

static bool read_script(const char *name)
{
	FILE *file = fopen(name, "re");
	char text[512];

	if (file == NULL) {
		perror(name);
		return false;
	}
	while (fgets(text, sizeof(text), file) != NULL && line_count < MOST_LINES) {
		char again[512];

		if (text[0] == '#' || text[0] == '\n')
			continue;
		memcpy(again, text, sizeof(again));
		if (!parse(again, &lines[line_count])) {
			fprintf(stderr, "%s: %s", name, text);
			fclose(file);
			return false;
		}
		line_count++;
	}
	fclose(file);
	return true;
}

static uint64_t seed;
static int drawn_lines;

bool script_load(int argc, char **argv)
{
	if (argc == 1) {
		replays = true;
		return read_script(argv[0]);
	}
	seed = strtoull(argv[0], NULL, 10);
	drawn_lines = atoi(argv[1]);
	return true;
}

/* A line that is part of no script, or its first. */
static void run_named(const char *name)
{
	static struct line line;

	line.operation = operation_named(name);
	if (!replays)
		line.operation->draw(line.a);
	run_line(&line);
}

void script_run(struct runner *runner)
{
	self = runner;
	if (!replays) {
		draw_seed(seed);
		run_named("begin");
	}
	runner->left = drawn_lines;
	run_lines();
	replays = true;
	run_named("check");
}
