/* Writes through streams that fail: no space, a limit on the size of files. Which call says so may
 * differ; that one says so, and what the file holds then, must not.
 *
 * Usage: stream_errors DIRECTORY CASE; DIRECTORY/.. is the same file system (a small one for
 * `full`). */
#include "stream_common.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

static FILE *out;
static bool failed;
static int error;

static bool fails(bool answer)
{
	if (answer && !failed) {
		failed = true;
		error = errno;
	}
	return answer;
}

/* Writes records with a seek before each until one fails, or all are written; every call's answer
 * is heeded. Returns how many seemed to be written. */
static int write_records(int count, long step)
{
	char record[1000];
	int i;

	for (i = 0; i < count; i++) {
		memset(record, 'a' + i % 26, sizeof(record));
		if (fails(fseek(out, i * step, SEEK_SET) != 0) ||
		    fails(fwrite(record, 1, sizeof(record), out) != sizeof(record)))
			break;
	}
	return i;
}

static void say_error(const char *what)
{
	printf("%s: %s %s\n", what, failed ? "failed" : "went well",
	       failed ? strerrorname_np(error) : "");
	failed = false;
}

/* Each byte of the file is one that was written there, or was never written. */
static void check_records(const char *name, long step, long most)
{
	char record[1000];
	long wrong = 0;
	struct stat stat_of;
	int fd = open(path_of(name), O_RDONLY);

	for (int i = 0; i < most; i++) {
		ssize_t got = pread(fd, record, sizeof(record), i * step);

		for (ssize_t j = 0; j < got; j++)
			wrong += record[j] != 'a' + i % 26 && record[j] != '\0';
	}
	fstat(fd, &stat_of);
	printf("%ld bytes are wrong%s\n", wrong,
	       stat_of.st_size > most * step + 1000 ? ", it is too long" : "");
	close(fd);
}

static void full(void)
{
	struct statvfs space;
	int most;

	statvfs(directory, &space);
	most = (int)(space.f_bavail * space.f_bsize / 1000 + 3000);
	out = busy("out", "w+");
	write_records(most, 1000);
	fails(fflush(out) != 0);
	say_error("writing");
	clearerr(out);
	/* What is written over what is there needs no room. */
	say_error(write_records(500, 1000) == 500 ? "again" : "again, not all");
	fails(fclose(out) != 0);
	say_error("closing");
	check_records("out", 1000, most);
	unlink(path_of("out"));
}

/* Somebody else takes the room once the window is there. */
static void fill(const char *name)
{
	static char block[65536];
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (size_t n = sizeof(block); n >= 512; n /= 2) {
		while (write(fd, block, n) == (ssize_t)n)
			;
	}
	close(fd);
}

static volatile int *turn;

static void fill_elsewhere(void)
{
	pid_t pid;

	*turn = 0;
	pid = fork();
	if (pid == 0) {
		while (*turn == 0)
			usleep(500);
		fill("ballast");
		*turn = 2;
		_exit(0);
	}
}

static void wait_for_filling(void)
{
	*turn = 1;
	while (*turn != 2)
		usleep(500);
	wait(NULL);
}

static const char *last_call;

