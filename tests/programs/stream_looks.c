/* build: -Wno-deprecated-declarations -ldl */
/* Looks at a file that is being written through a stream: by another process, after a message of
 * whatever kind, and by this one, by whatever way leads to the file. */
#include "stream_common.h"

#include <dlfcn.h>
#include <ftw.h>
#include <fts.h>
#include <mntent.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <wordexp.h>

static FILE *out;

/* What both sides have. */
static int ends[2];
static pid_t looker;
static pid_t writer;
static sem_t *semaphore;
static int queue;
static int semaphores;
static FILE *message;
static volatile int *shared;

static void prepare(void)
{
	out = busy("out", "w+");
	scribble(out, 100000, 5);
}

/* The one who looks comes before the stream. `waits` returns when the message is there, `tells`
 * sends it. */
static void look_after(void (*waits)(void), void (*tells)(void))
{
	unlink(path_of("out"));
	unlink(path_of("lock"));
	fflush(stdout);
	writer = getpid();
	*shared = 0;
	looker = fork();
	if (looker == 0) {
		alarm(20);
		waits();
		say_file("seen", "out");
		_exit(0);
	}
	prepare();
	tells();
	waitpid(looker, NULL, 0);
	fclose(out);
	say_file("in the end", "out");
}

static void read_byte(void)
{
	char byte;

	close(ends[1]);
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
}

static void two_ends(void)
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		exit(98);
}

static void close_end(void)
{
	close(ends[1]);
}

static void write_byte(void)
{
	if (write(ends[1], "x", 1) != 1)
		puts("write failed");
	close(ends[1]);
}

static void pipe_write(void)
{
	two_ends();
	look_after(read_byte, write_byte);
	close(ends[0]);
}

static void pipe_close(void)
{
	two_ends();
	look_after(read_byte, close_end);
	close(ends[0]);
}

/* The message is in its buffer before what it is about is written. */
static void tell_by_fclose(void)
{
	fclose(message);
}

static void stream_of_pipe(void)
{
	two_ends();
	message = fdopen(ends[1], "w");
	fputs("x", message);
	look_after(read_byte, tell_by_fclose);
	close(ends[0]);
}

static void tell_by_fflush(void)
{
	fflush(message);
	fclose(message);
}

static void stream_of_pipe_flushed(void)
{
	two_ends();
	message = fdopen(ends[1], "w");
	fputs("x", message);
	look_after(read_byte, tell_by_fflush);
	close(ends[0]);
}

static void tell_by_fwrite(void)
{
	char block[5000];

	memset(block, 'x', sizeof(block));
	fwrite(block, 1, sizeof(block), message);
	waitpid(looker, NULL, 0);
	fclose(message);
}

static void stream_of_pipe_full(void)
{
	two_ends();
	message = fdopen(ends[1], "w");
	look_after(read_byte, tell_by_fwrite);
	close(ends[0]);
}

static void socket_ends(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		exit(98);
}

static void tell_by_send(void)
{
	send(ends[1], "x", 1, 0);
	close(ends[1]);
}

static void socket_send(void)
{
	socket_ends();
	look_after(read_byte, tell_by_send);
	close(ends[0]);
}

static void tell_by_shutdown(void)
{
	shutdown(ends[1], SHUT_RDWR);
	waitpid(looker, NULL, 0);
	close(ends[1]);
}

static void socket_shutdown(void)
{
	socket_ends();
	look_after(read_byte, tell_by_shutdown);
	close(ends[0]);
}

static void tell_by_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "looks"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	address.sun_path[0] = '\0';
	snprintf(address.sun_path + 1, 90, "%d", (int)writer);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		puts("connect failed");
	waitpid(looker, NULL, 0);
	close(fd);
}

static void accept_one(void)
{
	if (accept(ends[0], NULL, NULL) < 0)
		_exit(97);
}

static void socket_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path + 1, 90, "%d", (int)getpid());
	ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(ends[0], (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(ends[0], 1) != 0)
		puts("no socket");
	look_after(accept_one, tell_by_connect);
	close(ends[0]);
}

