/*
 * The exported functions. Each is `mc_NAME` in our sources and NAME in the symbol table: the
 * assembler name is set here, once, so that no header's macro, redirection or fortified inline can
 * come between. Their bodies stand in the entry_*.c files by subject; nothing else in the library
 * calls them.
 */
#ifndef ENTRY_H
#define ENTRY_H

#include "next.h"

#define EXPORTED __attribute__((visibility("default")))

#define HOOK(ret, name, params, fallback) EXPORTED ret mc_##name params __asm__(#name);
#define NEWFD(name, params, args, fallback) EXPORTED int mc_##name params __asm__(#name);
#include "hooks.def"

/* Descriptors first … last are about to be closed: reports on stderr, if it is one of them and the
 * report goes there (entry_fd.c). */
void entry_before_close(unsigned int first, unsigned int last);

/* What the descriptor table is told of these calls, whichever way they are made (entry_fd.c):
 * close_range before it, fcntl before and after, recvmsg after it. */
void entry_close_range(unsigned int first, unsigned int last, int flags);
void entry_before_fcntl(int fd, int command, int argument);
void entry_fcntl(int fd, int command, int argument, int answer);
void entry_received(const struct msghdr *message);

#endif
