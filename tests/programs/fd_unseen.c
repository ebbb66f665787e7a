/* A number that is closed, and made again, where no hook sees it: by the system calls themselves.
 * argv[1]: a folder. */
#include "fd_common.h"

#include <sys/syscall.h>

#include "../../preload/sys.h"

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2)
		return 99;
	make_files(argv[1]);
	fd = open(FILE_A, O_RDONLY);
	printf("%c\n", look(fd));
	sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
	pass_time();
	printf("closed: %c\n", look(fd));
	sys_call(SYS_openat, AT_FDCWD, (long)FILE_B, O_RDONLY, 0, 0, 0);
	pass_time();
	printf("another: %c\n", look(fd));
	printf("again: %c\n", look(fd));
	return 0;
}