static void fills_up(void)
{
	static const char *const calls[] = {"fwrite",
					    "fflush",
					    "fseek",
					    "fclose",
					    "fflush all",
					    "rewind and fclose",
					    "fsync and fclose",
					    "stat and fclose",
					    "system and fclose",
					    "fork and fclose",
					    "fprintf and fclose"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct stat stat_of;

		last_call = calls[i];
		unlink(path_of("out"));
		fill_elsewhere();
		out = busy("out", "w+");
		fflush(out);
		wait_for_filling();
		/* Natively the first of them that goes out fails; the window takes them all. */
		write_records(20, 5000);
		fails(fseek(out, 0, SEEK_SET) != 0);
		if (strcmp(last_call, "fwrite") == 0) {
			/* So many that they can't be kept. */
			write_records(12000, 1000);
		} else if (strcmp(last_call, "fflush") == 0) {
			fails(fflush(out) != 0);
		} else if (strcmp(last_call, "fseek") == 0) {
			stat(path_of("out"), &stat_of);
			fails(fseek(out, 0, SEEK_SET) != 0);
		} else if (strcmp(last_call, "fflush all") == 0) {
			fails(fflush(NULL) != 0);
			fails(fflush(out) != 0);
		} else if (strcmp(last_call, "rewind and fclose") == 0) {
			rewind(out);
		} else if (strcmp(last_call, "fsync and fclose") == 0) {
			fsync(fileno(out));
		} else if (strcmp(last_call, "stat and fclose") == 0) {
			stat(path_of("out"), &stat_of);
		} else if (strcmp(last_call, "system and fclose") == 0) {
			if (system("true") != 0)
				puts("no system");
		} else if (strcmp(last_call, "fprintf and fclose") == 0) {
			fprintf(out, "%d", 5);
		} else if (strcmp(last_call, "fork and fclose") == 0) {
			fflush(stdout);
			if (fork() == 0)
				_exit(0);
			wait(NULL);
		}
		if (strstr(last_call, "fclose") == NULL)
			say_error(last_call);
		fails(fclose(out) != 0);
		if (strstr(last_call, "fclose") != NULL)
			say_error(last_call);
		failed = false;
		check_records("out", 1000, 0);
		unlink(path_of("ballast"));
	}
}

static void *no_thread(void *unused)
{
	return unused;
}

/* In a program that has threads the stream is given up for good by what is between. */
static void fills_up_with_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, no_thread, NULL);
	fill_elsewhere();
	out = busy("out", "w+");
	fflush(out);
	out = freopen(path_of("out"), "w+", out);
	scribble(out, 0, BUSY);
	wait_for_filling();
	write_records(20, 5000);
	fails(fseek(out, 0, SEEK_SET) != 0);
	fails(fflush(out) != 0);
	say_error("fflush");
	fails(fclose(out) != 0);
	pthread_join(thread, NULL);
	unlink(path_of("ballast"));
}

static void limit_to(rlim_t bytes)
{
	struct rlimit limit = {bytes, RLIM_INFINITY};

	setrlimit(RLIMIT_FSIZE, &limit);
}

static volatile int signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void limited(void)
{
	signal(SIGXFSZ, SIG_IGN);
	limit_to(100000);
	out = busy("out", "w+");
	printf("%d\n", write_records(300, 1000));
	say_error("limited before");
	clearerr(out);
	fails(fclose(out) != 0);
	say_error("closed");
	say_file("out", "out");
	limit_to(RLIM_INFINITY);
	out = busy("out", "w+");
	write_records(50, 1000);
	limit_to(100000);
	printf("%d\n", write_records(300, 1000));
	say_error("limited in the middle");
	clearerr(out);
	fails(fclose(out) != 0);
	say_error("closed");
	say_file("out", "out");
	signal(SIGXFSZ, count_signal);
	out = busy("out", "w+");
	printf("%d\n", write_records(300, 1000));
	say_error("with a handler");
	clearerr(out);
	fclose(out);
	printf("%d signals\n", signals);
	say_file("out", "out");
	limit_to(RLIM_INFINITY);
}

static void limit_kills(void)
{
	for (int when = 0; when < 2; when++) {
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			struct rlimit none = {0, 0};

			setrlimit(RLIMIT_CORE, &none);
			signal(SIGXFSZ, SIG_DFL);
			if (when == 0)
				limit_to(100000);
			out = busy("out", "w+");
			if (when == 1)
				limit_to(100000);
			write_records(300, 1000);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		say_status("limit", status);
		say_file("out", "out");
	}
}

int main(int argc, char **argv)
{
	static const struct a_case cases[] = {
		CASE(full),    CASE(fills_up),    CASE(fills_up_with_threads),
		CASE(limited), CASE(limit_kills),
	};

	turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
