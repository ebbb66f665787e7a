/* The answers of mmap and munmap at the edges, and files that change. argv[1]: a folder. */
#include "map_common.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>

static char folder[4000];

static const char *in_folder(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void *small(int fd, int flags, off_t offset)
{
	return mmap(NULL, PAGE, PROT_READ, flags, fd, offset);
}

static void thrice(const char *what, int fd, int flags, off_t offset)
{
	for (int i = 0; i < 3; i++)
		mapped(what, small(fd, flags, offset));
}

static void errors(void)
{
	int fd = make_file(in_folder("errors"), 2, 10 * PAGE);
	int writer = open(in_folder("errors"), O_WRONLY);
	int path = open(in_folder("errors"), O_PATH);
	int dir = open(folder, O_RDONLY | O_DIRECTORY);
	int null = open("/dev/null", O_RDONLY);
	int proc = open("/proc/self/status", O_RDONLY);
	int pipes[2];

	thrice("good", fd, MAP_PRIVATE, 0);
	thrice("write-only", writer, MAP_PRIVATE, 0);
	thrice("write-only, shared", writer, MAP_SHARED, 0);
	thrice("path", path, MAP_PRIVATE, 0);
	thrice("directory", dir, MAP_PRIVATE, 0);
	thrice("/dev/null", null, MAP_PRIVATE, 0);
	thrice("/proc", proc, MAP_PRIVATE, 0);
	if (pipe(pipes) == 0)
		thrice("pipe", pipes[0], MAP_PRIVATE, 0);
	thrice("descriptor -1", -1, MAP_PRIVATE, 0);
	thrice("descriptor 9999", 9999, MAP_PRIVATE, 0);
	thrice("offset 1", fd, MAP_PRIVATE, 1);
	thrice("offset -4096", fd, MAP_PRIVATE, -4096);
	thrice("neither private nor shared", fd, 0, 0);
	thrice("both", fd, MAP_SHARED_VALIDATE | 0x40000000, 0);
	for (int i = 0; i < 3; i++) {
		mapped("length 0", mmap(NULL, 0, PROT_READ, MAP_PRIVATE, fd, 0));
		mapped("no access", mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE, fd, 0));
		mapped("executable", mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
		mapped("writable, shared, read-only descriptor",
		       mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
		mapped("populate", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0));
		mapped("huge length", mmap(NULL, (size_t)1 << 62, PROT_READ, MAP_PRIVATE, fd, 0));
	}
	close(fd);
	thrice("closed", fd, MAP_PRIVATE, 0);
	result("errno after success", (errno = 4711, small(open(in_folder("errors"), O_RDONLY),
							   MAP_PRIVATE, 0) != MAP_FAILED)
					      ? errno
					      : 0);
}

static void ends(void)
{
	int fd = make_file(in_folder("ends"), 3, 10 * PAGE);
	unsigned char *p;
	unsigned char *q;

	munmap(small(fd, MAP_PRIVATE, 0), PAGE);
	p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	q = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, fd, 4 * PAGE);
	result("munmap length 0", munmap(p, 0));
	result("munmap unaligned", munmap(p + 1, PAGE));
	result("munmap too long", munmap(p, (size_t)-PAGE));
	result("munmap 1 byte", munmap(p, 1));
	result("  the first page is gone", mprotect(p, PAGE, PROT_READ));
	say("  the rest is there", bytes_are(p + PAGE, 3 * PAGE, 3, PAGE));
	result("munmap of it again", munmap(p, PAGE));
	result("munmap of the middle", munmap(p + 2 * PAGE, PAGE));
	result("  msync of all", msync(p, 4 * PAGE, MS_ASYNC));
	result("  madvise of all", madvise(p, 4 * PAGE, MADV_WILLNEED));
	say("  its neighbours are there",
	    bytes_are(p + PAGE, PAGE, 3, PAGE) && bytes_are(p + 3 * PAGE, PAGE, 3, 3 * PAGE));
	result("close, then munmap", (close(fd), munmap(p, 4 * PAGE)));
	say("  the other is there", bytes_are(q, 4 * PAGE, 3, 4 * PAGE));
	result("munmap", munmap(q, 4 * PAGE));
}

