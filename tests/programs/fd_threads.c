/* Descriptors and threads: a thread with descriptors of its own, a thread cancelled inside open and
 * recvmsg, threads that use the same few numbers. argv[1]: a folder. */
#include "fd_common.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

static pthread_barrier_t step;
static int shared_fd;
static int two[2];

/* The same number, another file, in this thread only. */
static void *unshared(void *p)
{
	(void)p;
	printf("thread: %c\n", look(shared_fd));
	if (unshare(CLONE_FILES) != 0)
		perror("unshare");
	pthread_barrier_wait(&step);
	close(shared_fd);
	printf("opened: %d\n", open(FILE_B, O_RDONLY) == shared_fd);
	for (int i = 0; i < 3; i++) {
		printf("thread: %c\n", look(shared_fd));
		pthread_barrier_wait(&step);
		pthread_barrier_wait(&step);
	}
	return NULL;
}

static void own_descriptors(void)
{
	pthread_t thread;

	shared_fd = open(FILE_A, O_RDONLY);
	printf("main: %c\n", look(shared_fd));
	pthread_barrier_init(&step, NULL, 2);
	pthread_create(&thread, NULL, unshared, NULL);
	pthread_barrier_wait(&step);
	for (int i = 0; i < 3; i++) {
		pthread_barrier_wait(&step);
		printf("main: %c\n", look(shared_fd));
		if (i == 1)
			pass_time();
		pthread_barrier_wait(&step);
	}
	pthread_join(thread, NULL);
	close(shared_fd);
}

static void note(void *p)
{
	printf("cleaned up: %s\n", (const char *)p);
}

static void *blocks_in_open(void *p)
{
	pthread_cleanup_push(note, p);
	printf("opened %d\n", open("fifo", O_RDONLY));
	pthread_cleanup_pop(1);
	return NULL;
}

static void *blocks_in_recvmsg(void *p)
{
	struct msghdr message = {.msg_iov = NULL};

	pthread_cleanup_push(note, p);
	printf("received %zd\n", recvmsg(two[1], &message, 0));
	pthread_cleanup_pop(1);
	return NULL;
}

static void *blocks_in_lock(void *p)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
	int fd = open("lock", O_RDWR | O_CREAT, 0600);

	pthread_cleanup_push(note, p);
	printf("locked %d\n", fcntl(fd, F_OFD_SETLKW, &lock));
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancel(const char *what, void *(*function)(void *))
{
	pthread_t thread;
	void *answer;

	pthread_create(&thread, NULL, function, (void *)what);
	usleep(50000);
	pthread_cancel(thread);
	pthread_join(thread, &answer);
	printf("%s: %s\n", what, answer == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
}

static void *cancels_itself(void *p)
{
	int fd = open(FILE_A, O_RDONLY);

	look(fd);
	pthread_cancel(pthread_self());
	pthread_cleanup_push(note, p);
	close(fd);
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancellation(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
	int fd = open("lock", O_RDWR | O_CREAT, 0600);

	mkfifo("fifo", 0600);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, two);
	fcntl(fd, F_OFD_SETLKW, &lock);
	cancel("open", blocks_in_open);
	cancel("recvmsg", blocks_in_recvmsg);
	cancel("fcntl", blocks_in_lock);
	cancel("close", cancels_itself);
}

/* Each thread knows what its own number is, however the numbers go round. */
static void *takes_numbers(void *p)
{
	bool is_b = *(const bool *)p;
	size_t wrong = 0;

	for (int i = 0; i < 300; i++) {
		int fd = open(is_b ? FILE_B : FILE_A, O_RDONLY);

		if (i % 3 == 0) {
			int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

			close(fd);
			fd = copy;
		}
		wrong += look(fd) != (is_b ? 'B' : 'A');
		if (i % 2 == 0)
			close(fd);
		else
			fclose(fdopen(fd, "r"));
	}
	return (void *)wrong;
}

int main(int argc, char **argv)
{
	static const bool kinds[4] = {false, true, false, true};
	pthread_t threads[4];

	if (argc < 2)
		return 99;
	make_files(argv[1]);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, takes_numbers, (void *)&kinds[i]);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		printf("%zu wrong\n", (size_t)wrong);
	}
	cancellation();
	own_descriptors();
	return 0;
}
