/* Operations that make processes and threads; output that does not fit. */
#include "stdiffer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int64_t last_end;

static void crash(void)
{
	*(volatile int *)8 = 0;
}

/* 0: returns. */
void end_now(int64_t how)
{
	static char *const arguments[] = {(char *)"true", NULL};

	switch (how) {
	case 0:
		return;
	case 1:
		exit(11);
	case 2:
		_exit(12);
	case 3:
		abort();
	case 4:
		quick_exit(13);
	case 5:
		raise(SIGTERM);
		break;
	case 6:
		pthread_exit(NULL);
	case 7:
		execv("/bin/true", arguments);
		break;
	case 8:
		crash();
		break;
	default:
		_Exit(14);
	}
}

static void say_status(int status)
{
	if (WIFSIGNALED(status))
		say(" signal %d", WTERMSIG(status));
	else
		say(" exit %d", WEXITSTATUS(status));
}

static void wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	say_status(status);
}

/*
 * fork: the child goes on with what it was given
 */

void draw_fork(int64_t *a)
{
	a[0] = draw(20);
	a[1] = draw(2);
	a[2] = draw_of(6, 0, 1, 1, 2, 2, (int)draw(ENDS));
}

static void child_runs(const int64_t *a)
{
	struct runner runner = *self;

	runner.by = BY_CHILD;
	runner.left = (int)(a[0] < 0 ? 0 : a[0]);
	runner.number = 0;
	runner.random = draw_bits();
	self = &runner;
	run_lines();
	end_now(a[2]);
	exit(0);
}

void run_fork(const int64_t *a)
{
	pid_t pid;
	int status = -1;

	say("\n");
	clear();
	pid = a[1] == 0 ? fork() : _Fork();
	if (pid == 0)
		child_runs(a);
	/* Not before the child has said all that it has to say. */
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	say("fork:");
	say_status(status);
	draw_bits();
	script_word("end");
	if (replaying())
		self->at = block_end(self->at, false);
}

/*
 * Other programs, which look at a file or at a descriptor that they are given
 */

void draw_command(int64_t *a)
{
	a[0] = draw_file();
	a[1] = draw_place();
	a[2] = draw(4);
}

static void look_at_output(void)
{
	int fd = open(path_in("out", ""), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, scratch(), MOST_BYTES) : -1;

	say(" %zd", n);
	if (n > 0)
		say_bytes(scratch(), (size_t)n);
	close(fd);
}

