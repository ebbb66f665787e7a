/* A lock, a lease, a busy text file last no longer than natively. argv[1]: a folder. */
#include "map_common.h"

/* Whether another process gets the lock at once. */
static int other_gets(const char *name)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		int fd = open(name, O_RDWR);

		_exit(flock(fd, LOCK_EX | LOCK_NB) == 0 ? 1 : 0);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static unsigned char *piece(int fd, size_t page)
{
	return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(page * PAGE));
}

/* A memory file can be sealed against writing once no mapping of the program's may write to it. */
static void seals(void)
{
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
	unsigned char *p[4];

	result("ftruncate", ftruncate(fd, (off_t)(4 * PAGE)));
	for (size_t i = 0; i < 4; i++) {
		p[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(i * PAGE));
		p[i][0] = (unsigned char)i;
	}
	for (size_t i = 0; i < 3; i++)
		munmap(p[i], PAGE);
	result("seal while a mapping is left", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	munmap(p[3], PAGE);
	result("seal with none left", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	mapped("a writable mapping then",
	       mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	result("what is in it", piece(fd, 2)[0]);
	close(fd);
}

int main(int argc, char **argv)
{
	char name[4096];
	unsigned char *p[5];
	int copy;
	int fd;
	int status;
	pid_t child;

	(void)argc;
	snprintf(name, sizeof(name), "%s/locks", argv[1]);
	fd = make_file(name, 1, 50 * PAGE);
	result("flock", flock(fd, LOCK_EX));
	for (size_t i = 0; i < 5; i++)
		p[i] = piece(fd, i);
	result("held: another gets it", other_gets(name));
	for (size_t i = 0; i < 5; i++)
		munmap(p[i], PAGE);
	result("unmapped: another gets it", other_gets(name));
	close(fd);
	result("closed: another gets it", other_gets(name));

	fd = open(name, O_RDONLY);
	result("flock", flock(fd, LOCK_EX));
	for (size_t i = 0; i < 5; i++)
		p[i] = piece(fd, i);
	copy = dup(fd);
	close(fd);
	result("one copy closed: another gets it", other_gets(name));
	close(copy);
	result("closed with live mappings: another gets it", other_gets(name));
	for (size_t i = 0; i < 4; i++)
		munmap(p[i], PAGE);
	result("one mapping left: another gets it", other_gets(name));
	say("  it is sound", bytes_are(p[4], PAGE, 1, 4 * PAGE));
	munmap(p[4], PAGE);
	result("none left: another gets it", other_gets(name));

	/* A program that was written through a descriptor that is closed can be run at once. */
	snprintf(name, sizeof(name), "%s/program", argv[1]);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0700);
	dprintf(fd, "#!/bin/sh\nexit 3\n");
	for (size_t i = 0; i < 4; i++)
		p[i] = piece(fd, 0);
	for (size_t i = 0; i < 4; i++)
		munmap(p[i], PAGE);
	close(fd);
	child = fork();
	if (child == 0) {
		execl(name, name, (char *)NULL);
		_exit(errno == ETXTBSY ? 26 : 1);
	}
	waitpid(child, &status, 0);
	result("running what was written", WEXITSTATUS(status));

	fd = open(name, O_RDONLY);
	for (size_t i = 0; i < 4; i++)
		munmap(piece(fd, 0), PAGE);
	close(fd);
	fd = open(name, O_RDWR);
	result("write lease", fcntl(fd, F_SETLEASE, F_WRLCK));
	close(fd);
	seals();
	return 0;
}
