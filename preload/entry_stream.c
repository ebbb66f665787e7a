/*
 * The exported names: streams. libc opens and closes their descriptors inside itself, where no hook
 * sees it; what their numbers are is asked here, before they end and after they are made. What
 * fread, fwrite and fseek do without a system call is stream.h's; what they leave is libc's, after
 * the stream has stepped aside.
 *
 * Locks and cancellation: with other threads the FILE's own lock is held over both, as libc does,
 * and a pending cancellation is acted upon before it, since it could not be let go of afterwards.
 *
 * Deliberately absent: ftell and its like: they only look at the FILE, which is as it would be
 * (stream.h). fdopendir, which changes nothing about its number.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include "advice.h"
#include "aside.h"
#include "config.h"
#include "entry.h"
#include "fd.h"
#include "stream.h"
#include "sys.h"

/* Where there is no libpthread (glibc before 2.34), there is nobody to be cancelled. */
#pragma weak pthread_testcancel
#pragma weak pthread_setcancelstate

/* A stream's number, or -1, as fileno_unlocked() has it: there are streams without one
 * (fopencookie). NULL is passed on, for libc to do with it what it does. */
static inline int number_of(const FILE *stream)
{
	return stream != NULL && (stream->_flags & FILE_HAS_NUMBER) ? stream->_fileno : -1;
}

static void forget_stream(FILE *stream)
{
	stream_closing(stream);
	fd_forget(number_of(stream));
}

/* With an m libc reads by mapping the file, and keeps no flag that says so where it was given a
 * number; with a character set the FILE has other functions behind it. */
static bool is_ordinary(const char *mode)
{
	return strpbrk(mode, "m,") == NULL;
}

/* Its number was made by name, and will be ended by a hooked call. */
static FILE *opened(FILE *stream, const char *mode)
{
	int fd = number_of(stream);

	if (stream != NULL) {
		fd_opened(fd);
		if (is_ordinary(mode))
			stream_opened(stream);
		aside_opened(fd);
	}
	return stream;
}

/* A mode that may truncate its file: what is to be written to it comes first. */
static void before_open(const char *mode)
{
	if (mode != NULL && *mode != 'r')
		aside_bytes();
}

FILE *mc_fopen(const char *path, const char *mode)
{
	before_open(mode);
	return opened(NEXT(fopen)(path, mode), mode);
}

FILE *mc_fopen64(const char *path, const char *mode)
{
	before_open(mode);
	return opened(NEXT(fopen64)(path, mode), mode);
}

FILE *mc__IO_fopen(const char *path, const char *mode)
{
	before_open(mode);
	return opened(NEXT(_IO_fopen)(path, mode), mode);
}

/* Inside: open, dup3 onto the old number, close of the new one. Without a path it opens the old
 * file again. */
FILE *mc_freopen(const char *path, const char *mode, FILE *stream)
{
	before_open(mode);
	forget_stream(stream);
	return opened(NEXT(freopen)(path, mode, stream), mode);
}

FILE *mc_freopen64(const char *path, const char *mode, FILE *stream)
{
	before_open(mode);
	forget_stream(stream);
	return opened(NEXT(freopen64)(path, mode, stream), mode);
}

FILE *mc_tmpfile(void)
{
	return opened(NEXT(tmpfile)(), "w+");
}

FILE *mc_tmpfile64(void)
{
	return opened(NEXT(tmpfile64)(), "w+");
}

/* The end of a pipe is a message to whoever reads from it. (That of a regular file is one if it was
 * locked through this very stream, which is not looked at.) */
static void tell_of_end(int fd)
{
	struct file_stat stat;

	if (aside_has_files() && (kernel.stat(fd, &stat) < 0 || !S_ISREG(stat.mode)))
		aside_tell_bytes();
}

/* An errno if bytes were lost, else 0. */
static int before_close(FILE *stream)
{
	int fd = number_of(stream);
	int error = stream_closing(stream);

	tell_of_end(fd);

	if (fd == 2)
		entry_before_close(2, 2);
	fd_forget(fd);
	return error;
}

static int closed(int answer, int error)
{
	if (error == 0)
		return answer;
	errno = error;
	return EOF;
}

int mc_fclose(FILE *stream)
{
	int error = before_close(stream);

	return closed(NEXT(fclose)(stream), error);
}

int mc__IO_fclose(FILE *stream)
{
	int error = before_close(stream);

	return closed(NEXT(_IO_fclose)(stream), error);
}

int mc_fcloseall(void)
{
	aside_share_all();
	/* glibc only flushes the streams; others close them. */
	fd_forget_range(0, UINT32_MAX);
	return NEXT(fcloseall)();
}

/* A pipe: nothing is known of it. */
static FILE *piped(FILE *stream)
{
	if (stream != NULL)
		forget_stream(stream);
	return stream;
}

