/* Signal handlers that come in the middle of moves, and what they may do: write, fork, leave, jump.
 * A timer strikes every 50 µs. */
#include "stream_common.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/time.h>

#define RECORD 4096

static FILE *out;
static FILE *other;
static volatile int strikes;
static int strike_at;
static void (*what)(void);
static int more_flags;
static int pipe_ends[2];

static void on_timer(int number)
{
	int saved = errno;

	(void)number;
	if (++strikes >= strike_at)
		what();
	errno = saved;
}

static void start(int first, void (*body)(void))
{
	struct itimerval timer = {{0, 50}, {0, 50}};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_timer;
	action.sa_flags = SA_RESTART | more_flags;
	what = body;
	strikes = 0;
	strike_at = first;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void stop(void)
{
	struct itimerval none;

	memset(&none, 0, sizeof(none));
	setitimer(ITIMER_REAL, &none, NULL);
}

/* One letter a record; every one of them goes out as it is, with one write. */
static void put_record(FILE *fp, long at, int letter)
{
	char record[RECORD];

	memset(record, letter, sizeof(record));
	fseek(fp, at, SEEK_SET);
	fwrite(record, 1, sizeof(record), fp);
}

/* Whether each record is of one letter. */
static bool is_whole(const char *name, int records)
{
	char record[RECORD];
	bool whole = true;
	int fd = open(path_of(name), O_RDONLY);

	for (int i = 0; i < records; i++) {
		ssize_t got = pread(fd, record, RECORD, i * (off_t)RECORD);

		for (ssize_t j = 1; j < got; j++)
			whole = whole && record[j] == record[0];
	}
	close(fd);
	return whole;
}

static void leave(void)
{
	_exit(0);
}

/* A record that is written when the handler leaves is there, or is not. */
static void torn(void)
{
	int broken = 0;

	for (int round = 0; round < 300; round++) {
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			out = busy("out", "w+");
			setvbuf(out, NULL, _IOFBF, RECORD);
			for (int i = 0; i < 8; i++)
				put_record(out, i * (long)RECORD, 'a');
			start(1 + round % 3, leave);
			for (int i = 0;; i++)
				put_record(out, i % 8 * (long)RECORD, 'a' + i / 8 % 26);
		}
		waitpid(pid, &status, 0);
		broken += !is_whole("out", 8);
		unlink(path_of("out"));
	}
	printf("%d records were torn\n", broken);
}

/* What is pending of one stream goes out while the handler has interrupted another. */
static void leaves_others(void)
{
	int lost = 0;

	for (int round = 0; round < 60; round++) {
		char bytes[64] = "";
		pid_t pid;
		int fd;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			other = busy("other", "w+");
			out = busy("out", "w+");
			put(other, 20000, "settled");
			fseek(other, 0, SEEK_SET);
			start(2 + round % 3, leave);
			for (int i = 0;; i++)
				put_record(out, i % 8 * (long)RECORD, 'a' + i / 8 % 26);
		}
		waitpid(pid, NULL, 0);
		fd = open(path_of("other"), O_RDONLY);
		if (pread(fd, bytes, 7, 20000) != 7 || strcmp(bytes, "settled") != 0)
			lost++;
		close(fd);
		unlink(path_of("out"));
		unlink(path_of("other"));
	}
	printf("%d streams lost something\n", lost);
}

static volatile pid_t forked;

