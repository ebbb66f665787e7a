/* Writable mappings: what is written privately is seen by nobody else and gone with the mapping;
 * what is written to a shared one is in the file at once, and moves its time. argv[1]: a folder. */
#include "map_common.h"

#define PAGES ((size_t)300)

static char name[4096];
static int fd;

static unsigned char *map_at(size_t page, size_t pages, int prot, int flags)
{
	unsigned char *p = mmap(NULL, pages * PAGE, prot, flags, fd, (off_t)(page * PAGE));

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(98);
	}
	return p;
}

static unsigned char *private_at(size_t page, size_t pages)
{
	return map_at(page, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static unsigned char *shared_at(size_t page, size_t pages)
{
	return map_at(page, pages, PROT_READ | PROT_WRITE, MAP_SHARED);
}

static bool sound(const unsigned char *p, size_t page, size_t pages)
{
	return bytes_are(p, pages * PAGE, 21, page * PAGE);
}

static void privately(void)
{
	uint64_t random = 5;
	unsigned char *a;
	unsigned char *b;
	int wrong = 0;

	for (int i = 0; i < 3000; i++) {
		size_t pages = i % 10 == 0 ? 100 : 1 + next_random(&random) % 5;
		size_t page = next_random(&random) % (PAGES - 100);

		a = private_at(page, pages);
		wrong += !sound(a, page, pages);
		for (int k = 0; k < 3; k++)
			a[next_random(&random) % (pages * PAGE)] ^= 0x55;
		b = private_at(page, pages);
		wrong += !sound(b, page, pages);
		b[17] = 1;
		if (pages > 2) {
			munmap(a, PAGE);
			munmap(a + 2 * PAGE, (pages - 2) * PAGE);
			munmap(a + PAGE, PAGE);
		} else {
			munmap(a, pages * PAGE);
		}
		wrong += b[17] != 1;
		munmap(b, pages * PAGE);
	}
	printf("private: %d wrong\n", wrong);

	a = private_at(3, 2);
	a[0] = 77;
	result("read-only after a write", mprotect(a, PAGE, PROT_READ));
	result("  a store", poke(a, 1));
	result("  what was written", peek(a));
	result("  the next page", poke(a + PAGE, 5));
	result("dontneed", madvise(a, 2 * PAGE, MADV_DONTNEED));
	say("  both are the file's again", sound(a, 3, 2));
	munmap(a, 2 * PAGE);
	say("  and so is a new one", sound(private_at(3, 2), 3, 2));

	a = private_at(9, 1);
	a[0] = 78;
	a = mremap(a, PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	result("moved with what was written", a[0]);
	say("  and the file behind it", sound(a + PAGE, 10, 3));
	munmap(a, 4 * PAGE);
	say("  nothing is left where it was", sound(private_at(9, 1), 9, 1));
	mapped("populated",
	       mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, fd, 0));
}

/* An mremap that fails leaves everything as it was. */
static void refused(void)
{
	size_t huge = (size_t)1 << 46;
	unsigned char *p = private_at(20, 3);
	unsigned char *q;
	int wrong = 0;

	p[5] = 99;
	mapped("growing far too much", mremap(p, 3 * PAGE, huge, MREMAP_MAYMOVE));
	result("  what was written", peek(p + 5));
	for (int i = 0; i < 50; i++) {
		q = private_at(20, 3);
		wrong += q == p || !sound(q, 20, 3);
		q[5] = 1;
		munmap(q, 3 * PAGE);
	}
	printf("  %d wrong beside it\n", wrong);
	result("  it is still there", p[5]);
	result("  and can be written", poke(p + PAGE, 7));
	munmap(p, 3 * PAGE);
	p = shared_at(20, 3);
	mapped("a shared one", mremap(p, 3 * PAGE, huge, MREMAP_MAYMOVE));
	say("  is still there", sound(p, 20, 3));
	munmap(p, 3 * PAGE);
	p = map_at(20, 3, PROT_READ, MAP_PRIVATE);
	mapped("a read-only one", mremap(p, 3 * PAGE, huge, MREMAP_MAYMOVE));
	say("  is still there", sound(p, 20, 3));
	munmap(p, 3 * PAGE);
	say("  and so is a new one", sound(map_at(20, 3, PROT_READ, MAP_PRIVATE), 20, 3));
}

static void forked(void)
{
	unsigned char *p = private_at(40, 2);
	unsigned char *q = shared_at(42, 1);
	int status;
	pid_t child;

	p[0] = 1;
	child = fork();
	if (child == 0) {
		bool right = p[0] == 1 && sound(p + PAGE, 41, 1);

		p[0] = 2;
		p[PAGE] = 2;
		q[100] = 99;
		munmap(p, 2 * PAGE);
		p = private_at(40, 2);
		_exit(right && sound(p, 40, 2) ? 0 : 1);
	}
	waitpid(child, &status, 0);
	result("child", status);
	result("private is the parent's own", p[0]);
	say("  all of it", sound(p + PAGE, 41, 1));
	result("shared is both's", q[100]);
	munmap(p, 2 * PAGE);
	q[100] = byte_at(21, 42 * PAGE + 100);
	munmap(q, PAGE);

	p = map_at(44, 3, PROT_READ, MAP_PRIVATE);
	result("dontfork", madvise(p + PAGE, PAGE, MADV_DONTFORK));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		unsigned char *r = NULL;
		int wrong = mprotect(p + PAGE, PAGE, PROT_READ) == 0 || errno != ENOMEM;

		for (size_t i = 0; i < 20; i++) {
			r = map_at(44, 3, PROT_READ, MAP_PRIVATE);
			wrong +=
				!sound(r, 44, 3) || !sound(p, 44, 1) || !sound(p + 2 * PAGE, 46, 1);
		}
		_exit(wrong);
	}
	waitpid(child, &status, 0);
	result("a child without it", status);
	say("  the parent has it", sound(p, 44, 3));
	munmap(p, 3 * PAGE);
}

static int64_t time_of(void)
{
	struct stat st;

	fstat(fd, &st);
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* Whether a store through a mapping moves the file's time. */
static bool store_moves(volatile unsigned char *p)
{
	int64_t before = time_of();

	usleep(12000);
	*p = *p ^ 1;
	*p = *p ^ 1;
	return time_of() != before;
}

static void times(void)
{
	unsigned char *p;
	unsigned char *q;

	for (int i = 0; i < 4; i++) {
		p = shared_at(50, 2);
		say("first store moves the time", store_moves(p));
		q = shared_at(50, 1);
		say("  so does one through another mapping", store_moves(q));
		munmap(q, PAGE);
		munmap(p, 2 * PAGE);
	}
	for (int i = 0; i < 100; i++) {
		int64_t before = time_of();

		p = shared_at(60 + (size_t)i % 3, 4);
		if (!sound(p, 60 + (size_t)i % 3, 4))
			puts("WRONG");
		munmap(p, 4 * PAGE);
		if (time_of() != before)
			puts("reading moved the time");
	}
	p = shared_at(60, 4);
	say("a store after much reading", store_moves(p + PAGE));
	munmap(p, 4 * PAGE);
	p = shared_at(60, 4);
	say("and one after that", store_moves(p + PAGE));
	munmap(p, 4 * PAGE);
}

static void shared(void)
{
	unsigned char *p = shared_at(70, 3);
	unsigned char *q = shared_at(71, 3);
	unsigned char *r = map_at(71, 1, PROT_READ, MAP_SHARED);
	unsigned char byte;

	p[PAGE + 5] = 123;
	result("through the other mapping", q[5]);
	result("through a read-only one", r[5]);
	result("by pread", pread(fd, &byte, 1, (off_t)(71 * PAGE + 5)) == 1 ? byte : -1);
	result("storing to the read-only one", poke(r, 1));
	result("mprotect of it", mprotect(r, PAGE, PROT_READ | PROT_WRITE));
	result("  storing", poke(r + 5, 124));
	result("  is seen", q[5]);
	q[5] = byte_at(21, 71 * PAGE + 5);
	munmap(r, PAGE);
	r = map_at(71, 1, PROT_READ, MAP_SHARED);
	result("a new read-only one", poke(r, 1));
	say("  is sound", sound(r, 71, 1));
	munmap(p, 3 * PAGE);
	munmap(q, 3 * PAGE);
	munmap(r, PAGE);
}

/* Windows of a growing file. */
static void grow(void)
{
	unsigned char *p;
	int wrong = 0;

	for (size_t i = 0; i < 40; i++) {
		size_t page = PAGES + i * 64;

		if (ftruncate(fd, (off_t)((page + 64) * PAGE)) != 0)
			exit(97);
		p = shared_at(page, 64);
		wrong += p[0] != 0 || p[64 * PAGE - 1] != 0;
		for (size_t k = 0; k < 64; k++)
			p[k * PAGE] = (unsigned char)(i + k);
		munmap(p, 64 * PAGE);
		p = map_at(page, 64, PROT_READ, i % 2 ? MAP_SHARED : MAP_PRIVATE);
		for (size_t k = 0; k < 64; k++)
			wrong += p[k * PAGE] != (unsigned char)(i + k);
		munmap(p, 64 * PAGE);
	}
	p = shared_at(PAGES, 64);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(PAGES * PAGE),
		  (off_t)(2 * PAGE));
	result("a punched hole", p[0] + p[PAGE]);
	result("  and behind it", p[2 * PAGE]);
	result("truncate", ftruncate(fd, (off_t)(PAGES * PAGE)));
	result("  reading behind the end", peek(p));
	result("  storing there", poke(p, 1));
	munmap(p, 64 * PAGE);
	printf("growing: %d wrong\n", wrong);
}

/* What is mapped over part of a shared mapping keeps what is written to it, however much the rest
 * of the file is mapped and written. */
static void covered(void)
{
	unsigned char *p = shared_at(100, 4);
	unsigned char *q = mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	mapped("covered", q);
	memset(q, 200, PAGE);
	for (size_t i = 0; i < 300; i++) {
		unsigned char *r = shared_at(120 + i % 7, 2);

		r[i] = r[i] ^ 1;
		r[i] = r[i] ^ 1;
		munmap(r, 2 * PAGE);
	}
	result("  what was written there", q[0] + q[PAGE - 1]);
	say("  and beside it", sound(p, 100, 1) && sound(p + 2 * PAGE, 102, 2));
	munmap(p, 4 * PAGE);
}

static void read_only(void)
{
	int saved = fd;

	fd = open(name, O_RDONLY);
	for (int i = 0; i < 3; i++)
		mapped("shared and writable of a read-only descriptor",
		       mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	for (size_t i = 0; i < 5; i++) {
		unsigned char *p = private_at(i, 1);

		p[3] = 9;
		munmap(p, PAGE);
		say("private of a read-only descriptor", sound(private_at(i, 1), i, 1));
	}
	close(fd);
	fd = saved;
}

int main(int argc, char **argv)
{
	(void)argc;
	catch_faults();
	snprintf(name, sizeof(name), "%s/write", argv[1]);
	close(make_file(name, 21, PAGES * PAGE));
	/* Else the access time, older than what was just written, would want to move at each
	 * mapping, and nothing could be served. */
	fd = open(name, O_RDWR | O_NOATIME);
	privately();
	refused();
	forked();
	shared();
	times();
	covered();
	grow();
	read_only();
	say("the file is what it was", sound(map_at(0, PAGES, PROT_READ, MAP_SHARED), 0, PAGES));
	close(fd);
	return 0;
}
