/* Foreign mappings and views never meet: 3,000 anonymous pages among files that come and go, and
 * the same at the mapping limit. argv[1]: a folder; argv[2]: "limit" to go there. */
#include "map_common.h"

#define FILES 30
#define ANONYMOUS 3000

static unsigned int *anonymous[ANONYMOUS];
static int wrong;

static void open_and_map(const char *folder, int round)
{
	unsigned char *p[4];
	char name[4096];
	int fds[FILES];

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%s/crowd%d", folder, i);
		fds[i] = open(name, O_RDONLY);
		for (size_t k = 0; k < 4; k++) {
			p[k] = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fds[i], (off_t)(k * PAGE));
			wrong += p[k] == MAP_FAILED ||
				 !bytes_are(p[k], PAGE, (unsigned int)i, k * PAGE);
		}
		for (int k = round % 2; k < 4; k++)
			munmap(p[k], PAGE);
	}
	for (int i = 0; i < FILES; i++)
		close(fds[i]);
}

static void map_anonymous(int from, int to)
{
	for (int i = from; i < to; i++) {
		anonymous[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);
		wrong += anonymous[i] == MAP_FAILED;
		if (anonymous[i] != MAP_FAILED)
			anonymous[i][i % 1024] = (unsigned int)i;
	}
}

static void check_anonymous(void)
{
	for (int i = 0; i < ANONYMOUS; i++) {
		if (anonymous[i] != NULL && anonymous[i] != MAP_FAILED)
			wrong += anonymous[i][i % 1024] != (unsigned int)i;
	}
}

/* Single pages that can't merge, until the kernel refuses; then a few less. */
static void go_to_the_limit(void)
{
	static void *last[64];
	unsigned int n = 0;

	for (;; n++) {
		void *p = mmap(NULL, PAGE, n % 2 ? PROT_READ : PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || n > 200000)
			break;
		last[n % 64] = p;
	}
	for (int i = 0; i < 24; i++)
		munmap(last[i], PAGE);
}

int main(int argc, char **argv)
{
	char name[4096];

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%s/crowd%d", argv[1], i);
		close(make_file(name, (unsigned int)i, (size_t)(4 + i * 20) * PAGE));
	}
	for (int round = 0; round < 10; round++) {
		open_and_map(argv[1], round);
		map_anonymous(round * ANONYMOUS / 10, (round + 1) * ANONYMOUS / 10);
		check_anonymous();
	}
	printf("%d wrong\n", wrong);
	if (argc > 2) {
		go_to_the_limit();
		for (int round = 0; round < 10; round++) {
			open_and_map(argv[1], 0);
			check_anonymous();
		}
		printf("%d wrong at the limit\n", wrong);
	}
	return wrong != 0;
}
