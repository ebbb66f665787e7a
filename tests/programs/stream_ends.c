/* build: -Wno-deprecated-declarations */
/* Ends of processes that have written through streams: what the file holds then, and how they died.
 * Each case is a child of this process; the file is looked at after it is gone. */
#include "stream_common.h"

#include <assert.h>
#include <err.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

extern char **environ;
static FILE *out;
static FILE *other;
static volatile int nothing;
static volatile int *volatile nowhere;

/* In the file natively, and in FILE's own buffer. */
static void prepare(void)
{
	out = busy("out", "w+");
	scribble(out, 100000, 5);
	put(out, 50000, "in the buffer only");
}

static void child(const char *what, void (*body)(void))
{
	pid_t pid;
	int status = 0;

	fflush(stdout);
	unlink(path_of("out"));
	pid = fork();
	if (pid == 0) {
		struct rlimit none = {0, 0};

		alarm(20);
		/* A core is written, or is not: the flag in the status depends on the limit. */
		setrlimit(RLIMIT_CORE, &none);
		body();
		_exit(77);
	}
	if (waitpid(pid, &status, 0) != pid)
		printf("waitpid: %s\n", strerrorname_np(errno));
	say_status(what, status);
	say_file(what, "out");
}

static void by_exit_now(void)
{
	prepare();
	_exit(3);
}

static void by_Exit(void)
{
	prepare();
	_Exit(4);
}

static void by_exit_group(void)
{
	prepare();
	syscall(SYS_exit_group, 5);
}

static void by_exit(void)
{
	prepare();
	exit(6);
}

static void at_exit_look(void)
{
	say_file("atexit", "out");
}

static void at_exit_write(void)
{
	scribble(out, 200000, 5);
	put(out, 60000, "at exit");
}

static void by_exit_looking(void)
{
	atexit(at_exit_look);
	atexit(at_exit_write);
	prepare();
	exit(7);
}

__attribute__((destructor)) static void late(void)
{
	if (out == NULL)
		return;
	put(out, 300000, "in a destructor");
	scribble(out, 310000, 3);
	if (other != NULL)
		fclose(other);
}

static void by_quick_exit(void)
{
	prepare();
	quick_exit(8);
}

static void quick_write(void)
{
	scribble(out, 200000, 5);
	put(out, 60000, "at quick exit");
}

static void by_quick_exit_writing(void)
{
	if (at_quick_exit(quick_write) != 0)
		_exit(78);
	prepare();
	quick_exit(9);
}

static void by_abort(void)
{
	prepare();
	abort();
}

static void on_abort(int number)
{
	(void)number;
	scribble(out, 200000, 5);
}

static void by_abort_writing(void)
{
	signal(SIGABRT, on_abort);
	prepare();
	abort();
}

static void by_abort_ignored(void)
{
	signal(SIGABRT, SIG_IGN);
	prepare();
	abort();
}

static void by_assert(void)
{
	prepare();
	assert(out == NULL);
}

static void by_err(void)
{
	prepare();
	stderr = out;
	errno = ENOENT;
	err(11, "err says");
}

static void by_return_of_last_thread(void)
{
	prepare();
	pthread_exit(NULL);
}

static void *exit_in_thread(void *unused)
{
	(void)unused;
	scribble(out, 200000, 5);
	exit(12);
}

static void by_exit_of_thread(void)
{
	pthread_t thread;

	prepare();
	pthread_create(&thread, NULL, exit_in_thread, NULL);
	pthread_join(thread, NULL);
}

static int deadly;

static void by_raise(void)
{
	struct sigaction action;

	prepare();
	sigaction(deadly, NULL, &action);
	if (action.sa_handler != SIG_DFL || action.sa_flags != 0)
		_exit(70);
	put(out, 70000, "another one");
	fseek(out, 0, SEEK_SET);
	raise(deadly);
}

static void by_kill_from_outside(void)
{
	pid_t parent = getpid();
	int ends[2];
	char byte;

	/* The one who kills comes before the stream, and hears of it by what makes no call. */
	volatile int *flag =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pipe(ends) != 0)
		_exit(71);
	if (fork() == 0) {
		alarm(20);
		while (!*flag)
			usleep(1000);
		kill(parent, deadly);
		_exit(0);
	}
	prepare();
	*flag = 1;
	if (read(ends[0], &byte, 1) != 1)
		_exit(72);
}