static void wait_signal(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &number);
}

static void block_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void tell_by_kill(void)
{
	kill(looker, SIGUSR1);
}

static void signal_kill(void)
{
	block_signal();
	look_after(wait_signal, tell_by_kill);
}

static void tell_by_sigqueue(void)
{
	sigqueue(looker, SIGUSR1, (union sigval){0});
}

static void signal_sigqueue(void)
{
	block_signal();
	look_after(wait_signal, tell_by_sigqueue);
}

static void tell_by_tgkill(void)
{
	tgkill(looker, looker, SIGUSR1);
}

static void signal_tgkill(void)
{
	block_signal();
	look_after(wait_signal, tell_by_tgkill);
}

static void tell_by_pidfd(void)
{
	int fd = pidfd_open(looker, 0);

	pidfd_send_signal(fd, SIGUSR1, NULL, 0);
	close(fd);
}

static void signal_pidfd(void)
{
	block_signal();
	look_after(wait_signal, tell_by_pidfd);
}

static int lock_fd;

static void set_lock(int fd, short type, int command)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

	if (fcntl(fd, command, &lock) != 0)
		puts("no lock");
}

static void take_lock(void)
{
	lock_fd = open(path_of("lock"), O_RDWR | O_CREAT, 0600);
	set_lock(lock_fd, F_WRLCK, F_SETLKW);
}

static void wait_lock(void)
{
	int fd;

	while (!*shared)
		usleep(1000);
	fd = open(path_of("lock"), O_RDWR);
	set_lock(fd, F_WRLCK, F_SETLKW);
}

/* The lock is taken before, as far as the writer's file is concerned. */
static void tell_by_unlock(void)
{
	take_lock();
	*shared = 1;
	scribble(out, 110000, 5);
	usleep(20000);
	set_lock(lock_fd, F_UNLCK, F_SETLK);
	waitpid(looker, NULL, 0);
	close(lock_fd);
}

static void lock_fcntl(void)
{
	look_after(wait_lock, tell_by_unlock);
}

static void tell_by_closing_lock(void)
{
	take_lock();
	*shared = 1;
	scribble(out, 110000, 5);
	usleep(20000);
	close(lock_fd);
}

static void lock_close(void)
{
	look_after(wait_lock, tell_by_closing_lock);
}

static void wait_flock(void)
{
	int fd;

	while (!*shared)
		usleep(1000);
	fd = open(path_of("lock"), O_RDWR);
	flock(fd, LOCK_EX);
}

static void tell_by_flock(void)
{
	lock_fd = open(path_of("lock"), O_RDWR | O_CREAT, 0600);
	flock(lock_fd, LOCK_EX);
	*shared = 1;
	scribble(out, 110000, 5);
	usleep(20000);
	flock(lock_fd, LOCK_UN);
	waitpid(looker, NULL, 0);
	close(lock_fd);
}

static void lock_flock(void)
{
	look_after(wait_flock, tell_by_flock);
}

static void wait_name(void)
{
	while (access(path_of("lock"), F_OK) != 0)
		usleep(1000);
}

static void wait_no_name(void)
{
	while (!*shared)
		usleep(1000);
	while (access(path_of("lock"), F_OK) == 0)
		usleep(1000);
}

static void tell_by_unlink(void)
{
	close(open(path_of("lock"), O_RDWR | O_CREAT, 0600));
	*shared = 1;
	scribble(out, 110000, 5);
	unlink(path_of("lock"));
	waitpid(looker, NULL, 0);
}

static void name_unlink(void)
{
	look_after(wait_no_name, tell_by_unlink);
}

static void tell_by_remove(void)
{
	close(open(path_of("lock"), O_RDWR | O_CREAT, 0600));
	*shared = 1;
	scribble(out, 110000, 5);
	remove(path_of("lock"));
	waitpid(looker, NULL, 0);
}

static void name_remove(void)
{
	look_after(wait_no_name, tell_by_remove);
}

static void tell_by_mkdir(void)
{
	mkdir(path_of("lock"), 0700);
	waitpid(looker, NULL, 0);
	rmdir(path_of("lock"));
}

