/*
 * Reads at the descriptor's own offset: whoever looks at it, whichever way, finds it where the
 * program has moved it.
 *
 * usage: read_offset DIRECTORY
 *        read_offset - NUMBER     (what it starts itself: where does this descriptor stand?)
 */
#include "map_common.h"

#include <dirent.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

#define LENGTH ((size_t)300000)

static char name[4096];
static char *self;
static unsigned char bytes[200000];

static void answered(const char *what, long long answer)
{
	printf("%s: %lld%s%s\n", what, answer, answer < 0 ? " " : "",
	       answer < 0 ? strerrorname_np(errno) : "");
	errno = 0;
}

/* So many small reads make their number worth serving. The offset is then `at`. */
static void warm(int fd, off_t at)
{
	for (int i = 0; i < 100; i++) {
		lseek(fd, (off_t)i * 37, SEEK_SET);
		if (read(fd, bytes, 16) != 16 || !bytes_are(bytes, 16, 1, (uint64_t)i * 37))
			say("warming up", false);
	}
	lseek(fd, at, SEEK_SET);
}

static int fresh(int flags, off_t at)
{
	int fd = open(name, flags);

	warm(fd, at);
	return fd;
}

static void get(const char *what, int fd, size_t n)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t got;

	memset(bytes, 0, sizeof(bytes));
	got = read(fd, bytes, n);
	answered(what, got);
	if (got > 0)
		say("  right bytes", bytes_are(bytes, (size_t)got, 1, (uint64_t)at));
	answered("  it stands at", lseek(fd, 0, SEEK_CUR));
}

static void seek(const char *what, int fd, off_t offset, int whence)
{
	answered(what, lseek(fd, offset, whence));
	answered("  it stands at", lseek(fd, 0, SEEK_CUR));
}

static void moves(void)
{
	int fd = fresh(O_RDONLY, 1000);
	struct iovec pieces[3] = {{bytes, 10}, {bytes + 10, 0}, {bytes + 10, 90}};

	get("a few", fd, 10);
	get("a page", fd, 4096);
	get("many", fd, 20000);
	get("too many", fd, 70000);
	get("none", fd, 0);
	seek("set", fd, 5000, SEEK_SET);
	seek("on", fd, 77, SEEK_CUR);
	seek("back", fd, -1077, SEEK_CUR);
	seek("before the start", fd, -1, SEEK_SET);
	seek("far before it", fd, -100000, SEEK_CUR);
	seek("the end", fd, 0, SEEK_END);
	get("there", fd, 10);
	seek("almost", fd, -10, SEEK_END);
	get("there", fd, 100);
	seek("before the start, from the end", fd, -400000, SEEK_END);
	seek("behind the end", fd, 100000, SEEK_END);
	get("there", fd, 10);
	seek("far", fd, (off_t)1 << 40, SEEK_SET);
	get("there", fd, 10);
	seek("too far", fd, (off_t)1 << 62, SEEK_SET);
	seek("on, too far", fd, INT64_MAX, SEEK_CUR);
	seek("data", fd, 100, SEEK_DATA);
	seek("a hole", fd, 100, SEEK_HOLE);
	seek("data behind the end", fd, LENGTH, SEEK_DATA);
	seek("a bad way", fd, 0, 77);
	seek("home", fd, 0, SEEK_SET);
	answered("three pieces", readv(fd, pieces, 3));
	say("  right bytes", bytes_are(bytes, 100, 1, 0));
	answered("  it stands at", lseek(fd, 0, SEEK_CUR));
	answered("no pieces", readv(fd, pieces, 0));
	answered("bad pieces", readv(fd, (struct iovec *)8, 3));
	answered("a bad pointer", read(fd, (void *)8, 100));
	answered("  it stands at", lseek(fd, 0, SEEK_CUR));
	answered("a positional one", pread(fd, bytes, 10, 200000));
	answered("  it stands at", lseek(fd, 0, SEEK_CUR));
	answered("closed", close(fd));
	answered("read", read(fd, bytes, 10));
	answered("lseek", lseek(fd, 0, SEEK_CUR));
	answered("opened again", open(name, O_RDONLY) == fd ? 0 : -1);
	get("there", fd, 10);
	close(fd);
}

static void copies(void)
{
	int fd = fresh(O_RDONLY, 1000);
	int other = dup(fd);

	get("a dup", other, 100);
	get("its origin", fd, 100);
	warm(fd, 2000);
	get("its origin, warm", fd, 100);
	get("the dup", other, 100);
	close(other);
	close(fd);
	fd = fresh(O_RDONLY, 3000);
	other = fcntl(fd, F_DUPFD, 100);
	get("F_DUPFD", other, 100);
	close(other);
	other = fresh(O_RDONLY, 7000);
	dup2(fd, other);
	get("dup2", other, 100);
	get("its origin", fd, 100);
	close(other);
	close(fd);
}

