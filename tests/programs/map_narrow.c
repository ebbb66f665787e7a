/* Mappings made and ended by a signal handler on a stack that is just large enough for one.
 * argv[1]: a folder. */
#include "map_common.h"

enum { ROOM = 3072, PAGES = 100, SIZE = 65536 };

static volatile int wrong;
static int fd;

/* As natively: nothing but the calls. */
static void on_signal(int number)
{
	static const struct {
		int prot;
		int flags;
	} kinds[] = {
		{PROT_READ, MAP_SHARED},
		{PROT_READ, MAP_PRIVATE},
		{PROT_READ | PROT_WRITE, MAP_SHARED},
		{PROT_READ | PROT_WRITE, MAP_PRIVATE},
	};

	for (int i = 0; i < 4; i++) {
		unsigned char *p =
			mmap(NULL, PAGES * PAGE, kinds[i].prot, kinds[i].flags, fd, (off_t)PAGE);

		wrong += p == MAP_FAILED;
		for (size_t k = 0; k < PAGES; k += 40) {
			wrong += p[k * PAGE] != byte_at(1, (k + 1) * PAGE);
			if (kinds[i].prot & PROT_WRITE)
				p[k * PAGE + 1] = byte_at(1, (k + 1) * PAGE + 1);
		}
		wrong += mprotect(p + PAGE, PAGE, PROT_READ) != 0;
		wrong += munmap(p, 10 * PAGE) != 0;
		wrong += munmap(p + 10 * PAGE, (PAGES - 10) * PAGE) != 0;
	}
	(void)number;
}

static void on_nothing(int number)
{
	(void)number;
}

/* How many bytes of the stack were used for a signal. */
static size_t used_for(void (*handler)(int), unsigned char *stack)
{
	stack_t other = {.ss_sp = stack, .ss_size = SIZE};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	size_t untouched = 0;

	memset(stack, 0x5a, SIZE);
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	while (untouched < SIZE && stack[untouched] == 0x5a)
		untouched++;
	return SIZE - untouched;
}

int main(int argc, char **argv)
{
	unsigned char *stack = malloc(SIZE);
	char path[4096];
	size_t least;
	size_t used;

	snprintf(path, sizeof(path), "%s/narrow", argc > 1 ? argv[1] : ".");
	close(make_file(path, 1, 200 * PAGE));
	fd = open(path, O_RDWR | O_NOATIME);
	/* The dynamic linker has looked up what is called. */
	on_signal(0);
	least = used_for(on_nothing, stack);
	used = used_for(on_signal, stack);
	result("wrong", wrong);
	say("little of the stack was used", used < least + ROOM);
	return 0;
}
