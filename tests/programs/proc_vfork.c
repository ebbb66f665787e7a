/* vfork: the child shares our memory, but its descriptors are its own. argv[1]: a folder; argv[2]:
 * `exec` is this program as the child's. */
#include "fd_common.h"

static int fd;
static volatile char seen_by_child;
static volatile pid_t inner;
static volatile int caught;
static const char *self;

static void wait_for(const char *what, pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	printf("%s: status %x, child saw %c, parent sees %c\n", what, status, seen_by_child,
	       look(fd));
	pass_time();
	printf("  later %c\n", look(fd));
}

/* The number becomes file B, in the child. */
static void become_b(void)
{
	close(fd);
	open(FILE_B, O_RDONLY);
	seen_by_child = look(fd);
}

static void closes(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		become_b();
		_exit(3);
	}
	wait_for("close, open", pid);
}

static void copies(int b)
{
	pid_t pid = vfork();

	if (pid == 0) {
		dup2(b, fd);
		seen_by_child = look(fd);
		dup2(b, 0);
		close(b);
		_exit(4);
	}
	wait_for("dup2", pid);
	printf("  B is %c\n", look(b));
}

/* What the child leaves mapped is the parent's; what it unmaps is gone. */
static void maps(void)
{
	unsigned char *volatile made = NULL;
	unsigned char *volatile mine = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	pid_t pid = vfork();

	if (pid == 0) {
		made = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)PAGE);
		munmap(mine, PAGE);
		_exit(5);
	}
	wait_for("mmap, munmap", pid);
	say("  made by the child", bytes_are(made, 2 * PAGE, 'A', PAGE));
	munmap(made, 2 * PAGE);
}

static void executes(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		fcntl(0, F_SETFD, 0);
		close(fd);
		execl(self, self, ".", "exec", (char *)NULL);
		_exit(127);
	}
	wait_for("exec", pid);
	pid = vfork();
	if (pid == 0) {
		close(fd);
		execl("./none", "none", (char *)NULL);
		_exit(127);
	}
	wait_for("exec of nothing", pid);
}

static void nested(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		int status = 0;

		inner = vfork();
		if (inner == 0) {
			become_b();
			_exit(6);
		}
		waitpid(inner, &status, 0);
		become_b();
		_exit(status >> 8);
	}
	wait_for("nested", pid);
}

static __attribute__((noinline)) pid_t in_function(int depth)
{
	volatile char stack[64];
	pid_t pid;

	memset((char *)stack, depth, sizeof(stack));
	if (depth > 0)
		return in_function(depth - 1);
	pid = vfork();
	if (pid == 0) {
		become_b();
		_exit(7);
	}
	return stack[5] == 0 ? pid : -1;
}

/* Comes while the parent waits for its child, and runs as the first thing after that. */
static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	close(fd);
	open(FILE_B, O_RDONLY);
	caught++;
	errno = saved;
}

static void signals(void)
{
	pid_t pid;

	signal(SIGUSR1, on_signal);
	pid = vfork();
	if (pid == 0) {
		kill(getppid(), SIGUSR1);
		_exit(8);
	}
	printf("handled %d, and now %c\n", caught, look(fd));
	wait_for("signal", pid);
}

static void masks(void)
{
	sigset_t set;
	sigset_t after;
	volatile int child_has = -1;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	pid = vfork();
	if (pid == 0) {
		sigset_t now;

		sigprocmask(SIG_SETMASK, NULL, &now);
		child_has = sigismember(&now, SIGUSR2) * 2 + sigismember(&now, SIGUSR1);
		_exit(9);
	}
	sigprocmask(SIG_SETMASK, NULL, &after);
	printf("mask: %d in the child, %d %d\n", child_has, sigismember(&after, SIGUSR2),
	       sigismember(&after, SIGUSR1));
	wait_for("mask", pid);
}

int main(int argc, char **argv)
{
	int b;

	if (argc < 2)
		return 99;
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	self = argv[0];
	if (argc > 2)
		return open(".", O_PATH);
	make_files(argv[1]);
	b = open(FILE_B, O_RDONLY);
	fd = open(FILE_A, O_RDONLY);
	printf("%c\n", look(fd));
	closes();
	copies(b);
	maps();
	executes();
	nested();
	wait_for("in a function", in_function(3));
	masks();
	signals();
	return 0;
}
