/*
 * What becomes of our tables when a process is made: shared by the hooks of libc's functions
 * (entry_process.c), the system calls that are made by number (entry_syscall.c) and the vfork stub
 * (arch/MACHINE/vfork.S).
 */
#ifndef ENTRY_PROCESS_H
#define ENTRY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* What a child shares with its parent, by the flags of clone(2). */
enum process_kind {
	PROCESS_FORK,          /* nothing */
	PROCESS_VFORK,         /* memory, and its parent waits for it */
	PROCESS_THREAD,        /* memory and descriptors */
	PROCESS_STRANGER,      /* memory, but not descriptors, and both run */
	PROCESS_STRANGER_FORK, /* descriptors, but not memory */
};

enum process_kind process_kind_of(uint64_t flags);

/* Around a call that forks without running the handlers of pthread_atfork; `pid` is its answer. */
void process_fork_before(void);
void process_fork_after(long pid);

/* Around the vfork system call. The first returns what the second wants to know; the second takes
 * the kernel's answer, in the child and in the parent, and returns what vfork does. */
bool process_vfork_before(void);
long process_vfork_after(long answer, bool outer);

/* A soft limit of this process is about to be set, RLIM64_INFINITY for none. */
void process_limits(int resource, uint64_t limit);

/* The process ends without running destructors. */
void process_report(void);

/* It is about to forbid itself system calls (seccomp): ours may be among them. From now on every
 * hook passes through, and what there is to report is reported. */
void process_enters_sandbox(void);

#endif