/* The descriptor is its standard input. */
static void spawn_head(int from)
{
	static char *const arguments[] = {(char *)"head", (char *)"-c", (char *)"50000", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, from, 0);
	posix_spawn_file_actions_addopen(&actions, 1, path_in("out", ""),
					 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	error = posix_spawnp(&pid, "head", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	say(" %d", error);
	if (error == 0)
		wait_for(pid);
	look_at_output();
}

static void read_pipe(const char *command)
{
	FILE *fp = popen(command, "r");
	size_t n;

	if (fp == NULL)
		return;
	n = fread(scratch(), 1, MOST_BYTES, fp);
	say(" %zu", n);
	say_bytes(scratch(), n);
	say_status(pclose(fp));
}

void run_command(const int64_t *a)
{
	const char *path = path_of(a[0] % NAMES);
	char text[9000];
	int from = number_of(a[1]);

	switch (a[2]) {
	case 0:
		snprintf(text, sizeof(text), "head -c 100000 %s 2>&1 >%s", path,
			 path_in("out", ""));
		say_status(system(text));
		look_at_output();
		break;
	case 1:
		snprintf(text, sizeof(text), "head -c 100000 %s 2>/dev/null", path);
		read_pipe(text);
		break;
	case 2:
		snprintf(text, sizeof(text), "echo more >>%s", path);
		say_status(system(text));
		break;
	default:
		if (from >= 0)
			spawn_head(from);
		break;
	}
}

/*
 * starve: output that does not fit. When that is reported is open, up to fclose; that it is, and
 * that there is nothing in the file that was not written, is not.
 */

#define STARVE_BYTES ((size_t)600 << 10)

enum { STARVE_IGNORED, STARVE_HANDLED, STARVE_DISK, STARVE_KINDS };

static volatile sig_atomic_t exceeded;

static void on_exceeded(int number)
{
	(void)number;
	exceeded = 1;
}

void draw_starve(int64_t *a)
{
	a[0] = draw(STARVE_KINDS);
	a[1] = one_in(2) ? draw(200000) : draw(100) * 4096;
	a[2] = 1 + draw(300);
	a[3] = draw_value();
}

static unsigned char byte_at(size_t at)
{
	return (unsigned char)(1 + at % 251);
}

static struct {
	bool written[STARVE_BYTES];
	size_t size;
	int error; /* the first that was reported */
	uint64_t random;
} starved;

static size_t starve_draw(size_t n)
{
	starved.random = starved.random * 6364136223846793005U + 1442695040888963407U;
	return (size_t)(starved.random >> 33) % n;
}

static void starve_write(FILE *fp, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		scratch()[i] = byte_at(at + i);
		starved.written[at + i] = true;
	}
	starved.size = starved.size > at + n ? starved.size : at + n;
	clear();
	if (fseeko(fp, (off_t)at, SEEK_SET) != 0 || fwrite(scratch(), 1, n, fp) != n)
		starved.error = errno;
}

/* What is read back is what was written, or it fails. */
static void starve_read(FILE *fp, size_t at, size_t n)
{
	size_t k;

	clear();
	if (fseeko(fp, (off_t)at, SEEK_SET) != 0) {
		starved.error = errno;
		return;
	}
	k = fread(scratch(), 1, n, fp);
	for (size_t i = 0; i < k && starved.error == 0; i++) {
		if (scratch()[i] != (starved.written[at + i] ? byte_at(at + i) : 0))
			wrong("byte %zu is %d", at + i, scratch()[i]);
	}
}

static void starve_steps(FILE *fp, int64_t steps, size_t most)
{
	size_t section[3] = {0, most / 3, most / 2};

	for (int64_t i = 0; i < steps && starved.error == 0; i++) {
		size_t n = starve_draw(8) == 0 ? starve_draw(12000) : 1 + starve_draw(200);
		size_t *at = &section[starve_draw(3)];

		if (*at + n > most)
			*at = starve_draw(most / 2);
		if (starve_draw(6) == 0) {
			starve_read(fp, *at / 2, n);
		} else {
			starve_write(fp, *at, n);
			*at += n;
		}
	}
	clear();
	if (fclose(fp) != 0 && starved.error == 0)
		starved.error = errno;
}

static void starve_check(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n;

	while ((n = read(fd, scratch(), MOST_BYTES)) > 0) {
		for (ssize_t i = 0; i < n; i++, at++) {
			bool wanted = at < STARVE_BYTES && starved.written[at];

			if (scratch()[i] == 0 ? wanted && starved.error == 0
					      : !wanted || scratch()[i] != byte_at(at)) {
				wrong("byte %zu of the file is %d", at, scratch()[i]);
				i = n;
			}
		}
	}
	if (starved.error == 0 && at != starved.size)
		wrong("%zu bytes of %zu", at, starved.size);
	close(fd);
}

static void starve(const int64_t *a, const char *path)
{
	size_t most = a[0] == STARVE_DISK ? (size_t)90 * 4096 : STARVE_BYTES / 2;
	FILE *fp = fopen(path, "w+");

	memset(&starved, 0, sizeof(starved));
	starved.random = (uint64_t)a[3] * 0x9e3779b97f4a7c15U;
	if (fp == NULL)
		return;
	starve_steps(fp, a[2] > 1000 ? 1000 : a[2], most);
	say(" %s", starved.error == 0 ? "fits" : strerrorname_np(starved.error));
	starve_check(path);
	unlink(path);
}

void run_starve(const int64_t *a)
{
	struct sigaction action = {.sa_handler = a[0] == STARVE_HANDLED ? on_exceeded : SIG_IGN};
	struct rlimit limit;
	struct rlimit low;

	if (a[0] == STARVE_DISK) {
		if (tiny_disk)
			starve(a, path_in("small", "/x"));
		return;
	}
	sigaction(SIGXFSZ, &action, NULL);
	getrlimit(RLIMIT_FSIZE, &limit);
	low = limit;
	low.rlim_cur = (rlim_t)(a[1] < 0 ? 0 : a[1]);
	exceeded = 0;
	setrlimit(RLIMIT_FSIZE, &low);
	starve(a, path_in("x", ""));
	setrlimit(RLIMIT_FSIZE, &limit);
	say(" %d", (int)exceeded);
}

/*
 * threads: two on one stream
 */

#define RECORD 16
#define MOST_RECORDS 4000

enum { THREADS_WRITE, THREADS_PAIRS, THREADS_READ, THREADS_SEEK, THREADS_KINDS };

static struct {
	FILE *fp;
	int64_t how;
	int records; /* of each thread */
	long long sum[2];
	int wrong[2];
} shared;

void draw_threads(int64_t *a)
{
	a[0] = draw(THREADS_KINDS);
	a[1] = 1 + draw(MOST_RECORDS);
	a[2] = draw_value();
}

static void make_record(char *record, int thread, int number)
{
	char text[RECORD + 1];

	snprintf(text, sizeof(text), "%c%06d%08x\n", 'A' + thread, number,
		 (unsigned int)number * 2654435761U);
	memcpy(record, text, RECORD);
}

static bool good_record(const char *record, int *ret_thread, int *ret_number)
{
	char wanted[RECORD];

	*ret_thread = record[0] - 'A';
	*ret_number = 0;
	for (int i = 1; i <= 6; i++)
		*ret_number = *ret_number * 10 + (record[i] - '0');
	make_record(wanted, *ret_thread, *ret_number);
	return memcmp(wanted, record, RECORD) == 0;
}

static void write_records(int thread)
{
	char record[RECORD];

	for (int i = 0; i < shared.records; i++) {
		make_record(record, thread, i);
		if (shared.how == THREADS_WRITE) {
			fwrite(record, RECORD, 1, shared.fp);
			continue;
		}
		flockfile(shared.fp);
		fseeko(shared.fp, 0, SEEK_END);
		fwrite_unlocked(record, 1, 5, shared.fp);
		fputc_unlocked(record[5], shared.fp);
		fwrite_unlocked(record + 6, 1, RECORD - 6, shared.fp);
		funlockfile(shared.fp);
	}
}

/* Each record is read by one of the two. */
static void read_records(int thread)
{
	char record[RECORD];
	int writer;
	int number;

	while (fread(record, RECORD, 1, shared.fp) == 1) {
		shared.wrong[thread] += !good_record(record, &writer, &number);
		shared.sum[thread] += writer * 1000003LL + number + 1;
	}
}

static void seek_records(int thread)
{
	uint64_t x = (uint64_t)thread + 17;
	char record[RECORD];
	int writer;
	int number;

	for (int i = 0; i < shared.records; i++) {
		int wanted;

		x = x * 6364136223846793005U + 1442695040888963407U;
		wanted = (int)((x >> 33) % (uint64_t)shared.records);
		flockfile(shared.fp);
		fseeko(shared.fp, (off_t)wanted * RECORD, SEEK_SET);
		if (fread(record, RECORD, 1, shared.fp) != 1 ||
		    !good_record(record, &writer, &number) || number != wanted)
			shared.wrong[thread]++;
		funlockfile(shared.fp);
		shared.sum[thread] += wanted;
	}
}

static void *thread_runs(void *argument)
{
	int thread = argument == NULL ? 0 : 1;

	if (shared.how == THREADS_READ)
		read_records(thread);
	else if (shared.how == THREADS_SEEK)
		seek_records(thread);
	else
		write_records(thread);
	return NULL;
}

/* All of both are there, and each one's in order. */
static void check_records(void)
{
	int next[2] = {0, 0};
	char record[RECORD];
	int thread;
	int number;

	rewind(shared.fp);
	while (fread(record, RECORD, 1, shared.fp) == 1) {
		if (!good_record(record, &thread, &number) || thread < 0 || thread > 1 ||
		    number != next[thread]) {
			wrong("record %d of %d at %lld", number, thread,
			      (long long)ftello(shared.fp));
			return;
		}
		next[thread]++;
	}
	say(" %d %d", next[0], next[1]);
}

void run_threads(const int64_t *a)
{
	bool reads = a[0] == THREADS_READ || a[0] == THREADS_SEEK;
	char record[RECORD];
	pthread_t other;

	memset(&shared, 0, sizeof(shared));
	shared.how = a[0];
	shared.records = (int)(a[1] < 1 || a[1] > MOST_RECORDS ? MOST_RECORDS : a[1]);
	shared.fp = fopen(path_in("t", ""), "w+");
	if (shared.fp == NULL)
		return;
	for (int i = 0; reads && i < shared.records; i++) {
		make_record(record, 0, i);
		fwrite(record, RECORD, 1, shared.fp);
	}
	rewind(shared.fp);
	pthread_create(&other, NULL, thread_runs, &shared);
	thread_runs(NULL);
	pthread_join(other, NULL);
	if (reads)
		say(" sum %lld wrong %d", shared.sum[0] + shared.sum[1],
		    shared.wrong[0] + shared.wrong[1]);
	else
		check_records();
	fclose(shared.fp);
}
