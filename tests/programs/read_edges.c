/* build: -Wno-nonnull -Wno-stringop-overflow -Wno-stringop-overread */
/* Positional reads at every edge: what they return, what they leave in errno and in the buffer. */
#include "map_common.h"

#include <sys/uio.h>

#define LENGTH 100000

static unsigned char bytes[200000];
static const char *directory;
static char name[4096];

/* So many small reads that whatever serves them does so from now on. */
static void warm(int fd)
{
	for (int i = 0; i < 60; i++) {
		if (pread(fd, bytes, 10, i) < 0)
			return;
	}
}

static void at(const char *what, int fd, size_t n, off_t offset)
{
	ssize_t got;
	ssize_t same = 0;

	memset(bytes, 0x55, sizeof(bytes));
	errno = 4242;
	got = pread(fd, bytes, n, offset);
	if (got >= 0 && errno != 4242)
		printf("errno was touched: ");
	result(what, got);
	while (same < got && bytes[same] == byte_at(1, (uint64_t)(offset + same)))
		same++;
	say("  right bytes", got <= 0 || same == got || bytes[0] == 0 || bytes[0] == 'x');
	say("  nothing behind them", got < 0 || bytes[got] == 0x55);
}

static int another(const char *last, int flags)
{
	snprintf(name, sizeof(name), "%s/%s", directory, last);
	return open(name, flags, 0600);
}

static void ends(int fd)
{
	at("inside", fd, 100, 5000);
	at("across pages", fd, 9000, 4000);
	at("up to the end", fd, 100, LENGTH - 100);
	at("across the end", fd, 100, LENGTH - 50);
	at("at the end", fd, 100, LENGTH);
	at("beyond the end", fd, 100, LENGTH + 100000);
	at("none", fd, 0, 10);
	at("a negative offset", fd, 10, -1);
	at("the largest offset", fd, 10, INT64_MAX);
	at("an offset that overflows", fd, 1000, INT64_MAX - 10);
	at("nearly 64 KiB", fd, 65535, 100);
	at("64 KiB", fd, 65536, 100);
	at("inside again", fd, 1, 77777);
	result("no buffer", pread(fd, NULL, 10, 0));
	result("no buffer, none", pread(fd, NULL, 0, 0));
	result("a bad pointer", pread(fd, (void *)16, 10, 0));
	result("a pointer of the kernel's", pread(fd, (void *)(UINTPTR_MAX - 8191), 10, 0));
	errno = 0;
	result("more than there can be", pread(fd, bytes, (size_t)-1, 0));
}

/* More than are copied at a time: the kernel looks at all of them first. */
static void many_pieces(int fd)
{
	static unsigned char bytes[4000];
	static struct iovec pieces[200];

	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100; i++)
			pieces[i] = (struct iovec){bytes + (size_t)i * 40, 10 + (size_t)i % 30};
		memset(bytes, 0, sizeof(bytes));
		result("a hundred pieces", preadv(fd, pieces, 100, 777));
		say("  right bytes",
		    bytes_are(bytes, 10, 1, 777) && bytes_are(bytes + 40, 11, 1, 787));
		memset(bytes, 0, sizeof(bytes));
		pieces[90].iov_len = (size_t)-5;
		result("one of them bad", preadv(fd, pieces, 100, 777));
		say("  nothing read", bytes[0] == 0 && bytes[1] == 0 && bytes[2] == 0);
		pieces[90].iov_len = 10;
		pieces[3] = (struct iovec){&pieces[40], 16};
		result("on top of the pieces", preadv(fd, pieces, 100, 777));
		say("  right bytes", bytes_are(bytes + 1640, 21, 1, 777 + 800));
	}
}

static void borders(int fd)
{
	unsigned char *p =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec pieces[3];

	mprotect(p + PAGE, PAGE, PROT_NONE);
	result("room for some only", pread(fd, p + PAGE - 100, 200, 12288));
	say("  right bytes", bytes_are(p + PAGE - 100, 100, 1, 12288));
	mprotect(p + PAGE, PAGE, PROT_READ);
	result("read-only room for the rest", pread(fd, p + PAGE - 100, 200, 12288));
	pieces[0] = (struct iovec){p, 50};
	pieces[1] = (struct iovec){p + PAGE - 20, 100};
	pieces[2] = (struct iovec){p + 2 * PAGE, 50};
	result("a piece without room", preadv(fd, pieces, 3, 100));
	pieces[1].iov_len = 20;
	memset(p, 0, 50);
	result("three pieces", preadv(fd, pieces, 3, 100));
	say("  right bytes", bytes_are(p, 50, 1, 100) && bytes_are(p + PAGE - 20, 20, 1, 150) &&
				     bytes_are(p + 2 * PAGE, 50, 1, 170));
	for (int i = 0; i < 50; i++)
		preadv(fd, pieces, 3, 100);
	result("three pieces at the end", preadv(fd, pieces, 3, LENGTH - 60));
	result("no pieces", preadv(fd, pieces, 0, 0));
	result("a negative number", preadv(fd, pieces, -1, 0));
	result("bad pieces", preadv(fd, (struct iovec *)8, 2, 0));
	result("too many", preadv(fd, pieces, 5000, 0));
	pieces[1].iov_len = (size_t)-5;
	result("a length that overflows", preadv(fd, pieces, 3, 100));
	pieces[1].iov_len = 0;
	result("an empty piece", preadv64(fd, pieces, 3, 100));
	result("flags", preadv2(fd, pieces, 3, 100, 0x10000));
	result("no flags", preadv2(fd, pieces, 3, 100, 0));
	lseek(fd, 500, SEEK_SET);
	result("at the descriptor's own offset", preadv2(fd, pieces, 3, -1, 0));
	result("  which moved", lseek(fd, 0, SEEK_CUR));
	result("into the pieces themselves",
	       preadv(fd, (pieces[0] = (struct iovec){pieces, 32}, pieces), 1, 100));
	munmap(p, 3 * PAGE);
}

