#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "entry.h"
#include "symbol.h"
#include "sys.h"
#include "tls.h"

struct next next;

/* The first version of libc on each machine. */
#if defined(__x86_64__)
#define OLDEST_VERSION "GLIBC_2.2.5"
#elif defined(__i386__)
#define OLDEST_VERSION "GLIBC_2.0"
#else
#define OLDEST_VERSION "GLIBC_2.17"
#endif

/* All names one after another, and where each begins: pointers to them would have to be relocated,
 * in every process. */
static const struct names {
#define HOOK(ret, name, params, fallback) char name[sizeof(#name)];
#define NEWFD(name, params, args, fallback) char name[sizeof(#name)];
#include "hooks.def"
} names = {
#define HOOK(ret, name, params, fallback) #name,
#define NEWFD(name, params, args, fallback) #name,
#include "hooks.def"
};

static const uint16_t name_at[HOOK_COUNT] = {
#define HOOK(ret, name, params, fallback) offsetof(struct names, name),
#define NEWFD(name, params, args, fallback) offsetof(struct names, name),
#include "hooks.def"
};

static const char *name_of(enum hook hook)
{
	return (const char *)&names + name_at[hook];
}

/* Our own definition of each name: a next definition that is ours too means that the look-up went
 * in a circle. */
static any_function own(enum hook hook)
{
	switch (hook) {
#define HOOK(ret, name, params, fallback)                                                          \
	case HOOK_##name:                                                                          \
		return (any_function)mc_##name;
#define NEWFD(name, params, args, fallback)                                                        \
	case HOOK_##name:                                                                          \
		return (any_function)mc_##name;
#include "hooks.def"
	case HOOK_COUNT:
		break;
	}
	return NULL;
}

/* A raw call's answer, as libc gives it. */
static long answer_of(long answer)
{
	if (answer > -4096 && answer < 0) {
		errno = (int)-answer;
		return -1;
	}
	return answer;
}

#define RAW(number, a, b, c, d, e, f)                                                              \
	answer_of(sys_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),          \
			   (long)(f)))

/* With 32 bits, the names without 64 do not open what is larger than 2 GiB. */
#define OPENS(name, params, dir, more)                                                             \
	static int name params                                                                     \
	{                                                                                          \
		unsigned int mode = 0;                                                             \
                                                                                                   \
		if (open_takes_mode(flags)) {                                                      \
			va_list list;                                                              \
                                                                                                   \
			va_start(list, flags);                                                     \
			mode = va_arg(list, unsigned int);                                         \
			va_end(list);                                                              \
		}                                                                                  \
		return (int)RAW(SYS_openat, dir, path, flags | (more), mode, 0, 0);                \
	}

OPENS(raw_open, (const char *path, int flags, ...), AT_FDCWD, 0)
OPENS(raw_open64, (const char *path, int flags, ...), AT_FDCWD, O_LARGEFILE)
OPENS(raw_openat, (int at, const char *path, int flags, ...), at, 0)
OPENS(raw_openat64, (int at, const char *path, int flags, ...), at, O_LARGEFILE)

