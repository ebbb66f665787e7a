/* Operations that make processes and threads, and signals. */
#include "differ.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_TEXT ((size_t)1 << 20)

/* Makes a runner that goes on where this one is. */
static struct runner heir(unsigned int by, int64_t count)
{
	struct runner runner = *self;

	runner.by = by;
	runner.left = (int)(count < 0 ? 0 : count);
	runner.number = 0;
	runner.random = draw_bits();
	return runner;
}

static void finish_lines(struct runner *runner)
{
	struct runner *outer = self;

	self = runner;
	run_lines();
	self = outer;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return status;
}

static void say_status(int status, int wanted)
{
	if (WIFSIGNALED(status))
		say(" signal %d", WTERMSIG(status));
	else
		say(" exit %d", WEXITSTATUS(status));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
		wrong("not exit %d", wanted);
}

/*
 * fork
 */

void draw_fork(int64_t *a)
{
	a[0] = 1 + draw(20);
	a[1] = draw(2);
}

/* Whatever inodes we need, our child must leave alone. */
static void hold_inodes(bool held)
{
	for (int i = 0; i < INODES; i++)
		inode_at(i)->held = held && inode_at(i)->used;
}

/* Whether a page of a file is guarded: what the child sees of it, the kernel leaves open. */
static bool any_guard(void)
{
	for (int i = 0; i < SLOTS; i++) {
		for (size_t k = 0; k < slots[i].pages; k++) {
			if (slots[i].page[k].guard && slots[i].page[k].kind == PAGE_FILE)
				return true;
		}
	}
	return false;
}

static void child_runs(const int64_t *a)
{
	struct runner runner = heir(BY_CHILD, a[0]);

	model_forked();
	finish_lines(&runner);
	self->by = BY_CHILD;
	say("child:");
	check_all();
	say("\n");
	text_flush(self->transcript);
	_exit(0);
}

void run_fork(const int64_t *a)
{
	pid_t pid = -1;

	say(any_guard() ? " left out\n" : "\n");
	text_flush(self->transcript);
	hold_inodes(true);
	if (!any_guard())
		pid = a[1] == 0 ? fork() : _Fork();
	if (pid == 0)
		child_runs(a);
	say("fork:");
	if (pid > 0)
		say_status(wait_for(pid), 0);
	hold_inodes(false);
	draw_bits();
	script_word("end");
	if (replaying())
		self->at = block_end(self->at, false);
}

/*
 * vfork: the child may do nothing but with descriptors
 */

void draw_vfork(int64_t *a)
{
	a[0] = draw(4);
	a[1] = draw_fd();
}

static void vforked(const int64_t *a)
{
	switch (a[0]) {
	case 0:
		break;
	case 1:
		for (int i = 0; i < FDS; i++) {
			if (fds[i].open)
				close(fds[i].number);
		}
		break;
	case 2:
		for (int i = 0; i < FDS; i++) {
			if (fds[i].open)
				dup2(fds[a[1]].number, fds[i].number);
		}
		break;
	default:
		close(fds[a[1]].number);
		if (open("/dev/null", O_RDONLY) < 0)
			_exit(1);
		_exit(7);
	}
	execl("/bin/true", "true", (char *)NULL);
	_exit(127);
}

void run_vfork(const int64_t *a)
{
	pid_t pid;

	if (fd_description(a[1]) == NULL) {
		say(" left out");
		return;
	}
	text_flush(self->transcript);
	pid = vfork();
	if (pid == 0)
		vforked(a);
	say_status(wait_for(pid), a[0] == 3 ? 7 : 0);
}

/*
 * handler: lines run by a signal handler
 */

static struct runner *handler_runner;

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	finish_lines(handler_runner);
	errno = saved;
}

void draw_handler(int64_t *a)
{
	a[0] = 1 + draw(6);
}

void run_handler(const int64_t *a)
{
	struct runner runner = heir(BY_HANDLER, a[0]);
	struct sigaction action = {.sa_handler = on_signal};

	say("\n");
	handler_runner = &runner;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	say("handler: ended");
	script_word("end");
	if (replaying())
		self->at = block_end(self->at, false);
}

/*
 * thread: lines run by two threads at once, on slots of their own
 */

static char texts[3][MOST_TEXT];

struct section {
	struct runner runner;
	struct text transcript;
	struct text script;
};

static struct section section_of(int64_t count, int first, int end, char *transcript, char *script)
{
	struct section s = {
		.runner = heir(BY_THREAD, count),
		.transcript = {transcript, MOST_TEXT, 0, -1},
		.script = {script, MOST_TEXT, 0, -1},
	};

