#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include "alone.h"
#include "config.h"
#include "death.h"
#include "description.h"
#include "fd.h"
#include "guard.h"
#include "lock.h"
#include "log.h"
#include "mem.h"
#include "reads.h"
#include "stats.h"
#include "sys.h"
#include "text.h"
#include "tls.h"

/* A region is worth what it costs, some ten system calls and a page fault for each sixteen pages,
 * where libc reads pages that it has read before; and where there is no end of it. */
#define FIRST_MOVES 8
#define FIRST_REREADS 4
#define MANY_MOVES 48
#define FIRST_MOVES_TINY 2
/* A window costs some seventy system calls, and a look at all mappings; in a stream that seeks. */
#define FIRST_WRITES 128
#define FIRST_WRITES_TINY 2
/* No window where the file system has less room: what it holds must not fail for want of it. */
#define LEAST_SPACE ((uint64_t)64 << 20)
/* A window that has to be written out every few bytes gains nothing; so many such, and the stream
 * gets none any more. */
#define MOST_SETBACKS 4

/* A stream's owner is waited for so often by giving way, then by sleeping. */
#define TRIES 32
/* A handler that has interrupted a move waits no longer than that: the owner may be in the same
 * place, and wait for what this thread has entered. */
#define MOST_TRIES 64

#define LEAF_SHIFT 10
#define LEAF_ENTRIES (1U << LEAF_SHIFT)
#define LEAVES (ASIDE_NUMBERS / LEAF_ENTRIES)

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

static struct stream *leaves[LEAVES];
/* No number above it has a record. */
static int highest = -1;
/* The streams that have a window. */
#define MOST_COMBINED 4
static struct stream *combined[MOST_COMBINED];

/* No stream is watched any more. */
static bool finished;

static struct stream *at(int fd)
{
	struct stream *leaf;

	if (fd < 0 || (unsigned int)fd >> LEAF_SHIFT >= LEAVES)
		return NULL;
	leaf = __atomic_load_n(&leaves[(unsigned int)fd >> LEAF_SHIFT], __ATOMIC_ACQUIRE);
	return leaf == NULL ? NULL : &leaf[(unsigned int)fd % LEAF_ENTRIES];
}

static __attribute__((noinline, cold)) struct stream *make_slowly(int fd)
{
	struct stream **cell;
	struct stream *seen = NULL;
	struct stream *made;
	int top = LOAD(highest);

	if ((unsigned int)fd >> LEAF_SHIFT >= LEAVES)
		return NULL;
	while (fd > top && !__atomic_compare_exchange_n(&highest, &top, fd, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED)) {
	}
	cell = &leaves[(unsigned int)fd >> LEAF_SHIFT];
	if (__atomic_load_n(cell, __ATOMIC_ACQUIRE) == NULL) {
		made = mem_pages(LEAF_ENTRIES * sizeof(*made));
		if (made == NULL)
			return NULL;
		/* A page that is read first is faulted in twice. */
		STORE(made[(unsigned int)fd % LEAF_ENTRIES].state, STREAM_NONE);
		/* Another thread may be faster; what mem_pages gave is then lost. */
		__atomic_compare_exchange_n(cell, &seen, made, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
	}
	return at(fd);
}

static inline struct stream *make(int fd)
{
	struct stream *s = at(fd);

	return s != NULL && fd <= LOAD(highest) ? s : make_slowly(fd);
}

bool stream_has(int fd)
{
	const struct stream *s = at(fd);

	return s != NULL && LOAD(s->fp) != NULL;
}

struct stream *stream_find(FILE *fp)
{
	struct stream *s = at(fp->_fileno);

	return s != NULL && __atomic_load_n(&s->fp, __ATOMIC_ACQUIRE) == fp ? s : NULL;
}

static uintptr_t self(void)
{
	return (uintptr_t)&tls;
}

/* A handler that jumps away between the exchange of the owner and the store of the thread's own
 * note of it has to know that, too. */
static inline struct tls_between begin_between(struct stream *s, uintptr_t frame)
{
	const struct tls_between outer = tls.between;

	tls.between.frame = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tls.between.stream = s;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return outer;
}

static inline void end_between(struct tls_between outer)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tls.between.stream = outer.stream;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tls.between.frame = outer.frame;
}

/* Others stay a microsecond, or as long as a window takes to write; and they may have to wait for
 * this very processor. `gives_up`: but for a millisecond or two. */
