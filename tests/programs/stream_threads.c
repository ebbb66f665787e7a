/* Threads on one stream and on several, with whatever makes streams step aside in between. */
#include "stream_common.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static FILE *out;
static FILE *in;
static atomic_int running;
static atomic_int phase;

static void start(pthread_t *thread, void *(*body)(void *), void *argument)
{
	if (pthread_create(thread, NULL, body, argument) != 0)
		exit(97);
}

/* Numbered records at their places, in a random order; the last round decides. */
#define SLOTS 400
#define SLOT 100

static void write_slots(FILE *fp, int rounds, unsigned int seed, bool reads)
{
	char text[SLOT + 1];
	char found[SLOT + 1];

	for (int i = 0; i < rounds * SLOTS; i++) {
		long slot = i < (rounds - 1) * SLOTS ? rand_r(&seed) % SLOTS : i % SLOTS;

		snprintf(text, sizeof(text), "%-99d\n", i);
		flockfile(fp);
		fseek(fp, slot * SLOT, SEEK_SET);
		fwrite(text, 1, SLOT, fp);
		if (reads && i % 16 == 0) {
			fseek(fp, slot * SLOT, SEEK_SET);
			if (fread(found, 1, SLOT, fp) != SLOT || memcmp(found, text, SLOT) != 0)
				printf("slot %ld: wrong\n", slot);
		}
		funlockfile(fp);
	}
}

static void *flush_all(void *unused)
{
	(void)unused;
	while (running)
		fflush(NULL);
	return NULL;
}

static void *flush_out(void *unused)
{
	(void)unused;
	while (running)
		fflush(out);
	return NULL;
}

static void *write_null(void *unused)
{
	int fd = open("/dev/null", O_WRONLY);

	(void)unused;
	while (running) {
		if (write(fd, "x", 1) != 1)
			puts("write failed");
	}
	close(fd);
	return NULL;
}

static void *look(void *unused)
{
	struct stat stat_of;

	(void)unused;
	while (running)
		stat(path_of("out"), &stat_of);
	return NULL;
}

static void *open_and_close(void *unused)
{
	(void)unused;
	while (running) {
		int fd = open("/dev/null", O_RDWR);

		close(fd);
	}
	return NULL;
}

static void *map_and_unmap(void *unused)
{
	(void)unused;
	while (running)
		munmap(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(out), 0), 4096);
	return NULL;
}

static void *print(void *unused)
{
	FILE *null = fopen("/dev/null", "w");

	(void)unused;
	while (running)
		fprintf(null, "some %d\n", 5);
	fclose(null);
	return NULL;
}

static void beside(void *(*body)(void *))
{
	pthread_t thread;

	unlink(path_of("out"));
	out = busy("out", "w+");
	running = 1;
	start(&thread, body, NULL);
	write_slots(out, 20, 5, true);
	running = 0;
	pthread_join(thread, NULL);
	fclose(out);
	say_file("in the end", "out");
}

static void beside_flush_all(void)
{
	beside(flush_all);
}

static void beside_flush(void)
{
	beside(flush_out);
}

static void beside_write(void)
{
	beside(write_null);
}

static void beside_stat(void)
{
	beside(look);
}

static void beside_open(void)
{
	beside(open_and_close);
}

static void beside_map(void)
{
	beside(map_and_unmap);
}

static void beside_print(void)
{
	beside(print);
}

static void *fork_often(void *unused)
{
	(void)unused;
	while (running) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

static void beside_fork(void)
{
	beside(fork_often);
}

/* Streams are opened by one thread while another forks; the child opens some too. */
static void *open_streams(void *unused)
{
	(void)unused;
	while (running) {
		FILE *fp = fopen("/dev/null", "r");

		if (fp != NULL)
			fclose(fp);
	}
	return NULL;
}

static void forks_beside_opens(void)
{
	pthread_t threads[2];
	int bad = 0;

	running = 1;
	for (int i = 0; i < 2; i++)
		start(&threads[i], open_streams, NULL);
	fflush(stdout);
	for (int i = 0; i < 500 && bad < 3; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			alarm(3);
			for (int j = 0; j < 3; j++) {
				in = fopen("/dev/null", "r");
				if (in == NULL)
					_exit(1);
			}
			_exit(0);
		}
		waitpid(pid, &status, 0);
		bad += status != 0;
	}
	running = 0;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d children hung\n", bad);
}

/* Each thread its own records of one stream. */
static void *own_records(void *argument)
{
	long mine = (long)argument;
	char text[SLOT + 1];

	for (int i = 0; i < 1200; i++) {
		snprintf(text, sizeof(text), "%-10ld%-89d\n", mine, i);
		flockfile(out);
		fseek(out, (i * 4 % SLOTS + mine) * SLOT, SEEK_SET);
		fwrite(text, 1, SLOT, out);
		funlockfile(out);
	}
	return NULL;
}

