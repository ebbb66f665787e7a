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
#include <sys/single_threaded.h>

#include "aside.h"
#include "entry.h"
#include "fd.h"
#include "stream.h"

/* Where there is no libpthread (glibc before 2.34), there is nobody to be cancelled. */
#pragma weak pthread_testcancel
#pragma weak pthread_setcancelstate

/* A stream's number, or -1: streams without one (fopencookie) would set errno. NULL is passed on,
 * for libc to do with it what it does. */
static int number_of(FILE *stream)
{
	int saved = errno;
	int fd = stream != NULL ? fileno_unlocked(stream) : -1;

	errno = saved;
	return fd;
}

static void forget_stream(FILE *stream)
{
	stream_closing(stream);
	fd_forget(number_of(stream));
}

/* Its number was made by name, and will be ended by a hooked call. */
static FILE *opened(FILE *stream)
{
	int fd = number_of(stream);

	if (stream != NULL) {
		fd_opened(fd);
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
	return opened(NEXT(fopen)(path, mode));
}

FILE *mc_fopen64(const char *path, const char *mode)
{
	before_open(mode);
	return opened(NEXT(fopen64)(path, mode));
}

FILE *mc__IO_fopen(const char *path, const char *mode)
{
	before_open(mode);
	return opened(NEXT(_IO_fopen)(path, mode));
}

/* Inside: open, dup3 onto the old number, close of the new one. Without a path it opens the old
 * file again. */
FILE *mc_freopen(const char *path, const char *mode, FILE *stream)
{
	before_open(mode);
	forget_stream(stream);
	return opened(NEXT(freopen)(path, mode, stream));
}

FILE *mc_freopen64(const char *path, const char *mode, FILE *stream)
{
	before_open(mode);
	forget_stream(stream);
	return opened(NEXT(freopen64)(path, mode, stream));
}

FILE *mc_tmpfile(void)
{
	return opened(NEXT(tmpfile)());
}

FILE *mc_tmpfile64(void)
{
	return opened(NEXT(tmpfile64)());
}

/* An errno if bytes were lost, else 0. */
static int before_close(FILE *stream)
{
	int fd = number_of(stream);
	int error = stream_closing(stream);

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

/* Another stream of a number that may have one: both use its offset. */
FILE *mc_fdopen(int fd, const char *mode)
{
	aside_share(fd);
	return NEXT(fdopen)(fd, mode);
}

FILE *mc__IO_fdopen(int fd, const char *mode)
{
	aside_share(fd);
	return NEXT(_IO_fdopen)(fd, mode);
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

/* Whether this FILE may be moved by us. Then the stream's lock is held, and libc's perhaps. */
static bool begin_move(struct move *move, FILE *fp, bool locks)
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

/* Whether bytes were lost that this call has to report, which is then over. */
static bool failed(const struct move *move, FILE *fp)
{
	int error = stream_error(move->stream);

	if (__builtin_expect(error == 0, 1))
		return false;
	stream_surface(move->stream);
	stream_leave(move->stream);
	fp->_flags |= FILE_ERROR;
	unlock_file(move, fp);
	errno = error;
	return true;
}

/* Whether there is all that is wanted in the buffer: then libc takes it without a system call. It
 * is asked without a lock, so not if there are other threads. */
static inline bool at_hand(const FILE *fp, size_t n)
{
	return __libc_single_threaded && n <= (size_t)(fp->_IO_read_end - fp->_IO_read_ptr);
}

/* What is read, of n bytes; SIZE_MAX: nothing was done, all of it is libc's. */
static inline size_t read_moved(void *to, size_t size, size_t count, FILE *fp, bool locks)
{
	struct move move;
	size_t n;
	size_t done;

	if (__builtin_mul_overflow(size, count, &n) || n == 0 || at_hand(fp, n) ||
	    !begin_move(&move, fp, locks))
		return SIZE_MAX;
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
		if (__builtin_mul_overflow(size, count, &n) || n == 0 ||                           \
		    !begin_move(&move, fp, locks)) {                                               \
			aside_bytes();                                                             \
			return NEXT(name)(from, size, count, fp);                                  \
		}                                                                                  \
		if (stream_write(move.stream, from, n)) {                                          \
			if (failed(&move, fp))                                                     \
				return 0;                                                          \
			done = count;                                                              \
			stream_leave(move.stream);                                                 \
		} else {                                                                           \
			forward(&move);                                                            \
			done = NEXT(fwrite_unlocked)(from, size, count, fp);                       \
		}                                                                                  \
		unlock_file(&move, fp);                                                            \
		return done;                                                                       \
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
		if (!begin_move(&move, fp, true))                                                  \
			return NEXT(name)(fp, offset, whence);                                     \
		if (failed(&move, fp))                                                             \
			return EOF;                                                                \
		if (stream_seek(move.stream, offset, whence)) {                                    \
			if (failed(&move, fp))                                                     \
				return EOF;                                                        \
			stream_leave(move.stream);                                                 \
		} else {                                                                           \
			forward(&move);                                                            \
			answer = NEXT(name)(fp, offset, whence);                                   \
		}                                                                                  \
		unlock_file(&move, fp);                                                            \
		return answer;                                                                     \
	}

BODY_OF_FSEEK(fseek, long)
BODY_OF_FSEEK(fseeko, off_t)
BODY_OF_FSEEK(fseeko64, off64_t)

/* Reports bytes that were lost in place of doing anything; libc's own call comes after it, and is
 * made all the same. */
static int flushed(int answer, FILE *fp)
{
	struct move move;

	if (fp == NULL || !begin_move(&move, fp, true))
		return answer;
	if (failed(&move, fp))
		return EOF;
	stream_leave(move.stream);
	unlock_file(&move, fp);
	return answer;
}

static void before_flush(FILE *fp)
{
	if (!aside_needed())
		return;
	if (fp == NULL)
		aside_tell_all(ASIDE_SEEN);
	else
		stream_step(fp, true);
}

#define BODY_OF_FFLUSH(name)                                                                       \
	int mc_##name(FILE *fp)                                                                    \
	{                                                                                          \
		before_flush(fp);                                                                  \
		return flushed(NEXT(name)(fp), fp);                                                \
	}

BODY_OF_FFLUSH(fflush)
BODY_OF_FFLUSH(fflush_unlocked)
BODY_OF_FFLUSH(_IO_fflush)
