/* build: -lutil */
/* In how many ways a number can come to mean another file: pieces are mapped through it before and
 * after, at once and a clock tick later. argv[1]: a folder. */
#include "fd_common.h"

#include <dirent.h>
#include <mqueue.h>
#include <pty.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

extern char **environ;
int __close(int fd);
int __open(const char *path, int flags, ...);
int __open64(const char *path, int flags, ...);
int __dup2(int fd, int to);
int __fcntl(int fd, int command, ...);

/* Not constants, so that fortified programs call the checking functions. */
static volatile int read_only = O_RDONLY;

static DIR *volatile no_folder;

static int open_a(void)
{
	return open(FILE_A, read_only);
}

/* Says what number `fd` is once it is something else, now and later, and that a call which
 * succeeded left errno alone. Ends the number. */
static void after(const char *what, char before, int fd, int now)
{
	int error = errno;
	char first = look(now);
	char later;

	pass_time();
	later = look(now);
	printf("%-24s %c, then %c, later %c%s%s\n", what, before, first, later,
	       now == fd ? "" : ", another number", error == 0 ? "" : ", errno changed");
	close(now);
	errno = 0;
}

/* fd: a tracked number of file A that has a region. */
#define CASE(what, ...)                                                                            \
	do {                                                                                       \
		int fd = open_a();                                                                 \
		char before = look(fd);                                                            \
		int now = fd;                                                                      \
                                                                                                   \
		errno = 0;                                                                         \
		__VA_ARGS__;                                                                       \
		after(what, before, fd, now);                                                      \
	} while (0)

static void names(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	CASE("close, open", close(fd), now = open(FILE_B, read_only));
	CASE("__close, __open", __close(fd), now = __open(FILE_B, O_RDONLY));
	CASE("open64", close(fd), now = open64(FILE_B, read_only));
	CASE("__open64", close(fd), now = __open64(FILE_B, O_RDONLY));
	CASE("openat", close(fd), now = openat(dir, FILE_B, read_only));
	CASE("openat64", close(fd), now = openat64(dir, FILE_B, read_only));
	CASE("open for writing", close(fd), now = open(FILE_B, O_RDWR));
	CASE("creat", close(fd), now = creat("file.c", 0600));
	CASE("open, made", close(fd), now = open("file.c", O_RDWR | O_CREAT | O_TRUNC, 0640));
	CASE("mkstemp", close(fd), now = mkstemp((char[]){"temporary-XXXXXX"}));
	CASE("mkostemps", close(fd), now = mkostemps((char[]){"temporary-XXXXXX.c"}, 2, O_CLOEXEC));
	CASE("a folder", close(fd), now = open(".", O_RDONLY | O_DIRECTORY));
	CASE("a path only", close(fd), now = open(FILE_B, O_PATH));
	CASE("closed", close(fd));
	close(dir);
}

static void copies(int b)
{
	CASE("dup", close(fd), now = dup(b));
	CASE("dup2", now = dup2(b, fd));
	CASE("__dup2", now = __dup2(b, fd));
	CASE("dup3", now = dup3(b, fd, O_CLOEXEC));
	CASE("dup2 of itself", now = dup2(fd, fd));
	CASE("dup2 of nothing", now = dup2(999, fd) == -1 && errno == EBADF ? fd : -1, errno = 0);
	CASE("F_DUPFD", close(fd), now = fcntl(b, F_DUPFD, fd));
	CASE("F_DUPFD_CLOEXEC", close(fd), now = fcntl64(b, F_DUPFD_CLOEXEC, fd));
	CASE("__fcntl F_DUPFD", close(fd), now = __fcntl(b, F_DUPFD, fd));
	CASE("copy of a copy", int c = dup(fd); close(fd); look(c); now = dup(c); close(c));
	CASE("other flags", fcntl(fd, F_SETFD, FD_CLOEXEC);
	     printf("%d %d\n", fcntl(fd, F_GETFD), fcntl(fd, F_GETFL) & O_ACCMODE));
}

static void ranges(void)
{
	CASE("close_range", close_range((unsigned int)fd, ~0U, 0), now = open(FILE_B, read_only));
	CASE("close_range, cloexec", close_range((unsigned int)fd, ~0U, CLOSE_RANGE_CLOEXEC));
	CASE("close_range, wrong", close_range((unsigned int)fd, 0, 0), errno = 0);
	CASE("closefrom", closefrom(fd), now = open(FILE_B, read_only));
}