static int raw_creat(const char *path, mode_t mode)
{
	return raw_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int raw_creat64(const char *path, mode_t mode)
{
	return raw_open64(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int raw_close(int fd)
{
	return (int)RAW(SYS_close, fd, 0, 0, 0, 0, 0);
}

static int raw_dup(int fd)
{
	return (int)RAW(SYS_dup, fd, 0, 0, 0, 0, 0);
}

static int raw_dup3(int fd, int to, int flags)
{
	return (int)RAW(SYS_dup3, fd, to, flags, 0, 0, 0);
}

static int raw_fcntl(int fd, int command, ...)
{
	void *argument;
	va_list list;

	va_start(list, command);
	argument = va_arg(list, void *);
	va_end(list);
#ifdef SYS_fcntl64
	return (int)RAW(SYS_fcntl64, fd, command, argument, 0, 0, 0);
#else
	return (int)RAW(SYS_fcntl, fd, command, argument, 0, 0, 0);
#endif
}

static int raw_dup2(int fd, int to)
{
	/* dup3 refuses equal numbers, dup2 answers with them if they are open. */
	if (fd == to)
		return raw_fcntl(fd, F_GETFD) < 0 ? -1 : fd;
	return raw_dup3(fd, to, 0);
}

static void *raw_mmap64(void *addr, size_t length, int prot, int flags, int fd, off64_t offset)
{
	if (((uint64_t)offset & (sys_page_size() - 1)) != 0) {
		errno = EINVAL;
		return MAP_FAILED;
	}
#ifdef SYS_mmap2
	return (void *)RAW(SYS_mmap2, addr, length, prot, flags, fd, (uint64_t)offset >> 12);
#else
	return (void *)RAW(SYS_mmap, addr, length, prot, flags, fd, offset);
#endif
}

static void *raw_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	return raw_mmap64(addr, length, prot, flags, fd, offset);
}

static int raw_munmap(void *addr, size_t length)
{
	return (int)RAW(SYS_munmap, addr, length, 0, 0, 0, 0);
}

static void *raw_mremap(void *addr, size_t old_length, size_t new_length, int flags, ...)
{
	void *to;
	va_list list;

	va_start(list, flags);
	to = va_arg(list, void *);
	va_end(list);
	return (void *)RAW(SYS_mremap, addr, old_length, new_length, flags, to, 0);
}

static int raw_mprotect(void *addr, size_t length, int prot)
{
	return (int)RAW(SYS_mprotect, addr, length, prot, 0, 0, 0);
}

static int raw_madvise(void *addr, size_t length, int advice)
{
	return (int)RAW(SYS_madvise, addr, length, advice, 0, 0, 0);
}

static int raw_msync(void *addr, size_t length, int flags)
{
	return (int)RAW(SYS_msync, addr, length, flags, 0, 0, 0);
}

static int raw_mlock(const void *addr, size_t length)
{
	return (int)RAW(SYS_mlock, addr, length, 0, 0, 0, 0);
}

static int raw_munlock(const void *addr, size_t length)
{
	return (int)RAW(SYS_munlock, addr, length, 0, 0, 0, 0);
}

static int raw_mincore(void *addr, size_t length, unsigned char *vector)
{
	return (int)RAW(SYS_mincore, addr, length, vector, 0, 0, 0);
}

static ssize_t raw_pread64(int fd, void *to, size_t n, off64_t offset)
{
#ifdef __LP64__
	return RAW(SYS_pread64, fd, to, n, offset, 0, 0);
#else
	return RAW(SYS_pread64, fd, to, n, (uint32_t)offset, (uint64_t)offset >> 32, 0);
#endif
}

static ssize_t raw_pread(int fd, void *to, size_t n, off_t offset)
{
	return raw_pread64(fd, to, n, offset);
}

static long raw_syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return RAW(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int raw_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	/* The kernel's set is the beginning of libc's. */
	return (int)RAW(SYS_rt_sigprocmask, how, set, old, 8, 0, 0);
}

static int raw_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return (int)-sys_call(SYS_rt_sigprocmask, how, (long)set, (long)old, 8, 0, 0);
}

static ssize_t raw_read(int fd, void *to, size_t n)
{
	return RAW(SYS_read, fd, to, n, 0, 0, 0);
}

static ssize_t raw_write(int fd, const void *from, size_t n)
{
	return RAW(SYS_write, fd, from, n, 0, 0, 0);
}

#if UINTPTR_MAX == UINT64_MAX
static off64_t raw_lseek(int fd, off64_t offset, int whence)
{
	return RAW(SYS_lseek, fd, offset, whence, 0, 0, 0);
}

/* The kernel's structure is libc's. */
static int raw_fstat(int fd, void *to)
{
	return (int)RAW(SYS_fstat, fd, to, 0, 0, 0, 0);
}
#else
#define raw_lseek none
#define raw_fstat none
#endif

static void raw_exit(int status)
{
	for (;;)
		sys_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

/* Nothing stands in for these; a call that early is a failure the caller can see. */
static long none(void)
{
	errno = ENOSYS;
	return -1;
}

static void *raw_null(void)
{
	errno = ENOSYS;
	return NULL;
}

static any_function fallback_of(enum hook hook)
{
	switch (hook) {
#define HOOK(ret, name, params, fallback)                                                          \
	case HOOK_##name:                                                                          \
		return (any_function)fallback;
#define NEWFD(name, params, args, fallback)                                                        \
	case HOOK_##name:                                                                          \
		return (any_function)fallback;
#include "hooks.def"
	case HOOK_COUNT:
		break;
	}
	return (any_function)none;
}

/* The pointers as an array: each member of struct next is one pointer to a function. */
_Static_assert(sizeof(struct next) == HOOK_COUNT * sizeof(void *), "one pointer a row");

static any_function *cell_of(enum hook hook)
{
	return &((any_function *)(void *)&next)[hook];
}

/* What only programs of old are linked with has no default version. It is not tried, for a look-up
 * that fails allocates. */
static bool is_of_old(enum hook hook)
{
	return hook == HOOK__IO_vfscanf || hook == HOOK_xdrstdio_create;
}

static void *look_up(enum hook hook)
{
	return is_of_old(hook) ? dlvsym(RTLD_NEXT, name_of(hook), OLDEST_VERSION)
			       : dlsym(RTLD_NEXT, name_of(hook));
}

/* ISO C has no cast from an object's pointer to a function's. */
static any_function function_at(void *symbol)
{
	any_function function;

	memcpy(&function, &symbol, sizeof(function));
	return function;
}

/* What is behind us; empty while only dlsym can be asked. */
static struct symbol_objects behind;

static any_function ask(enum hook hook)
{
	any_function found = NULL;

	if (!tls.binding) {
		int saved = errno;

		tls.binding = 1;
		found = function_at(look_up(hook));
		tls.binding = 0;
		errno = saved;
	}
	return found;
}

static any_function find(enum hook hook)
{
	return is_of_old(hook) ? NULL : function_at(symbol_find(&behind, name_of(hook)));
}

any_function next_bind(enum hook hook)
{
	any_function found = find(hook);

	if (found == NULL)
		found = ask(hook);
	if (found == NULL || found == own(hook))
		return fallback_of(hook);
	__atomic_store_n(cell_of(hook), found, __ATOMIC_RELEASE);
	return found;
}

any_function next_of(enum hook hook)
{
	any_function bound = *cell_of(hook);

	return bound != NULL ? bound : next_bind(hook);
}

#ifdef MC_CHECK
/* Where both know a name, they say the same. */
static void compare(void)
{
	for (enum hook hook = 0; hook < HOOK_COUNT; hook++) {
		any_function found = find(hook);

		if (found != NULL && found != ask(hook))
			abort();
	}
}
#endif

void next_begin(void)
{
	if (symbol_collect(&behind)) {
#ifdef MC_CHECK
		compare();
#endif
		return;
	}
	behind.count = 0;
	for (enum hook hook = 0; hook < HOOK_COUNT; hook++)
		next_bind(hook);
}
