/* clone with every choice of what is shared. The child makes the number mean file B; whether the
 * parent sees that is the kernel's business. argv[1]: a folder. */
#include "fd_common.h"

#include <sched.h>
#include <sys/syscall.h>

static char stack[1 << 17] __attribute__((aligned(16)));
static int fd;
static pid_t child_tid;
static pid_t parent_tid;

static int child(void *p)
{
	const char *word = p;
	char seen[2];

	seen[0] = look(fd);
	close(fd);
	if (open(FILE_B, O_RDONLY) != fd)
		return 1;
	seen[1] = look(fd);
	return seen[0] == word[0] && seen[1] == word[1] ? 42 : 2;
}

static void make(const char *what, int flags)
{
	int status = -1;
	pid_t pid;
	char before;

	close(fd);
	fd = open(FILE_A, O_RDONLY);
	before = look(fd);
	errno = 0;
	pid = clone(child, stack + sizeof(stack), flags | SIGCHLD, (void *)"AB", &parent_tid, NULL,
		    &child_tid);
	printf("%s: errno %d, ", what, errno);
	waitpid(pid, &status, 0);
	printf("status %x, %c, then %c", status, before, look(fd));
	pass_time();
	printf(", later %c%s\n", look(fd),
	       (flags & CLONE_PARENT_SETTID) && parent_tid != pid ? ", wrong number" : "");
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 99;
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	make_files(argv[1]);
	fd = open(FILE_A, O_RDONLY);
	make("nothing", 0);
	make("parent's number", CLONE_PARENT_SETTID);
	make("memory, waiting", CLONE_VM | CLONE_VFORK);
	make("waiting", CLONE_VFORK);
	make("memory and files, waiting", CLONE_VM | CLONE_VFORK | CLONE_FILES);
	result("no function", clone(NULL, stack + sizeof(stack), SIGCHLD, NULL));
	result("no stack", clone(child, NULL, SIGCHLD, NULL));
	result("no sense", clone(child, stack + sizeof(stack), CLONE_THREAD | SIGCHLD, NULL));
	result("unshare nothing", unshare(0));
	result("unshare what there isn't", unshare(0x10));
	make("still nothing", 0);
	make("files", CLONE_FILES);
	/* It has our thread-local storage too, so we must do nothing but wait for it. */
	make("memory", CLONE_VM);
	result("SYS_unshare", syscall(SYS_unshare, CLONE_FILES));
	printf("%c\n", look(fd));
	return 0;
}
