/* stdiffer FOLDER SEED LINES: draws; the script goes to stderr.
 * stdiffer FOLDER SCRIPT: replays.
 * The transcript goes to stdout. Exit status: 0, or 3 if an operation was wrong by itself. */
#include "stdiffer.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRANSCRIPT_BYTES ((size_t)32 << 20)
#define TMPFS_MAGIC 0x01021994
#define PATIENCE 10 /* seconds */

/* Shared by all processes. */
static struct shared {
	uint64_t wrong;
	struct text transcript;
	struct text script;
	char transcript_bytes[TRANSCRIPT_BYTES];
	char script_bytes[TRANSCRIPT_BYTES];
} * shared;

static void share(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	shared->transcript = (struct text){shared->transcript_bytes, TRANSCRIPT_BYTES, 0, -1};
	shared->script = (struct text){shared->script_bytes, TRANSCRIPT_BYTES, 0, -1};
	wrong_count = &shared->wrong;
}

/* A small file system, in a name space of our own, so that it goes with us. */
static void mount_small(void)
{
	const char *path = path_in("small", "");

	mkdir(path, 0700);
	tiny_disk = unshare(CLONE_NEWNS) == 0 &&
		    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
		    mount("none", path, "tmpfs", 0, "size=256k") == 0;
}

static int run_all(void)
{
	static struct runner runner = {.by = BY_MAIN};
	struct rlimit none = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What libc has to say of an abort does not belong to the script. */
	if (!replaying())
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &none);
	peer_begin();
	runner.transcript = &shared->transcript;
	runner.script = &shared->script;
	script_run(&runner);
	end_now(last_end);
	return 0;
}

static void print(const struct text *text, int fd)
{
	struct text copy = *text;

	copy.fd = fd;
	text_flush(&copy);
}

/* Waits; what does not end is killed, so that the transcript shows how far it came. */
static void wait_for_runner(pid_t pid)
{
	struct timespec patience = {.tv_sec = PATIENCE};
	sigset_t child;
	int status = 0;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sigtimedwait(&child, NULL, &patience) < 0 && errno == EAGAIN) {
			say("it hangs\n");
			kill(pid, SIGKILL);
		}
	}
	if (WIFSIGNALED(status))
		say("signal %d\n", WTERMSIG(status));
	else
		say("exit %d\n", WEXITSTATUS(status));
}

/* Where the file has data: seen on tmpfs, where nothing but the pages written decides. */
static void say_holes(int fd)
{
	off_t at = 0;
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0 || (unsigned long)fs.f_type != TMPFS_MAGIC)
		return;
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(fd, at, SEEK_HOLE);

		say(" %lld-%lld", (long long)at, (long long)end);
		at = end;
	}
}

static void look_at_files(void)
{
	for (int name = 0; name < NAMES; name++) {
		int fd = open(path_of(name), O_RDONLY);
		uint64_t sum = 0;
		int64_t size = 0;
		ssize_t n;

		if (fd < 0) {
			say("%c: none\n", 'a' + name);
			continue;
		}
		while ((n = read(fd, scratch(), MOST_BYTES)) > 0) {
			sum = sum_of(scratch(), (size_t)n, sum);
			size += n;
		}
		say("%c: %lld #%llx", 'a' + name, (long long)size, (unsigned long long)sum);
		say_holes(fd);
		say("\n");
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static struct runner last;
	sigset_t child;
	sigset_t before;
	pid_t pid;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: stdiffer FOLDER SEED LINES | stdiffer FOLDER SCRIPT\n");
		return 2;
	}
	setlocale(LC_ALL, "C.UTF-8");
	share();
	name_files(argv[1]);
	if (!script_load(argc - 2, argv + 2))
		return 2;
	mount_small();
	fault_begin();
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return run_all();
	}
	last.transcript = &shared->transcript;
	self = &last;
	wait_for_runner(pid);
	look_at_files();
	print(&shared->transcript, STDOUT_FILENO);
	if (!replaying())
		print(&shared->script, STDERR_FILENO);
	return shared->wrong != 0 ? 3 : 0;
}