/* Descriptors of this process, taken by way of the process itself. */
static int take_descriptor(bool by_number, int fd)
{
	int process = pidfd_open(getpid(), 0);
	int other = by_number ? (int)syscall(SYS_pidfd_getfd, process, fd, 0)
			      : pidfd_getfd(process, fd, 0);

	close(process);
	return other;
}

static void takes(void)
{
	for (int by_number = 0; by_number < 2; by_number++) {
		int fd = fresh(O_RDONLY, 2000);
		int other;

		warm(fd, 5000);
		other = take_descriptor(by_number, fd);
		get("a descriptor that was taken", other, 100);
		get("its origin", fd, 100);
		warm(fd, 9000);
		get("taken, its origin moved", other, 100);
		close(other);
		close(fd);
	}
}

static void messages(void)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec piece = {bytes, 1};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int fd = fresh(O_RDONLY, 1000);
	int pair[2];
	int other;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	control.header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	answered("sent", sendmsg(pair[0], &message, 0));
	answered("received", recvmsg(pair[1], &message, 0));
	memcpy(&other, CMSG_DATA(&control.header), sizeof(other));
	get("what was received", other, 100);
	get("its origin", fd, 100);
	close(other);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void child_stands(int fd)
{
	char at[100];
	int n = snprintf(at, sizeof(at), "  a child: %jd\n", (intmax_t)lseek(fd, 0, SEEK_CUR));

	if (write(1, at, (size_t)n) != n || read(fd, bytes, 10) != 10)
		_exit(1);
	_exit(0);
}

static void children(void)
{
	char number[20];
	char command[200];
	char *arguments[] = {self, "-", number, NULL};
	int fd = fresh(O_RDONLY, 1000);
	int pipes[2];
	FILE *stream;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		child_stands(fd);
	waitpid(child, NULL, 0);
	get("after fork", fd, 10);
	close(fd);
	fd = fresh(O_RDONLY, 1500);
	fflush(stdout);
	child = vfork();
	if (child == 0)
		_exit(lseek(fd, 100, SEEK_CUR) == 1600 ? 0 : 1);
	waitpid(child, NULL, 0);
	get("after vfork", fd, 10);
	close(fd);
	fd = fresh(O_RDONLY, 2000);
	snprintf(number, sizeof(number), "%d", fd);
	fflush(stdout);
	if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0)
		waitpid(child, NULL, 0);
	get("after posix_spawn", fd, 10);
	close(fd);
	fd = fresh(O_RDONLY, 3000);
	snprintf(number, sizeof(number), "%d", fd);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		int mine = fresh(O_RDONLY, 4000);

		snprintf(number, sizeof(number), "%d", mine);
		execv(self, arguments);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	get("after fork and exec", fd, 10);
	close(fd);
	fd = fresh(O_RDONLY, 5000);
	snprintf(command, sizeof(command), "%s - %d", self, fd);
	fflush(stdout);
	answered("system", system(command));
	get("after system", fd, 10);
	close(fd);
	fd = fresh(O_RDONLY, 6000);
	snprintf(command, sizeof(command), "%s - %d", self, fd);
	stream = popen(command, "r");
	if (stream != NULL && fgets(command, sizeof(command), stream) != NULL)
		fputs(command, stdout);
	pclose(stream);
	get("after popen", fd, 10);
	close(fd);
	/* As `read` and another command on one file in a shell. */
	fd = fresh(O_RDONLY, 0);
	pipe(pipes);
	close(pipes[0]);
	close(pipes[1]);
	get("a line", fd, 1);
	close(fd);
}

static void users(void)
{
	int fd = fresh(O_RDONLY, 1000);
	int pipes[2];
	int left = -1;
	char out_name[4200];
	int out;
	struct iovec piece = {bytes, 10};
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_CUR, .l_len = 10};
	FILE *stream;

	snprintf(out_name, sizeof(out_name), "%s.out", name);
	out = open(out_name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	pipe(pipes);
	answered("sendfile", sendfile(out, fd, NULL, 100));
	get("after it", fd, 10);
	warm(fd, 2000);
	answered("splice", splice(fd, NULL, pipes[1], NULL, 100, 0));
	get("after it", fd, 10);
	warm(fd, 3000);
	answered("copy_file_range", copy_file_range(fd, NULL, out, NULL, 100, 0));
	get("after it", fd, 10);
	warm(fd, 4000);
	answered("preadv2", preadv2(fd, &piece, 1, -1, 0));
	get("after it", fd, 10);
	warm(fd, 5000);
	answered("syscall(SYS_read)", syscall(SYS_read, fd, bytes, 100));
	get("after it", fd, 10);
	close(fd);
	fd = fresh(O_RDONLY, 6000);
	answered("syscall(SYS_lseek)", syscall(SYS_lseek, fd, 100, SEEK_CUR));
	get("after it", fd, 10);
	warm(fd, 7000);
	answered("FIONREAD", ioctl(fd, FIONREAD, &left));
	answered("  left", left);
	get("after it", fd, 10);
	warm(fd, 8000);
	answered("a lock from here on", fcntl(fd, F_SETLK, &lock));
	fflush(stdout);
	if (fork() == 0) {
		lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
		fcntl(open(name, O_RDWR), F_GETLK, &lock);
		_exit(lock.l_start == 8000 && lock.l_len == 10 ? 0 : 1);
	}
	wait(&left);
	answered("  was seen where it is", left);
	close(fd);
	fd = fresh(O_RDONLY, 9000);
	stream = fdopen(fd, "r");
	answered("fdopen", fread(bytes, 1, 100, stream));
	say("  right bytes", bytes_are(bytes, 100, 1, 9000));
	fclose(stream);
	close(pipes[0]);
	close(pipes[1]);
	close(out);
}

