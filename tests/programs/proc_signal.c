/* A handler that opens, maps, unmaps and closes while the program does the same. argv[1]: a folder;
 * argv[2]: how many signals. */
#include "fd_common.h"

#include <sys/time.h>

static volatile int caught;
static volatile int wrong;
static volatile int wanted;

/* Once, and again when the handler is done: on a slow machine nothing else would get on. */
static void start_timer(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 300}};

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_alarm(int number)
{
	int saved = errno;
	int fd = open(caught % 2 == 0 ? FILE_A : FILE_B, O_RDONLY);

	(void)number;
	if (fd < 0 || look(fd) != (caught % 2 == 0 ? 'A' : 'B'))
		wrong++;
	close(fd);
	caught++;
	start_timer();
	errno = saved;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	int kept;

	if (argc < 3)
		return 99;
	make_files(argv[1]);
	wanted = atoi(argv[2]);
	kept = open(FILE_A, O_RDONLY);
	sigaction(SIGALRM, &action, NULL);
	start_timer();
	for (int i = 0; caught < wanted; i++) {
		int fd = open(i % 2 == 0 ? FILE_B : FILE_A, O_RDONLY);
		int copy = dup(fd);

		wrong += look(fd) != (i % 2 == 0 ? 'B' : 'A');
		close(fd);
		wrong += look(copy) != (i % 2 == 0 ? 'B' : 'A');
		dup2(kept, copy);
		wrong += look(copy) != 'A';
		close(copy);
		wrong += errno != 0;
		errno = 0;
	}
	signal(SIGALRM, SIG_IGN);
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