static void mixed(void)
{
	int fd = make_file(in_folder("mixed"), 4, 40 * PAGE);
	unsigned char *low = NULL;
	unsigned char *high = NULL;

	munmap(small(fd, MAP_PRIVATE, 0), PAGE);
	for (int i = 0; i < 20; i++) {
		unsigned char *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd,
					(off_t)((size_t)(2 * i) * PAGE));

		low = low == NULL || p < low ? p : low;
		high = high == NULL || p > high ? p : high;
	}
	result("munmap of twenty at once", munmap(low, (size_t)(high - low) + 2 * PAGE));
	/* Not by reading: a pointer used after its end may still read the file. */
	result("  the first is gone", mprotect(low, PAGE, PROT_READ));
	result("  the last is gone", mprotect(high, 2 * PAGE, PROT_READ));
	close(fd);
}

static void beyond(void)
{
	int fd = make_file(in_folder("beyond"), 5, 2 * PAGE + 100);
	int writer = open(in_folder("beyond"), O_RDWR);
	unsigned char *p;
	unsigned char *far;

	munmap(small(fd, MAP_PRIVATE, 0), PAGE);
	p = mmap(NULL, 40 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	mapped("40 pages of a file of 3", p);
	far = small(fd, MAP_PRIVATE, (off_t)(100 * PAGE));
	mapped("a page far beyond the end", far);
	result("  reading it", peek(far));
	result("the rest of the last page", peek(p + 2 * PAGE + 200));
	result("the page behind it", peek(p + 3 * PAGE));
	fill_file(writer, 5, 2 * PAGE + 100, 30 * PAGE);
	say("grown", bytes_are(p, 30 * PAGE, 5, 0));
	result("  and the page behind that", peek(p + 30 * PAGE));
	fill_file(writer, 5, 30 * PAGE, 600 * PAGE);
	say("far page, grown", bytes_are(far, PAGE, 5, 100 * PAGE));
	for (int i = 0; i < 3; i++) {
		unsigned char *q = small(fd, MAP_PRIVATE, (off_t)(500 * PAGE));

		say("a page of the grown file", bytes_are(q, PAGE, 5, 500 * PAGE));
		munmap(q, PAGE);
	}
	result("truncate", ftruncate(writer, PAGE + 1));
	result("  first page", peek(p) == byte_at(5, 0));
	result("  second page, behind the end", peek(p + PAGE + 1));
	result("  third page", peek(p + 2 * PAGE));
	result("write in place", pwrite(writer, "x", 1, 5));
	result("  is seen", peek(p + 5));
	result("  and a new mapping sees it", peek((unsigned char *)small(fd, MAP_PRIVATE, 0) + 5));
	close(writer);
	close(fd);
}

/* A sparse file of 6 GiB, with a few bytes far behind. */
static void large(void)
{
	off64_t far = (off64_t)5 << 30;
	int fd = make_file(in_folder("large"), 11, 0);
	int writer = open(in_folder("large"), O_RDWR | O_LARGEFILE);
	unsigned char bytes[64];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = byte_at(11, (uint64_t)far + i);
	result("a large file", ftruncate64(writer, (off64_t)6 << 30));
	result("  written far behind", pwrite64(writer, bytes, sizeof(bytes), far));
	for (int i = 0; i < 4; i++) {
		unsigned char *p = mmap64(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, far);

		mapped("  mapped far behind", p);
		say("  its bytes", bytes_are(p, sizeof(bytes), 11, (uint64_t)far));
		result("  and a hole", peek(p + 2 * PAGE));
	}
	unlink(in_folder("large"));
	close(writer);
	close(fd);
}

static void empty(void)
{
	int fd = make_file(in_folder("empty"), 6, 0);
	int writer = open(in_folder("empty"), O_RDWR);
	unsigned char *p;

	thrice("empty", fd, MAP_PRIVATE, 0);
	p = small(fd, MAP_PRIVATE, 0);
	result("  reading it", peek(p));
	fill_file(writer, 6, 0, 20 * PAGE);
	say("  grown", bytes_are(p, PAGE, 6, 0));
	for (int i = 0; i < 3; i++)
		say("  a new mapping",
		    bytes_are(small(fd, MAP_SHARED, (off_t)(19 * PAGE)), PAGE, 6, 19 * PAGE));
	close(fd);
	close(writer);
}

static void not_replace(void)
{
	int fd = make_file(in_folder("noreplace"), 8, 10 * PAGE);
	unsigned char *p;
	unsigned char *q;

	munmap(small(fd, MAP_PRIVATE, 0), PAGE);
	p = small(fd, MAP_PRIVATE, 0);
	q = mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	mapped("not over a live one", q);
	munmap(p, PAGE);
	q = mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		 -1, 0);
	mapped("where one was", q);
	say("  there", q == p);
	result("  writing", poke(q, 3));
	for (int i = 0; i < 40; i++)
		say("  another", bytes_are(small(fd, MAP_PRIVATE, (off_t)((size_t)(i % 10) * PAGE)),
					   PAGE, 8, (uint64_t)(i % 10) * PAGE));
	result("  unharmed", peek(q));
	close(fd);
	result("munmap", munmap(q, PAGE));
	result("  gone", mprotect(q, PAGE, PROT_READ));
}

