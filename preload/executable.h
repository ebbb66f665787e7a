/*
 * The program's executable file: its own name, behind all links (ld is a link to ld.bfd, which is
 * one to x86_64-linux-gnu-ld.bfd).
 *
 *   what was given to execve (AT_EXECFN) ──link──> … ──> a file that is none: its name
 *          │ not certain to be the executable file
 *          └──> /proc/self/exe, which knows
 *
 * /proc has to make its entries for each new process, and take them apart again: that one readlink
 * costs as much as starting the library does otherwise. What was given to execve is as good, unless
 * it is a script: then the interpreter's path is argv[0]. It is a script's at worst if argv[0] has
 * another name, as the program that called execve may have chosen.
 *
 * Synchronization: none; called by the constructor.
 */
#ifndef EXECUTABLE_H
#define EXECUTABLE_H

#include <stddef.h>

/* The last part of a path, or "" if it is NULL or too long. */
void executable_base_name(const char *path, char *name, size_t size);

/* The name of the executable file, or "" if nobody says. `argv0` and `started` may be NULL. */
void executable_name(const char *argv0, const char *started, char *name, size_t size);

#endif