static void name_mkdir(void)
{
	look_after(wait_name, tell_by_mkdir);
}

static void tell_by_symlink(void)
{
	if (symlink("/", path_of("lock")) != 0)
		puts("no symlink");
	waitpid(looker, NULL, 0);
}

static void name_symlink(void)
{
	look_after(wait_name, tell_by_symlink);
}

static void tell_by_rename(void)
{
	close(open(path_of("lock.new"), O_RDWR | O_CREAT, 0600));
	scribble(out, 110000, 5);
	rename(path_of("lock.new"), path_of("lock"));
	waitpid(looker, NULL, 0);
}

static void name_rename(void)
{
	look_after(wait_name, tell_by_rename);
}

static void tell_by_open(void)
{
	close(open(path_of("lock"), O_RDWR | O_CREAT, 0600));
	waitpid(looker, NULL, 0);
}

static void name_open(void)
{
	look_after(wait_name, tell_by_open);
}

static void wait_mode(void)
{
	struct stat stat_of;

	while (stat(path_of("lock"), &stat_of) != 0 || !(stat_of.st_mode & 0100))
		usleep(1000);
}

static void tell_by_chmod(void)
{
	close(open(path_of("lock"), O_RDWR | O_CREAT, 0600));
	scribble(out, 110000, 5);
	chmod(path_of("lock"), 0700);
	waitpid(looker, NULL, 0);
}

static void name_chmod(void)
{
	look_after(wait_mode, tell_by_chmod);
}

static void wait_semaphore(void)
{
	while (sem_wait(semaphore) != 0)
		;
}

static void tell_by_semaphore(void)
{
	sem_post(semaphore);
}

static void posix_semaphore(void)
{
	semaphore = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(semaphore, 1, 0);
	look_after(wait_semaphore, tell_by_semaphore);
}

static void wait_semop(void)
{
	struct sembuf operation = {.sem_op = -1};

	semop(semaphores, &operation, 1);
}

static void tell_by_semop(void)
{
	struct sembuf operation = {.sem_op = 1};

	semop(semaphores, &operation, 1);
}

static void system_v_semaphore(void)
{
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	look_after(wait_semop, tell_by_semop);
	semctl(semaphores, 0, IPC_RMID);
}

struct letter {
	long type;
	char text[8];
};

static void wait_letter(void)
{
	struct letter letter;

	msgrcv(queue, &letter, sizeof(letter.text), 0, 0);
}

static void tell_by_letter(void)
{
	struct letter letter = {.type = 1};

	msgsnd(queue, &letter, sizeof(letter.text), 0);
}

static void system_v_message(void)
{
	queue = msgget(IPC_PRIVATE, 0600);
	look_after(wait_letter, tell_by_letter);
	msgctl(queue, IPC_RMID, NULL);
}

static void wait_mail(void)
{
	char text[8192];

	mq_receive(queue, text, sizeof(text), NULL);
}

static void tell_by_mail(void)
{
	mq_send(queue, "x", 1, 0);
}

static void posix_message(void)
{
	queue = mq_open("/looks", O_RDWR | O_CREAT, 0600, NULL);
	mq_unlink("/looks");
	look_after(wait_mail, tell_by_mail);
	mq_close(queue);
}

static void wait_event(void)
{
	eventfd_t value;

	eventfd_read(ends[0], &value);
}

static void tell_by_event(void)
{
	eventfd_write(ends[0], 1);
}

static void event(void)
{
	ends[0] = eventfd(0, 0);
	look_after(wait_event, tell_by_event);
	close(ends[0]);
}

/* Stops itself; its parent sees that. */
static void stops(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prepare();
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, WUNTRACED);
	say_file("stopped", "out");
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
}

/* pclose lets the child see the end of its input, and waits for it. */
static void pipe_to_command(void)
{
	char command[5000];
	FILE *pipe;

	unlink(path_of("out"));
	snprintf(command, sizeof(command), "read line; cksum <%s", path_of("out"));
	fflush(stdout);
	pipe = popen(command, "w");
	prepare();
	pclose(pipe);
	fclose(out);
}