FILE *mc_popen(const char *command, const char *mode)
{
	aside_share_all();
	return piped(NEXT(popen)(command, mode));
}

FILE *mc__IO_popen(const char *command, const char *mode)
{
	aside_share_all();
	return piped(NEXT(_IO_popen)(command, mode));
}

int mc_pclose(FILE *stream)
{
	aside_bytes();
	forget_stream(stream);
	return NEXT(pclose)(stream);
}

int mc_endmntent(FILE *stream)
{
	forget_stream(stream);
	return NEXT(endmntent)(stream);
}

static void forget_dir(DIR *dir)
{
	if (dir != NULL)
		fd_forget(dirfd(dir));
}

DIR *mc_opendir(const char *path)
{
	DIR *dir = NEXT(opendir)(path);

	forget_dir(dir);
	return dir;
}

int mc_closedir(DIR *dir)
{
	forget_dir(dir);
	return NEXT(closedir)(dir);
}

/* A second stream of one number uses its offset too; the first one is as good as one opened by
 * name, if the number was. */
static FILE *attached(int fd, const char *mode, FILE *stream)
{
	if (stream != NULL && !stream_has(fd) && is_ordinary(mode))
		stream_opened(stream);
	return stream;
}

FILE *mc_fdopen(int fd, const char *mode)
{
	aside_share(fd);
	return attached(fd, mode, NEXT(fdopen)(fd, mode));
}

FILE *mc__IO_fdopen(int fd, const char *mode)
{
	aside_share(fd);
	return attached(fd, mode, NEXT(_IO_fdopen)(fd, mode));
}

/* What a move needs to know of its call. */
struct move {
	struct stream *stream;
	bool locked; /* the FILE, by us */
	int cancel;  /* the thread's cancelability before */
};

/* With other threads, and as the function that is called does: not for the unlocked ones. */
static void lock_file(struct move *move, FILE *fp, bool locks)
{
	move->cancel = PTHREAD_CANCEL_ENABLE;
	move->locked = locks && !__libc_single_threaded && !(fp->_flags & _IO_USER_LOCK);
	if (!move->locked)
		return;
	if (pthread_testcancel != NULL) {
		pthread_testcancel();
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &move->cancel);
	}
	flockfile(fp);
}

static void unlock_file(const struct move *move, FILE *fp)
{
	if (!move->locked)
		return;
	funlockfile(fp);
	if (pthread_setcancelstate != NULL)
		pthread_setcancelstate(move->cancel, NULL);
}

/* Whether this FILE may be moved by us. Then the stream's lock is held, and libc's perhaps. Inline:
 * it is entered in the hook's own frame. */
static inline __attribute__((always_inline)) bool begin_move(struct move *move, FILE *fp,
							     bool locks)
{
	struct stream *s = stream_find(fp);

	if (s == NULL || __atomic_load_n(&s->state, __ATOMIC_RELAXED) == STREAM_PASSED ||
	    tls.vfork_child)
		return false;
	lock_file(move, fp, locks);
	if (stream_enter(s)) {
		move->stream = s;
		if (stream_adopt(s))
			return true;
		stream_leave(s);
	}
	unlock_file(move, fp);
	return false;
}

/* The rest, or an error, is libc's: it may go on from here. */
static void forward(const struct move *move)
{
	stream_surface(move->stream);
	stream_leave(move->stream);
}

/* Whether bytes were lost that this call has to report, in place of doing anything. */
static __attribute__((noinline, cold)) bool report_lost(FILE *fp)
{
	struct stream *s = stream_find(fp);
	int error;

	if (s == NULL || tls.vfork_child || !stream_enter(s))
		return false;
	error = stream_error(s);
	stream_leave(s);
	if (error == 0)
		return false;
	fp->_flags |= FILE_ERROR;
	errno = error;
	return true;
}

static inline bool has_lost(FILE *fp)
{
	return __builtin_expect(stream_has_error(fp), 0) && report_lost(fp);
}

/* Whether there is all that is wanted in the buffer: then libc takes it without a system call. It
 * is asked without a lock, so not if there are other threads. */
static inline bool at_hand(const FILE *fp, size_t n)
{
	return __libc_single_threaded && n <= (size_t)(fp->_IO_read_end - fp->_IO_read_ptr);
}

/* What is read, of n bytes; SIZE_MAX: nothing was done, all of it is libc's. */
static inline __attribute__((always_inline)) size_t read_moved(void *to, size_t size, size_t count,
							       FILE *fp, bool locks)
{
	struct move move;
	size_t n;
	size_t done;

	if (__builtin_mul_overflow(size, count, &n) || n == 0 || at_hand(fp, n))
		return SIZE_MAX;
	if (!begin_move(&move, fp, locks)) {
		if (__builtin_expect(config.dry_run, 0))
			advice_fread(fp, n);
		return SIZE_MAX;
	}
	done = stream_read(move.stream, to, n);
	if (done == n) {
		stream_leave(move.stream);
	} else {
		forward(&move);
		done += NEXT(fread_unlocked)((char *)to + done, 1, n - done, fp);
	}
	unlock_file(&move, fp);
	return done == n ? count : done / size;
}

