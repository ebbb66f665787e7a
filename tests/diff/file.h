/* What the operations on files and descriptors have in common. */
#ifndef FILE_H
#define FILE_H

#include "differ.h"

/* What is read and written at once, at most. */
#define MOST_BYTES (64 * PAGE)

/* So many bytes; each thread has its own. */
unsigned char *scratch(void);
/* A length that fits. */
size_t length_of(int64_t length);

/* The number behind one of fds; a bad one if it is closed. */
int number_of(int64_t index);
bool is_fd(int64_t index);

#endif