	s.runner.first_slot = first;
	s.runner.end_slot = end;
	return s;
}

static void *run_section(void *argument)
{
	struct section *s = argument;

	s->runner.transcript = &s->transcript;
	s->runner.script = &s->script;
	finish_lines(&s->runner);
	return NULL;
}

/* On a stack of ours: pthread_create would map one, where dead pages may lie. */
static bool start_thread(pthread_t *thread, struct section *s)
{
	static char stack[1 << 20] __attribute__((aligned(4096)));
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, sizeof(stack));
	error = pthread_create(thread, &attributes, run_section, s);
	pthread_attr_destroy(&attributes);
	if (error != 0)
		wrong("pthread_create: %s", strerrorname_np(error));
	return error == 0;
}

static void write_section(const struct section *s, const char *word)
{
	if (self->script != NULL && !replaying())
		text_add(self->script, s->script.bytes, s->script.length);
	script_word(word);
	text_add(self->transcript, s->transcript.bytes, s->transcript.length);
}

void draw_thread(int64_t *a)
{
	a[0] = 5 + draw(60);
	a[1] = 5 + draw(60);
}

void run_thread(const int64_t *a)
{
	static char script[MOST_TEXT];
	struct section other = section_of(a[0], MAIN_SLOTS, SLOTS, texts[0], texts[1]);
	struct section own = section_of(a[1], 0, MAIN_SLOTS, texts[2], script);
	pthread_t thread;

	say("\n");
	text_flush(self->transcript);
	if (replaying())
		own.runner.at = block_end(self->at, true);
	if (start_thread(&thread, &other)) {
		run_section(&own);
		pthread_join(thread, NULL);
	}
	write_section(&other, "meanwhile");
	say("meanwhile:\n");
	write_section(&own, "end");
	say("thread: ended");
	if (replaying())
		self->at = block_end(self->at, false);
}

/*
 * timer: a handler that interrupts whatever there is, and maps
 */

static int timer_fd = -1;
static int timer_period; /* microseconds; 0: no more */
static unsigned char timer_bytes[4 * PAGE];

static void look_at_page(int prot, int flags, unsigned int i)
{
	unsigned char seen[PAGE];
	size_t page = i % 4;
	char *p = mmap(NULL, PAGE, prot, flags, timer_fd, (off_t)(page * PAGE));

	if (p == MAP_FAILED || copy_guarded(seen, p, PAGE) != 0 ||
	    memcmp(seen, timer_bytes + page * PAGE, PAGE) != 0)
		__atomic_fetch_add(&common->wrong, 1, __ATOMIC_RELAXED);
	/* A private store that nobody else may ever see. */
	if (p != MAP_FAILED && (prot & PROT_WRITE) && !(flags & MAP_SHARED))
		memset(p, 0x5a, PAGE);
	if (p != MAP_FAILED)
		munmap(p, PAGE);
}

/* From the end of one handler to the next, not from its beginning: where the handler takes longer
 * than the period, nothing else would get on. */
static int start_timer(void)
{
	struct itimerval once = {.it_value = {.tv_usec = timer_period}};

	return setitimer(ITIMER_REAL, &once, NULL);
}

static void on_timer(int number)
{
	static unsigned int count;
	unsigned int i = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	int saved = errno;

	(void)number;
	look_at_page(PROT_READ, i % 2 ? MAP_SHARED : MAP_PRIVATE, i);
	look_at_page(PROT_READ | PROT_WRITE, i % 3 ? MAP_PRIVATE : MAP_SHARED, i / 2);
	if (timer_period != 0)
		start_timer();
	errno = saved;
}

static void make_timer_file(void)
{
	const char *path = path_of(NAMES);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	pattern(timer_bytes, sizeof(timer_bytes), 4711);
	if (fd < 0 || write(fd, timer_bytes, sizeof(timer_bytes)) != (ssize_t)sizeof(timer_bytes))
		wrong("the timer's file");
	timer_fd = fcntl(fd, F_DUPFD_CLOEXEC, 50);
	close(fd);
}

void draw_timer(int64_t *a)
{
	a[0] = draw_of(3, 0, 100, 1000);
}

void run_timer(const int64_t *a)
{
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};

	if (a[0] < 0 || a[0] > 999999) {
		say(" left out");
		return;
	}
	if (timer_fd < 0)
		make_timer_file();
	sigaction(SIGALRM, &action, NULL);
	timer_period = (int)a[0];
	outcome(start_timer() == 0 ? 0 : errno, 0);
}
