/*
 * stdiffer: runs a random or given sequence of operations on stdio streams (script.h), and writes
 * down what the program could see of it: results, errno where a call failed, checksums of what was
 * read, end-of-file and error flags. There is no model: that a stream does as it would without the
 * library is known by comparing the transcripts of two worlds (tests/diff/run -S).
 *
 *   supervisor ──fork──> runner ──fork──> peer (peer.c: changes files on command)
 *       │                  │
 *       └── transcript ────┘   in shared memory, and printed by the supervisor in the end
 *
 * The runner must not write the transcript itself: the library may put off output until the next
 * call in which it could be missed, and a write after each line would be one. For the same reason,
 * nothing is called between two operations. How the runner ends (with data in its buffers) is part
 * of the script; what it left in the files is looked at by the supervisor.
 *
 * A *stream* is a place in a table, which holds an open FILE or none. A *place* is a stream, whose
 * descriptor is meant, or (from STREAMS on) one of the descriptors that were opened without stdio.
 * A *name* is a file in the folder, or one of a few odd ones elsewhere.
 *
 * Output that does not fit (a full file system, a limit on file sizes) may be reported by a later
 * call than natively, and threads run in any order. Operations on that kind (starve, threads) make
 * a stream of their own, and only say what must not depend on it.
 *
 * Avoided, since glibc itself does not answer the same each time: bytes behind a wide stream's
 * back; offsets so large that files could not be read again.
 */
#ifndef STDIFFER_H
#define STDIFFER_H

#include "../script.h"

#include <stdio.h>

#define STREAMS 6
#define FDS 4
#define PLACES (STREAMS + FDS)
#define NAMES 4
#define ODD_NAMES 5
#define SPOTS 4
#define MAPS 2
#define MOST_BYTES ((size_t)160 * 1024) /* of one operation */
#define FAR ((int64_t)12 << 20)         /* what lies behind is neither written nor looked at */

enum { NAME_FOLDER = NAMES, NAME_FULL, NAME_NULL, NAME_VERSION, NAME_MISSING };

/* streams.c: the tables. */
struct stream {
	FILE *fp;
	int name;
	char direction; /* of a wide stream: 'r' or 'w', or 0 */
};

extern struct stream streams[STREAMS];
extern int fds[FDS];
extern bool tiny_disk; /* the folder `small` is a file system of SMALL_BYTES */
#define SMALL_BYTES (256 << 10)

const char *path_of(int64_t name);
const char *path_in(const char *folder, const char *name);
void name_files(const char *folder);

/* The open stream, or NULL, and the line says so; wide ones count as closed to byte functions. */
FILE *stream_at(int64_t s);
FILE *byte_stream_at(int64_t s);
/*
 * What ISO C leaves undefined is done where glibc answers the same each time. Here 2.36 does not:
 * when writing while what was pushed back has a buffer of its own, it may write beyond the end of
 * that; where it does not know yet that a stream is no wide one, that buffer survives a seek, and
 * is freed twice; and a seek in a wide stream may never end.
 */
FILE *written_stream_at(int64_t s);
FILE *sought_stream_at(int64_t s);
bool has_backup(const FILE *fp);
#define IN_BACKUP 0x100 /* flags of glibc's, in _flags */
#define PUTTING 0x800
#define NO_READS 0x4
/* Its FILE is gone. */
void stream_gone(int64_t s);
/* The descriptor at a place, or -1. */
int number_of(int64_t place);
/* Where operations read to and write from; 0 … MOST_BYTES. */
unsigned char *scratch(void);
size_t length_of(int64_t n);
/* Fills scratch with lines of text: words, numbers, now and then a byte of another kind. */
void fill(size_t n, uint64_t value);
/* Says a sum of n bytes, and the first ones if there are few. */
void say_bytes(const unsigned char *bytes, size_t n);
/* errno is cleared. */
void clear(void);
/* Says a result, errno if it failed, and the flags of the stream. */
void say_result(long long result, bool failed, FILE *fp);

/* draw.c */
int64_t draw_stream(void);
int64_t draw_place(void);
int64_t draw_name(void);
bool draw_alone(void);   /* no other stream, and no descriptor, of the same file */
int64_t draw_file(void); /* a name that is not an odd one */
int64_t draw_size(void);
int64_t draw_offset(void);
int64_t draw_value(void);

/* ops_process.c: how a process ends. */
#define ENDS 10
extern int64_t last_end;
void end_now(int64_t how);

#define DECLARE(name)                                                                              \
	void draw_##name(int64_t *a);                                                              \
	void run_##name(const int64_t *a);

/* ops_stream.c */
DECLARE(begin)
DECLARE(check)
DECLARE(open)
DECLARE(reopen)
DECLARE(close)
DECLARE(seek)
DECLARE(far)
DECLARE(tell)
DECLARE(rewind)
DECLARE(getpos)
DECLARE(setpos)
DECLARE(read)
DECLARE(write)
DECLARE(seek_read)
DECLARE(seek_write)
DECLARE(flush)
DECLARE(state)
DECLARE(fields)
DECLARE(buffer)
DECLARE(purge)
DECLARE(locked)
DECLARE(assign)
/* ops_text.c */
DECLARE(getc)
DECLARE(putc)
DECLARE(gets)
DECLARE(puts)
DECLARE(print)
DECLARE(scan)
DECLARE(unget)
DECLARE(wide)
DECLARE(database)
/* ops_fd.c */
DECLARE(fd_open)
DECLARE(fd_dup)
DECLARE(fd_close)
DECLARE(fd_seek)
DECLARE(fd_read)
DECLARE(fd_write)
DECLARE(fd_size)
DECLARE(fd_truncate)
DECLARE(fd_allocate)
DECLARE(fd_flags)
DECLARE(fd_sync)
DECLARE(fd_map)
DECLARE(fd_send)
DECLARE(keep)
DECLARE(kept)
DECLARE(look)
DECLARE(rename)
DECLARE(unlink)
DECLARE(peer)
/* ops_process.c */
DECLARE(fork)
DECLARE(command)
DECLARE(starve)
DECLARE(threads)

#endif