static bool enter(struct stream *s, const void *frame, bool gives_up)
{
	const struct tls_between outer = begin_between(s, (uintptr_t)frame);
	uintptr_t seen = 0;
	unsigned int tries = 0;

	while (!__atomic_compare_exchange_n(&s->owner, &seen, self(), false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (seen == self() || (gives_up && tries == MOST_TRIES)) {
			end_between(outer);
			return false;
		}
		if (++tries < TRIES)
			sys_yield();
		else
			sys_sleep();
		seen = 0;
	}
	s->outer = tls.stream;
	s->frame = (uintptr_t)frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tls.stream = s;
	end_between(outer);
	return true;
}

bool stream_enter_at(struct stream *s, const void *frame)
{
	return enter(s, frame, false);
}

void stream_leave(struct stream *s)
{
	struct tls_between outer;

	if (__builtin_expect(LOAD(s->passes), 0)) {
		STORE(s->passes, false);
		stream_pass(s);
	}
	if (s->window != NULL && s->error == 0)
		STORE(s->error, s->window->error);
	outer = begin_between(s, s->frame);
	tls.stream = s->outer;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
	end_between(outer);
}

/* Whether a function's frame is over once the stack pointer is there. A handler may have a stack of
 * its own, and jump within it. */
static bool is_over(uintptr_t frame, uintptr_t to)
{
	struct sys_stack other;
	bool frame_is_on_it = false;
	bool to_is_on_it = false;

	if (sys_alternate_stack(&other)) {
		frame_is_on_it = frame - other.start < other.size;
		to_is_on_it = to - other.start < other.size;
	}
	return frame_is_on_it == to_is_on_it ? to > frame : frame_is_on_it;
}

void stream_jumped(uintptr_t to)
{
	while (tls.stream != NULL && is_over(tls.stream->frame, to)) {
		struct stream *s = tls.stream;

		tls.stream = s->outer;
		__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
	}
	if (tls.between.stream != NULL && is_over(tls.between.frame, to)) {
		struct stream *s = tls.between.stream;

		tls.between.stream = NULL;
		if (LOAD(s->owner) == self())
			__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
	}
}

/* A record that was left as a stream leaves it that was only watched: nobody has it entered, and
 * nothing of it is anywhere else. (Whoever is about to tell it to step aside makes it pass at
 * worst.) */
static bool is_free(struct stream *s)
{
	return LOAD(s->state) == STREAM_NONE && LOAD(s->owner) == 0;
}

static void watch(struct stream *s, FILE *fp)
{
	s->fd = fp->_fileno;
	s->moves = 0;
	s->rereads = 0;
	s->pages_read = 0;
	s->writes = 0;
	s->setbacks = 0;
	s->error = 0;
	s->mapped = false;
	s->hollow = false;
	s->passes = false;
	s->regular = 0;
	s->counted = false;
	s->reads_owed = false;
	s->reach = INT32_MAX; /* every file system can hold that much */
	STORE(s->state, STREAM_WATCHED);
	__atomic_store_n(&s->fp, fp, __ATOMIC_RELEASE);
}

/* Whoever had the number is gone, unseen by any hook. */
static __attribute__((noinline, cold)) bool replace(struct stream *s, FILE *fp)
{
	if (!stream_enter(s))
		return false;
	stream_pass(s);
	watch(s, fp);
	stream_leave(s);
	return true;
}

/* Budget: with stream_closing some fifty instructions and no locked one; most streams read a few
 * lines and are gone. */
void stream_opened(FILE *fp)
{
	struct stream *s;

	if (!config.active || config.dry_run || tls.vfork_child || LOAD(finished) ||
	    !(config.modes & (MODE_stdio | MODE_write)) || fp->_fileno < 0)
		return;
	s = make(fp->_fileno);
	if (s == NULL)
		return;
	if (is_free(s))
		watch(s, fp);
	else if (!replace(s, fp))
		return;
	stats_add(COUNT_streams, 1);
}

static void drop_window(struct stream *s)
{
	if (s->window == NULL)
		return;
	/* It is needed for what a buffer should hold. */
	if (s->unfilled)
		stream_fill(s);
	stream_fill_around(s);
	s->hollow = false;
	if (s->error == 0)
		s->error = s->window->error;
	window_end(s->window);
	s->window = NULL;
	for (unsigned int i = 0; i < MOST_COMBINED; i++) {
		if (LOAD(combined[i]) == s)
			STORE(combined[i], NULL);
	}
	aside_pend_file(-1);
}

bool stream_has_error(FILE *fp)
{
	const struct stream *s = stream_find(fp);

	return s != NULL && LOAD(s->error) != 0;
}

int stream_error(struct stream *s)
{
	int error;

	if (s->window != NULL && s->window->error != 0) {
		window_flush(s->window);
		drop_window(s);
		s->setbacks = MOST_SETBACKS;
	}
	error = s->error;
	STORE(s->error, 0);
	return error;
}

static void not_pending(struct stream *s)
{
	if (s->pending) {
		s->pending = false;
		aside_pend(s->fd, -1);
	}
}

static void forget(struct stream *s)
{
	STORE(s->state, STREAM_NONE);
	__atomic_store_n(&s->fp, NULL, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) int end(struct stream *s)
{
	FILE *fp = s->fp;
	int error;

	if (!stream_enter(s))
		return 0;
	if (s->window != NULL) {
		stream_flush(s);
		/* Nobody looks at the buffer any more. */
		s->unfilled = false;
		s->hollow = false;
		stream_surface(s);
	} else if (s->stale && (fp->_flags & FILE_PUTTING)) {
		/* libc writes at the kernel's offset. Of one that reads nobody asks any more. */
		stream_surface(s);
	}
	drop_window(s);
	error = s->error;
	s->stale = false;
	s->learned = false;
	not_pending(s);
	forget(s);
	stream_leave(s);
	return error;
}

int stream_closing(FILE *fp)
{
	struct stream *s;

	if (fp == NULL || tls.vfork_child)
		return 0;
	s = stream_find(fp);
	if (s == NULL) {
		/* Its number may have been closed before, and be another stream's by now. */
		aside_tell_fd(fp->_fileno, ASIDE_SHARED);
		return 0;
	}
	if (LOAD(s->state) != STREAM_WATCHED)
		return end(s);
	forget(s);
	return 0;
}

/* The access time of the file moves with each read, if at all (relatime: one read is as good as
 * many). */
static void read_owed(struct stream *s)
{
	char byte;

	s->reads_owed = false;
	kernel.read_at(s->fd, &byte, 1, 0);
	stats_add(COUNT_own_calls, 1);
}

static void write_out(struct stream *s)
{
	struct window *w = s->window;

	if (window_reach(w) == 0)
		return;
	if (s->reads_owed)
		read_owed(s);
	window_flush(w);
	stats_add(COUNT_writes_made, w->calls_out);
	/* Hardly more than a system call a write. */
	if (w->bytes_out < w->calls_out * 4096 && s->setbacks < MOST_SETBACKS)
		s->setbacks++;
	w->bytes_out = 0;
	w->calls_out = 0;
	s->tick = 0;
	if (w->error != 0)
		s->setbacks = MOST_SETBACKS;
	if (s->setbacks == MOST_SETBACKS) {
		log_line("stream %d: writes are combined no longer, error %d", s->fd, w->error);
		drop_window(s);
	}
}

void stream_surface(struct stream *s)
{
	if (!s->pending)
		return;
	if (s->unfilled)
		stream_fill(s);
	if (s->hollow)
		stream_fill_around(s);
	if (s->window != NULL)
		write_out(s);
	if (s->stale) {
		kernel.seek(s->fd, (uint64_t)s->fp->_offset);
		stats_add(COUNT_own_calls, 1);
		s->stale = false;
	}
	if (s->learned) {
		s->fp->_offset = -1;
		s->learned = false;
	}
	not_pending(s);
}

void stream_pass(struct stream *s)
{
	if (LOAD(s->state) == STREAM_SERVED)
		stream_surface(s);
	drop_window(s);
	s->stale = false;
	s->unfilled = false;
	s->learned = false;
	not_pending(s);
	if (LOAD(s->state) != STREAM_NONE)
		STORE(s->state, STREAM_PASSED);
}

/* What its descriptor is allows it, and it is nobody else's. */
static bool may_serve(struct stream *s)
{
	struct fd_entry *entry = fd_find(s->fd);
	uint64_t state = entry != NULL ? __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) : 0;
	struct description *d;
	bool may;

	if (!(state & FD_TRACKED))
		return false;
	d = fd_describe(entry, &state);
	if (d == NULL)
		return false;
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_UNRESOLVED)
		description_resolve(d, s->fd);
	may = __atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_SERVE &&
	      LOAD(d->references) == 2; /* the entry's and ours */
	s->device = d->device;
	s->inode = d->inode;
	description_drop(state & FD_HANDLE);
	return may;
}