static void again(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

/* A handler that cleans up, and dies of the same signal. */
static void by_second_raise(void)
{
	prepare();
	signal(deadly, again);
	put(out, 70000, "another one");
	fseek(out, 0, SEEK_SET);
	raise(deadly);
}

static void by_default_set_before(void)
{
	prepare();
	signal(deadly, SIG_IGN);
	signal(deadly, SIG_DFL);
	put(out, 70000, "another one");
	fseek(out, 0, SEEK_SET);
	raise(deadly);
}

static void by_sigset_default(void)
{
	prepare();
	sigset(deadly, SIG_IGN);
	sigset(deadly, SIG_DFL);
	put(out, 70000, "another one");
	fseek(out, 0, SEEK_SET);
	raise(deadly);
}

static void do_nothing(int number)
{
	(void)number;
}

static void by_reset_handler(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = do_nothing;
	action.sa_flags = (int)SA_RESETHAND;
	prepare();
	sigaction(deadly, &action, NULL);
	raise(deadly);
	put(out, 70000, "another one");
	fseek(out, 0, SEEK_SET);
	raise(deadly);
}

static void by_fpe(void)
{
	prepare();
	_exit(1 / nothing);
}

static void by_null(void)
{
	prepare();
	*nowhere = 1;
}

static int deep(volatile char *before)
{
	volatile char frame[4096];

	frame[0] = before[0];
	return nothing != 0 ? 0 : deep(frame) + frame[0];
}

static void by_deep_recursion(void)
{
	char first = 0;

	prepare();
	_exit(deep(&first));
}

static void by_null_while_blocked(void)
{
	sigset_t all;

	prepare();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	put(out, 70000, "another one");
	fseek(out, 0, SEEK_SET);
	*nowhere = 1;
}

static void by_alarm(void)
{
	volatile unsigned int n = 0;

	prepare();
	alarm(1);
	for (;;)
		n++;
}

/* By a signal that no call announces. */
static void by_alarm_of_default_set_before(void)
{
	volatile unsigned int n = 0;

	prepare();
	signal(SIGALRM, SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	ualarm(50000, 0);
	put(out, 70000, "another one");
	fseek(out, 0, SEEK_SET);
	for (;;)
		n++;
}

static void by_seccomp(void)
{
	prepare();
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_exit, 13);
}

static void by_exec(void)
{
	prepare();
	execl("/bin/sh", "sh", "-c", "wc -c <\"$1\"; exit 14", "sh", path_of("out"), NULL);
}

static void by_failing_exec(void)
{
	prepare();
	execl("/nonexistent", "nonexistent", NULL);
	scribble(out, 200000, 5);
	_exit(15);
}

static void forks(void)
{
	int status;
	pid_t pid;

	prepare();
	pid = fork();
	if (pid == 0) {
		put(out, 80000, "of the child");
		exit(0);
	}
	waitpid(pid, &status, 0);
	say_file("after its child", "out");
	put(out, 90000, "of the parent");
	exit(16);
}

static void forks_and_leaves(void)
{
	int status;
	pid_t pid;

	prepare();
	pid = fork();
	if (pid == 0) {
		put(out, 80000, "of the child");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	say_file("after its child", "out");
	fclose(out);
	out = NULL;
	exit(17);
}

static void vforks(void)
{
	int status;
	pid_t pid;

	prepare();
	pid = vfork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "wc -c <\"$1\"", "sh", path_of("out"), NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	scribble(out, 200000, 5);
	_exit(18);
}

static void spawns(void)
{
	char *arguments[] = {"sh",
			     "-c",
			     "wc -c <\"$1\"; echo more >>\"$1\"",
			     "sh",
			     (char *)(uintptr_t)path_of("out"),
			     NULL};
	int status;
	pid_t pid;

	prepare();
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) != 0)
		_exit(73);
	waitpid(pid, &status, 0);
	scribble(out, 200000, 5);
	_exit(19);
}

static void uses_system(void)
{
	char command[5000];

	prepare();
	snprintf(command, sizeof(command), "cksum <%s", path_of("out"));
	if (system(command) != 0)
		_exit(74);
	scribble(out, 200000, 5);
	if (system(command) != 0)
		_exit(74);
	_exit(20);
}

