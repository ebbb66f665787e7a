/*
 * How children die of SIGBUS and SIGSEGV, or don't: their wait statuses, core flag included.
 * argv[1]: a folder, for files and cores.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static char *wall;
static char *truncated;
static char stack[65536];

static void returns(int number)
{
	(void)number;
}

static void faults_again(int number)
{
	(void)number;
	*(volatile char *)wall;
}

static void kills_itself(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static void leaves(int number)
{
	_exit(40 + number);
}

static void set(int number, __sighandler_t handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

static void block(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void touch_wall(void)
{
	*(volatile char *)wall;
}

static void touch_truncated(void)
{
	*(volatile char *)truncated;
}

static void kill_me(void)
{
	kill(getpid(), SIGSEGV);
}

static void raise_bus(void)
{
	raise(SIGBUS);
}

static void queue_bus(void)
{
	sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 1});
}

static void kill_thread(void)
{
	pthread_kill(pthread_self(), SIGSEGV);
}

static void *touch_in_thread(void *p)
{
	touch_wall();
	return p;
}

static void thread(void)
{
	pthread_t id;

	pthread_create(&id, NULL, touch_in_thread, NULL);
	pthread_join(id, NULL);
}

static void blocked(void)
{
	set(SIGSEGV, leaves, 0);
	block(SIGSEGV);
	touch_wall();
}

static void blocked_and_sent(void)
{
	block(SIGSEGV);
	raise(SIGSEGV);
	sigrelse(SIGSEGV);
}

static void in_handler(void)
{
	set(SIGSEGV, faults_again, 0);
	touch_wall();
}

static void one_shot(void)
{
	set(SIGSEGV, returns, (int)SA_RESETHAND);
	touch_wall();
}

static void one_shot_not_deferred(void)
{
	sysv_signal(SIGSEGV, faults_again);
	touch_wall();
}

static void one_shot_sent(void)
{
	set(SIGBUS, returns, (int)SA_RESETHAND);
	raise(SIGBUS);
	raise(SIGBUS);
}

static void ignored_and_sent(void)
{
	signal(SIGSEGV, SIG_IGN);
	kill(getpid(), SIGSEGV);
}

static void ignored(void)
{
	signal(SIGSEGV, SIG_IGN);
	touch_wall();
}

static void ignored_no_more(void)
{
	signal(SIGBUS, SIG_IGN);
	raise(SIGBUS);
	signal(SIGBUS, SIG_DFL);
	touch_truncated();
}

static void again_by_default(void)
{
	set(SIGSEGV, kills_itself, SA_NODEFER);
	touch_wall();
}

static void again_later(void)
{
	set(SIGSEGV, kills_itself, 0);
	touch_wall();
}

static void left(void)
{
	set(SIGBUS, leaves, 0);
	touch_truncated();
}

static volatile int zero;

static int deep(int n)
{
	volatile char room[1024];

	room[n & 1023] = (char)n;
	return zero ? 0 : deep(n + 1) + room[n & 1023];
}

static void overflow(void)
{
	zero = deep(0);
}

static void overflow_on_another_stack(void)
{
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&other, NULL);
	set(SIGSEGV, leaves, SA_ONSTACK);
	overflow();
}

static void overflow_on_the_same_stack(void)
{
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&other, NULL);
	set(SIGSEGV, leaves, 0);
	overflow();
}

static void by_number(void)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSEGV);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"a fault", touch_wall},
	{"past the end", touch_truncated},
	{"kill", kill_me},
	{"raise", raise_bus},
	{"sigqueue", queue_bus},
	{"pthread_kill", kill_thread},
	{"tgkill", by_number},
	{"in a thread", thread},
	{"blocked", blocked},
	{"blocked and sent", blocked_and_sent},
	{"in a handler", in_handler},
	{"one shot", one_shot},
	{"one shot, not deferred", one_shot_not_deferred},
	{"one shot, sent", one_shot_sent},
	{"ignored and sent", ignored_and_sent},
	{"ignored", ignored},
	{"ignored no more", ignored_no_more},
	{"again by default", again_by_default},
	{"again later", again_later},
	{"left from the handler", left},
	{"stack overflow", overflow},
	{"stack overflow, another stack", overflow_on_another_stack},
	{"stack overflow, the same stack", overflow_on_the_same_stack},
};

int main(int argc, char **argv)
{
	struct rlimit core = {64 << 20, 64 << 20};
	struct rlimit small = {256 << 10, 256 << 10};
	int fd;

	if (argc < 2 || chdir(argv[1]) != 0)
		return 2;
	fd = open("truncated", O_RDWR | O_CREAT | O_TRUNC, 0600);
	wall = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truncated = mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0);
	setrlimit(RLIMIT_CORE, &core);
	setrlimit(RLIMIT_STACK, &small);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = 0;
		pid_t pid;

		printf("%s: ", cases[i].name);
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			cases[i].run();
			_exit(3);
		}
		waitpid(pid, &status, 0);
		unlink("core");
		printf("signal %d core %d exit %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		       WIFSIGNALED(status) && WCOREDUMP(status),
		       WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	}
	return 0;
}