static void one_stream(void)
{
	pthread_t threads[4];

	out = busy("out", "w+");
	for (long i = 0; i < 4; i++)
		start(&threads[i], own_records, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	fclose(out);
	say_file("in the end", "out");
}

/* Without a lock of its own each read is one: records come out whole, and each once. */
static atomic_int taken[4000];

static void *take(void *unused)
{
	char text[SLOT + 1] = "";

	(void)unused;
	while (fread(text, SLOT, 1, in) == 1) {
		int i = atoi(text);

		if (i >= 0 && i < 4000)
			taken[i]++;
	}
	return NULL;
}

static void one_input(void)
{
	pthread_t threads[4];
	int wrong = 0;

	out = fopen(path_of("out"), "w");
	for (int i = 0; i < 4000; i++)
		fprintf(out, "%-99d\n", i);
	fclose(out);
	in = fopen(path_of("out"), "r");
	for (int i = 0; i < 20; i++)
		fseek(in, i * 5000L, SEEK_SET);
	rewind(in);
	memset(taken, 0, sizeof(taken));
	for (int i = 0; i < 4; i++)
		start(&threads[i], take, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4000; i++)
		wrong += taken[i] != 1;
	printf("%d records are wrong; end %d\n", wrong, feof(in));
	fclose(in);
}

static void *own_stream(void *argument)
{
	char name[32];
	FILE *fp;

	snprintf(name, sizeof(name), "own%ld", (long)argument);
	fp = fopen(path_of(name), "w+");
	write_slots(fp, 10, (unsigned int)(long)argument, true);
	fclose(fp);
	return NULL;
}

static void many_streams(void)
{
	pthread_t threads[5];

	for (long i = 0; i < 5; i++)
		start(&threads[i], own_stream, (void *)i);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "own%d", i);
		say_file(name, name);
		unlink(path_of(name));
	}
}

/* A thread that is cancelled in fread leaves the stream to others. */
static void *read_for_ever(void *unused)
{
	char bytes[3000];

	(void)unused;
	for (;;) {
		phase = 1;
		if (fread(bytes, 1, sizeof(bytes), in) < sizeof(bytes))
			fseek(in, 0, SEEK_SET);
	}
	return NULL;
}

static void cancelled(void)
{
	char text[SLOT + 1] = "";
	void *result;

	out = busy("out", "w+");
	write_slots(out, 3, 9, false);
	fclose(out);
	in = fopen(path_of("out"), "r");
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		phase = 0;
		start(&thread, read_for_ever, NULL);
		while (phase == 0)
			sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED)
			puts("not cancelled");
		if (fseek(in, 1000, SEEK_SET) != 0 || fread(text, 1, SLOT, in) != SLOT)
			puts("can't be read");
	}
	puts(text);
	fclose(in);
}

/* Another thread opens the file by name while a window begins, and looks through what it has
 * opened: there is no moment in between. */
static atomic_int opened_fd;

static void *open_late(void *argument)
{
	unsigned int wait = (unsigned int)(long)argument;

	while (phase == 0)
		;
	for (volatile unsigned int i = 0; i < wait; i++)
		;
	opened_fd = open(path_of("out"), O_RDONLY);
	return NULL;
}

static void opened_meanwhile(void)
{
	int wrong = 0;

	for (int round = 0; round < 300; round++) {
		char bytes[32] = "";
		pthread_t thread;

		out = fopen(path_of("out"), "w+");
		phase = 0;
		start(&thread, open_late, (void *)(long)(round * 37 % 60000));
		phase = 1;
		scribble(out, 0, 20);
		put(out, 5000, "see this");
		fseek(out, 0, SEEK_SET);
		pthread_join(thread, NULL);
		put(out, 6000, "and this");
		fseek(out, 0, SEEK_SET);
		if (pread(opened_fd, bytes, 8, 6000) != 8 || strcmp(bytes, "and this") != 0)
			wrong++;
		close(opened_fd);
		fclose(out);
	}
	printf("%d were not seen\n", wrong);
}

int main(int argc, char **argv)
{
	static const struct a_case cases[] = {
		CASE(beside_flush_all), CASE(beside_flush),     CASE(beside_write),
		CASE(beside_stat),      CASE(beside_open),      CASE(beside_map),
		CASE(beside_print),     CASE(beside_fork),      CASE(forks_beside_opens),
		CASE(one_stream),       CASE(one_input),        CASE(many_streams),
		CASE(cancelled),        CASE(opened_meanwhile),
	};

	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
