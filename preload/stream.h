/*
 * Streams: the FILEs that the program opened by name, and what is done for them in place of system
 * calls.
 *
 *   fread, fseek, fwrite ──> the FILE's own buffer and pointers, moved as libc moves them
 *        entry_stream.c        stream_io.c    │ where libc would make a system call
 *                                             ├─ read(2)  ──> a copy from a region (reads.h)
 *                                             ├─ lseek(2) ──> nothing: `_offset` has moved, the
 *                                             │               kernel's offset is stale
 *                                             └─ write(2) ──> the stream's window (window.h)
 *
 * The FILE stays libc's own, and at every moment it is what it would be without us: what is in its
 * buffer, where its pointers stand, which offset it believes the kernel to have. So nothing has to
 * be translated. Every other function that takes a FILE works on it as it is, once the kernel has
 * been told where the offset really stands and what was written: the stream *steps aside*
 * (aside.h), which is an lseek and perhaps a few large writes. A buffer that holds old bytes holds
 * the same old bytes as natively; what has not been flushed is lost at _exit and doubled by fork as
 * natively; what stdio has written is in the window, and goes into the file before anybody looks.
 *
 * The fields are those of struct _IO_FILE in <bits/types/struct_FILE.h>, which programs have
 * compiled into them (getc, putc, feof); the flags' values are as old. What libc does with them was
 * read in libio/fileops.c of glibc 2.36 and holds from 2.28 (sticky end of file) on. Only the plain
 * case is done here: a narrow, fully buffered stream without ungetc, in read or in write mode,
 * whose offset libc knows. Everything else, each error and each end of file is libc's: step aside
 * and forward.
 *
 * What is done:
 *   - A stream is watched until it has made FIRST_MOVES system calls' worth of seeks and refills;
 *     then it is served, if its file is a regular one, its description this process's own, and
 *     nobody else's.
 *   - A seek fills the buffer, as in libc. A seek in a stream with a window does not: most of what
 * a linker does after it is write. That it should have been filled is remembered (`unfilled`), and
 * made good before anybody could see the difference.
 *   - A stream that seeks and has written a few times gets a window, in programs that have the mode
 *     `write`, while no other descriptor, stream or mapping of the file is known in this process,
 *     there is no limit on the size of files and plenty of space.
 *
 * Invariants, for a stream that is served:
 *   - stale ⇒ fp->_offset >= 0, and it is where the kernel's offset would be natively;
 *   - unfilled ⇒ the stream has a window and is in read mode, with its buffer empty: read_ptr ==
 *     read_end, and fp->_offset is the position;
 *   - hollow ⇒ it is in write mode, and nothing was flushed since it was unfilled: libc drops what
 *     is around the put area when it flushes, and only __fpurge() keeps it;
 *   - learned ⇒ natively fp->_offset would be -1, not known;
 *   - pending ⇔ stale, learned, or unfilled, or the window may hold bytes; it is counted in
 * aside_pending, and so is the window itself: with an empty one, whoever opens the file must be
 * noticed.
 *
 * Synchronization: `fp` and `state` are atomic. The rest belongs to the stream's owner, a thread
 * that has entered it: for a move, under the FILE's own lock as a rule, or to make it step aside.
 * The order is FILE, stream. A signal handler finds out that its own thread is the owner: then it
 * can't enter, but it can write the window out (window.h), and have the move make an end of it all
 * (`passes`). Handlers may move other streams meanwhile: what a thread has entered is a list. One
 * that jumps out of a move leaves what it has entered (stream_jumped).
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "aside.h"
#include "window.h"

/* libc's own names of these flags are in none of its headers; feof() and ferror() have the values
 * of two of them compiled into programs. */
enum {
	FILE_UNBUFFERED = 0x0002,
	FILE_NO_READS = 0x0004,
	FILE_NO_WRITES = 0x0008,
	FILE_EOF = 0x0010,
	FILE_ERROR = 0x0020,
	FILE_IN_BACKUP = 0x0100,
	FILE_LINE_BUFFERED = 0x0200,
	FILE_PUTTING = 0x0800,
	FILE_APPENDING = 0x1000,
	FILE_HAS_NUMBER = 0x2000,
};

enum stream_state {
	STREAM_NONE,
	STREAM_WATCHED,
	STREAM_SERVED,
	STREAM_PASSED, /* for good */
};