/* Looks of this process. */

static int see(const char *path, const struct stat *stat_of, int type)
{
	(void)type;
	if (strcmp(strrchr(path, '/'), "/out") == 0)
		printf("size %ld\n", (long)stat_of->st_size);
	return 0;
}

static void by_ftw(void)
{
	prepare();
	ftw(directory, see, 10);
	fclose(out);
}

static void by_fts(void)
{
	char *paths[] = {(char *)(uintptr_t)directory, NULL};
	FTSENT *entry;
	FTS *fts;

	prepare();
	fts = fts_open(paths, FTS_PHYSICAL, NULL);
	while ((entry = fts_read(fts)) != NULL) {
		if (strcmp(entry->fts_name, "out") == 0)
			printf("size %ld\n", (long)entry->fts_statp->st_size);
	}
	fts_close(fts);
	fclose(out);
}

static void by_wordexp(void)
{
	char command[5000];
	wordexp_t words;

	prepare();
	snprintf(command, sizeof(command), "$(cksum <%s)", path_of("out"));
	if (wordexp(command, &words, 0) == 0) {
		for (size_t i = 0; i < words.we_wordc; i++)
			puts(words.we_wordv[i]);
		wordfree(&words);
	}
	fclose(out);
}

static void by_setmntent(void)
{
	struct mntent *entry;
	FILE *table;

	out = busy("out", "w+");
	put(out, 0, "a /b c d 0 0\n");
	fseek(out, 0, SEEK_SET);
	table = setmntent(path_of("out"), "r");
	entry = getmntent(table);
	puts(entry != NULL ? entry->mnt_dir : "nothing");
	endmntent(table);
	fclose(out);
}

static void by_dlopen(void)
{
	char bytes[65536];
	void *library;
	size_t got;
	FILE *in;

	/* Any library that is not loaded yet, written anew in pieces. */
	in = fopen("/usr/lib/x86_64-linux-gnu/libm.so.6", "r");
	out = fopen(path_of("library.so"), "w+");
	for (long at = 0; in != NULL; at += (long)got) {
		got = fread(bytes, 1, 1000, in);
		if (got == 0)
			break;
		fseek(out, at, SEEK_SET);
		fwrite(bytes, 1, got, out);
	}
	fseek(out, 0, SEEK_SET);
	library = dlopen(path_of("library.so"), RTLD_NOW);
	puts(library != NULL ? "loaded" : dlerror());
	fclose(out);
}

static void say_bytes(int fd)
{
	char bytes[64] = "";
	struct stat stat_of;

	fstat(fd, &stat_of);
	printf("pread %ld: %s, size %ld\n", (long)pread(fd, bytes, 20, 100000), bytes,
	       (long)stat_of.st_size);
}