#define BODY_OF_FREAD(name, locks)                                                                 \
	size_t mc_##name(void *to, size_t size, size_t count, FILE *fp)                            \
	{                                                                                          \
		size_t done = read_moved(to, size, count, fp, locks);                              \
                                                                                                   \
		return done != SIZE_MAX ? done : NEXT(name)(to, size, count, fp);                  \
	}

BODY_OF_FREAD(fread, true)
BODY_OF_FREAD(fread_unlocked, false)
BODY_OF_FREAD(_IO_fread, true)

/* Those that abort where there is no room are asked to. */
#define BODY_OF_FREAD_CHK(name, locks)                                                             \
	size_t mc_##name(void *to, size_t room, size_t size, size_t count, FILE *fp)               \
	{                                                                                          \
		size_t n;                                                                          \
		size_t done = SIZE_MAX;                                                            \
                                                                                                   \
		if (!__builtin_mul_overflow(size, count, &n) && n <= room)                         \
			done = read_moved(to, size, count, fp, locks);                             \
		return done != SIZE_MAX ? done : NEXT(name)(to, room, size, count, fp);            \
	}

BODY_OF_FREAD_CHK(__fread_chk, true)
BODY_OF_FREAD_CHK(__fread_unlocked_chk, false)

#define BODY_OF_FWRITE(name, locks)                                                                \
	size_t mc_##name(const void *from, size_t size, size_t count, FILE *fp)                    \
	{                                                                                          \
		struct move move;                                                                  \
		size_t n;                                                                          \
		size_t done;                                                                       \
                                                                                                   \
		if (has_lost(fp))                                                                  \
			return 0;                                                                  \
		stream_says(fp);                                                                   \
		if (__builtin_mul_overflow(size, count, &n) || n == 0)                             \
			return NEXT(name)(from, size, count, fp);                                  \
		if (!begin_move(&move, fp, locks)) {                                               \
			if (__builtin_expect(config.dry_run, 0))                                   \
				advice_fwrite(fp, n);                                              \
			return NEXT(name)(from, size, count, fp);                                  \
		}                                                                                  \
		done = count;                                                                      \
		if (stream_write(move.stream, from, n)) {                                          \
			stream_leave(move.stream);                                                 \
		} else {                                                                           \
			forward(&move);                                                            \
			done = NEXT(fwrite_unlocked)(from, size, count, fp);                       \
		}                                                                                  \
		unlock_file(&move, fp);                                                            \
		return has_lost(fp) ? 0 : done;                                                    \
	}

BODY_OF_FWRITE(fwrite, true)
BODY_OF_FWRITE(fwrite_unlocked, false)
BODY_OF_FWRITE(_IO_fwrite, true)

#define BODY_OF_FSEEK(name, type)                                                                  \
	int mc_##name(FILE *fp, type offset, int whence)                                           \
	{                                                                                          \
		struct move move;                                                                  \
		int answer = 0;                                                                    \
                                                                                                   \
		if (has_lost(fp))                                                                  \
			return EOF;                                                                \
		if (!begin_move(&move, fp, true)) {                                                \
			if (__builtin_expect(config.dry_run, 0))                                   \
				advice_fseek(fp, offset, whence);                                  \
			return NEXT(name)(fp, offset, whence);                                     \
		}                                                                                  \
		if (stream_seek(move.stream, offset, whence)) {                                    \
			stream_leave(move.stream);                                                 \
		} else {                                                                           \
			forward(&move);                                                            \
			answer = NEXT(name)(fp, offset, whence);                                   \
		}                                                                                  \
		unlock_file(&move, fp);                                                            \
		return has_lost(fp) ? EOF : answer;                                                \
	}

BODY_OF_FSEEK(fseek, long)
BODY_OF_FSEEK(fseeko, off_t)
BODY_OF_FSEEK(fseeko64, off64_t)

static void before_flush(FILE *fp)
{
	if (tls.vfork_child)
		return;
	if (fp == NULL)
		stream_step_all();
	else
		stream_step(fp, true);
}

#define BODY_OF_FFLUSH(name)                                                                       \
	int mc_##name(FILE *fp)                                                                    \
	{                                                                                          \
		int answer;                                                                        \
                                                                                                   \
		before_flush(fp);                                                                  \
		answer = NEXT(name)(fp);                                                           \
		return fp != NULL && has_lost(fp) ? EOF : answer;                                  \
	}

BODY_OF_FFLUSH(fflush)
BODY_OF_FFLUSH(fflush_unlocked)
BODY_OF_FFLUSH(_IO_fflush)
