/*
 * What the stub of `dlopen` (arch/MACHINE/dlopen.S) has to do with the C files.
 */
#ifndef ENTRY_PLUGIN_H
#define ENTRY_PLUGIN_H

#include "entry.h"

/* Where a call of dlopen() goes: a function that takes the same arguments. May change the flags. */
any_function dlopen_target(const char *path, int *flags);

#endif
