/* build: -Wno-deprecated-declarations */
/* Streams in the company of everything else that stdio has: other functions on the same FILE,
 * numbers that are used again, standard streams that are assigned, modes and buffers. */
#include "stream_common.h"

#include <argp.h>
#include <err.h>
#include <error.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <wchar.h>

static FILE *out;
static FILE *volatile nowhere;

static void say(const char *what, long answer)
{
	printf("%s: %ld%s%s\n", what, answer, answer == -1 ? " " : "",
	       answer == -1 ? strerrorname_np(errno) : "");
}

static void done(const char *name)
{
	say("tell", ftell(out));
	say("fclose", fclose(out));
	say_file("in the end", name);
}

static void assigned_stdout(void)
{
	FILE *before = stdout;

	out = busy("out", "w+");
	stdout = out;
	for (int i = 0; i < 50; i++) {
		put(out, i * 300L, "seeked ");
		printf("printed %d ", i);
		puts("put");
		putchar('x');
		putchar_unlocked('y');
		fseek(out, 10, SEEK_CUR);
		fwrite("written", 1, 7, stdout);
	}
	stdout = before;
	done("out");
}

static void assigned_stderr(void)
{
	FILE *before = stderr;
	int status;
	pid_t pid;

	out = busy("out", "w+");
	stderr = out;
	put(out, 3000, "seeked ");
	errno = ENOENT;
	perror("perror");
	warn("warn");
	warnx("warnx");
	error(0, EACCES, "error");
	psignal(SIGTERM, "psignal");
	put(out, 5000, "seeked ");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		err(3, "err");
	waitpid(pid, &status, 0);
	stderr = before;
	done("out");
}

static void inlined(void)
{
	long sum = 0;
	int c;

	out = busy("out", "w+");
	for (int i = 0; i < 300; i++) {
		fseek(out, i * 37 % 6000, SEEK_SET);
		for (int j = 0; j < 5; j++)
			putc_unlocked('a' + (i + j) % 26, out);
		fseek(out, i * 91 % 6000, SEEK_SET);
		for (int j = 0; j < 50 && (c = getc_unlocked(out)) != EOF; j++)
			sum = sum * 31 + c;
		sum += feof_unlocked(out);
	}
	say("sum", sum);
	done("out");
}

static void ungot(void)
{
	char bytes[64] = "";

	out = busy("out", "w+");
	for (int i = 0; i < 50; i++) {
		fseek(out, i * 90L, SEEK_SET);
		ungetc('Q', out);
		if (i % 3 == 0)
			ungetc('R', out);
		if (i % 3 != 1)
			say("read", (long)fread(bytes, 1, 10, out));
		bytes[10] = '\0';
		puts(bytes);
		fseek(out, 5, SEEK_CUR);
		say("tell", ftell(out));
		fseek(out, i * 90L, SEEK_SET);
		fwrite("over", 1, 4, out);
	}
	done("out");
}

static void buffers(void)
{
	static const size_t sizes[] = {1, 2, 100, 127, 128, 129, 3000, 4095, 4096, 10000, 1 << 20};
	static char own[1 << 20];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char bytes[5000];
		uint64_t random = i + 1;
		long sum = 0;

		out = fopen(path_of("out"), "w+");
		setvbuf(out, i % 2 ? own : NULL, _IOFBF, sizes[i]);
		for (int j = 0; j < 1500; j++) {
			size_t n;

			random = random * 6364136223846793005u + 1442695040888963407u;
			n = (random >> 50) % (j % 10 == 0 ? 5000 : 60);
			fseek(out, (long)(random >> 30) % 20000, SEEK_SET);
			if (j % 3 == 2) {
				n = fread(bytes, 1, n, out);
				for (size_t k = 0; k < n; k++)
					sum = sum * 31 + bytes[k];
			} else {
				memset(bytes, 'a' + j % 26, n);
				fwrite(bytes, 1, n, out);
			}
		}
		say("sum", sum);
		done("out");
	}
}

