/* What a program may do to small anonymous mappings: the same answers, bytes and faults whether
 * they are mappings of their own or pages of one. */
#include "map_common.h"

#include <pthread.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static unsigned char *get(size_t pages)
{
	unsigned char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	for (size_t i = 0; i < pages * PAGE; i++) {
		if (p[i] != 0) {
			printf("not zero at %zu of %zu\n", i, pages * PAGE);
			exit(1);
		}
	}
	memset(p, 0x55, pages * PAGE);
	return p;
}

static void protected(void)
{
	unsigned char *p = get(5);

	result("guard", mprotect(p + PAGE, PAGE, PROT_NONE));
	result("read-only", mprotect(p + 2 * PAGE, PAGE, PROT_READ));
	printf("%d %d %d\n", peek(p + PAGE), peek(p + 2 * PAGE), poke(p + 2 * PAGE, 1));
	result("back", mprotect(p + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE));
	printf("%d %d %d\n", peek(p + PAGE), poke(p + 2 * PAGE, 1), peek(p + 2 * PAGE));
	result("executable", mprotect(p + 3 * PAGE, PAGE, PROT_READ | PROT_EXEC));
	result("munmap", munmap(p, 5 * PAGE));
	result("protect nothing", mprotect(p, PAGE, PROT_READ));
	for (int i = 0; i < 50; i++) {
		p = get(3);
		mprotect(p + PAGE, PAGE, PROT_NONE);
		if (i % 2)
			mprotect(p, 3 * PAGE, PROT_READ);
		munmap(p, 3 * PAGE);
	}
}

static void in_parts(void)
{
	unsigned char *p = get(6);

	result("middle", munmap(p + 2 * PAGE, 2 * PAGE));
	printf("%d %d\n", peek(p + 2 * PAGE - 1), peek(p + 4 * PAGE));
	result("msync over it", msync(p, 6 * PAGE, MS_ASYNC));
	result("head", munmap(p, 1));
	result("all, once more", munmap(p, 6 * PAGE));
	result("twice", munmap(p, 6 * PAGE));
	result("no page's start", munmap(p + 1, PAGE));
	result("nothing", munmap(p, 0));
}

static void advised(void)
{
	unsigned char *p = get(4);

	result("dontneed", madvise(p + PAGE, PAGE, MADV_DONTNEED));
	printf("%d %d\n", peek(p + PAGE - 1), peek(p + PAGE));
	result("free", madvise(p, PAGE, MADV_FREE));
	result("remove", madvise(p, PAGE, MADV_REMOVE));
	result("random", madvise(p, 4 * PAGE, MADV_RANDOM));
	result("no huge pages", madvise(p, 4 * PAGE, MADV_NOHUGEPAGE));
	result("no dump", madvise(p, 2 * PAGE, MADV_DONTDUMP));
	result("lock", mlock(p, 2 * PAGE));
	result("dontneed of locked", madvise(p, PAGE, MADV_DONTNEED));
	result("unlock", munlock(p, PAGE));
	result("munmap", munmap(p, 4 * PAGE));
	result("advise nothing", madvise(p, PAGE, MADV_DONTNEED));
}

static void moved(void)
{
	unsigned char *p = get(3);
	unsigned char *q = mremap(p, 3 * PAGE, 9 * PAGE, MREMAP_MAYMOVE);
	unsigned char *r;

	say("longer", q != MAP_FAILED && q[0] == 0x55 && q[3 * PAGE - 1] == 0x55 &&
			      q[3 * PAGE] == 0 && q[9 * PAGE - 1] == 0);
	q = mremap(q, 9 * PAGE, PAGE, 0);
	say("shorter", q != MAP_FAILED && q[0] == 0x55 && peek(q + PAGE) == -SIGSEGV);
	munmap(q, PAGE);
	p = get(2);
	r = get(2);
	q = mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, r);
	say("to a place", q == r && q[2 * PAGE - 1] == 0x55);
	q[0] = 1;
	p = mremap(q, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	say("leaving what was", p != MAP_FAILED && p[0] == 1 && q[0] == 0 && q[PAGE] == 0);
	munmap(p, 2 * PAGE);
	munmap(q, 2 * PAGE);
}

