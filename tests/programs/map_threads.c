/* Threads map, check and unmap pieces of two files while another closes and opens descriptors of
 * them, forks, and a timer's handler maps too. argv[1]: a folder. */
#include "map_common.h"

#include <pthread.h>
#include <sys/time.h>

#define THREADS 4
#define ROUNDS 20000
#define PAGES 200

static char names[2][4096];
static int fds[2];
static int stop;
static int wrong;
static int handled;

static void *mapper(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;
	unsigned char *kept[8] = {NULL};
	size_t pages[8] = {0};

	for (int i = 0; i < ROUNDS; i++) {
		unsigned int slot = next_random(&random) % 8;
		unsigned int file = slot % 2;

		if (kept[slot] != NULL) {
			if (!bytes_are(kept[slot], 64, file, pages[slot] * PAGE) ||
			    munmap(kept[slot], PAGE) != 0)
				__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
			kept[slot] = NULL;
			continue;
		}
		pages[slot] = next_random(&random) % PAGES;
		kept[slot] = mmap(NULL, PAGE, PROT_READ, i % 2 ? MAP_PRIVATE : MAP_SHARED,
				  fds[file], (off_t)(pages[slot] * PAGE));
		if (kept[slot] == MAP_FAILED ||
		    !bytes_are(kept[slot], 64, file, pages[slot] * PAGE))
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *opener(void *argument)
{
	(void)argument;
	for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		int fd = open(names[i % 2], O_RDONLY);
		unsigned char *p[3];

		for (size_t k = 0; k < 3; k++)
			p[k] = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(k * PAGE));
		close(fd);
		for (size_t k = 0; k < 3; k++) {
			if (!bytes_are(p[k], 2 * PAGE, (unsigned int)i % 2, k * PAGE))
				__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
			munmap(p[k], 2 * PAGE);
		}
	}
	return NULL;
}

static void *forker(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			bool right = true;

			alarm(20);
			for (size_t i = 0; i < 10; i++) {
				unsigned char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fds[1],
							(off_t)(i * PAGE));

				right = right && bytes_are(p, PAGE, 1, i * PAGE);
				munmap(p, PAGE);
			}
			close(fds[1]);
			_exit(right ? 0 : 1);
		}
		waitpid(child, &status, 0);
		if (status != 0)
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
		usleep(2000);
	}
	return NULL;
}

static void on_timer(int number)
{
	int saved = errno;
	int fd = open(names[0], O_RDONLY);
	unsigned char *p[3];

	(void)number;
	for (size_t k = 0; k < 3; k++)
		p[k] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)(k * PAGE));
	for (size_t k = 0; k < 3; k++) {
		if (!bytes_are(p[k], 16, 0, k * PAGE) || munmap(p[k], PAGE) != 0)
			wrong++;
	}
	close(fd);
	handled++;
	errno = saved;
}

int main(int argc, char **argv)
{
	struct itimerval interval = {{0, 1000}, {0, 1000}};
	struct sigaction action;
	pthread_t threads[THREADS + 2];

	(void)argc;
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(names[i], sizeof(names[i]), "%s/threads%u", argv[1], i);
		fds[i] = make_file(names[i], i, PAGES * PAGE);
	}
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_timer;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &interval, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, mapper, (void *)(i + 1));
	pthread_create(&threads[THREADS], NULL, opener, NULL);
	pthread_create(&threads[THREADS + 1], NULL, forker, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(threads[THREADS], NULL);
	pthread_join(threads[THREADS + 1], NULL);
	signal(SIGALRM, SIG_IGN);
	printf("%d wrong, handler ran: %s\n", wrong, handled > 0 ? "yes" : "no");
	return wrong != 0;
}
