/*
 * Where a longjmp or a change of context leads to, as its stack pointer says: whether the frames
 * that it was called from are left behind. Only the machine's part of glibc knows.
 */
#ifndef JUMP_H
#define JUMP_H

#if defined(__x86_64__)
#include "arch/x86_64/jump.h"
#elif defined(__i386__)
#include "arch/i386/jump.h"
#else
#include "arch/aarch64/jump.h"
#endif

#endif