static void covered(const char *self)
{
	unsigned char *p = get(3);
	int fd = open(self, O_RDONLY);
	unsigned char *q = mmap(p + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);

	say("a file over it",
	    q == p + PAGE && memcmp(q, "\177ELF", 4) == 0 && p[0] == 0x55 && p[2 * PAGE] == 0x55);
	say("not over it",
	    mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED &&
		    errno == EEXIST);
	result("munmap", munmap(p, 3 * PAGE));
	q = mmap(p, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0);
	say("memory where it was", q == p && q[0] == 0 && q[PAGE] == 0 && q[2 * PAGE] == 0);
	q[0] = 1;
	for (int i = 0; i < 1000; i++)
		munmap(get(1), PAGE);
	say("  untouched", q[0] == 1);
	munmap(q, 3 * PAGE);
	close(fd);
}

static void forked(void)
{
	unsigned char *p = get(4);
	int status;
	pid_t child;

	result("wipe on fork", madvise(p + PAGE, PAGE, MADV_WIPEONFORK));
	result("don't fork", madvise(p + 2 * PAGE, PAGE, MADV_DONTFORK));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		printf("child: %d %d %d %d\n", peek(p), peek(p + PAGE), peek(p + 2 * PAGE),
		       peek(p + 3 * PAGE));
		for (int i = 0; i < 300; i++) {
			unsigned char *q = get(1 + (size_t)i % 3);

			if (i % 4 == 0)
				munmap(q, PAGE * (1 + (size_t)i % 3));
		}
		p[0] = 1;
		result("child: munmap", munmap(p, 4 * PAGE));
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	result("child's status", status);
	printf("parent: %d %d %d %d\n", peek(p), peek(p + PAGE), peek(p + 2 * PAGE),
	       peek(p + 3 * PAGE));
	result("munmap", munmap(p, 4 * PAGE));
	for (int i = 0; i < 500; i++)
		munmap(get(4), 4 * PAGE);
}

static void *churn(void *argument)
{
	static unsigned char *pieces[4][64];
	unsigned char **mine = pieces[*(int *)argument];
	uint64_t state = (uint64_t) * (int *)argument + 1;

	for (int i = 0; i < 1000; i++) {
		size_t k = next_random(&state) % 64;

		if (mine[k] == NULL) {
			mine[k] = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (mine[k] == MAP_FAILED || *mine[k] != 0 || mine[k][PAGE] != 0)
				return mine;
			mine[k][0] = mine[k][PAGE] = (unsigned char)(*(int *)argument + 1);
		} else {
			if (mine[k][0] != *(int *)argument + 1 || mine[k][PAGE] != mine[k][0])
				return mine;
			if (i % 100 == 0)
				mprotect(mine[k], PAGE, PROT_READ);
			munmap(mine[k], 2 * PAGE);
			mine[k] = NULL;
		}
	}
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[4];
	int numbers[4];
	bool right = true;

	for (int i = 0; i < 4; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, churn, &numbers[i]);
	}
	for (int i = 0; i < 4; i++) {
		void *answer;

		pthread_join(threads[i], &answer);
		right = right && answer == NULL;
	}
	say("threads", right);
}

int main(int argc, char **argv)
{
	(void)argc;
	catch_faults();
	protected();
	in_parts();
	advised();
	moved();
	covered(argv[0]);
	forked();
	in_threads();
	result("mlockall", mlockall(MCL_CURRENT));
	munmap(get(2), 2 * PAGE);
	result("munlockall", munlockall());
	munmap(get(2), 2 * PAGE);
	return 0;
}