static void buffer_changes(void)
{
	static char own[3000];

	out = busy("out", "w+");
	put(out, 700, "before");
	say("setvbuf", setvbuf(out, own, _IOFBF, sizeof(own)));
	scribble(out, 100, 30);
	say("setvbuf", setvbuf(out, NULL, _IOLBF, 0));
	put(out, 800, "a line\nand a half");
	say_file("line buffered", "out");
	say("setvbuf", setvbuf(out, NULL, _IONBF, 0));
	put(out, 900, "at once");
	say_file("unbuffered", "out");
	say("setvbuf", setvbuf(out, NULL, _IOFBF, 5000));
	scribble(out, 500, 30);
	done("out");
}

static void opened_again(void)
{
	char bytes[32] = "";

	out = busy("out", "w+");
	put(out, 10000, "before");
	out = freopen(NULL, "r+", out);
	say("tell", ftell(out));
	say("read", (long)fread(bytes, 1, 10, out));
	puts(bytes);
	scribble(out, 100, 30);
	say_file("out", "out");
	out = freopen(path_of("second"), "w+", out);
	say_file("out", "out");
	scribble(out, 200, 30);
	put(out, 20000, "pending");
	out = freopen("/nonexistent/x", "w+", out);
	say("freopen", out != NULL);
	say_file("second", "second");
}

static void two_of_one_number(void)
{
	FILE *second;
	char bytes[32] = "";

	out = busy("out", "w+");
	put(out, 5000, "first");
	second = fdopen(fileno(out), "r+");
	say("tell", ftell(second));
	fseek(second, 0, SEEK_SET);
	say("read", (long)fread(bytes, 1, 10, second));
	puts(bytes);
	scribble(out, 300, 30);
	scribble(second, 400, BUSY);
	fflush(second);
	done("out");
	fclose(second);
}

/* The number of a stream is closed behind its back, and another one gets it. */
static void number_again(void)
{
	FILE *old = fopen(path_of("old"), "w");
	char bytes[32] = "";
	int fd;

	scribble(old, 0, 3);
	close(fileno(old));
	out = busy("out", "w+");
	say("same number", fileno(out) == fileno(old));
	scribble(out, 7000, 10);
	/* Closes that of the other one. */
	fclose(old);
	fd = open(path_of("out"), O_RDONLY);
	say("read", (long)pread(fd, bytes, 20, 7000));
	puts(bytes);
	close(fd);
	say("fseek", fseek(out, 7000, SEEK_SET));
	say("fclose", fclose(out));
	say_file("in the end", "out");
}

/* The same address, the same number, many times. */
static void address_again(void)
{
	for (int i = 0; i < 200; i++) {
		char name[16];

		snprintf(name, sizeof(name), "out%d", i % 3);
		out = fopen(path_of(name), i % 2 ? "w+" : "r+");
		if (out == NULL)
			continue;
		if (i % 5 == 0)
			close(fileno(out));
		else
			scribble(out, i, i % 40);
		fclose(out);
	}
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "out%d", i);
		say_file("in the end", name);
	}
}

static void end_of_file(void)
{
	char bytes[200];

	out = busy("out", "r+");
	for (int i = 0; i < 40; i++) {
		fseek(out, -20, SEEK_END);
		say("read", (long)fread(bytes, 1, 100, out));
		say("end", feof(out));
		say("tell", ftell(out));
		if (i % 3 == 0)
			say("read", (long)fread(bytes, 1, 100, out));
		if (i % 3 == 1)
			fseek(out, 0, SEEK_CUR);
		if (i % 5 == 4)
			clearerr(out);
		say("write", (long)fwrite("more and more", 1, 13, out));
		say("end", feof(out));
		if (i % 2)
			fseek(out, 30, SEEK_CUR);
		else
			rewind(out);
		say("read", (long)fread(bytes, 1, 10, out));
	}
	done("out");
}

static void wide(void)
{
	wchar_t text[64];

	out = busy("out", "w+");
	say("fwide", fwide(out, 1) < 0);
	fseek(out, 0, SEEK_SET);
	say("fgetws", fgetws(text, 10, out) != NULL);
	done("out");
	out = fopen(path_of("wide"), "w+,ccs=UTF-8");
	say("opened", out != NULL);
	if (out == NULL)
		return;
	for (int i = 0; i < 40; i++) {
		fseek(out, i * 10L, SEEK_SET);
		fputws(L"w\u00e4\u00f6", out);
		say("tell", ftell(out));
	}
	done("wide");
}