/* A descriptor of the file that somebody else has opened. */
static void by_received_descriptor(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 'x';
	struct iovec piece = {.iov_base = &byte, .iov_len = 1};
	struct msghdr letter = {.msg_iov = &piece,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = sizeof(control)};
	void *bytes;
	int fd;

	socket_ends();
	fflush(stdout);
	looker = fork();
	if (looker == 0) {
		read_byte();
		fd = open(path_of("out"), O_RDWR);
		memset(&control, 0, sizeof(control));
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		sendmsg(ends[0], &letter, 0);
		_exit(0);
	}
	prepare();
	if (write(ends[1], "x", 1) != 1 || recvmsg(ends[1], &letter, 0) != 1)
		puts("no message");
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	scribble(out, 100000, 20);
	say_bytes(fd);
	bytes = mmap(NULL, 120000, PROT_READ, MAP_SHARED, fd, 0);
	put(out, 50, "newer");
	fseek(out, 0, SEEK_SET);
	printf("%.5s\n", (char *)bytes + 50);
	waitpid(looker, NULL, 0);
	fclose(out);
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

/* The same description, by way of the process itself. */
static void by_pidfd_getfd(void)
{
	int self = pidfd_open(getpid(), 0);
	int fd;

	prepare();
	fd = pidfd_getfd(self, fileno(out), 0);
	put(out, 3000, "somewhere");
	fseek(out, 5000, SEEK_SET);
	printf("offset %ld\n", (long)lseek(fd, 0, SEEK_CUR));
	say_bytes(fd);
	close(fd);
	fclose(out);
	close(self);
}

static void by_dup(void)
{
	int fd;

	prepare();
	fd = dup(fileno(out));
	put(out, 3000, "somewhere");
	fseek(out, 5000, SEEK_SET);
	printf("offset %ld\n", (long)lseek(fd, 0, SEEK_CUR));
	say_bytes(fd);
	close(fd);
	fclose(out);
}

static void by_name(void)
{
	int fd;

	prepare();
	fd = open(path_of("out"), O_RDONLY);
	put(out, 3000, "somewhere");
	fseek(out, 5000, SEEK_SET);
	say_bytes(fd);
	close(fd);
	fclose(out);
}

static void by_self_fd(void)
{
	char name[64];
	int fd;

	prepare();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fileno(out));
	fd = open(name, O_RDONLY);
	put(out, 3000, "somewhere");
	fseek(out, 5000, SEEK_SET);
	say_bytes(fd);
	close(fd);
	fclose(out);
}

static void by_link(void)
{
	int fd;

	prepare();
	unlink(path_of("link"));
	if (link(path_of("out"), path_of("link")) != 0)
		puts("no link");
	fd = open(path_of("link"), O_RDONLY);
	put(out, 100000, "somewhere");
	fseek(out, 5000, SEEK_SET);
	say_bytes(fd);
	close(fd);
	fclose(out);
}

static void by_stream(void)
{
	char bytes[32] = "";
	FILE *in;

	prepare();
	in = fopen(path_of("out"), "r");
	put(out, 100000, "somewhere");
	fseek(out, 5000, SEEK_SET);
	fseek(in, 100000, SEEK_SET);
	printf("%zu\n", fread(bytes, 1, 20, in));
	puts(bytes);
	fclose(in);
	put(out, 100000, "elsewhere");
	fseek(out, 5000, SEEK_SET);
	in = fopen(path_of("out"), "r+");
	fseek(in, 100000, SEEK_SET);
	printf("%zu\n", fread(bytes, 1, 20, in));
	puts(bytes);
	fclose(in);
	fclose(out);
}