struct stream {
	FILE *fp;
	uint8_t state; /* enum stream_state */
	bool stale;
	bool unfilled;
	bool hollow;  /* the buffer of a put area was never filled around it: see fill_at */
	bool learned; /* fp->_offset is not libc's to know */
	bool pending;
	bool mapped;      /* the program has mapped it */
	bool counted;     /* in `streams_mapped` */
	bool reads_owed;  /* a fill was left out: the file's access time has not moved */
	uint8_t moves;    /* while watched … */
	uint8_t rereads;  /* … and reads of pages that were read before, as it seems */
	uint8_t writes;   /* writes of libc's, before there was a window */
	uint8_t setbacks; /* windows given up */
	uint8_t regular;  /* a regular file: 1 yes, 2 no, 0 not yet asked. Atomic */
	int fd;
	uintptr_t owner;      /* the thread that has entered it: its &tls; 0: none. Atomic */
	struct stream *outer; /* what that thread had entered before, and a handler interrupted */
	uintptr_t frame;      /* of the function that has entered it */
	bool passes;          /* its owner has to make it pass for good when it leaves */
	int error;            /* of bytes that the window has lost; reported once */
	uint64_t pages_read;  /* while watched: a bit for each that 64 pages share … */
	uint64_t last_end;    /* … and where libc's last read has ended */
	uint64_t fill_at;     /* unfilled: where the buffer should begin … */
	uint64_t fill_count;  /* … and how many bytes it should have */
	uint64_t reach;       /* offsets up to it can be seeked to */
	uint64_t size;        /* with a window: of the kernel's file, as last known */
	uint64_t tick;        /* when that was */
	uint64_t device;
	uint64_t inode;
	struct window *window;
};

/* A FILE was opened by name. Nothing, while the library or the mode is off. */
void stream_opened(FILE *fp);
/* It is about to end. An errno if bytes were lost, which its fclose has to report; else 0. */
int stream_closing(FILE *fp);

/* Whether a number has, or had, a stream that was not seen to end. */
bool stream_has(int fd);

/* The record of a FILE that was opened by name, or NULL. */
struct stream *stream_find(FILE *fp);

/* Becomes the stream's owner, unless this thread is that already (then false: forward). */
bool stream_enter_at(struct stream *s, const void *frame);
/* In the function that leaves it again. */
static inline __attribute__((always_inline)) bool stream_enter(struct stream *s)
{
	return stream_enter_at(s, __builtin_frame_address(0));
}
void stream_leave(struct stream *s);
/* Whether this thread has entered any, or is about to. */
static inline bool stream_is_moving(void)
{
	return tls.stream != NULL || tls.between.stream != NULL;
}
/* This thread is about to jump to where its stack pointer will be that, perhaps out of a handler
 * that has interrupted its moves. */
void stream_jumped(uintptr_t to);
/* In the child of a fork: other threads own nothing. */
void stream_forked(void);

/* Whether stream_error() has something to say. */
bool stream_has_error(FILE *fp);
/* An errno, once, if bytes that the window had taken were lost; else 0. Inside. */
int stream_error(struct stream *s);

/* Makes the kernel see what it would. Inside. */
void stream_surface(struct stream *s);
/* For good. Inside. */
void stream_pass(struct stream *s);
/* What is pending is counted. Inside, after each change. */
static inline void stream_pend(struct stream *s)
{
	if (!s->pending) {
		/* Meanwhile libc and the program may have changed the file's size, unseen. */
		s->tick = 0;
		__atomic_store_n(&s->pending, true, __ATOMIC_RELAXED);
		aside_pend(s->fd, 1);
	}
}

/* Whether it is served now, or can be: called with each move while it is watched. Inside. */
bool stream_adopt(struct stream *s);
/* Gives it a window, if that can be. Inside. */
bool stream_combine(struct stream *s);

/* A function is about to use this FILE as it is. `writes`: and may write to it. */
void stream_step(FILE *fp, bool writes);
/* What a function writes to this FILE may be a message. */
void stream_says(FILE *fp);
/* A function is about to write to all of them. */
void stream_step_all(void);

/* Registers with aside.h. Called by the constructor. */
void stream_begin(void);
/* From now on nothing is served: streams are libc's again. At the end of the process, and when a
 * library comes in that will not be seen. */
void stream_finish(void);

/* The moves (stream_io.c). Each does what it can of what libc would do, and leaves the FILE such
 * that libc can go on with the rest: the caller makes it step aside and forwards that. Inside. */

/* So many bytes read; the rest is libc's. */
size_t stream_read(struct stream *s, void *to, size_t n);
/* Whether all were taken. */
bool stream_write(struct stream *s, const void *bytes, size_t n);
/* Whether it was done. */
bool stream_seek(struct stream *s, int64_t offset, int whence);
/* Moves what stdio has to write into the window, if it belongs where libc believes. */
void stream_flush(struct stream *s);
/* Makes `unfilled` good, and `hollow`. */
void stream_fill(struct stream *s);
void stream_fill_around(struct stream *s);

#endif
