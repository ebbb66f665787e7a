/*
 * Reads while other threads change what the number means, cut the file off and let it grow, map and
 * unmap it; while a timer's handler reads too; in children; and cancelled.
 *
 * usage: read_threads DIRECTORY MILLISECONDS
 */
#include "map_common.h"

#include <pthread.h>
#include <sys/time.h>
#include <time.h>

#define LENGTH 300000

static const char *directory;
static int files[2]; /* of bytes 1 and 2 */
static int shared_number;
static int shrinking;
static int own;
static volatile bool stop;
static unsigned long wrong;
static unsigned long in_handler;

static void count(bool right)
{
	if (!right)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static int file(const char *last, unsigned int number)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s/%s", directory, last);
	return make_file(name, number, LENGTH);
}

/* The bytes are of one of the two files, all of the same. */
static void *read_changing(void *argument)
{
	uint64_t state = (uintptr_t)argument;
	unsigned char bytes[5000];

	while (!stop) {
		size_t n = 1 + next_random(&state) % sizeof(bytes);
		size_t offset = next_random(&state) % (LENGTH - n);
		ssize_t got = pread(shared_number, bytes, n, (off_t)offset);

		count(got == (ssize_t)n &&
		      (bytes_are(bytes, n, 1, offset) || bytes_are(bytes, n, 2, offset)));
	}
	return NULL;
}

static void *change(void *argument)
{
	(void)argument;
	for (unsigned int i = 0; !stop; i++) {
		dup2(files[i % 2], shared_number);
		/* Long enough to be served, now and then. */
		if (i % 8 == 0)
			usleep(1000);
	}
	return NULL;
}

/* Whatever there is, is the file's: bytes 3, or the zeros of a cut that happened meanwhile. */
static void *read_shrinking(void *argument)
{
	uint64_t state = (uintptr_t)argument;
	unsigned char bytes[5000];

	while (!stop) {
		size_t n = 1 + next_random(&state) % sizeof(bytes);
		size_t offset = next_random(&state) % (LENGTH - n);
		ssize_t got = pread(shrinking, bytes, n, (off_t)offset);
		bool right = got >= 0 && got <= (ssize_t)n;

		for (ssize_t i = 0; right && i < got; i++)
			right = bytes[i] == byte_at(3, offset + (size_t)i) || bytes[i] == 0;
		count(right);
	}
	return NULL;
}

static void *shrink(void *argument)
{
	char name[4096];
	uint64_t state = 17;
	int fd;

	(void)argument;
	snprintf(name, sizeof(name), "%s/three", directory);
	fd = open(name, O_RDWR);
	while (!stop) {
		size_t to = next_random(&state) % LENGTH;

		count(ftruncate(fd, (off_t)to) == 0);
		fill_file(fd, 3, to, LENGTH);
		usleep(next_random(&state) % 300);
	}
	close(fd);
	return NULL;
}

/* Its own file, and mappings of it that it makes its own. */
static void *map_and_read(void *argument)
{
	unsigned char bytes[3000];
	uint64_t state = 5;

	(void)argument;
	while (!stop) {
		size_t page = next_random(&state) % 70;
		size_t offset = page * PAGE + 100;
		unsigned char *p =
			mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, own, (off_t)(page * PAGE));

		if (next_random(&state) % 4 == 0) {
			mprotect(p, PAGE, PROT_READ | PROT_WRITE);
			memset(p, 0x99, PAGE);
		} else if (next_random(&state) % 4 == 0) {
			(void)mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				   0);
		}
		for (int i = 0; i < 20; i++)
			count(pread(own, bytes, sizeof(bytes), (off_t)offset) == sizeof(bytes) &&
			      bytes_are(bytes, sizeof(bytes), 4, offset));
		munmap(p, PAGE);
	}
	return NULL;
}

static void on_alarm(int number)
{
	int saved = errno;
	unsigned char bytes[64];

	(void)number;
	for (size_t i = 0; i < 3; i++)
		count(pread(own, bytes, sizeof(bytes), (off_t)(i * 5000)) == sizeof(bytes) &&
		      bytes_are(bytes, sizeof(bytes), 4, i * 5000));
	__atomic_fetch_add(&in_handler, 1, __ATOMIC_RELAXED);
	errno = saved;
}

static void *read_for_ever(void *argument)
{
	char bytes[16];

	(void)argument;
	for (;;)
		pread(own, bytes, sizeof(bytes), 1000);
	return NULL;
}

/* Cancelled in a loop of nothing but reads. */
static void cancellation(void)
{
	pthread_t thread;
	void *answer;

	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, read_for_ever, NULL);
		usleep(3000);
		pthread_cancel(thread);
		pthread_join(thread, &answer);
		count(answer == PTHREAD_CANCELED);
	}
	say("reads are cancelled", wrong == 0);
}

static void children(unsigned int ms)
{
	struct timespec begin;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		pid_t child = fork();
		int status;

		if (child == 0) {
			unsigned char bytes[100];
			bool right = true;

			for (size_t i = 0; i < 100; i++)
				right = right && pread(own, bytes, 100, (off_t)(i * 100)) == 100 &&
					bytes_are(bytes, 100, 4, i * 100);
			close(own);
			_exit(!right);
		}
		waitpid(child, &status, 0);
		count(status == 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

int main(int argc, char **argv)
{
	static void *(*const work[])(void *) = {read_changing,  read_changing,  change,
						read_shrinking, read_shrinking, shrink,
						map_and_read};
	unsigned int ms = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 1000;
	struct itimerval timer = {{0, 2000}, {0, 2000}};
	struct sigaction action = {.sa_flags = SA_RESTART};
	pthread_t threads[7];

	if (argc < 2)
		return 2;
	directory = argv[1];
	files[0] = file("one", 1);
	files[1] = file("two", 2);
	shrinking = file("three", 3);
	own = file("four", 4);
	shared_number = dup(files[0]);
	cancellation();
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (uintptr_t i = 0; i < 7; i++)
		pthread_create(&threads[i], NULL, work[i], (void *)(i + 1));
	children(ms);
	stop = true;
	for (int i = 0; i < 7; i++)
		pthread_join(threads[i], NULL);
	say("every read", wrong == 0);
	say("handlers ran", in_handler > 10);
	return wrong != 0;
}