/* System V memory attached over a mapping, and detached: it is gone, and the addresses are the
 * kernel's to give, but never lie in something else of ours. */
static void attached(void)
{
	int fd = make_file(in_folder("attached"), 12, 20 * PAGE);
	int id = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600);
	unsigned char *p;
	unsigned char *q;
	int wrong = 0;

	munmap(small(fd, MAP_PRIVATE, 0), PAGE);
	p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	result("attached at no page", shmat(id, p + PAGE + 1, SHM_REMAP) == (void *)-1 ? -1 : 0);
	q = shmat(id, p + PAGE + 1, SHM_REMAP | SHM_RND);
	say("attached over it", q == p + PAGE);
	result("  writing", poke(q + PAGE, 5));
	result("  detaching", shmdt(q));
	result("  it is gone", mprotect(q, PAGE, PROT_READ));
	for (int i = 0; i < 200; i++) {
		unsigned char *r = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		r[0] = 1;
		for (size_t k = 0; k < 20; k++)
			wrong += !bytes_are(small(fd, MAP_PRIVATE, (off_t)(k * PAGE)), 64, 12,
					    k * PAGE);
		wrong += r[0] != 1;
	}
	printf("  %d wrong after it\n", wrong);
	say("  its neighbours",
	    bytes_are(p, PAGE, 12, 0) && bytes_are(p + 3 * PAGE, PAGE, 12, 3 * PAGE));
	shmctl(id, IPC_RMID, NULL);
	close(fd);
}

/* Calls that take any address and any length, on a page that is mapped and one that no longer is.
 */
static void odd_ranges(void)
{
	int fd = make_file(in_folder("odd"), 13, 10 * PAGE);
	unsigned char *p;
	unsigned char *gone;

	/* Read-only, it would not do for remap_file_pages. */
	close(fd);
	fd = open(in_folder("odd"), O_RDWR);
	munmap(small(fd, MAP_SHARED, 0), PAGE);
	p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	gone = p + 2 * PAGE;
	munmap(gone, 2 * PAGE);
	for (size_t skew = 0; skew <= 100; skew += 100) {
		printf("skew %zu\n", skew);
		result("  mlock of nothing", mlock(p + skew, 0));
		result("  munlock of nothing", munlock(p + skew, 0));
		result("  mlock of nothing where nothing is", mlock(gone + skew, 0));
		result("  mlock2 of it", mlock2(gone + skew, 0, MLOCK_ONFAULT));
		result("  munlock of it", munlock(gone + skew, 0));
		result("  mlock up to its page", mlock(p + skew, 2 * PAGE - skew));
		result("  mlock into its page", mlock(p + skew, 2 * PAGE - skew + 1));
		result("  munlock that wraps around", munlock(p + skew, (size_t)-10));
		result("  munlock where nothing is, that does", munlock(gone + skew, (size_t)-10));
		result("  munlock", munlock(p, 2 * PAGE));
		result("  msync of nothing", msync(gone + skew, 0, MS_ASYNC));
		result("  mincore of nothing", mincore(gone + skew, 0, NULL));
		result("  madvise of nothing", madvise(gone + skew, 0, MADV_WILLNEED));
		result("  mprotect of nothing", mprotect(gone + skew, 0, PROT_READ));
		result("  remap_file_pages of nothing", remap_file_pages(p + skew, 0, 0, 1, 0));
		result("  of less than a page", remap_file_pages(p + skew, PAGE - 1, 0, 1, 0));
		result("  where nothing is", remap_file_pages(gone + skew, PAGE, 0, 1, 0));
		result("  up to there", remap_file_pages(p + skew, 2 * PAGE + 1, 0, 1, 0));
		result("  into there", remap_file_pages(p + skew, 3 * PAGE, 0, 1, 0));
		say("  its effect", bytes_are(p, 2 * PAGE, 13, PAGE));
	}
	result("munmap", munmap(p, 2 * PAGE));
	for (int i = 0; i < 5; i++)
		say("  another", bytes_are(small(fd, MAP_SHARED, 0), PAGE, 13, 0));
	close(fd);
}