/* Counts a move; whether it is worth serving them. libc's offset is where its last read has ended:
 * a page is what 64 of them share. */
static bool pattern_shows(struct stream *s)
{
	uint64_t end = (uint64_t)s->fp->_offset;
	uint64_t page = (uint64_t)1 << ((end >> 12) % 64);

	if (s->moves < UINT8_MAX)
		s->moves++;
	if (end != s->last_end && s->rereads < UINT8_MAX && (s->pages_read & page))
		s->rereads++;
	s->last_end = end;
	s->pages_read |= page;
	if (config.tiny)
		return s->moves >= FIRST_MOVES_TINY;
	return s->moves >= MANY_MOVES || (s->moves >= FIRST_MOVES && s->rereads >= FIRST_REREADS);
}

bool stream_adopt(struct stream *s)
{
	uint8_t state = LOAD(s->state);

	if (state == STREAM_WATCHED) {
		int saved = errno;

		if (!pattern_shows(s) || lock_held())
			return false;
		STORE(s->state, may_serve(s) ? STREAM_SERVED : STREAM_PASSED);
		errno = saved;
		state = LOAD(s->state);
		if (state == STREAM_SERVED)
			reads_expect(s->fd);
	}
	return state == STREAM_SERVED;
}

/* Regions without a view are nobody's mapping. */
static void end_idle_regions(const struct stream *s)
{
	const struct fd_entry *entry = fd_find(s->fd);
	uint64_t handle =
		entry == NULL ? 0 : __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) & FD_HANDLE;
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	struct description *d = description_at(handle);

	for (int kind = 0; d != NULL && kind < KIND_COUNT; kind++)
		description_end_idle(d, kind);
	lock_drop(LOCK_VIEWS, hold);
}