static void by_mapping(void)
{
	char *bytes;
	int fd;

	prepare();
	bytes = mmap(NULL, 120000, PROT_READ, MAP_SHARED, fileno(out), 0);
	printf("%.10s\n", bytes + 100000);
	put(out, 100000, "somewhere");
	fseek(out, 5000, SEEK_SET);
	printf("%.10s\n", bytes + 100000);
	munmap(bytes, 120000);
	fclose(out);
	/* It was mapped before there was a stream, and its descriptor is gone. */
	fd = open(path_of("out"), O_RDWR);
	bytes = mmap(NULL, 120000, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	out = busy("out", "r+");
	put(out, 100000, "elsewhere");
	fseek(out, 5000, SEEK_SET);
	printf("%.10s\n", bytes + 100000);
	munmap(bytes, 120000);
	fclose(out);
}

static void by_rename(void)
{
	struct stat stat_of;

	prepare();
	rename(path_of("out"), path_of("renamed"));
	say_file("renamed", "renamed");
	scribble(out, 120000, 10);
	stat(path_of("renamed"), &stat_of);
	printf("size %ld\n", (long)stat_of.st_size);
	scribble(out, 130000, 10);
	close(open(path_of("out"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	fclose(out);
	say_file("in the end", "renamed");
	unlink(path_of("out"));
}

static void by_truncation(void)
{
	prepare();
	if (truncate(path_of("out"), 1000) != 0)
		puts("not cut");
	fseek(out, 0, SEEK_END);
	printf("end %ld\n", ftell(out));
	scribble(out, 500, 20);
	close(open(path_of("out"), O_WRONLY | O_TRUNC));
	put(out, 2000, "behind a hole");
	fclose(out);
	say_file("in the end", "out");
}

/* A library that calls libc's own functions, with a stream of ours. */
static void by_deep_library(void)
{
	char path[4200];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);
	void (*use)(FILE *) = NULL;
	void *library;

	path[n > 0 ? n : 0] = '\0';
	memcpy(strrchr(path, '/'), "/stream_deep_so.so", 19);
	prepare();
	put(out, 3000, "in the buffer");
	library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	if (library != NULL)
		use = (void (*)(FILE *))dlsym(library, "use_stream");
	if (use == NULL) {
		puts(dlerror());
		return;
	}
	use(out);
	put(out, 4000, "ours again");
	fseek(out, 12000, SEEK_SET);
	printf("%c\n", getc(out));
	use(out);
	fclose(out);
	say_file("in the end", "out");
	out = busy("second", "w+");
	use(out);
	put(out, 4000, "ours again");
	fclose(out);
	say_file("in the end", "second");
	dlclose(library);
}

/* Streams in the constructor and in the destructor of a library. */
static void by_destructor(void)
{
	char path[4200];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);
	pid_t pid;

	path[n > 0 ? n : 0] = '\0';
	memcpy(strrchr(path, '/'), "/stream_deep_so.so", 19);
	setenv("STREAM_DEEP", path_of("own"), 1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (dlopen(path, RTLD_NOW) == NULL)
			puts(dlerror());
		exit(0);
	}
	waitpid(pid, NULL, 0);
	unsetenv("STREAM_DEEP");
	say_file("in the end", "own");
}

static void change_by_number(void)
{
	fchmod(fileno(out), 06755);
}

static void change_by_name(void)
{
	chmod(path_of("out"), 06755);
}

/* A mode that a write clears, for whom it does. */
static void change_mode(void (*change)(void))
{
	struct stat stat_of;
	int status;
	pid_t pid;

	fflush(stdout);
	unlink(path_of("out"));
	if (chmod(directory, 0777) != 0)
		puts("not mine");
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(1);
		prepare();
		change();
		fclose(out);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status != 0 || stat(path_of("out"), &stat_of) != 0)
		puts("nobody can't write here");
	else
		printf("mode %o\n", stat_of.st_mode);
	unlink(path_of("out"));
}

static void by_mode(void)
{
	change_mode(change_by_number);
	change_mode(change_by_name);
}

/* Somebody who watches the file is told when it changes, and finds nothing then that was not
 * written. */
static void watched(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char events[8192];
	char filled[100];
	long zeros = 0;

	prepare();
	fclose(out);
	inotify_add_watch(watch, path_of("out"), IN_MODIFY);
	out = fopen(path_of("out"), "r+");
	for (int i = 0; i < BUSY; i++)
		put(out, i * 200L, "RECORD");
	fclose(out);
	puts(read(watch, events, sizeof(events)) > 0 ? "told" : "not told");
	memset(filled, 'x', sizeof(filled));
	fflush(stdout);
	*shared = 0;
	looker = fork();
	if (looker == 0) {
		int fd = open(path_of("out"), O_RDONLY);
		off_t at = lseek(fd, 0, SEEK_END);
		ssize_t got;

		*shared = 1;
		while (*shared != 2) {
			if (read(watch, events, sizeof(events)) <= 0)
				continue;
			for (; (got = pread(fd, events, sizeof(events), at)) > 0; at += got) {
				for (ssize_t i = 0; i < got; i++)
					zeros += events[i] == '\0';
			}
		}
		printf("%ld zeros\n", zeros);
		fflush(stdout);
		_exit(0);
	}
	while (*shared != 1)
		usleep(100);
	for (int round = 0; round < 60; round++) {
		long end;

		out = fopen(path_of("out"), "r+");
		fseek(out, 0, SEEK_END);
		end = ftell(out);
		for (int i = 0; i < 40; i++) {
			put(out, i * 50L, "xx");
			fseek(out, end + i * 100L, SEEK_SET);
			fwrite(filled, 1, sizeof(filled), out);
		}
		fclose(out);
	}
	*shared = 2;
	waitpid(looker, NULL, 0);
	close(watch);
}

/* Records of another process between ours stay what they are. */
static void neighbours(void)
{
	enum { RECORDS = 6000, STEP = 120 };
	char record[60];
	long lost = 0;

	memset(record, 'z', sizeof(record));
	for (unsigned int round = 0; round < 120; round++) {
		int fd = open(path_of("out"), O_RDWR | O_CREAT | O_TRUNC, 0600);

		if (ftruncate(fd, (off_t)RECORDS * 2 * 64) != 0)
			puts("not made");
		*shared = 0;
		fflush(stdout);
		looker = fork();
		if (looker == 0) {
			while (!*shared)
				;
			for (volatile unsigned int i = 0; i < round * 7919 % 400000; i++)
				;
			for (int i = 1; i < RECORDS; i += STEP) {
				if (pwrite(fd, record, 60, (i * 2L + 1) * 64) != 60)
					_exit(1);
			}
			_exit(0);
		}
		close(fd);
		out = fopen(path_of("out"), "r+");
		for (int i = 0; i < RECORDS; i++) {
			put(out, i * 2L * 64, "a record of ours");
			if (i == 40)
				*shared = 1;
		}
		fclose(out);
		waitpid(looker, NULL, 0);
		fd = open(path_of("out"), O_RDONLY);
		for (int i = 1; i < RECORDS; i += STEP) {
			char found[60];

			lost += pread(fd, found, 60, (i * 2L + 1) * 64) != 60 ||
				memcmp(found, record, 60) != 0;
		}
		close(fd);
	}
	printf("%ld lost\n", lost);
}

static void by_holes(void)
{
	struct stat stat_of;
	int fd;

	out = busy("out", "w+");
	for (int i = 1; i < 40; i++)
		put(out, i * 1000000L, "an island");
	fclose(out);
	fd = open(path_of("out"), O_RDONLY);
	fsync(fd);
	fstat(fd, &stat_of);
	printf("%ld blocks\n", (long)stat_of.st_blocks);
	for (off_t at = 0; at >= 0 && at < stat_of.st_size;) {
		off_t data = lseek(fd, at, SEEK_DATA);

		at = lseek(fd, data, SEEK_HOLE);
		if (data >= 0)
			printf("data %ld to %ld\n", (long)data, (long)at);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct a_case cases[] = {
		CASE(pipe_write),
		CASE(pipe_close),
		CASE(stream_of_pipe),
		CASE(stream_of_pipe_flushed),
		CASE(stream_of_pipe_full),
		CASE(socket_send),
		CASE(socket_shutdown),
		CASE(socket_connect),
		CASE(signal_kill),
		CASE(signal_sigqueue),
		CASE(signal_tgkill),
		CASE(signal_pidfd),
		CASE(lock_fcntl),
		CASE(lock_close),
		CASE(lock_flock),
		CASE(name_unlink),
		CASE(name_remove),
		CASE(name_mkdir),
		CASE(name_symlink),
		CASE(name_rename),
		CASE(name_open),
		CASE(name_chmod),
		CASE(posix_semaphore),
		CASE(system_v_semaphore),
		CASE(system_v_message),
		CASE(posix_message),
		CASE(event),
		CASE(stops),
		CASE(pipe_to_command),
		CASE(by_ftw),
		CASE(by_fts),
		CASE(by_wordexp),
		CASE(by_setmntent),
		CASE(by_dlopen),
		CASE(by_received_descriptor),
		CASE(by_pidfd_getfd),
		CASE(by_dup),
		CASE(by_name),
		CASE(by_self_fd),
		CASE(by_link),
		CASE(by_stream),
		CASE(by_mapping),
		CASE(by_rename),
		CASE(by_truncation),
		CASE(by_deep_library),
		CASE(by_destructor),
		CASE(by_mode),
		CASE(watched),
		CASE(neighbours),
		CASE(by_holes),
	};

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
