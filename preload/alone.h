/*
 * Alone: whether one descriptor is all that this process has of its file.
 *
 *   /proc/self/fd ──each number──> fstat ──> another descriptor of the same file?
 *   /proc/self/maps ──> a mapping of it?
 *
 * The descriptor table (fd.h) knows what was seen being made. Numbers that were inherited, that
 * came through a socket, or were made where no hook sees it are not in it; the kernel knows them
 * all.
 *
 * Synchronization: none. What is opened or mapped meanwhile has to be noticed by the caller.
 */
#ifndef ALONE_H
#define ALONE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether that number is the file. */
bool alone_is_same(int fd, uint64_t device, uint64_t inode);

/* Whether it is alone. No, too, if /proc can't be read. Some fifty microseconds. */
bool alone_in_process(int fd, uint64_t device, uint64_t inode);

#endif