static void streams(void)
{
	CASE("fclose of fdopen", fclose(fdopen(fd, "r")), now = open(FILE_B, read_only));
	CASE("fopen, fclose", close(fd); FILE *f = fopen(FILE_A, "r"); look(fileno(f)); fclose(f);
	     now = open(FILE_B, read_only));
	CASE("fopen", close(fd); FILE *f = fopen(FILE_B, "r"); now = fileno(f); look(now);
	     now = dup(now); fclose(f); now = dup2(now, fd); close(fd + 1));
	CASE("freopen", close(fd); FILE *f = fopen(FILE_A, "r"); printf("%c ", look(fileno(f)));
	     f = freopen(FILE_B, "r", f); printf("%c\n", look(fileno(f))); fclose(f);
	     now = open(FILE_A, read_only));
	CASE("freopen of itself", close(fd); FILE *f = fopen(FILE_A, "r");
	     f = freopen(NULL, "r", f); printf("%c\n", look(fileno(f))); fclose(f);
	     now = open(FILE_B, read_only));
	/* cppcheck-suppress leakReturnValNotUsed ; it returns the stream that it was given */
	CASE("freopen of nothing", close(fd); FILE *f = fopen(FILE_A, "r"); look(fileno(f));
	     printf("%d\n", freopen("none", "r", f) == NULL); now = open(FILE_B, read_only);
	     errno = 0);
	CASE("tmpfile", close(fd); FILE *f = tmpfile(); printf("%c\n", look(fileno(f))); fclose(f);
	     now = open(FILE_B, read_only); errno = 0);
	CASE("closedir", close(fd); DIR *d = opendir("."); closedir(d);
	     now = open(FILE_B, read_only));
	CASE("opendir", close(fd); DIR *d = opendir("."); printf("%c\n", look(dirfd(d)));
	     closedir(d); now = open(FILE_B, read_only); errno = 0);
	CASE("popen", close(fd); FILE *f = popen("echo popen", "r"); char line[9];
	     printf("%c %s", look(fileno(f)), fgets(line, sizeof(line), f)); pclose(f);
	     now = open(FILE_B, read_only); errno = 0);
}

static void others(void)
{
	int two[2] = {-1, -1};
	sigset_t none;

	sigemptyset(&none);
	CASE("pipe", close(fd), pipe(two), now = two[0]);
	close(two[1]);
	CASE("pipe2", close(fd), pipe2(two, O_CLOEXEC), now = two[0]);
	close(two[1]);
	CASE("socketpair", close(fd), socketpair(AF_UNIX, SOCK_STREAM, 0, two), now = two[0]);
	close(two[1]);
	CASE("socket", close(fd), now = socket(AF_UNIX, SOCK_STREAM, 0));
	CASE("eventfd", close(fd), now = eventfd(0, 0));
	CASE("epoll_create1", close(fd), now = epoll_create1(0));
	CASE("inotify_init", close(fd), now = inotify_init());
	CASE("timerfd_create", close(fd), now = timerfd_create(CLOCK_MONOTONIC, 0));
	CASE("signalfd", close(fd), now = signalfd(-1, &none, 0));
	CASE("memfd_create", close(fd), now = memfd_create("a", 0), ftruncate(now, 1 << 20));
	CASE("openpty", close(fd), openpty(&now, &two[0], NULL, NULL, NULL), close(two[0]));
}

/* Sends a descriptor through a socket and receives it where `fd` was. */
static int receive(int fd, int sent, int many)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct iovec data = {.iov_base = &(char){'x'}, .iov_len = 1};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &data,
					      .msg_iovlen = 1,
					      .msg_control = &control,
					      .msg_controllen = sizeof(control)}};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message.msg_hdr);
	int two[2];
	int got;

	socketpair(AF_UNIX, SOCK_STREAM, 0, two);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &sent, sizeof(sent));
	if (sendmsg(two[0], &message.msg_hdr, 0) != 1)
		perror("sendmsg");
	close(fd);
	if (many ? recvmmsg(two[1], &message, 1, 0, NULL) != 1
		 : recvmsg(two[1], &message.msg_hdr, 0) != 1)
		perror("recvmsg");
	memcpy(&got, CMSG_DATA(header), sizeof(got));
	close(two[0]);
	close(two[1]);
	return got;
}

