/* Random operands; and phases, in which a seed does for a while what linkers and archivers do. */
#include "stdiffer.h"

#include <string.h>

#define MOST_OPERATIONS 80
#define SECTIONS 6

enum phase_kind {
	PHASE_SECTIONS, /* ld's output: small pieces, one after the other, in several places in turn
			 */
	PHASE_SCAN,     /* objects: blocks at many places */
	PHASE_ARCHIVE,  /* a header, a piece, a seek to the next header */
	PHASE_PATCH,    /* reads a piece, and writes it back changed */
	PHASE_STREAM,   /* one small piece after the other */
	PHASE_CHECK,    /* writes, and reads back what was written a while ago */
	PHASES
};

static struct {
	int left;
	enum phase_kind kind;
	int64_t stream;
	int64_t at[SECTIONS];
	int section;
	int step;
} phase;

/* What the seed likes. */
static struct {
	unsigned int operations[MOST_OPERATIONS];
	int64_t span;  /* offsets are below it, mostly */
	int phases;    /* one line in so many begins one */
	int breaks;    /* one line of a phase in so many is another one */
	int odd_names; /* one name in so many */
	int few_names;
	bool alone; /* each stream has its file to itself, since output is put off only then */
} likes;

static unsigned int *liking_of(const char *name)
{
	return &likes.operations[operation_named(name) - operations];
}

void draw_seed(uint64_t seed)
{
	static const char *const needed[] = {"open", "seek_read", "seek_write"};
	static const char *const others[] = {"fd_open", "fd_dup", "keep", "reopen"};

	self->random = seed * 0x9e3779b97f4a7c15U + 54321;
	for (int i = 0; i < MOST_OPERATIONS; i++)
		likes.operations[i] = (unsigned int)draw_of(6, 0, 1, 2, 2, 2, 8);
	likes.span = draw_of(4, 9000, 70000, 300000, 3000000);
	likes.phases = (int)draw_of(3, 3, 20, 100);
	likes.breaks = (int)draw_of(4, 4, 20, 60, 1000);
	likes.odd_names = (int)draw_of(3, 10, 40, 1000);
	likes.few_names = (int)draw_of(3, 1, 2, NAMES);
	likes.alone = one_in(3);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (*liking_of(needed[i]) == 0)
			*liking_of(needed[i]) = 2;
	}
	for (size_t i = 0; likes.alone && i < sizeof(others) / sizeof(others[0]); i++)
		*liking_of(others[i]) = 0;
}

unsigned int draw_liking(size_t operation)
{
	return likes.operations[operation];
}

/* Whether it is to be the stream that the phase is about, which is the one worth looking at. */
static bool draw_same(void)
{
	return phase.left > 0 && streams[phase.stream].fp != NULL && !one_in(3);
}

int64_t draw_stream(void)
{
	int64_t s = draw(STREAMS);

	if (draw_same())
		return phase.stream;
	for (int i = 0; i < 20 && streams[s].fp == NULL; i++)
		s = draw(STREAMS);
	return s;
}

int64_t draw_place(void)
{
	int64_t place = draw(PLACES);

	if (draw_same())
		return phase.stream;
	for (int i = 0; i < 10; i++) {
		if (place >= STREAMS ? fds[place - STREAMS] >= 0 : streams[place].fp != NULL)
			break;
		place = draw(PLACES);
	}
	return place;
}

bool draw_alone(void)
{
	return likes.alone && !one_in(20);
}

int64_t draw_name(void)
{
	return one_in(likes.odd_names) ? NAMES + draw(ODD_NAMES) : draw(likes.few_names);
}

int64_t draw_file(void)
{
	if (draw_same() && streams[phase.stream].name < NAMES)
		return streams[phase.stream].name;
	return draw(likes.few_names);
}

int64_t draw_size(void)
{
	if (one_in(40))
		return draw_of(3, 70000, 150000, 40000);
	if (one_in(3))
		return draw_of(8, 4096, 4096, 4096, 4095, 4097, 8192, 12288, 16000);
	return one_in(2) ? draw(70) : draw_of(6, 0, 1, 7, 100, 512, 1000);
}

