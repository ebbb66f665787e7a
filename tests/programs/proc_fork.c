/* Every way to fork, while another thread maps and unmaps: the child finds everything whole, and
 * can map. argv[1]: a folder; argv[2]: how often. */
#include "fd_common.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

static volatile bool over;
static int fd;

static void *loops(void *p)
{
	size_t wrong = 0;

	(void)p;
	while (!over) {
		int own = open(FILE_B, O_RDONLY);

		wrong += look(own) != 'B';
		wrong += look(fd) != 'A';
		close(own);
	}
	return (void *)wrong;
}

static int child(void *p)
{
	int own;

	(void)p;
	if (look(fd) != 'A')
		return 1;
	close(fd);
	own = open(FILE_B, O_RDONLY);
	if (own != fd || look(own) != 'B')
		return 2;
	return 0;
}

static pid_t by_clone(void)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	return clone(child, stack + sizeof(stack), SIGCHLD, NULL);
}

static pid_t by_clone_number(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t by_clone3(void)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

	/* Some sandboxes have none. */
	return pid < 0 ? fork() : pid;
}

#ifdef SYS_fork
static pid_t by_number(void)
{
	return (pid_t)syscall(SYS_fork);
}
#endif

static void repeat(const char *what, pid_t (*how)(void), int times)
{
	int good = 0;

	for (int i = 0; i < times; i++) {
		pid_t pid = how();
		int status = -1;

		if (pid == 0)
			_exit(child(NULL));
		waitpid(pid, &status, 0);
		good += status == 0;
		if (status != 0)
			printf("status %x\n", status);
	}
	printf("%s: %d of %d, %c\n", what, good, times, look(fd));
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *wrong;
	int times;

	if (argc < 3)
		return 99;
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	make_files(argv[1]);
	times = atoi(argv[2]);
	fd = open(FILE_A, O_RDONLY);
	pthread_create(&thread, NULL, loops, NULL);
	repeat("fork", fork, times);
	repeat("_Fork", _Fork, times);
	repeat("clone", by_clone, times);
	repeat("SYS_clone", by_clone_number, times);
	repeat("SYS_clone3", by_clone3, times);
#ifdef SYS_fork
	repeat("SYS_fork", by_number, times);
#endif
	over = true;
	pthread_join(thread, &wrong);
	printf("%zu wrong\n", (size_t)wrong);
	result("SYS_clone3 of nothing", syscall(SYS_clone3, NULL, 0));
	result("SYS_clone3 of a bad address", syscall(SYS_clone3, (void *)8, 64));
	return 0;
}
