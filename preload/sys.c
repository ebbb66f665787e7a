#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
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

/* include/uapi/linux/pidfd.h, of Linux 6.14: this process. */
#define OUR_PIDFD (-10000)

static int real_drop(const struct run *runs, size_t count)
{
#ifdef SYS_process_madvise
	/* So many at a time: a frame is to stay small. */
	struct iovec ranges[48];

	while (count > 0) {
		size_t part = count < sizeof(ranges) / sizeof(ranges[0])
				      ? count
				      : sizeof(ranges) / sizeof(ranges[0]);
		size_t bytes = 0;
		long answer;

		for (size_t i = 0; i < part; i++) {
			ranges[i].iov_base = runs[i].start;
			ranges[i].iov_len = (size_t)(runs[i].end - runs[i].start);
			bytes += ranges[i].iov_len;
		}
		answer = SYS_5(SYS_process_madvise, OUR_PIDFD, ranges, part, MADV_DONTNEED, 0);
		test_point();
		if (answer < 0)
			return (int)answer;
		if ((size_t)answer != bytes)
			return -EINVAL;
		runs += part;
		count -= part;
	}
	return 0;
#else
	(void)runs;
	(void)count;
	return -ENOSYS;
#endif
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
	ret_stat->held = (uint64_t)st.st_blocks * 512;
	ret_stat->unit = (uint64_t)st.st_blksize;
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
	ret_filesystem->available = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	return 0;
}

/* A 64-bit offset takes two registers on i386, the lower half first. */
static long call_at(long number, int fd, uintptr_t buffer, size_t size, uint64_t offset)
{
#if UINTPTR_MAX == UINT32_MAX
	return SYS_5(number, fd, buffer, size, (uint32_t)offset, (uint32_t)(offset >> 32));
#else
	return SYS_4(number, fd, buffer, size, offset);
#endif
}

static long real_read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	test_point();
	return call_at(SYS_pread64, fd, (uintptr_t)buffer, size, offset);
}

static long real_write_at(int fd, const void *buffer, size_t size, uint64_t offset)
{
	test_point();
	return call_at(SYS_pwrite64, fd, (uintptr_t)buffer, size, offset);
}

static int64_t seek_any(int fd, uint64_t offset, int whence)
{
#ifdef SYS__llseek
	int64_t at = 0;
	long answer = SYS_5(SYS__llseek, fd, offset >> 32, (uint32_t)offset, &at, whence);

	test_point();
	return answer < 0 ? answer : at;
#else
	test_point();
	return SYS_3(SYS_lseek, fd, offset, whence);
#endif
}

static int real_seek(int fd, uint64_t offset)
{
	int64_t answer = seek_any(fd, offset, SEEK_SET);

	return answer < 0 ? (int)answer : 0;
}

static int64_t real_tell(int fd)
{
	return seek_any(fd, 0, SEEK_CUR);
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

static uint64_t soft_limit(int resource)
{
	uint64_t limit[2] = {0};

	test_point();
	if (SYS_4(SYS_prlimit64, 0, resource, NULL, limit) < 0)
		return UINT64_MAX;
	return limit[0];
}

static uint64_t real_address_limit(void)
{
	uint64_t limit = soft_limit(RLIMIT_AS);

#if UINTPTR_MAX > UINT32_MAX
	return limit;
#else
	/* What a 32-bit kernel leaves. */
	return limit < (uint64_t)3 << 30 ? limit : (uint64_t)3 << 30;
#endif
}

static uint64_t real_address_taken(void)
{
	char text[32] = {0};
	uint64_t pages = 0;
	long length;
	int fd = sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);

	test_point();
	if (fd < 0)
		return UINT64_MAX / 2;
	length = sys_read(fd, text, sizeof(text));
	sys_close(fd);
	for (long i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(text[i] - '0');
#if UINTPTR_MAX == UINT32_MAX
	/* That is an emulator's. */
	if (pages << sys_page_shift() > UINT32_MAX)
		return 0;
#endif
	return pages != 0 ? pages << sys_page_shift() : UINT64_MAX / 2;
}

static uint64_t real_file_limit(void)
{
	return soft_limit(RLIMIT_FSIZE);
}

static uint64_t real_data_limit(void)
{
	return soft_limit(RLIMIT_DATA);
}

static int real_overcommit(void)
{
	char digit = '2';
	int fd = sys_open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC, 0);

	test_point();
	if (fd < 0)
		return 2;
	if (sys_read(fd, &digit, 1) != 1)
		digit = '2';
	sys_close(fd);
	return digit - '0';
}

static bool real_resident(const void *first, const void *last)
{
	uintptr_t page = (uintptr_t)first & ~(uintptr_t)(sys_page_size() - 1);
	size_t length = (uintptr_t)last - page + 1;
	size_t pages = ((length - 1) >> sys_page_shift()) + 1;
	unsigned char bits[RESIDENT_MOST] = {0};

	test_point();
	if (pages > RESIDENT_MOST || SYS_3(SYS_mincore, page, length, bits) != 0)
		return true;
	for (size_t i = 0; i < pages; i++) {
		if (!(bits[i] & 1))
			return false;
	}
	return true;
}

static uint64_t real_major_faults(void)
{
	struct rusage usage = {0};

	test_point();
	SYS_2(SYS_getrusage, RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_majflt;
}

static uint64_t real_tick(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) != 0)
		return 1;
	return ((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec) + 1;
}