static void kinds(void)
{
	int fd = another("edges", O_WRONLY);

	warm(fd);
	at("write-only", fd, 10, 10);
	close(fd);
	at("closed", fd, 10, 10);
	fd = another("edges", O_PATH);
	warm(fd);
	at("O_PATH", fd, 10, 10);
	close(fd);
	fd = another(".", O_RDONLY);
	warm(fd);
	at("a directory", fd, 10, 10);
	close(fd);
	at("no number", -1, 10, 10);
	fd = another("empty", O_RDWR | O_CREAT | O_TRUNC);
	warm(fd);
	at("an empty file", fd, 10, 0);
	fill_file(fd, 1, 0, 10);
	at("no longer empty", fd, 10, 0);
	fill_file(fd, 1, 10, 100000);
	usleep(20000);
	warm(fd);
	at("grown", fd, 100, 90000);
	ftruncate(fd, 50);
	at("cut", fd, 100, 0);
	at("cut, beyond", fd, 100, 4096);
	ftruncate(fd, 200000);
	at("zeros behind", fd, 100, 10000);
	close(fd);
}

static void changes(int fd)
{
	int out = another("edges", O_RDWR);

	pwrite(out, "xxxxxxxxxx", 10, 20000);
	at("overwritten", fd, 10, 20000);
	fill_file(out, 1, 20000, 20010);
	at("and back", fd, 10, 20000);
	ftruncate(out, LENGTH + 100000);
	at("a hole", fd, 1000, LENGTH + 50000);
	usleep(20000);
	at("a hole, later", fd, 1000, LENGTH + 50000);
	at("a hole, at its end", fd, 1000, LENGTH + 99500);
	ftruncate(out, LENGTH);
	at("no hole", fd, 1000, LENGTH + 50000);
	close(out);
}

static void direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	result("O_DIRECT", fcntl(fd, F_SETFL, flags | O_DIRECT));
	result("  unaligned", pread(fd, bytes + 1, 10, 3));
	result("off again", fcntl(fd, F_SETFL, flags));
	at("  unaligned", fd, 10, 3);
}

static void locks(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
	int fd = another("edges", O_RDWR);
	int status;
	pid_t child;

	result("a POSIX lock", fcntl(fd, F_SETLK, &lock));
	warm(fd);
	at("under it", fd, 10, 0);
	child = fork();
	if (child == 0) {
		lock.l_type = F_WRLCK;
		fcntl(fd, F_GETLK, &lock);
		_exit(lock.l_type == F_UNLCK);
	}
	waitpid(child, &status, 0);
	say("it is still held", status == 0);
	close(fd);
}

static void signals(int fd)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	at("with SIGBUS blocked", fd, 10, 10);
	result("  and a bad pointer", pread(fd, (void *)16, 10, 0));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGSEGV, SIG_IGN);
	at("with SIGSEGV ignored", fd, 10, 10);
	result("  and a bad pointer", pread(fd, (void *)16, 10, 0));
	signal(SIGSEGV, SIG_DFL);
	at("with neither", fd, 10, 10);
}

static void replaced(int fd)
{
	int other = another("other", O_RDWR | O_CREAT | O_TRUNC);
	int status;
	pid_t child;

	fill_file(other, 2, 0, 50000);
	dup2(other, fd);
	result("replaced", pread(fd, bytes, 100, 300));
	say("  right bytes", bytes_are(bytes, 100, 2, 300));
	warm(fd);
	result("replaced, later", pread(fd, bytes, 100, 300));
	say("  right bytes", bytes_are(bytes, 100, 2, 300));
	child = fork();
	if (child == 0) {
		warm(fd);
		if (pread(fd, bytes, 100, 700) != 100 || !bytes_are(bytes, 100, 2, 700))
			_exit(1);
		close(fd);
		_exit(pread(fd, bytes, 10, 0) != -1 || errno != EBADF);
	}
	waitpid(child, &status, 0);
	say("in a child", status == 0);
	close(other);
	result("the copy", pread(fd, bytes, 100, 300));
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2)
		return 2;
	directory = argv[1];
	snprintf(name, sizeof(name), "%s/edges", directory);
	fd = make_file(name, 1, LENGTH);
	warm(fd);
	ends(fd);
	borders(fd);
	many_pieces(fd);
	kinds();
	changes(fd);
	locks();
	signals(fd);
	direct(fd);
	replaced(fd);
	return 0;
}
