/*
 * Reads of a file that another process cuts off and appends to: whatever the moment, a read must
 * give what read(2) could have given.
 *
 * The writer goes round in four phases, and says in shared memory which it is in:
 *
 *   4k  short ──> 4k + 1  appending ──> 4k + 2  long ──> 4k + 3  cutting off ──> 4k + 4  short …
 *
 * A read that begins and ends between two cuts sees bytes of this round only, or is short. The file
 * never holds a zero.
 *
 * usage: read_race DIRECTORY ROUNDS
 */
#include "map_common.h"

#define SHORT 100

struct shared {
	uint64_t phase;
	uint64_t stop;
};

static volatile struct shared *shared;
static unsigned long wrong;
static unsigned long full;
static unsigned long cut;

static unsigned char letter(uint64_t phase)
{
	return (unsigned char)(1 + phase / 4 % 255);
}

static void enter(uint64_t phase)
{
	__atomic_store_n(&shared->phase, phase, __ATOMIC_SEQ_CST);
}

static void pause_a_little(uint64_t *state)
{
	for (volatile unsigned int i = next_random(state) % 400; i > 0; i--)
		;
}

static void writer(int fd, size_t length, unsigned long rounds)
{
	static unsigned char bytes[65536];
	uint64_t state = 4711;
	uint64_t phase = __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST);

	for (unsigned long i = 0; i < rounds; i++) {
		enter(phase + 1);
		memset(bytes, letter(phase + 1), length);
		if (pwrite(fd, bytes, length - SHORT, SHORT) < 0)
			_exit(1);
		enter(phase + 2);
		pause_a_little(&state);
		enter(phase + 3);
		if (ftruncate(fd, SHORT) != 0)
			_exit(1);
		phase += 4;
		enter(phase);
		pause_a_little(&state);
	}
	__atomic_store_n(&shared->stop, 1, __ATOMIC_SEQ_CST);
	_exit(0);
}

static void complain(const char *what, uint64_t before, uint64_t after, ssize_t got, size_t n,
		     size_t offset)
{
	if (wrong++ < 5)
		fprintf(stderr, "%s: phases %ju to %ju, %zd of %zu bytes at %zu\n", what,
			(uintmax_t)before, (uintmax_t)after, got, n, offset);
}

/* One read between two looks at the phase. */
static void look(int fd, size_t length, uint64_t *state)
{
	static unsigned char bytes[65536];
	size_t n = 1 + next_random(state) % 3000;
	size_t offset = SHORT + next_random(state) % (length - SHORT - n);
	uint64_t before = __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST);
	ssize_t got = pread(fd, bytes, n, (off_t)offset);
	uint64_t after = __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST);

	full += got == (ssize_t)n;
	cut += got >= 0 && got < (ssize_t)n;
	if (got < 0 || got > (ssize_t)n) {
		wrong++;
		return;
	}
	/* A cut may have happened meanwhile: then the kernel may give its zeros too. */
	if (before / 4 != after / 4 || after % 4 == 3)
		return;
	if (before % 4 == 2 && got != (ssize_t)n)
		complain("short", before, after, got, n, offset);
	else if (after % 4 == 0 && got != 0)
		complain("too long", before, after, got, n, offset);
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] != letter(before)) {
			complain(bytes[i] == 0 ? "a zero" : "another round's", before, after, got,
				 n, offset);
			break;
		}
	}
}

static void run(const char *directory, size_t length, unsigned long rounds)
{
	char name[4096];
	uint64_t state = 99;
	int status;
	pid_t child;
	int fd;
	int out;

	snprintf(name, sizeof(name), "%s/raced", directory);
	out = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	fill_file(out, 1, 0, length);
	fd = open(name, O_RDONLY | O_NOATIME);
	/* So that it is known and mapped at its full length. */
	for (unsigned int i = 0; i < 100; i++) {
		char byte;

		pread(fd, &byte, 1, i);
	}
	ftruncate(out, SHORT);
	enter(0);
	shared->stop = 0;
	child = fork();
	if (child == 0)
		writer(out, length, rounds);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_SEQ_CST))
		look(fd, length, &state);
	waitpid(child, &status, 0);
	say("a writer that goes round", status == 0);
	close(fd);
	close(out);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 100000;

	if (argc < 2)
		return 2;
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* Two pages, and several. */
	run(argv[1], 6000, rounds);
	run(argv[1], 20000, rounds);
	say("each read was one that read(2) gives", wrong == 0);
	say("whole ones and short ones", full > 100 && cut > 100);
	if (getenv("VERBOSE") != NULL)
		fprintf(stderr, "%lu full, %lu cut, %lu wrong\n", full, cut, wrong);
	return wrong != 0;
}
