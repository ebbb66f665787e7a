/*
 * The kernel, as this library sees it.
 *
 * Everything below the hooks that makes a system call for the library's own sake makes it through
 * `kernel`, one structure of functions: the unit tests put fakes in it, let the n-th call fail and
 * set the clock by hand. A call that passes a program's request on goes through next.h instead, so
 * that other preloads see it.
 *
 * Preconditions of all: none but those of the system call itself. Results: 0 or a value, -errno on
 * failure; a pointer result carries -errno too (sys_failed, sys_error). errno is never touched:
 * only the entry points know it.
 *
 * Raw calls, not libc's functions, because several of libc's names are our own hooks, and because
 * fstat has no name that exists in all versions of glibc (2.33 changed it).
 */
#ifndef SYS_H
#define SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__LP64__)
#include "arch/x86_64/sys_call.h"
#elif defined(__i386__)
#include "arch/i386/sys_call.h"
#elif defined(__aarch64__)
#include "arch/aarch64/sys_call.h"
#else
#error "no arch/MACHINE/sys_call.h for this machine: it needs sys_call() and the vfork stub"
#endif

#ifdef _FILE_OFFSET_BITS
#error "must be built without _FILE_OFFSET_BITS: it renames the functions that are hooked"
#endif

/* What fstat says of a descriptor's file, as far as we ask. */
struct file_stat {
	uint64_t device;
	uint64_t inode;
	uint64_t size; /* bytes */
	uint64_t held; /* bytes that the file system holds for it; less if it has holes */
	uint64_t unit; /* st_blksize, bytes */
	int64_t atime; /* nanoseconds since 1970 */
	int64_t mtime;
	int64_t ctime;
	uint32_t mode; /* st_mode */
};

/* What fstatfs says, as far as we ask. */
struct filesystem {
	uint32_t type;      /* a magic number of linux/magic.h */
	uint32_t flags;     /* ST_* bits of statvfs(3) */
	uint64_t available; /* bytes, to us */
};

#define RESIDENT_MOST 18
#define DROP_MOST 256

/* Addresses [start, end). */
struct run {
	char *start;
	char *end;
};

struct kernel {
	/* mmap(2); `offset` in bytes, a multiple of the page size. */
	void *(*map)(void *addr, size_t length, int prot, int flags, int fd, uint64_t offset);
	int (*unmap)(void *addr, size_t length);
	int (*protect)(void *addr, size_t length, int prot);
	int (*advise)(void *addr, size_t length, int advice);
	/* MADV_DONTNEED of up to DROP_MOST ranges at once, by process_madvise(2) of Linux 6.14. */
	int (*drop)(const struct run *runs, size_t count);
	/* mremap(2). */
	void *(*remap)(void *addr, size_t old, size_t new, int flags, void *to);
	/* fstat(2). */
	int (*stat)(int fd, struct file_stat *ret_stat);
	/* fstatfs(2). */
	int (*filesystem)(int fd, struct filesystem *ret_filesystem);
	/* pread64(2) and pwrite64(2). */
	long (*read_at)(int fd, void *buffer, size_t size, uint64_t offset);
	long (*write_at)(int fd, const void *buffer, size_t size, uint64_t offset);
	/* lseek64(2) with SEEK_SET: 0 or -errno. */
	int (*seek)(int fd, uint64_t offset);
	/* The same of SEEK_CUR: where it stands, or -errno. */
	int64_t (*tell)(int fd);
	/* F_GETFL of fcntl(2): the access mode and status flags of the description. */
	int (*status_flags)(int fd);
	/* How much address space the process may take, bytes: the soft limit of RLIMIT_AS, or what
	 * a 32-bit machine has; UINT64_MAX if there is no end. And how much it does take;
	 * UINT64_MAX / 2 if that can't be read. */
	uint64_t (*address_limit)(void);
	uint64_t (*address_taken)(void);
	/* The soft limit of RLIMIT_DATA; RLIM_INFINITY as UINT64_MAX. */
	uint64_t (*data_limit)(void);
	/* The same of RLIMIT_FSIZE. */
	uint64_t (*file_limit)(void);
	/* vm.overcommit_memory: 0, 1 or 2; 2 if it can't be read. */
	int (*overcommit)(void);
	/* The pages of a private mapping of a file that are copies of their own, that is, were
	 * written: up to `most` runs of them, in order; their number, or -errno. What lies from
	 * *ret_stop on was not looked at. */
	int (*written)(char *start, char *end, struct run *runs, int most, char **ret_stop);
	/* mincore(2): whether the pages of these addresses, and those between them (RESIDENT_MOST
	 * in all), are in memory; true if it can't be told. */
	bool (*resident)(const void *first, const void *last);
	/* The page faults of this thread so far that waited for a disk. */
	uint64_t (*major_faults)(void);
	/* A clock that ticks every few milliseconds and costs a few nanoseconds to read
	 * (CLOCK_MONOTONIC_COARSE, served by the vDSO). Its unit is unspecified; only equality
	 * matters. Never 0. */
	uint64_t (*tick)(void);
};

extern struct kernel kernel;

static inline bool sys_failed(const void *p)
{
	return (uintptr_t)p > (uintptr_t)-4096;
}

static inline int sys_error(const void *p)
{
	return (int)(intptr_t)p;
}

/* The size of a page, in bytes, and its logarithm: the machine's, or read once from the auxiliary
 * vector. */
size_t sys_ask_page_size(void);
static inline size_t sys_page_size(void)
{
#ifdef SYS_PAGE_SIZE
	return SYS_PAGE_SIZE;
#else
	return sys_ask_page_size();
#endif
}
static inline unsigned int sys_page_shift(void)
{
	return (unsigned int)__builtin_ctzl(sys_page_size());
}

/* Blocks every signal, the ones libc keeps to itself too; returns the mask to give to
 * sys_unblock_signals(). */
uint64_t sys_block_signals(void);
void sys_unblock_signals(uint64_t mask);

/* The actions and the mask of signals, from the kernel itself. A mask has bit n - 1 for signal n.
 */
struct signal_action {
	uintptr_t handler;
	unsigned long flags;
	uintptr_t restorer;
	uint64_t mask;
};
int sys_signal_action(int number, struct signal_action *ret_action);
uint64_t sys_signal_mask(void);
/* Sends this thread a signal, with all that is known of it. */
int sys_signal_self(int number, const siginfo_t *info);

/* futex(2), private: sleep while *word == value; wake one. */
void sys_futex_wait(uint32_t *word, uint32_t value);
void sys_futex_wake(uint32_t *word);

/* sched_yield(2), and nanosleep(2) for 50 microseconds. */
void sys_yield(void);
void sys_sleep(void);
int sys_getpid(void);
/* Bytes of memory that this machine has, by sysinfo(2); 0 if it can't be told. */
uint64_t sys_memory(void);
/* readlink(2) into a string; its length, or -errno. ENAMETOOLONG if it does not fit. */
int sys_readlink(const char *path, char *buffer, size_t size);
/* This thread's alternate signal stack; false if it has none. */
struct sys_stack {
	uintptr_t start;
	size_t size; /* bytes */
};
bool sys_alternate_stack(struct sys_stack *ret_stack);
int sys_open(const char *path, int flags, unsigned int mode);
int sys_close(int fd);
/* Entries of a directory (struct dirent64); 0 at its end. */
long sys_entries(int fd, void *buffer, size_t size);
long sys_read(int fd, void *buffer, size_t size);
long sys_write(int fd, const void *buffer, size_t size);
/* getrusage(RUSAGE_SELF). */
struct rusage;
int sys_rusage(struct rusage *ret_usage);

#endif