static void large(void)
{
	char bytes[32] = "";
	struct stat stat_of;

	out = busy("out", "w+");
	for (int i = 0; i < 20; i++) {
		say("seek", fseeko64(out, ((off64_t)5 << 30) + i * 1000000L, SEEK_SET));
		say("write", (long)fwrite("far away", 1, 8, out));
	}
	say("seek", fseeko64(out, (off64_t)5 << 30, SEEK_SET));
	say("read", (long)fread(bytes, 1, 8, out));
	puts(bytes);
	printf("%lld\n", (long long)ftello64(out));
	say("seek", fseeko64(out, INT64_MAX - 1, SEEK_SET));
	say("seek", fseeko64(out, -1, SEEK_SET));
	say("seek", fseeko64(out, INT64_MAX, SEEK_CUR));
	printf("%lld\n", (long long)ftello64(out));
	fclose(out);
	stat(path_of("out"), &stat_of);
	printf("%lld bytes\n", (long long)stat_of.st_size);
	truncate64(path_of("out"), 10000);
	say_file("in the end", "out");
}

static void by_number(void)
{
	char bytes[64] = "";
	struct iovec piece = {bytes, 10};
	off_t at = 0;
	int to;

	out = busy("out", "w+");
	put(out, 1000, "in the buffer");
	fseek(out, 500, SEEK_SET);
	say("lseek", lseek(fileno(out), 0, SEEK_CUR));
	say("write", write(fileno(out), "raw", 3));
	put(out, 1500, "x");
	say("lseek", lseek(fileno(out), 100, SEEK_SET));
	say("read", (long)fread(bytes, 1, 10, out));
	fseek(out, 1000, SEEK_SET);
	say("read", read(fileno(out), bytes, 13));
	puts(bytes);
	fseek(out, 1000, SEEK_SET);
	say("readv", readv(fileno(out), &piece, 1));
	fseek(out, 0, SEEK_SET);
	scribble(out, 3000, 20);
	say("pread", pread(fileno(out), bytes, 20, 3000));
	puts(bytes);
	say("pwrite", pwrite(fileno(out), "PWRITTEN", 8, 3100));
	fseek(out, 3096, SEEK_SET);
	say("read", (long)fread(bytes, 1, 20, out));
	puts(bytes);
	scribble(out, 4000, 20);
	say("cut", ftruncate(fileno(out), 4500));
	scribble(out, 4700, 3);
	to = open(path_of("copy"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	say("sendfile", sendfile(to, fileno(out), &at, 100000));
	at = 0;
	say("copied", copy_file_range(fileno(out), &at, to, NULL, 5000, 0));
	close(to);
	say_file("copy", "copy");
	say("append", fcntl(fileno(out), F_SETFL, O_APPEND));
	put(out, 10, "appended");
	fflush(out);
	say("no append", fcntl(fileno(out), F_SETFL, 0));
	scribble(out, 100, 10);
	{
		int ready = -1;

		fseek(out, 1000, SEEK_SET);
		say("ioctl", ioctl(fileno(out), FIONREAD, &ready));
		say("ready", ready);
	}
	done("out");
}

/* libc forgets the offset at a flush and at the end of the file, and asks the kernel then. */
static void unknown_offset(void)
{
	char bytes[600];
	FILE *in;

	out = busy("out", "w+");
	fclose(out);
	in = fopen(path_of("out"), "r");
	for (int i = 0; i < 40; i++) {
		fseek(in, i * 10L, SEEK_SET);
		say("read", (long)fread(bytes, 1, 20, in));
		say("flush", fflush(in));
		say("read", (long)fread(bytes, 1, 500, in));
		say("tell", ftell(in));
		say("char", getc(in));
		say("lseek", lseek(fileno(in), 3000 + i, SEEK_SET));
		say("tell", ftell(in));
		say("seek", fseek(in, 10, SEEK_CUR));
		say("tell", ftell(in));
		say("char", getc(in));
	}
	fclose(in);
	out = busy("out", "r+");
	for (int i = 0; i < 40; i++) {
		put(out, i * 90L, "some words");
		say("flush", fflush(out));
		say("write", (long)fwrite(bytes, 1, 500, out));
		say("lseek", lseek(fileno(out), 3000 + i, SEEK_SET));
		say("tell", ftell(out));
		say("seek", fseek(out, 10, SEEK_CUR));
		say("tell", ftell(out));
	}
	done("out");
}

static void read_only(void)
{
	FILE *in;

	out = busy("out", "w+");
	put(out, 3000, "pending");
	fflush(out);
	out = freopen(path_of("out"), "r", out);
	if (out == NULL)
		return;
	for (int i = 0; i < 30; i++) {
		say("seek", fseek(out, i * 50L, SEEK_SET));
		errno = 0;
		say("write", (long)fwrite("x", 1, 1, out));
		say("errno", errno);
		say("error", ferror(out));
		clearerr(out);
	}
	done("out");
	in = fopen(path_of("out"), "w");
	for (int i = 0; i < 30; i++) {
		char bytes[8];

		fseek(in, i * 50L, SEEK_SET);
		fwrite("some", 1, 4, in);
		fseek(in, i * 50L, SEEK_SET);
		errno = 0;
		say("read", (long)fread(bytes, 1, 4, in));
		say("errno", errno);
		say("error", ferror(in));
		clearerr(in);
	}
	fclose(in);
	say_file("in the end", "out");
}

static void appending(void)
{
	char bytes[32] = "";

	out = busy("out", "a+");
	for (int i = 0; i < 40; i++) {
		put(out, i * 10L, "appended");
		fseek(out, i * 10L, SEEK_SET);
		say("read", (long)fread(bytes, 1, 8, out));
		puts(bytes);
		say("tell", ftell(out));
	}
	done("out");
}

static void positions(void)
{
	fpos_t position;
	char bytes[64] = "";

	out = busy("out", "w+");
	for (int i = 0; i < BUSY; i++) {
		put(out, i * 50L, "something");
		say("fgetpos", fgetpos(out, &position));
		fseek(out, i * 20L, SEEK_SET);
		say("pending", (long)__fpending(out));
		say("reading", __freading(out));
		say("writing", __fwriting(out));
		say("size", (long)__fbufsize(out));
		say("read", (long)fread(bytes, 1, 30, out));
		say("tell", ftell(out));
		if (i % 4 == 0)
			__fpurge(out);
		say("fsetpos", fsetpos(out, &position));
		fwrite("more", 1, 4, out);
		if (i % 7 == 0)
			rewind(out);
		fseek(out, -3, SEEK_CUR);
		say("read", (long)fread(bytes, 1, 2, out));
		if (i % 9 == 0)
			__fsetlocking(out, FSETLOCKING_BYCALLER);
	}
	done("out");
}

static void fixed_errno(void)
{
	char bytes[200];

	out = busy("out", "w+");
	for (int i = 0; i < BUSY; i++) {
		errno = 1234;
		fseek(out, i * 100L, SEEK_SET);
		fwrite("text", 1, 4, out);
		fseek(out, i * 50L, SEEK_SET);
		fread(bytes, 1, 100, out);
		say("tell", ftell(out));
		if (i % 10 == 0)
			fflush(out);
		say("errno", errno);
	}
	errno = 1234;
	fclose(out);
	say("errno", errno);
	errno = 1234;
	out = fopen(path_of("out"), "r");
	for (int i = 0; i < BUSY; i++) {
		fseek(out, i * 50L, SEEK_SET);
		fread(bytes, 1, 100, out);
	}
	say("errno", errno);
	fclose(out);
	say("errno", errno);
}

/* Times, as far as they can be told: what is written is written before what follows it. */
static void times(void)
{
	struct stat of_out;
	struct stat of_stamp;
	struct timespec set[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};

	out = busy("out", "w+");
	scribble(out, 3000, 10);
	usleep(30000);
	close(open(path_of("stamp"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	usleep(30000);
	fclose(out);
	stat(path_of("out"), &of_out);
	stat(path_of("stamp"), &of_stamp);
	say("older", of_out.st_mtim.tv_sec < of_stamp.st_mtim.tv_sec ||
			     (of_out.st_mtim.tv_sec == of_stamp.st_mtim.tv_sec &&
			      of_out.st_mtim.tv_nsec <= of_stamp.st_mtim.tv_nsec));
	out = busy("out", "w+");
	scribble(out, 3000, 10);
	futimens(fileno(out), set);
	fclose(out);
	stat(path_of("out"), &of_out);
	say("set", of_out.st_mtim.tv_sec);
	out = busy("out", "w+");
	scribble(out, 3000, 10);
	utimensat(AT_FDCWD, path_of("out"), set, 0);
	fclose(out);
	stat(path_of("out"), &of_out);
	say("set", of_out.st_mtim.tv_sec);
}

/* What was written long ago is not new when nothing is written since. */
static void times_of_the_last_write(void)
{
	struct stat of_out;
	struct timespec now;

	out = busy("out", "w+");
	scribble(out, 3000, 10);
	fseek(out, 0, SEEK_SET);
	usleep(1200000);
	clock_gettime(CLOCK_REALTIME, &now);
	fclose(out);
	stat(path_of("out"), &of_out);
	say("a second old", (now.tv_sec - of_out.st_mtim.tv_sec) * 1000 +
					    (now.tv_nsec - of_out.st_mtim.tv_nsec) / 1000000 >
				    1000);
}

static void terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	char bytes[16] = "";
	FILE *fp;

	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    (fp = fopen(ptsname(master), "r+")) == NULL)
		return;
	for (int j = 0; j < 30; j++) {
		say("seek", fseek(fp, j * 10L, SEEK_SET));
		say("write", (long)fwrite("text\n", 1, 5, fp));
		say("flush", fflush(fp));
		say("write", write(master, "a line\n", 7));
		say("line", fgets(bytes, sizeof(bytes), fp) != NULL);
		fputs(bytes, stdout);
	}
	say("fclose", fclose(fp));
	close(master);
}

static void odd_files(void)
{
	static const char *const names[] = {"/dev/full", "/dev/null", "/dev/zero"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		FILE *fp = fopen(names[i], "r+");

		if (fp == NULL)
			continue;
		for (int j = 0; j < 30; j++) {
			char bytes[16];

			say("seek", fseek(fp, j * 10L, SEEK_SET));
			say("write", (long)fwrite("text", 1, 4, fp));
			say("flush", fflush(fp));
			say("seek", fseek(fp, j * 10L, SEEK_SET));
			say("read", (long)fread(bytes, 1, 4, fp));
			clearerr(fp);
		}
		say("fclose", fclose(fp));
	}
	mkfifo(path_of("fifo"), 0600);
	out = fopen(path_of("fifo"), "r+");
	for (int j = 0; j < 30; j++) {
		char bytes[16] = "";

		say("seek", fseek(out, j * 10L, SEEK_SET));
		say("write", (long)fwrite("text", 1, 4, out));
		say("flush", fflush(out));
		say("read", (long)fread(bytes, 1, 4, out));
		puts(bytes);
	}
	say("fclose", fclose(out));
	terminal();
	out = fopen(directory, "r");
	say("directory", out != NULL);
	for (int j = 0; out != NULL && j < 20; j++) {
		char bytes[16];

		say("seek", fseek(out, j * 10L, SEEK_SET));
		say("read", (long)fread(bytes, 1, 4, out));
		say("error", ferror(out));
		clearerr(out);
	}
	if (out != NULL)
		fclose(out);
	out = fopen("/proc/self/maps", "r");
	for (int j = 0; j < 20; j++) {
		char bytes[16] = "";

		say("seek", fseek(out, j, SEEK_SET));
		say("read", (long)fread(bytes, 1, 1, out));
	}
	fclose(out);
}

static ssize_t cookie_write(void *cookie, const char *bytes, size_t n)
{
	(void)cookie;
	(void)bytes;
	return (ssize_t)n;
}

static int cookie_seek(void *cookie, off64_t *offset, int whence)
{
	(void)cookie;
	(void)whence;
	*offset = 5;
	return 0;
}

static void no_files(void)
{
	cookie_io_functions_t functions = {.write = cookie_write, .seek = cookie_seek};
	char memory[2000];
	char *grown;
	size_t size;
	FILE *fp = fopencookie(NULL, "w+", functions);

	out = busy("out", "w+");
	for (int i = 0; i < 30; i++) {
		say("seek", fseek(fp, i, SEEK_SET));
		say("write", (long)fwrite("text", 1, 4, fp));
		put(out, i * 10L, "text");
	}
	say("number", fileno(fp));
	/* As if it were that of a file. */
	fp->_fileno = fileno(out);
	for (int i = 0; i < 30; i++) {
		say("seek", fseek(fp, i, SEEK_SET));
		say("write", (long)fwrite("text", 1, 4, fp));
		put(out, i * 10L, "text");
	}
	fp->_fileno = -2;
	fclose(fp);
	fp = fmemopen(memory, sizeof(memory), "w+");
	scribble(fp, 0, 10);
	say("tell", ftell(fp));
	fclose(fp);
	fp = open_memstream(&grown, &size);
	scribble(fp, 0, 10);
	fclose(fp);
	say("size", (long)size);
	done("out");
}

static void replaced_number(void)
{
	int fd;

	out = busy("out", "w+");
	put(out, 2000, "pending");
	fseek(out, 10, SEEK_SET);
	fd = open(path_of("instead"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, fileno(out));
	close(fd);
	say_file("out", "out");
	scribble(out, 100, 30);
	done("instead");
}

/* What libc answers without a look at the stream. */
static void no_stream(void)
{
	struct argp parser;
	char text[] = "abc";

	memset(&parser, 0, sizeof(parser));
	say("ungetc", ungetc(EOF, nowhere));
	say("fgets", fgets(text, 1, nowhere) == text);
	errno = 0;
	say("getline", (long)getline(NULL, NULL, nowhere));
	say("putpwent", putpwent(NULL, nowhere));
	say("malloc_info", malloc_info(1, nowhere));
	argp_help(&parser, nowhere, ARGP_HELP_USAGE, text);
	argp_state_help(NULL, nowhere, 0);
}

/* Reading one stream while another has something pending, and messages in between. */
static void mixed(void)
{
	char bytes[500];
	FILE *in;
	FILE *log = fopen(path_of("log"), "w");
	long sum = 0;

	out = busy("in", "w+");
	fclose(out);
	in = fopen(path_of("in"), "r");
	out = busy("out", "w+");
	for (int i = 0; i < 400; i++) {
		size_t n;

		fseek(in, i * 77 % 5000, SEEK_SET);
		n = fread(bytes, 1, i % 500U, in);
		for (size_t j = 0; j < n; j++)
			sum = sum * 31 + bytes[j];
		fseek(out, i * 177 % 50000, SEEK_SET);
		fwrite(bytes, 1, n, out);
		fprintf(log, "record %d at %ld\n", i, ftell(out));
		if (i % 50 == 0)
			say_file("so far", "out");
		if (i % 3 == 0 && fgets(bytes, sizeof(bytes), in) != NULL)
			sum += bytes[0];
	}
	fclose(in);
	fclose(log);
	say("sum", sum);
	say_file("log", "log");
	done("out");
}

/* What the stream knows of the file's size ends when it is cut by number. */
static void cut_by_number(void)
{
	static char bytes[16000];

	memset(bytes, 'c', sizeof(bytes));
	out = busy("out", "w+");
	for (int i = 0; i < 50; i++) {
		fseek(out, 70000, SEEK_SET);
		fwrite(bytes, 1, 8192, out);
		fseek(out, 2025, SEEK_SET);
		fwrite(bytes, 1, 12288, out);
		if (ftruncate(fileno(out), 4160) != 0)
			puts("not cut");
		fseek(out, -256, SEEK_END);
		fwrite(bytes, 1, sizeof(bytes), out);
		fseek(out, 256, SEEK_CUR);
		fwrite(bytes, 1, 28, out);
		__fpurge(out);
		printf("%d\n", getc(out));
		clearerr(out);
	}
	fclose(out);
	say_file("in the end", "out");
}

int main(int argc, char **argv)
{
	static const struct a_case cases[] = {
		CASE(assigned_stdout),
		CASE(assigned_stderr),
		CASE(inlined),
		CASE(ungot),
		CASE(buffers),
		CASE(buffer_changes),
		CASE(opened_again),
		CASE(two_of_one_number),
		CASE(number_again),
		CASE(address_again),
		CASE(end_of_file),
		CASE(wide),
		CASE(large),
		CASE(by_number),
		CASE(unknown_offset),
		CASE(read_only),
		CASE(appending),
		CASE(positions),
		CASE(fixed_errno),
		CASE(times),
		CASE(times_of_the_last_write),
		CASE(odd_files),
		CASE(no_files),
		CASE(replaced_number),
		CASE(mixed),
		CASE(no_stream),
		CASE(cut_by_number),
	};

	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