static void writers(void)
{
	int fd = fresh(O_RDWR, 1000);

	answered("written", write(fd, bytes, 0));
	memset(bytes, 'x', 10);
	answered("written", write(fd, bytes, 10));
	answered("  it stands at", lseek(fd, 0, SEEK_CUR));
	fill_file(fd, 1, 1000, 1010);
	warm(fd, 2000);
	get("between", fd, 100);
	memset(bytes, 'x', 10);
	answered("written", write(fd, bytes, 10));
	fill_file(fd, 1, 2100, 2110);
	get("behind", fd, 100);
	warm(fd, LENGTH - 10);
	get("the end", fd, 100);
	fill_file(fd, 1, LENGTH, LENGTH + 100);
	get("it has grown", fd, 1000);
	ftruncate(fd, LENGTH);
	get("it has shrunk", fd, 1000);
	close(fd);
	fd = open(name, O_RDWR | O_APPEND);
	warm(fd, 500);
	memset(bytes, 'x', 10);
	answered("appended", write(fd, bytes, 10));
	answered("  it stands at", lseek(fd, 0, SEEK_CUR));
	ftruncate(fd, LENGTH);
	close(fd);
}

/* Records that threads and handlers take from one descriptor: each exactly once. */

#define RECORDS 60000

static int records;
static uint8_t taken[RECORDS];
static unsigned int handled;
static bool stop;

static bool take(void)
{
	uint32_t record[4];
	ssize_t n = read(records, record, sizeof(record));

	if (n == sizeof(record) && record[0] < RECORDS && record[1] == ~record[0])
		__atomic_fetch_add(&taken[record[0]], 1, __ATOMIC_RELAXED);
	return n == sizeof(record);
}

static void *take_all(void *argument)
{
	while (take()) {
	}
	return argument;
}

static void *copy_it(void *argument)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		off_t at = lseek(records, 0, SEEK_CUR);
		char byte;

		/* A real call now and then, which makes the kernel's offset right. */
		if (at % 16 != 0 || syscall(SYS_read, records, &byte, 0) != 0)
			return (void *)1;
		usleep(100);
	}
	return argument;
}

static void on_alarm(int number)
{
	(void)number;
	if (take())
		handled++;
}

static void count(const char *what)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < RECORDS; i++)
		wrong += taken[i] != 1;
	answered(what, wrong);
	memset(taken, 0, sizeof(taken));
	lseek(records, 0, SEEK_SET);
}

static void threads(void)
{
	struct itimerval often = {{0, 300}, {0, 300}};
	char records_name[4200];
	pthread_t ids[4];
	void *answer;

	snprintf(records_name, sizeof(records_name), "%s.records", name);
	records = open(records_name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t record[4] = {i, ~i, i, i};

		write(records, record, sizeof(record));
	}
	close(records);
	records = open(records_name, O_RDONLY);
	take_all(NULL);
	count("not once");
	for (int i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, take_all, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	count("not once, by four threads");
	pthread_create(&ids[3], NULL, copy_it, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, take_all, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(ids[3], &answer);
	say("it stood between two records", answer == NULL);
	count("not once, by three threads and one that looks");
	close(records);
	records = open(records_name, O_RDONLY);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 20; i++) {
		take_all(NULL);
		if (i < 19)
			lseek(records, 0, SEEK_SET);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
	memset(taken, 0, sizeof(taken));
	lseek(records, 0, SEEK_SET);
	setitimer(ITIMER_REAL, &often, NULL);
	take_all(NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
	count("not once, with a handler that reads");
	say("it did", handled > 0);
	close(records);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc > 2) {
		int fd = atoi(argv[2]);

		printf("  the other: %jd\n", (intmax_t)lseek(fd, 0, SEEK_CUR));
		lseek(fd, 100, SEEK_CUR);
		return 0;
	}
	self = argv[0];
	snprintf(name, sizeof(name), "%s/offsets", argv[1]);
	close(make_file(name, 1, LENGTH));
	moves();
	copies();
	takes();
	messages();
	children();
	users();
	writers();
	threads();
	return 0;
}
