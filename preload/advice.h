/*
 * What the dry run advises by: for each file that the program maps, reads, seeks in or writes
 * through stdio, which system calls that cost, and which of them a mode would have saved.
 *
 *   mmap ────────────────> advice_mmap  ──┐
 *   read, pread, lseek ──> advice_read  ──┼──> the file's row ──> advice_savings ──> report.c
 *   fread, fseek, fwrite ─> advice_fread ─┘      (files by device and inode)
 *
 * libc makes a stream's system calls inside itself, where no hook sees them. But which it makes
 * follows from the FILE's buffer as it is before the call: what is there is taken, whole buffers
 * are read into the program's memory, the rest by a refill; a seek is one lseek, and a refill
 * unless it stays inside the buffer. That model is all there is here; the FILE is looked at, never
 * changed.
 *
 * Only what a mode could serve is counted. Streams are those whose every call is one of the three
 * kinds above: what fgets and getc read is served by no mode. write(2) is combined by none.
 *
 * The seconds are an estimate: one empty system call is timed when the report is made, and what is
 * saved is a multiple of it (SPARED_… in advice.c), from one table of measurements. Page faults
 * spared are left out, so as not to promise them.
 *
 * Invariants:
 *   - nothing here is called, and no memory taken, unless config.dry_run;
 *   - a bounded table: ADVICE_FILES rows, and one for all further files;
 *   - errno stays as it is.
 *
 * Synchronization: LOCK_REPORT.
 */
#ifndef ADVICE_H
#define ADVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "config.h"
#include "stats.h"
#include "view.h"

#define ADVICE_FILES 1024
#define ADVICE_NAME_BYTES 200

struct advice_tally {
	uint64_t calls;
	uint64_t bytes;
};

struct advice_file {
	uint64_t device;
	uint64_t inode;
	uint64_t size; /* the largest seen */
	struct advice_tally mmaps;
	uint64_t views; /* of these, those that would have been views */
	uint32_t passed[REASON_COUNT];
	struct advice_tally reads; /* read, pread, readv … */
	uint64_t small_reads;      /* of these, those of less than 64 KiB */
	uint64_t seeks;
	struct advice_tally stream_reads; /* read(2) that stdio makes … */
	struct advice_tally stream_writes;
	uint64_t stream_seeks;
	char name[ADVICE_NAME_BYTES];
};

/* What a mode would have saved: calls, and time in tenths of an empty system call. */
struct advice_saving {
	uint64_t calls;
	uint64_t tenths;
};

/* Takes down one mmap that could be (REASON_none) or could not be a view by its arguments; returns
 * the reason to count: REASON_dry_run for what would have been a view. */
enum reason advice_mmap(const struct view_request *request, enum reason reason);

/* A read of a descriptor has answered that; it was moved by lseek. */
void advice_read(int fd, ssize_t answer);
void advice_seek(int fd);

/* A stream is about to be asked for n bytes, to be given n bytes, to be moved. */
void advice_fread(const FILE *fp, size_t n);
void advice_fwrite(const FILE *fp, size_t n);
void advice_fseek(const FILE *fp, int64_t offset, int whence);

/* Files in the table; each of them; all further ones together. Only to be read when the process
 * ends. */
unsigned int advice_count(void);
const struct advice_file *advice_at(unsigned int i);
const struct advice_file *advice_others(void);

uint64_t advice_calls(const struct advice_file *file);
uint64_t advice_bytes(const struct advice_file *file);
/* Bytes that were read more than once, at least. */
uint64_t advice_reread(const struct advice_file *file);

/* Adds what each mode would have saved on that file. */
void advice_savings(const struct advice_file *file, struct advice_saving savings[MODE_COUNT]);

/* The same of anonymous memory, if each of its mappings ends. */
void advice_memory_savings(struct advice_saving savings[MODE_COUNT]);

/* A fork's child begins with no files. */
void advice_forked(void);

#endif