/* Everything that a window must be sure of. */
static bool may_combine(struct stream *s)
{
	struct filesystem filesystem;
	struct file_stat stat;
	int flags = kernel.status_flags(s->fd);

	/* With 32 bits, fopen without 64 gives what can't be written beyond 2 GiB. */
	if (flags < 0 || (flags & (O_APPEND | O_DIRECT | O_DSYNC | O_SYNC)) ||
	    (flags & O_LARGEFILE) != O_LARGEFILE || kernel.file_limit() != UINT64_MAX ||
	    kernel.stat(s->fd, &stat) < 0 || kernel.filesystem(s->fd, &filesystem) < 0)
		return false;
	s->size = stat.size;
	s->tick = kernel.tick();
	end_idle_regions(s);
	return filesystem.available >= LEAST_SPACE && !(stat.mode & (S_ISUID | S_ISGID)) &&
	       !s->mapped && alone_in_process(s->fd, s->device, s->inode);
}

static bool give_window(struct stream *s)
{
	struct window *w = window_begin(s->fd);

	for (unsigned int i = 0; w != NULL && i < MOST_COMBINED; i++) {
		struct stream *nobody = NULL;

		s->window = w;
		if (!__atomic_compare_exchange_n(&combined[i], &nobody, s, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		aside_pend_file(1);
		return true;
	}
	s->window = NULL;
	if (w != NULL)
		window_end(w);
	return false;
}

bool stream_combine(struct stream *s)
{
	int saved = errno;

	if (s->window != NULL)
		return true;
	if (!(config.modes & MODE_write) || s->setbacks >= MOST_SETBACKS || lock_held() ||
	    ++s->writes < (config.tiny ? FIRST_WRITES_TINY : FIRST_WRITES))
		return false;
	s->writes = 0;
	/* First, so that whoever opens the file or maps it from now on is noticed. */
	if (!give_window(s)) {
		errno = saved;
		return false;
	}
	if (!may_combine(s)) {
		drop_window(s);
		s->setbacks = MOST_SETBACKS;
		errno = saved;
		return false;
	}
	guard_enable();
	death_watch();
	errno = saved;
	stats_add(COUNT_streams_combined, 1);
	log_line("stream %d: writes are combined", s->fd);
	return true;
}

/* Somebody is about to look; `s` is not what this thread is at work on. */
static void tell(struct stream *s, enum aside_why why)
{
	if (LOAD(s->state) == STREAM_NONE || LOAD(s->state) == STREAM_PASSED ||
	    (why <= ASIDE_SEEN && !LOAD(s->pending)))
		return;
	if (!enter(s, __builtin_frame_address(0), tls.stream != NULL)) {
		if (why > ASIDE_SEEN)
			STORE(s->passes, true);
		return;
	}
	switch (why) {
	case ASIDE_LOOKED:
		if (s->window != NULL)
			write_out(s);
		break;
	case ASIDE_SEEN:
		stream_surface(s);
		break;
	case ASIDE_MAPPED:
		s->mapped = true;
		if (s->window == NULL)
			break;
		stream_surface(s);
		drop_window(s);
		break;
	case ASIDE_SHARED:
		stream_pass(s);
		break;
	}
	stream_leave(s);
}

/* In a signal handler that has interrupted the stream's own thread: what can be done is. */
static void tell_busy(struct stream *s, enum aside_why why)
{
	if (s->window != NULL)
		window_flush_busy(s->window);
	if (s->stale)
		kernel.seek(s->fd, (uint64_t)s->fp->_offset);
	if (why > ASIDE_SEEN)
		s->passes = true;
}

static void tell_fd(int fd, enum aside_why why)
{
	struct stream *s = at(fd);

	if (s == NULL)
		return;
	if (__atomic_load_n(&s->owner, __ATOMIC_RELAXED) == self())
		tell_busy(s, why);
	else
		tell(s, why);
}

static void tell_all(enum aside_why why)
{
	int top = LOAD(highest);

	for (int fd = 0; fd <= top; fd++)
		tell_fd(fd, why);
}

static void tell_bytes(void)
{
	for (unsigned int i = 0; i < MOST_COMBINED; i++) {
		struct stream *s = __atomic_load_n(&combined[i], __ATOMIC_ACQUIRE);

		if (s != NULL && LOAD(s->pending))
			tell_fd(s->fd, ASIDE_SEEN);
	}
}

/* Another descriptor: is it a file that has a window? */
static void tell_opened(int fd)
{
	for (unsigned int i = 0; i < MOST_COMBINED; i++) {
		struct stream *s = __atomic_load_n(&combined[i], __ATOMIC_ACQUIRE);

		if (s != NULL && s->fd != fd && alone_is_same(fd, s->device, s->inode))
			tell_fd(s->fd, ASIDE_MAPPED);
	}
}

/* Whether what is written to it may be a message to somebody who waits. Not so what goes to a
 * regular file at some time, out of a full buffer. */
static bool is_message(FILE *fp, struct stream *s)
{
	struct file_stat stat;

	if (s == NULL || (fp->_flags & (FILE_UNBUFFERED | FILE_LINE_BUFFERED)) ||
	    fp->_IO_buf_base == NULL)
		return true;
	if (LOAD(s->regular) == 0) {
		bool regular = kernel.stat(s->fd, &stat) == 0 && (stat.mode & S_IFMT) == S_IFREG;

		STORE(s->regular, regular ? 1 : 2);
	}
	return LOAD(s->regular) != 1;
}

void stream_says(FILE *fp)
{
	if (aside_has_files() && is_message(fp, stream_find(fp)))
		tell_bytes();
}

void stream_step(FILE *fp, bool writes)
{
	struct stream *s;

	if (fp == NULL)
		return;
	if (writes)
		stream_says(fp);
	s = stream_find(fp);
	if (s == NULL)
		return;
	/* Its window stands by: libc's own calls come after it, and the next move is ours. With
	 * other threads, one of them may move it while libc is at work. */
	tell(s, __libc_single_threaded ? ASIDE_SEEN : ASIDE_SHARED);
}

static const struct aside_owner owner = {
	.fd = tell_fd,
	.bytes = tell_bytes,
	.all = tell_all,
	.opened = tell_opened,
};

void stream_step_all(void)
{
	aside_tell_all(__libc_single_threaded ? ASIDE_SEEN : ASIDE_SHARED);
}

void stream_forked(void)
{
	int top = LOAD(highest);

	for (int fd = 0; fd <= top; fd++) {
		struct stream *s = at(fd);

		if (s == NULL)
			continue;
		if (s->owner == self() && s->window != NULL)
			window_disown(s->window);
		if (s->owner == self() || s->owner == 0)
			continue;
		/* It was waited for in vain: what it has is its parent's to write. */
		if (s->window != NULL)
			window_forget(s->window);
		s->owner = 0;
	}
	window_forked();
}

void stream_begin(void)
{
	aside_add(&owner);
}

void stream_finish(void)
{
	STORE(finished, true);
	tell_all(ASIDE_SHARED);
}