static void uses_popen(void)
{
	char command[5000];
	char line[200] = "";
	FILE *pipe;

	prepare();
	snprintf(command, sizeof(command), "cksum <%s", path_of("out"));
	pipe = popen(command, "r");
	if (pipe == NULL || fgets(line, sizeof(line), pipe) == NULL)
		_exit(75);
	fputs(line, stdout);
	pclose(pipe);
	exit(21);
}

static void dies_of_signals(void)
{
	static const int numbers[] = {SIGTERM, SIGINT,  SIGHUP, SIGQUIT, SIGSEGV,
				      SIGBUS,  SIGABRT, SIGFPE, SIGALRM, SIGUSR1,
				      SIGPIPE, SIGILL,  SIGSYS, SIGXCPU, 64};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		deadly = numbers[i];
		child("raise", by_raise);
		child("kill from outside", by_kill_from_outside);
	}
}

static void dies_after_handlers(void)
{
	deadly = SIGTERM;
	child("second raise", by_second_raise);
	child("default again", by_default_set_before);
	child("default again by sigset", by_sigset_default);
	child("a handler that resets", by_reset_handler);
	child("default again, alarm", by_alarm_of_default_set_before);
}

static void dies_of_faults(void)
{
	child("division", by_fpe);
	child("null", by_null);
	child("alarm", by_alarm);
}

#define CHILD(name)                                                                                \
	static void in_##name(void)                                                                \
	{                                                                                          \
		child(#name, name);                                                                \
	}
CHILD(by_exit_now)
CHILD(by_Exit)
CHILD(by_exit_group)
CHILD(by_exit)
CHILD(by_exit_looking)
CHILD(by_quick_exit)
CHILD(by_quick_exit_writing)
CHILD(by_abort)
CHILD(by_abort_writing)
CHILD(by_abort_ignored)
CHILD(by_assert)
CHILD(by_err)
CHILD(by_return_of_last_thread)
CHILD(by_exit_of_thread)
CHILD(by_deep_recursion)
CHILD(by_null_while_blocked)
CHILD(by_seccomp)
CHILD(by_exec)
CHILD(by_failing_exec)
CHILD(forks)
CHILD(forks_and_leaves)
CHILD(vforks)
CHILD(spawns)
CHILD(uses_system)
CHILD(uses_popen)

/* Of what was written nothing may be there that was not, and all that a call has made sure of. */
static void dies_of_kill(void)
{
	char text[64];
	char found[64] = "";
	pid_t pid;
	int fd;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		out = busy("out", "w+");
		put(out, 5000, "sure");
		fflush(out);
		scribble(out, 100000, 5);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	fd = open(path_of("out"), O_RDONLY);
	printf("%ld\n", (long)pread(fd, found, 4, 5000));
	puts(found);
	snprintf(text, sizeof(text), "record 0 at 0.");
	printf("%d\n", pread(fd, found, strlen(text), 0) == (ssize_t)strlen(text) &&
			       memcmp(found, text, strlen(text)) == 0);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct a_case cases[] = {
		{"exit_now", in_by_exit_now},
		{"Exit", in_by_Exit},
		{"exit_group", in_by_exit_group},
		{"exit", in_by_exit},
		{"exit_looking", in_by_exit_looking},
		{"quick_exit", in_by_quick_exit},
		{"quick_exit_writing", in_by_quick_exit_writing},
		{"abort", in_by_abort},
		{"abort_writing", in_by_abort_writing},
		{"abort_ignored", in_by_abort_ignored},
		{"assert", in_by_assert},
		{"err", in_by_err},
		{"last_thread", in_by_return_of_last_thread},
		{"exit_of_thread", in_by_exit_of_thread},
		{"deep_recursion", in_by_deep_recursion},
		{"null_while_blocked", in_by_null_while_blocked},
		{"seccomp", in_by_seccomp},
		{"exec", in_by_exec},
		{"failing_exec", in_by_failing_exec},
		{"forks", in_forks},
		{"forks_and_leaves", in_forks_and_leaves},
		{"vforks", in_vforks},
		{"spawns", in_spawns},
		{"system", in_uses_system},
		{"popen", in_uses_popen},
		{"signals", dies_of_signals},
		{"handlers", dies_after_handlers},
		{"faults", dies_of_faults},
		{"kill", dies_of_kill},
	};

	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