/* PAGEMAP_SCAN of Linux 6.7 (include/uapi/linux/fs.h), which the headers may not have yet. */
struct scan_run {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct scan {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t vec;
	uint64_t vec_len;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

#define SCAN_REQUEST _IOWR('f', 16, struct scan)
#define SCAN_IS_FILE 4
#define SCAN_IS_PRESENT 8
#define SCAN_IS_SWAPPED 16
/* Stacks may be small: a signal handler's above all. */
#define MOST_RUNS 32

/* Pages that are there, in memory or in swap, and not the file's. */
static int scan_written(int fd, const char *start, const char *end, struct run *runs, int most,
			char **ret_stop)
{
	struct scan_run found[MOST_RUNS] = {{0}};
	struct scan scan = {
		.size = sizeof(scan),
		.start = (uintptr_t)start,
		.end = (uintptr_t)end,
		.vec = (uintptr_t)found,
		.vec_len = (uint64_t)(most < MOST_RUNS ? most : MOST_RUNS),
		.category_inverted = SCAN_IS_FILE,
		.category_mask = SCAN_IS_FILE,
		.category_anyof_mask = SCAN_IS_PRESENT | SCAN_IS_SWAPPED,
		.return_mask = SCAN_IS_PRESENT,
	};
	long count = SYS_3(SYS_ioctl, fd, SCAN_REQUEST, &scan);

	for (long i = 0; i < count; i++) {
		runs[i].start = (char *)(uintptr_t)found[i].start;
		runs[i].end = (char *)(uintptr_t)found[i].end;
	}
	*ret_stop = (char *)(uintptr_t)scan.walk_end;
	return (int)count;
}

/* Before Linux 6.7: a word a page (Documentation/admin-guide/mm/pagemap.rst). */
#define ENTRY_PRESENT ((uint64_t)1 << 63)
#define ENTRY_SWAPPED ((uint64_t)1 << 62)
#define ENTRY_FILE ((uint64_t)1 << 61)
#define MOST_ENTRIES 64

static int read_written(int fd, char *start, char *end, struct run *runs, int most, char **ret_stop)
{
	uint64_t entries[MOST_ENTRIES] = {0};
	size_t page = sys_page_size();
	uint64_t at = (uintptr_t)start / page * sizeof(*entries);
	size_t want = (size_t)(end - start) / page;
	int count = 0;
	long got;

	if (want > MOST_ENTRIES)
		want = MOST_ENTRIES;
#if UINTPTR_MAX > UINT32_MAX
	got = SYS_4(SYS_pread64, fd, entries, want * sizeof(*entries), at);
#else
	/* The offset is a pair of registers, each machine its own way. */
	(void)fd;
	(void)at;
	got = -ENOSYS;
#endif
	if (got < (long)sizeof(*entries))
		return got < 0 ? (int)got : -EIO;
	want = (size_t)got / sizeof(*entries);
	*ret_stop = start + want * page;
	for (size_t i = 0; i < want; i++) {
		bool written = (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) &&
			       !(entries[i] & ENTRY_FILE);
		char *here = start + i * page;

		if (!written)
			continue;
		if (count > 0 && runs[count - 1].end == here) {
			runs[count - 1].end = here + page;
			continue;
		}
		if (count == most) {
			*ret_stop = here;
			break;
		}
		runs[count++] = (struct run){here, here + page};
	}
	return count;
}

static int real_written(char *start, char *end, struct run *runs, int most, char **ret_stop)
{
	int fd = sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	int count;

	test_point();
	if (fd < 0)
		return fd;
	count = scan_written(fd, start, end, runs, most, ret_stop);
	if (count < 0)
		count = read_written(fd, start, end, runs, most, ret_stop);
	sys_close(fd);
	return count;
}

struct kernel kernel = {
	.map = real_map,
	.unmap = real_unmap,
	.protect = real_protect,
	.advise = real_advise,
	.drop = real_drop,
	.remap = real_remap,
	.stat = real_stat,
	.filesystem = real_filesystem,
	.read_at = real_read_at,
	.write_at = real_write_at,
	.seek = real_seek,
	.tell = real_tell,
	.status_flags = real_status_flags,
	.address_limit = real_address_limit,
	.address_taken = real_address_taken,
	.data_limit = real_data_limit,
	.file_limit = real_file_limit,
	.overcommit = real_overcommit,
	.written = real_written,
	.resident = real_resident,
	.major_faults = real_major_faults,
	.tick = real_tick,
};

size_t sys_ask_page_size(void)
{
	static size_t known; /* atomic; whoever asks first writes what everybody would */
	size_t size = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (size == 0) {
		size = getauxval(AT_PAGESZ);
		__atomic_store_n(&known, size, __ATOMIC_RELAXED);
	}
	return size;
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

void sys_yield(void)
{
	SYS_0(SYS_sched_yield);
}

void sys_sleep(void)
{
	/* The kernel's structure has two longs on each machine. */
	const long time[2] = {0, 50000};

	SYS_2(SYS_nanosleep, time, NULL);
}

int sys_getpid(void)
{
	return (int)SYS_0(SYS_getpid);
}

uint64_t sys_memory(void)
{
	struct sysinfo info = {0};

	if (SYS_1(SYS_sysinfo, &info) < 0)
		return 0;
	return (uint64_t)info.totalram * info.mem_unit;
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

bool sys_alternate_stack(struct sys_stack *ret_stack)
{
	stack_t stack = {.ss_flags = SS_DISABLE};

	if (sys_call(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) < 0 ||
	    (stack.ss_flags & SS_DISABLE))
		return false;
	ret_stack->start = (uintptr_t)stack.ss_sp;
	ret_stack->size = stack.ss_size;
	return true;
}

int sys_open(const char *path, int flags, unsigned int mode)
{
	return (int)SYS_4(SYS_openat, AT_FDCWD, path, flags, mode);
}

int sys_close(int fd)
{
	return (int)SYS_1(SYS_close, fd);
}

long sys_entries(int fd, void *buffer, size_t size)
{
	return SYS_3(SYS_getdents64, fd, buffer, size);
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
