/*
 * What the stub of `syscall` (arch/MACHINE/syscall.S) and the stub of `vfork` have to do with the C
 * files.
 */
#ifndef ENTRY_SYSCALL_H
#define ENTRY_SYSCALL_H

#include "entry.h"

/* Where a call of syscall() goes, from its first six arguments: a function that takes them all. */
any_function syscall_target(long number, long a, long b, long c, long d, long e);

/* vfork itself, by a name that is not exported. */
pid_t vfork_stub(void);

/* The hooks of entry_map.c, by names that are not exported. */
extern __typeof__(mc_mmap64) inner_mmap64;
extern __typeof__(mc_munmap) inner_munmap;
extern __typeof__(mc_mremap) inner_mremap;
extern __typeof__(mc_mprotect) inner_mprotect;
extern __typeof__(mc_pkey_mprotect) inner_pkey_mprotect;
extern __typeof__(mc_madvise) inner_madvise;
extern __typeof__(mc_msync) inner_msync;
extern __typeof__(mc_mlock) inner_mlock;
extern __typeof__(mc_mlock2) inner_mlock2;
extern __typeof__(mc_munlock) inner_munlock;
extern __typeof__(mc_mlockall) inner_mlockall;
extern __typeof__(mc_mincore) inner_mincore;
extern __typeof__(mc_remap_file_pages) inner_remap_file_pages;
extern __typeof__(mc_shmat) inner_shmat;
extern __typeof__(mc_shmdt) inner_shmdt;
extern __typeof__(mc_ioctl) inner_ioctl;

#endif
