/*
 * Signals, for the system calls that are made by number (entry_syscall.c).
 */
#ifndef ENTRY_SIGNAL_H
#define ENTRY_SIGNAL_H

#include <signal.h>

/* sigaction, by a name that is not exported. */
int entry_sigaction(int number, const struct sigaction *action, struct sigaction *old);

#endif
