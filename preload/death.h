/*
 * Deaths: a moment before a signal ends the process, for what has to be done first.
 *
 *   kernel ──> on_death ──> what death_begin() was given ──> the default action, and the signal
 * again
 *
 * What stdio has written is in the file when a process dies natively, and may be in a window here
 * (window.h). So from the first window on every signal that would end the process has a handler of
 * ours, which writes it out and lets the process die of the same signal, with the same status and
 * the same core. Only signals that have the default action are taken; SIGBUS and SIGSEGV are the
 * guard's (guard.h), which calls the same function.
 *
 * The program sees the default action where it asks (death_translate). What it sets takes the place
 * of ours, and is not looked at again unless it is the default action. exec and the children of
 * posix_spawn find the default action, as the kernel puts it in place of any handler.
 *
 * Not seen: SIGKILL; a fault on a stack that is used up, where there is no other, or of a thread
 * that blocks the signal; a handler with SA_RESETHAND that has run (what raises a signal steps
 * aside before, aside.h).
 *
 * Synchronization: `actions` is written once for each signal, before ours stands.
 */
#ifndef DEATH_H
#define DEATH_H

#include <signal.h>
#include <stdbool.h>

#include "guard.h"

/* How to set a signal's action, and what to do. Called by the constructor. */
void death_begin(guard_sigaction action, void (*before)(void));

/* From now on. Some 100 system calls the first time. */
void death_watch(void);

/* The program has set a signal's action to the default. */
void death_default(int number);

/* An action that the kernel told of: if it is ours, then it becomes the program's. */
void death_translate(int number, struct sigaction *action);

/* Does what is to be done, unless it was done. */
void death_come(void);

#endif
