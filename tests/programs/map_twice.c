/* Two live mappings of one page have addresses of their own and survive whatever is done to the
 * other. argv[1]: a folder. */
#include "map_common.h"

static int fd;

static unsigned char *map_page(int flags)
{
	return mmap(NULL, PAGE, PROT_READ, flags, fd, (off_t)(2 * PAGE));
}

static bool sound(const unsigned char *p)
{
	return bytes_are(p, PAGE, 7, 2 * PAGE);
}

static void after(const char *what, unsigned char *victim, unsigned char *other, int flags)
{
	unsigned char *third;

	say(what, sound(other));
	third = map_page(flags);
	say("  a third mapping is sound", sound(third));
	say("  and has its own address", third != other);
	munmap(third, PAGE);
	munmap(victim, PAGE);
	third = map_page(flags);
	say("  and so is one made after its end", sound(third) && sound(other));
	munmap(third, PAGE);
	munmap(other, PAGE);
}

static void pair(int flags)
{
	unsigned char *a = map_page(flags);
	unsigned char *b = map_page(flags);

	say("two addresses", a != b);
	munmap(a, PAGE);
	say("the other survives munmap", sound(b));
	munmap(b, PAGE);

	a = map_page(flags);
	b = map_page(flags);
	result("mprotect none", mprotect(a, PAGE, PROT_NONE));
	result("  reading it", peek(a));
	after("the other survives mprotect", a, b, flags);

	a = map_page(flags);
	b = map_page(flags);
	result("mprotect write", mprotect(a, PAGE, PROT_READ | PROT_WRITE));
	result("  writing", poke(a, 1));
	after("the other survives a private write", a, b, flags);

	a = map_page(flags);
	b = map_page(flags);
	mapped("anonymous page over it", mmap(a, PAGE, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	result("  it is empty", peek(a));
	result("  and writable", poke(a, 9));
	result("  and keeps what is written", peek(a));
	after("the other survives MAP_FIXED", a, b, flags);

	a = map_page(flags);
	b = map_page(flags);
	result("madvise dontfork", madvise(a, PAGE, MADV_DONTFORK));
	result("mlock", mlock(a, PAGE));
	result("madvise random", madvise(a, PAGE, MADV_RANDOM));
	result("madvise dontneed of a locked page", madvise(a, PAGE, MADV_DONTNEED));
	result("munlock", munlock(a, PAGE));
	result("msync", msync(a, PAGE, MS_SYNC));
	after("the other survives advice and locks", a, b, flags);

	a = map_page(flags);
	b = map_page(flags);
	a = mremap(a, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	say("mremap grows it", bytes_are(a, 3 * PAGE, 7, 2 * PAGE));
	a = mremap(a, 3 * PAGE, PAGE, 0);
	after("the other survives mremap", a, b, flags);
}

int main(int argc, char **argv)
{
	char name[4096];

	(void)argc;
	catch_faults();
	snprintf(name, sizeof(name), "%s/twice", argv[1]);
	fd = make_file(name, 7, 9 * PAGE);
	munmap(map_page(MAP_PRIVATE), PAGE);
	munmap(map_page(MAP_SHARED), PAGE);
	puts("private");
	pair(MAP_PRIVATE);
	puts("shared");
	pair(MAP_SHARED);
	close(fd);
	return 0;
}
