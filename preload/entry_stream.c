/*
 * The exported names: descriptors inside streams. libc opens and closes them inside itself, where
 * no hook sees it; what their numbers are is asked here, before they end and after they are made.
 *
 * Deliberately absent: fdopen and fdopendir, which change nothing about their number.
 */
#include <errno.h>

#include "entry.h"
#include "fd.h"

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
	fd_forget(number_of(stream));
}

/* Its number was made by name, and will be ended by a hooked call. */
static FILE *opened(FILE *stream)
{
	if (stream != NULL)
		fd_opened(number_of(stream));
	return stream;
}

FILE *mc_fopen(const char *path, const char *mode)
{
	return opened(NEXT(fopen)(path, mode));
}

FILE *mc_fopen64(const char *path, const char *mode)
{
	return opened(NEXT(fopen64)(path, mode));
}

FILE *mc__IO_fopen(const char *path, const char *mode)
{
	return opened(NEXT(_IO_fopen)(path, mode));
}

/* Inside: open, dup3 onto the old number, close of the new one. Without a path it opens the old
 * file again. */
FILE *mc_freopen(const char *path, const char *mode, FILE *stream)
{
	forget_stream(stream);
	return opened(NEXT(freopen)(path, mode, stream));
}

FILE *mc_freopen64(const char *path, const char *mode, FILE *stream)
{
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

static void before_close(FILE *stream)
{
	int fd = number_of(stream);

	if (fd == 2)
		entry_before_close(2, 2);
	fd_forget(fd);
}

int mc_fclose(FILE *stream)
{
	before_close(stream);
	return NEXT(fclose)(stream);
}

int mc__IO_fclose(FILE *stream)
{
	before_close(stream);
	return NEXT(_IO_fclose)(stream);
}

int mc_fcloseall(void)
{
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
	return piped(NEXT(popen)(command, mode));
}

FILE *mc__IO_popen(const char *command, const char *mode)
{
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
