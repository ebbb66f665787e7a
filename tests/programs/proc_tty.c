/* build: -lutil */
/* libc's own ways to change the first three descriptors: daemon, login_tty, forkpty. argv[1]: a
 * folder. */
#include "fd_common.h"

#include <poll.h>
#include <pty.h>
#include <utmp.h>

static int report_to;

/* Number 0 is file A, and known to be. */
static void take_zero(void)
{
	int fd = open(FILE_A, O_RDONLY);

	dup2(fd, 0);
	if (fd != 0)
		close(fd);
}

static void tell(char before)
{
	char seen[3];

	seen[0] = before;
	seen[1] = look(0);
	pass_time();
	seen[2] = look(0);
	if (write(report_to, seen, 3) != 3)
		_exit(1);
}

static void become_daemon(void)
{
	char before;

	take_zero();
	before = look(0);
	if (daemon(1, 0) != 0)
		_exit(1);
	tell(before);
	_exit(0);
}

static void log_in(void)
{
	char before;
	int master;
	int slave;

	take_zero();
	before = look(0);
	if (openpty(&master, &slave, NULL, NULL, NULL) != 0 || login_tty(slave) != 0)
		_exit(1);
	/* It has closed the number. */
	if (open(FILE_B, O_RDONLY) != slave || look(slave) != 'B')
		_exit(2);
	tell(before);
	_exit(0);
}

static void fork_terminal(void)
{
	char before;
	int status = -1;
	int master;
	pid_t pid;

	take_zero();
	before = look(0);
	close(open(FILE_A, O_RDONLY));
	pid = forkpty(&master, NULL, NULL, NULL);
	if (pid == 0) {
		tell(before);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	_exit(status != 0 || look(master) != 'd' || look(0) != 'A');
}

static void in_child(const char *what, void (*function)(void))
{
	int two[2];
	int status = -1;
	char seen[4] = "---";
	struct pollfd wait;
	pid_t pid;

	if (pipe(two) != 0)
		return;
	report_to = two[1];
	pid = fork();
	if (pid == 0)
		function();
	close(two[1]);
	waitpid(pid, &status, 0);
	wait = (struct pollfd){.fd = two[0], .events = POLLIN};
	poll(&wait, 1, 5000);
	if (read(two[0], seen, 3) < 0)
		perror("read");
	printf("%s: status %x, %s\n", what, status, seen);
	close(two[0]);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 99;
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	make_files(argv[1]);
	in_child("daemon", become_daemon);
	in_child("login_tty", log_in);
	in_child("forkpty", fork_terminal);
	return 0;
}