static void fork_once(void)
{
	char byte;

	stop();
	forked = fork();
	if (forked != 0)
		return;
	/* The parent writes on meanwhile, and says when. */
	close(pipe_ends[1]);
	while (read(pipe_ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* A child that came out of a handler ends after its parent has written more: what it had in hand is
 * the parent's business. */
static void forks(void)
{
	int old = 0;

	for (int round = 0; round < 60; round++) {
		char record[RECORD];
		int fd;

		if (pipe(pipe_ends) != 0)
			exit(97);
		out = busy("out", "w+");
		setvbuf(out, NULL, _IOFBF, RECORD);
		forked = 0;
		start(1 + round % 3, fork_once);
		for (int i = 0; forked == 0; i++)
			put_record(out, i % 8 * (long)RECORD, 'a' + i / 8 % 20);
		for (int i = 0; i < 8; i++)
			put_record(out, i * (long)RECORD, 'z');
		fclose(out);
		close(pipe_ends[0]);
		close(pipe_ends[1]);
		waitpid(forked, NULL, 0);
		fd = open(path_of("out"), O_RDONLY);
		for (int i = 0; i < 8; i++) {
			bool wrong = false;

			if (pread(fd, record, RECORD, i * (off_t)RECORD) != RECORD)
				wrong = true;
			for (int j = 0; j < RECORD; j++)
				wrong = wrong || record[j] != 'z';
			old += wrong;
		}
		close(fd);
		unlink(path_of("out"));
	}
	printf("%d records are old\n", old);
}

static void write_something(void)
{
	if (write(pipe_ends[1], "x", 1) != 1)
		strikes = 0;
}

/* Many messages from a handler; the file is as it would be. */
static void is_interrupted(void (*body)(void))
{
	char bytes[70000];
	uint64_t random = 7;
	uint64_t sum = 0;

	if (pipe(pipe_ends) != 0)
		exit(97);
	fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
	fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
	out = busy("out", "w+");
	start(1, body);
	for (int i = 0; i < 60000; i++) {
		long at;
		size_t n;

		random = random * 6364136223846793005u + 1442695040888963407u;
		at = (long)(random >> 40) % 300000;
		n = (size_t)(random >> 20) % 3000;
		memset(bytes, 'a' + i % 26, n);
		fseek(out, at, SEEK_SET);
		if (i % 7 == 3) {
			n = fread(bytes, 1, n, out);
			for (size_t k = 0; k < n; k++)
				sum = sum * 31 + (unsigned char)bytes[k];
		} else {
			fwrite(bytes, 1, n, out);
		}
		while (read(pipe_ends[0], bytes, sizeof(bytes)) > 0)
			;
	}
	stop();
	fclose(out);
	printf("read: %016llx\n", (unsigned long long)sum);
	fflush(stdout);
	say_file("in the end", "out");
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void writes(void)
{
	is_interrupted(write_something);
}

/* A library that the handler calls may do that: what was interrupted goes on. */
static void jump_here(void)
{
	sigjmp_buf here;
	struct stat stat_of;

	if (sigsetjmp(here, strikes % 2) == 0)
		siglongjmp(here, 1);
	write_something();
	if (strikes % 3 == 0)
		stat(path_of("out"), &stat_of);
}

static void jumps_within(void)
{
	is_interrupted(jump_here);
}

static void jumps_on_another_stack(void)
{
	static char bytes[65536];
	stack_t stack = {.ss_sp = bytes, .ss_size = sizeof(bytes)};

	sigaltstack(&stack, NULL);
	more_flags = SA_ONSTACK;
	is_interrupted(jump_here);
}

static sigjmp_buf away;

static void jump(void)
{
	siglongjmp(away, 1);
}

static void *look(void *name)
{
	struct stat stat_of;

	stat(path_of(name), &stat_of);
	return NULL;
}

/* What was interrupted is left for good, others go on; other threads don't wait for it. */
static void jumps(void)
{
	for (int round = 0; round < 30; round++) {
		char name[32];

		snprintf(name, sizeof(name), "out%d", round);
		out = busy(name, "w+");
		other = busy("other", "w+");
		put(other, 20000, "settled");
		fseek(other, 0, SEEK_SET);
		if (sigsetjmp(away, 1) == 0) {
			start(1 + round % 3, jump);
			for (int i = 0;; i++)
				put_record(out, i % 8 * (long)RECORD, 'a' + i / 8 % 26);
		}
		stop();
		scribble(other, 30000, 20);
		put(other, 40000, "after the jump");
		fseek(other, 20000, SEEK_SET);
		{
			char bytes[64] = "";

			printf("%zu %s\n", fread(bytes, 1, 7, other), bytes);
		}
		fclose(other);
		say_file("other", "other");
		if (round == 29) {
			pthread_t thread;

			pthread_create(&thread, NULL, look, name);
			pthread_join(thread, NULL);
		}
		unlink(path_of(name));
	}
}

static void jumps_from_another_stack(void)
{
	static char bytes[65536];
	stack_t stack = {.ss_sp = bytes, .ss_size = sizeof(bytes)};

	sigaltstack(&stack, NULL);
	more_flags = SA_ONSTACK;
	jumps();
}

static void append_to_log(void)
{
	put(other, 10L * strikes, "a line of");
}

/* Not safe by the letter, and works: another stream, in a handler. */
static void writes_other_stream(void)
{
	char line[16];
	long wrong = 0;
	int fd;

	out = busy("out", "w+");
	other = fopen(path_of("other"), "w+");
	scribble(other, 0, 20);
	start(1, append_to_log);
	for (int i = 0; strikes < 2000; i++)
		put_record(out, i % 8 * (long)RECORD, 'a' + i / 8 % 26);
	stop();
	fclose(other);
	fclose(out);
	fd = open(path_of("other"), O_RDONLY);
	for (int i = 1; i < 2000; i++)
		wrong += pread(fd, line, 9, 10L * i) != 9 || memcmp(line, "a line of", 9) != 0;
	close(fd);
	printf("%ld lines are wrong\n", wrong);
}

static void die(void)
{
	signal(SIGTERM, SIG_DFL);
	kill(getpid(), SIGTERM);
}

static void dies(void)
{
	int lost = 0;

	for (int round = 0; round < 30; round++) {
		char bytes[64] = "";
		pid_t pid;
		int status;
		int fd;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			other = busy("other", "w+");
			out = busy("out", "w+");
			put(other, 20000, "settled");
			fseek(other, 0, SEEK_SET);
			start(2 + round % 3, die);
			for (int i = 0;; i++)
				put_record(out, i % 8 * (long)RECORD, 'a' + i / 8 % 26);
		}
		waitpid(pid, &status, 0);
		fd = open(path_of("other"), O_RDONLY);
		if (!WIFSIGNALED(status) || pread(fd, bytes, 7, 20000) != 7 ||
		    strcmp(bytes, "settled") != 0)
			lost++;
		close(fd);
		unlink(path_of("out"));
		unlink(path_of("other"));
	}
	printf("%d streams lost something\n", lost);
}

int main(int argc, char **argv)
{
	static const struct a_case cases[] = {
		CASE(torn),
		CASE(leaves_others),
		CASE(forks),
		CASE(writes),
		CASE(jumps),
		CASE(writes_other_stream),
		CASE(dies),
		CASE(jumps_within),
		CASE(jumps_on_another_stack),
		CASE(jumps_from_another_stack),
	};

	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
