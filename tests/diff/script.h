/*
 * What the testers of random operations (differ, streams/stdiffer) have in common.
 *
 *   seed ──> draw ──> line ──> run ──> transcript        (the line also goes to the script, which
 *   script ─────────>                                     the other worlds replay)
 *
 * A *line* is an operation and its operands, all numbers: `protect 3 0 0 8192 1`. It names things
 * by their place in a table of ours, never by address or descriptor number, and means something
 * whatever came before it, so that any part of a script is a script. `begin` is the first of each
 * script, and `check` is run at the end without being part of it.
 *
 * A block (`fork` and the like, and the lines up to `end`) is run by a runner of its own.
 *
 * A new operation: a row in the program's table, a function that draws its operands, one that runs
 * it. A program also says what a seed likes: draw_seed, draw_liking, draw_phase.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE ((size_t)4096)
#define OPERANDS 9

/*
 * Running lines (script.c).
 */

enum {
	BY_MAIN = 1,
	BY_CHILD = 2,
	BY_HANDLER = 4,
	BY_THREAD = 8, /* and by the first thread meanwhile */
	BY_ALL = 15,
	BY_ONE = 7, /* by whoever is alone in the process */
};

struct line {
	const struct operation *operation;
	int64_t a[OPERANDS];
};

struct operation {
	const char *name;
	unsigned int operands;
	unsigned int weight;
	unsigned int by;
	void (*draw)(int64_t *a);
	void (*run)(const int64_t *a);
};

extern const struct operation operations[];
const struct operation *operation_named(const char *name);

struct text {
	char *bytes;
	size_t size;
	size_t length;
	int fd; /* written out after each line; -1 = kept */
};

/* Who is running lines. */
struct runner {
	unsigned int by;
	int first_slot;
	int end_slot;
	uint64_t random;
	size_t at; /* the next line, if a script is replayed */
	int left;  /* lines to draw, if not */
	uint64_t number;
	struct text *transcript;
	struct text *script;
};

extern __thread struct runner *self;

/* Adds to the line of the transcript that is being made. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The model was contradicted, which is counted there, in memory that children share. */
extern uint64_t *wrong_count;
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says what a call answered: 0, or an errno, and what the model wants, or ANY. */
#define ANY (-1)
void outcome(int error, int wanted);
void text_flush(struct text *text);
void text_add(struct text *text, const char *bytes, size_t n);

/* Lines up to the end of the block, or of the script. */
void run_lines(void);
/* How a block ended, and where its lines end, when a script is replayed. */
size_t block_end(size_t at, bool ret_at_meanwhile);
bool replaying(void);
/* Writes a line without operands to the script, if one is being made. */
void script_word(const char *word);

/* Reads the script, or draws the seed, that the program's arguments name: SCRIPT, or SEED LINES. */
bool script_load(int argc, char **argv);
/* Runs all of it. */
void script_run(struct runner *runner);

/*
 * Drawing operands (random.c; what a seed likes is the program's).
 */

uint64_t draw_bits(void);
/* 0 … n - 1. */
int64_t draw(int64_t n);
bool one_in(int n);
/* One of the numbers that follow; count of them first. */
int64_t draw_of(int count, ...);
void draw_seed(uint64_t seed);
/* What this seed likes: 0 never, 1, or more often. */
unsigned int draw_liking(size_t operation);
/* The seed is at something that takes several lines: this is the next of them. */
bool draw_phase(struct line *ret_line);

/* The n bytes that `value` stands for. */
void pattern(unsigned char *to, size_t n, uint64_t value);
uint64_t sum_of(const unsigned char *bytes, size_t n, uint64_t sum);

/*
 * Loads and stores that may fault (fault.c): 0 or the signal.
 */

void fault_begin(void);
int copy_guarded(void *to, const void *from, size_t n);

/*
 * The other process (peer.c).
 */

void peer_begin(void);
void peer_end(void);
/* 0 or an errno; of PEER_SUM, a checksum of the file. */
int peer_do(int what, const char *path, int64_t offset, int64_t length, uint64_t value);
enum { PEER_APPEND, PEER_TRUNCATE, PEER_OVERWRITE, PEER_PUNCH, PEER_KINDS, PEER_SUM = PEER_KINDS };

#endif
