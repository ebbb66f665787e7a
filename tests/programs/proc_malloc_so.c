/* build: -shared -fPIC -pthread */
/* An allocator that opens and maps a file, and maps its memory, at every call, as debugging ones do
 * in their own way. Nothing is ever given back. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *chunk;
static size_t left;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void be_busy(void)
{
	int saved = errno;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

		if (p != MAP_FAILED)
			munmap(p, 4096);
		close(fd);
	}
	errno = saved;
}

void *malloc(size_t size)
{
	size_t whole = (size + 31) & ~(size_t)15;
	char *p = NULL;

	be_busy();
	pthread_mutex_lock(&mutex);
	if (whole > left) {
		left = whole + (1 << 20);
		chunk = mmap(NULL, left, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	}
	if (chunk != MAP_FAILED) {
		p = chunk;
		chunk += whole;
		left -= whole;
		memcpy(p, &size, sizeof(size));
		p += 16;
	}
	pthread_mutex_unlock(&mutex);
	return p;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t count, size_t size)
{
	/* Fresh from the kernel: zeros. */
	return size != 0 && count > SIZE_MAX / 2 / size ? NULL : malloc(count * size);
}

void *realloc(void *p, size_t size)
{
	void *q = malloc(size);
	size_t old = 0;

	if (p != NULL && q != NULL) {
		memcpy(&old, (char *)p - 16, sizeof(old));
		memcpy(q, p, old < size ? old : size);
	}
	return q;
}

void *memalign(size_t alignment, size_t size)
{
	uintptr_t p = (uintptr_t)malloc(size + alignment + 16);

	p = (p + alignment + 15) & ~(uintptr_t)(alignment - 1);
	memcpy((char *)p - 16, &size, sizeof(size));
	return (void *)p;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret_p, size_t alignment, size_t size)
{
	*ret_p = memalign(alignment, size);
	return 0;
}