int64_t draw_offset(void)
{
	int64_t offset = draw(likes.span);

	if (one_in(2))
		offset &= ~(int64_t)4095;
	if (one_in(6))
		offset = draw_of(5, 0, 1, 4095, 8192, 5000);
	return offset;
}

int64_t draw_value(void)
{
	return draw(100000);
}

/*
 * Phases
 */

static bool set(struct line *line, const char *name, int count, ...)
{
	va_list list;

	line->operation = operation_named(name);
	va_start(list, count);
	for (int i = 0; i < count; i++)
		line->a[i] = va_arg(list, int64_t);
	va_end(list);
	return true;
}

#define I(x) ((int64_t)(x))

static void phase_begin(void)
{
	memset(&phase, 0, sizeof(phase));
	phase.left = (int)draw_of(4, 10, 30, 60, 200);
	phase.kind = (enum phase_kind)draw(PHASES);
	phase.stream = draw_stream();
	for (int i = 0; i < SECTIONS; i++)
		phase.at[i] = draw_offset();
}

static bool seek_write(struct line *line, int64_t at, int64_t size)
{
	return set(line, "seek_write", 6, phase.stream, at, I(SEEK_SET), size, draw_value(), I(1));
}

static bool seek_read(struct line *line, int64_t at, int64_t size)
{
	return set(line, "seek_read", 5, phase.stream, at, I(SEEK_SET), size, I(0));
}

static int64_t small(void)
{
	return one_in(20) ? draw_size() : draw_of(6, 1, 4, 8, 24, 40, 64);
}

static bool draw_section(struct line *line)
{
	int64_t size = small();
	int64_t at;

	if (one_in(4))
		phase.section = (int)draw(SECTIONS);
	at = phase.at[phase.section];
	phase.at[phase.section] += size;
	return seek_write(line, at, size);
}

static bool draw_archive(struct line *line)
{
	switch (phase.step++ % 3) {
	case 0:
		return set(line, "read", 4, phase.stream, I(1), I(60), I(0));
	case 1:
		return set(line, "read", 4, phase.stream, I(1), draw(200), I(0));
	default:
		return set(line, "seek", 4, phase.stream, draw(9000) - 200, I(SEEK_CUR), I(1));
	}
}

static bool draw_patch(struct line *line)
{
	int64_t at;

	if (phase.step++ % 2 == 0) {
		phase.at[0] = draw_offset();
		phase.at[1] = small();
		return seek_read(line, phase.at[0], phase.at[1]);
	}
	at = phase.at[0];
	return seek_write(line, at, phase.at[1]);
}

static bool draw_stream_line(struct line *line)
{
	if (phase.step == 0)
		phase.step = 1 + (int)draw(2);
	if (phase.step == 1)
		return set(line, "read", 4, phase.stream, I(1), small(), draw(2));
	return set(line, "write", 5, phase.stream, I(1), small(), draw_value(), draw(2));
}

static bool draw_written(struct line *line)
{
	if (!one_in(3))
		return draw_section(line);
	return seek_read(line, phase.at[draw(SECTIONS)] - draw(100), draw_of(3, 8, 100, 4096));
}

bool draw_phase(struct line *ret_line)
{
	if (phase.left <= 0 && one_in(likes.phases))
		phase_begin();
	if (phase.left <= 0 || one_in(likes.breaks) || streams[phase.stream].fp == NULL) {
		phase.left--;
		return false;
	}
	phase.left--;
	switch (phase.kind) {
	case PHASE_SECTIONS:
		return draw_section(ret_line);
	case PHASE_SCAN:
		return seek_read(ret_line, draw_offset(), one_in(2) ? 4096 : draw_size());
	case PHASE_ARCHIVE:
		return draw_archive(ret_line);
	case PHASE_PATCH:
		return draw_patch(ret_line);
	case PHASE_STREAM:
		return draw_stream_line(ret_line);
	default:
		return draw_written(ret_line);
	}
}
