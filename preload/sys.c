#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#include "test_point.h"

/* Words of the kernel's own signal set: _NSIG / 8 bytes (include/linux/signal.h). */
#define KERNEL_SIGSET_BYTES 8

#define SYS_0(n) sys_call(n, 0, 0, 0, 0, 0, 0)
#define SYS_1(n, a) sys_call(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS_2(n, a, b) sys_call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS_3(n, a, b, c) sys_call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS_4(n, a, b, c, d) sys_call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS_5(n, a, b, c, d, e)                                                                    \
	sys_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SYS_6(n, a, b, c, d, e, f)                                                                 \
	sys_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static void *real_map(void *addr, size_t length, int prot, int flags, int fd, uint64_t offset)
{
	test_point();
#ifdef SYS_mmap2
	/* 32-bit: the offset is in units of 4,096 bytes, whatever the page size. */
	return (void *)SYS_6(SYS_mmap2, addr, length, prot, flags, fd, offset >> 12);
#else
	return (void *)SYS_6(SYS_mmap, addr, length, prot, flags, fd, offset);
#endif
}

static int real_unmap(void *addr, size_t length)
{
	test_point();
	return (int)SYS_2(SYS_munmap, addr, length);
}

static int real_protect(void *addr, size_t length, int prot)
{
	test_point();
	return (int)SYS_3(SYS_mprotect, addr, length, prot);
}

static int real_advise(void *addr, size_t length, int advice)
{
	test_point();
	return (int)SYS_3(SYS_madvise, addr, length, advice);
}

static void *real_remap(void *addr, size_t old, size_t new, int flags, void *to)
{
	test_point();
	return (void *)SYS_5(SYS_mremap, addr, old, new, flags, to);
}

static int real_stat(int fd, struct file_stat *ret_stat)
{
	/* The kernel's structure is libc's on each of our machines (stat64 on 32-bit). */
#ifdef SYS_fstat64
	struct stat64 st = {0};
	long answer = SYS_2(SYS_fstat64, fd, &st);
#else
	struct stat st = {0};
	long answer = SYS_2(SYS_fstat, fd, &st);
#endif
	test_point();
	if (answer < 0)
		return (int)answer;
	ret_stat->device = st.st_dev;
	ret_stat->inode = st.st_ino;
	ret_stat->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	ret_stat->atime = (int64_t)st.st_atim.tv_sec * 1000000000 + st.st_atim.tv_nsec;
	ret_stat->mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	ret_stat->ctime = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	ret_stat->mode = st.st_mode;
	return 0;
}

static int real_filesystem(int fd, struct filesystem *ret_filesystem)
{
#ifdef SYS_fstatfs64
	struct statfs64 fs = {0};
	long answer = SYS_3(SYS_fstatfs64, fd, sizeof(fs), &fs);
#else
	struct statfs fs = {0};
	long answer = SYS_2(SYS_fstatfs, fd, &fs);
#endif
	test_point();
	if (answer < 0)
		return (int)answer;
	ret_filesystem->type = (uint32_t)fs.f_type;
	ret_filesystem->flags = (uint32_t)fs.f_flags;
	return 0;
}

static int real_status_flags(int fd)
{
	test_point();
#ifdef SYS_fcntl64
	return (int)SYS_2(SYS_fcntl64, fd, F_GETFL);
#else
	return (int)SYS_2(SYS_fcntl, fd, F_GETFL);
#endif
}

static uint64_t real_address_limit(void)
{
	uint64_t limit[2] = {0};

	test_point();
	if (SYS_4(SYS_prlimit64, 0, RLIMIT_AS, NULL, limit) < 0)
		return UINT64_MAX;
	return limit[0];
}

static uint64_t real_tick(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) != 0)
		return 1;
	return ((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec) + 1;
}

struct kernel kernel = {
	.map = real_map,
	.unmap = real_unmap,
	.protect = real_protect,
	.advise = real_advise,
	.remap = real_remap,
	.stat = real_stat,
	.filesystem = real_filesystem,
	.status_flags = real_status_flags,
	.address_limit = real_address_limit,
	.tick = real_tick,
};

size_t sys_page_size(void)
{
	static size_t size;

	if (size == 0)
		size = getauxval(AT_PAGESZ);
	return size;
}

unsigned int sys_page_shift(void)
{
	return (unsigned int)__builtin_ctzl(sys_page_size());
}

uint64_t sys_block_signals(void)
{
	uint64_t all = ~(uint64_t)0;
	uint64_t before = 0;

	SYS_4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SIGSET_BYTES);
	return before;
}

void sys_unblock_signals(uint64_t mask)
{
	SYS_4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SIGSET_BYTES);
}

/* The kernel's structure on each of our machines (include/linux/signal_types.h). */
_Static_assert(offsetof(struct signal_action, mask) == 3 * sizeof(long), "no gap");

int sys_signal_action(int number, struct signal_action *ret_action)
{
	return (int)SYS_4(SYS_rt_sigaction, number, NULL, ret_action, KERNEL_SIGSET_BYTES);
}

uint64_t sys_signal_mask(void)
{
	uint64_t mask = 0;

	SYS_4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, KERNEL_SIGSET_BYTES);
	return mask;
}

int sys_signal_self(int number, const siginfo_t *info)
{
	return (int)SYS_4(SYS_rt_tgsigqueueinfo, SYS_0(SYS_getpid), SYS_0(SYS_gettid), number,
			  info);
}

void sys_futex_wait(uint32_t *word, uint32_t value)
{
	SYS_4(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

void sys_futex_wake(uint32_t *word)
{
	SYS_3(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

int sys_getpid(void)
{
	return (int)SYS_0(SYS_getpid);
}

int sys_readlink(const char *path, char *buffer, size_t size)
{
	long length = SYS_4(SYS_readlinkat, AT_FDCWD, path, buffer, size);

	if (length < 0)
		return (int)length;
	if ((size_t)length >= size)
		return -ENAMETOOLONG;
	buffer[length] = '\0';
	return (int)length;
}

int sys_open(const char *path, int flags, unsigned int mode)
{
	return (int)SYS_4(SYS_openat, AT_FDCWD, path, flags, mode);
}

int sys_close(int fd)
{
	return (int)SYS_1(SYS_close, fd);
}

long sys_read(int fd, void *buffer, size_t size)
{
	return SYS_3(SYS_read, fd, buffer, size);
}

long sys_write(int fd, const void *buffer, size_t size)
{
	return SYS_3(SYS_write, fd, buffer, size);
}

int sys_rusage(struct rusage *ret_usage)
{
	return (int)SYS_2(SYS_getrusage, RUSAGE_SELF, ret_usage);
}