static void numbers(int b)
{
	CASE("SYS_close", syscall(SYS_close, fd), now = open(FILE_B, read_only));
	CASE("SYS_openat", close(fd),
	     now = (int)syscall(SYS_openat, AT_FDCWD, FILE_B, O_RDONLY, 0));
	CASE("both", syscall(SYS_close, fd),
	     now = (int)syscall(SYS_openat, AT_FDCWD, FILE_B, O_RDONLY, 0));
	CASE("SYS_dup", syscall(SYS_close, fd), now = (int)syscall(SYS_dup, b));
	CASE("SYS_dup3", now = (int)syscall(SYS_dup3, b, fd, O_CLOEXEC));
#ifdef SYS_dup2
	CASE("SYS_dup2", now = (int)syscall(SYS_dup2, b, fd));
	CASE("SYS_open", syscall(SYS_close, fd), now = (int)syscall(SYS_open, FILE_B, O_RDONLY));
#endif
	CASE("SYS_fcntl", syscall(SYS_close, fd), now = (int)syscall(SYS_fcntl, b, F_DUPFD, fd));
	CASE("SYS_close_range", syscall(SYS_close_range, fd, ~0U, 0),
	     now = open(FILE_B, read_only));
	CASE("SYS_memfd_create", syscall(SYS_close, fd),
	     now = (int)syscall(SYS_memfd_create, "a", 0), ftruncate(now, 1 << 20));
	CASE("bad number", printf("%ld ", syscall(SYS_close, 999)), result("errno", errno),
	     errno = 0);
}

/* Descriptors of the spawned program, not of this one. */
static void spawned(void)
{
	posix_spawn_file_actions_t actions;

	posix_spawn_file_actions_init(&actions);
	CASE("posix_spawn", char *words[] = {"true", NULL}; pid_t pid; int status = -1;
	     posix_spawn_file_actions_addclose(&actions, fd);
	     posix_spawn_file_actions_addopen(&actions, fd, FILE_B, O_RDONLY, 0);
	     posix_spawn_file_actions_adddup2(&actions, fd, 0);
	     printf("%d ", posix_spawnp(&pid, "true", &actions, NULL, words, environ));
	     waitpid(pid, &status, 0); printf("%d\n", status));
	posix_spawn_file_actions_destroy(&actions);
	CASE("system", printf("%d\n", system("exec <file.b; :")));
}

/* What the calls themselves have to say. */
static void answers(void)
{
	struct stat st;
	char byte;
	int fd = open_a();

	look(fd);
	close(fd);
	errno = 0;
	result("close again", close(fd));
	result("read", read(fd, &byte, 1));
	result("pread", pread(fd, &byte, 1, 0));
	result("lseek", lseek(fd, 0, SEEK_SET));
	result("dup", dup(fd));
	result("F_GETFL", fcntl(fd, F_GETFL));
	printf("look: %c\n", look(fd));
	result("open of nothing", open("none", read_only));
	/* cppcheck-suppress leakReturnValNotUsed ; there is none */
	result("fopen of nothing", fopen("none", "r") == NULL ? -1 : 0);
	result("dup2 to a bad number", dup2(0, -1));
	result("close of a bad number", close(-1));
	result("closedir of nothing", closedir(no_folder));
	errno = 0;
	fd = open(".", O_RDWR | O_TMPFILE, 0640);
	if (fd >= 0) {
		fstat(fd, &st);
		printf("O_TMPFILE: %o\n", st.st_mode);
		fill_file(fd, 'B', 0, FILE_PAGES * PAGE);
		printf("look: %c\n", look(fd));
	}
	close(fd);
	umask(0);
	fd = open("made", O_WRONLY | O_CREAT | O_EXCL, 0751);
	fstat(fd, &st);
	printf("O_CREAT: %o, look: %c\n", st.st_mode, look(fd));
	close(fd);
}

int main(int argc, char **argv)
{
	int b;

	if (argc < 2)
		return 99;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	printf("start\n");
	make_files(argv[1]);
	errno = 0;
	b = open(FILE_B, read_only);
	names();
	copies(b);
	streams();
	others();
	CASE("recvmsg", now = receive(fd, b, 0));
	CASE("recvmmsg", now = receive(fd, b, 1));
	numbers(b);
	spawned();
	answers();
	ranges();
	printf("B is still %c\n", look(b));
	/* The last, for after it nothing is trusted any more. */
	CASE("close_range, unshare", close_range((unsigned int)fd, ~0U, CLOSE_RANGE_UNSHARE),
	     now = open(FILE_B, read_only));
	fclose(stdin);
	printf("stdin is %d now\n", open(FILE_B, read_only));
	printf("stdin: %c\n", look(0));
	return 0;
}