static int watch(int watcher, unsigned char *p, size_t pages, bool by_number)
{
	struct uffdio_register what = {
		.range = {(uintptr_t)p, pages * PAGE},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return by_number ? (int)syscall(SYS_ioctl, watcher, UFFDIO_REGISTER, &what)
			 : ioctl(watcher, UFFDIO_REGISTER, &what);
}

/* A userfaultfd on a page, which ends with the mapping. Only tmpfs has it. */
static void watched(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_SIGBUS};
	int watcher = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	int fd = open("/dev/shm", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	result("userfaultfd", watcher < 0 || ioctl(watcher, UFFDIO_API, &api) != 0 ? -1 : 0);
	result("a bad pointer", ioctl(watcher, UFFDIO_REGISTER, (void *)1));
	ftruncate(fd, (off_t)(40 * PAGE));
	usleep(20000);
	futimens(fd, (struct timespec[2]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}});
	munmap(small(fd, MAP_PRIVATE, 0), PAGE);
	for (off_t i = 0; i < 4; i++) {
		off_t offset = i * 4 * (off_t)PAGE;
		unsigned char *p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, fd, offset);

		result("watching a hole of a file", watch(watcher, p + PAGE, 2, i % 2));
		result("  reading it", peek(p + PAGE));
		result("  what is not watched", peek(p + 3 * PAGE));
		munmap(p + 2 * PAGE, 2 * PAGE);
		result("  watching what is gone", watch(watcher, p + 2 * PAGE, 1, i % 2));
		munmap(p, 2 * PAGE);
		p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, fd, offset);
		result("  another mapping", peek(p + PAGE));
		munmap(p, 4 * PAGE);
	}
	close(fd);
	close(watcher);
}

static void exchange(void)
{
	int fd = make_file(in_folder("one"), 9, 10 * PAGE);
	int other = make_file(in_folder("two"), 10, 10 * PAGE);
	unsigned char *p;

	for (int i = 0; i < 5; i++)
		p = small(fd, MAP_PRIVATE, (off_t)((size_t)i * PAGE));
	dup2(other, fd);
	for (int i = 0; i < 3; i++)
		say("after dup2", bytes_are(small(fd, MAP_PRIVATE, (off_t)PAGE), PAGE, 10, PAGE));
	say("the old one", bytes_are(p, PAGE, 9, 4 * PAGE));
	rename(in_folder("two"), in_folder("one") == NULL ? "" : in_folder("three"));
	unlink(in_folder("one"));
	say("unlinked", bytes_are(p, PAGE, 9, 4 * PAGE));
}

int main(int argc, char **argv)
{
	(void)argc;
	snprintf(folder, sizeof(folder), "%s", argv[1]);
	catch_faults();
	errors();
	ends();
	mixed();
	beyond();
	empty();
	large();
	not_replace();
	attached();
	odd_ranges();
	watched();
	exchange();
	return 0;
}
