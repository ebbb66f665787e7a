/*
 * Reads: which positional reads of which descriptors are answered by copies (bytes.h), and when.
 *
 *   pread ──> served already, proved in this tick ──> bytes_copy ──> the number still the same?
 *               │ no                                     │ no              │ no
 *               v                                        v                 v
 *             pattern, description, proof, region      the real call     the real call
 *
 * The pattern. The first small reads of a descriptor pass through and are counted in its entry
 * (fd.h), which costs a few nanoseconds and no memory; after FIRST_READS in a row without a large
 * one it is served. Large ones always pass. If they are frequent, or serving turns out to be
 * impossible, it is given up, and twice as many small reads have to pass before the next try, until
 * there is none.
 *
 * A part of the file that is read once is cheaper read by the kernel than mapped for it: a read is
 * served if its chunk was read often enough (chunk.h).
 *
 * The proof that a number still is its description is that of views: one fstat a tick, which also
 * refreshes the size. It need not be of the file as it is now (bytes.h proves that). Where the file
 * system would move the access time, one real read is let through for each proof that says so, and
 * if that did not move it, everything until the next tick.
 *
 * What is known of the file's size is lowered by each real read that comes out short. Nothing
 * beyond it is served until the next tick has a look.
 *
 * Files that are not in memory. A page fault reads ahead by other rules than pread, and at random
 * places it reads far more. So the first copies are made one by one, each from a page that is in
 * memory (mincore); then that is asked after 2, 4 … 1,024 of them, and each tick, and how often the
 * thread has waited for a disk. A thread that has come that far begins a new file with four looks.
 * If it did wait, or the page at hand is not in memory, real reads are made for a while, twice as
 * many as the last time; each 1,024 copies without a wait take back one doubling.
 *
 * A read is a cancellation point, so a pending cancellation is acted upon before a copy: nothing is
 * held then.
 *
 * Deliberately absent: the offset of read, readv and lseek (offset.h).
 */
#ifndef READS_H
#define READS_H

#include <stdbool.h>
#include <sys/types.h>

#include "bytes.h"

/* Whether all of a read was answered with a copy; if not, the real call has the answer, whatever it
 * is. errno is left alone. `n` may be anything here. */
bool reads_serve(int fd, const struct bytes_request *request);

/* The same for pieces that are the program's, and may be anything too: the bytes in all, or 0. */
size_t reads_scatter(int fd, const struct iovec *pieces, int count, uint64_t offset);
/* What the real call has answered to such a read. */
void reads_scattered(int fd, ssize_t answer);

struct fd_entry;

/* Counts a read at the description's own offset; whether it is time to serve them. */
bool reads_pattern(struct fd_entry *entry, size_t n);

/* The real call has found the file's end at this offset, or before it. */
void reads_ended(int fd, uint64_t offset);

/* The pattern has shown elsewhere: the next small read of this number is served. */
void reads_expect(int fd);

/* From now on reads of this number's description are not served. */
void reads_refuse(int fd);

#endif
