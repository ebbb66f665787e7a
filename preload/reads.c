#include "reads.h"

#include <errno.h>
#include <pthread.h>

#include "chunk.h"
#include "config.h"
#include "fd.h"
#include "lock.h"
#include "log.h"
#include "sys.h"
#include "tls.h"

/* Where there is no libpthread (glibc before 2.34), there is nobody to be cancelled. */
#pragma weak pthread_testcancel

/* What a region costs, system calls and faults, is what so many reads save. */
#define FIRST_READS 32
#define FIRST_READS_TINY 2
/* So many large reads, less LARGE_ALLOWED a tick, are too many. */
#define MOST_LARGE 64
#define LARGE_ALLOWED 8
/* And so many bytes are too many for a program that shares views. */
#define GOLD_TOO_MANY ((size_t)1 << 20)
/* After so many setbacks there is no next try. */
#define MOST_SETBACKS 10
/* The first copies are made one by one, each from a page that was seen to be in memory; then 2, 4 …
 * up to 1,024 between two looks. */
#define ONE_BY_ONE 64
/* So many of them at least, where other files' copies have not waited. */
#define LEAST_LOOKS 4
#define LONGEST_PERIOD (ONE_BY_ONE + 10)
/* How often the number of reads that pass first is doubled at most. */
#define MOST_DOUBLINGS 16
/* So many pieces are copied at a time, and so many the kernel takes (UIO_MAXIOV). */
#define MOST_PIECES 16
#define MOST_PIECES_IN_ALL 1024

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

static bool serve_slowly(int fd, const struct bytes_request *request);

static __attribute__((noinline, cold)) bool pass(enum reason reason)
{
	stats_add(COUNT_read_calls, 1);
	stats_pass(reason);
	return false;
}

/* While nothing is held. */
static inline void act_on_cancellation(void)
{
	if (pthread_testcancel != NULL)
		pthread_testcancel();
}

/* What this thread has been served since it was last here is credited to this number, whatever it
 * was of; then, whether the request is worth a copy. */
static bool pays(struct fd_entry *entry, uint32_t file, const struct bytes_request *request)
{
	uint16_t saved = (uint16_t)(tls.reads_counted - tls.reads_left);

	tls.reads_counted = tls.reads_left;
	chunk_earn(&entry->credit, saved);
	return chunk_buy(file, request->offset, bytes_after(request), &entry->credit);
}

/* Budget: a clock reading, some sixty instructions more, and the copy. */
bool reads_serve(int fd, const struct bytes_request *request)
{
	struct fd_entry *entry = fd_find(fd);
	enum reason reason;
	uint64_t proof;
	uint32_t file;

	if (entry == NULL)
		return serve_slowly(fd, request);
	file = LOAD(entry->chunks);
	/* With it everything that was written before it. */
	proof = __atomic_load_n(&entry->proof, __ATOMIC_ACQUIRE);
	if (request->n - 1 >= BYTES_TOO_MANY - 1)
		return serve_slowly(fd, request);
	if (__builtin_expect(!chunk_has(file, request->offset, bytes_after(request)), 0) &&
	    file != 0 && !pays(entry, file, request))
		return pass(REASON_rare);
	if (!fd_proof_is_of(proof, kernel.tick()) || tls.reads_left == 0)
		return serve_slowly(fd, request);
	if (!guard_ready())
		return pass(REASON_guard);
	act_on_cancellation();
	reason = bytes_copy(&entry->source, LOAD(entry->description->readable), request);
	if (__builtin_expect(reason == REASON_none && LOAD(entry->proof) == proof, 1)) {
		tls.reads_left--;
		stats_read(request->n);
		return true;
	}
	return reason == REASON_past_end || reason == REASON_fault ? pass(reason)
								   : serve_slowly(fd, request);
}

static void stop_serving(struct fd_entry *entry)
{
	uint64_t proof = LOAD(entry->proof);

	STORE(entry->reads_served, false);
	STORE(entry->small_reads, 0);
	/* Who is faster voids it, or renews it and finds out for itself. */
	if (proof != 0)
		fd_void_proof(entry, proof);
}

/* Adds up, not exactly if threads do it at once. */
static void set_back(struct fd_entry *entry)
{
	uint8_t setbacks = LOAD(entry->setbacks);

	stop_serving(entry);
	STORE(entry->large_reads, 0);
	if (setbacks < MOST_SETBACKS)
		STORE(entry->setbacks, (uint8_t)(setbacks + 1));
}

/* Adds up likewise. */
static void turn_cold(struct fd_entry *entry)
{
	uint8_t cold = LOAD(entry->cold);

	stop_serving(entry);
	tls.reads_period = 0;
	if (cold < MOST_DOUBLINGS)
		STORE(entry->cold, (uint8_t)(cold + 1));
}

/* Whether this thread has waited for a disk since it last asked, which it does once in a while;
 * and how long that is from now. The page at hand is in memory. */
static bool has_waited(struct fd_entry *entry)
{
	uint8_t period = tls.reads_period;
	bool waited = false;
	uint32_t faults;

	/* What other files have shown is worth something, but not all. */
	if (!LOAD(entry->reads_served) && period > ONE_BY_ONE - LEAST_LOOKS)
		period = ONE_BY_ONE - LEAST_LOOKS;
	else if (period < LONGEST_PERIOD)
		period++;
	else if (LOAD(entry->cold) > 0)
		STORE(entry->cold, (uint8_t)(LOAD(entry->cold) - 1));
	/* Until then nothing was copied that was not known to be in memory. */
	if (period >= ONE_BY_ONE) {
		faults = (uint32_t)kernel.major_faults();
		stats_add(COUNT_own_calls, 1);
		waited = period > ONE_BY_ONE && faults != tls.reads_waited;
		tls.reads_waited = faults;
	}
	if (waited)
		period = 0;
	tls.reads_period = period;
	tls.reads_left = (uint16_t)(period <= ONE_BY_ONE ? 1 : 1U << (period - ONE_BY_ONE));
	tls.reads_counted = tls.reads_left;
	return waited;
}

static void note_large(struct fd_entry *entry)
{
	uint16_t large = (uint16_t)(LOAD(entry->large_reads) + 1);

	if (!LOAD(entry->reads_served)) {
		if (LOAD(entry->small_reads) != 0)
			STORE(entry->small_reads, 0);
	} else if (large > MOST_LARGE) {
		set_back(entry);
	} else {
		STORE(entry->large_reads, large);
	}
}

/* Once a tick. */
static void forgive_large(struct fd_entry *entry)
{
	uint16_t large = LOAD(entry->large_reads);

	if (large != 0)
		STORE(entry->large_reads,
		      (uint16_t)(large > LARGE_ALLOWED ? large - LARGE_ALLOWED : 0));
}

/* Counts a small read, or a read that may be one. */
static bool pattern_shows(struct fd_entry *entry)
{
	uint8_t setbacks = LOAD(entry->setbacks);
	uint8_t doubled = (uint8_t)(setbacks + LOAD(entry->cold));
	uint32_t first = config.tiny ? FIRST_READS_TINY : FIRST_READS;
	uint32_t small = LOAD(entry->small_reads);

	/* gold reads all files in the same way, and maps pieces of them besides. */
	if (config_program_shares())
		first = 0;
	if (LOAD(entry->reads_served))
		return true;
	if (setbacks == MOST_SETBACKS)
		return false;
	first <<= doubled < MOST_DOUBLINGS ? doubled : MOST_DOUBLINGS;
	if (small < first)
		STORE(entry->small_reads, small + 1);
	return small >= first;
}

bool reads_pattern(struct fd_entry *entry, size_t n)
{
	if (n < BYTES_TOO_MANY)
		return pattern_shows(entry);
	note_large(entry);
	return false;
}

/* Makes a region for the request. Caller holds LOCK_VIEWS. */
static enum reason make_region(struct description *d, const struct fd_entry *entry, uint64_t state,
			       int fd, const struct bytes_request *request)
{
	unsigned int shift = sys_page_shift();
	struct region_request wanted = {
		.owner = state & FD_HANDLE,
		.fd = fd,
		.kind = KIND_READ_PRIVATE,
		.shared = config_program_shares(),
		.tmpfs = d->tmpfs,
		.size = LOAD(d->readable),
		.page = (size_t)(request->offset >> shift),
	};
	enum reason reason;
	struct region *region;

	wanted.count = (size_t)(bytes_after(request) >> shift) - wanted.page + 1;
	/* Those that are too short by now are kept for their views only. */
	if (!estate_is_narrow())
		description_end_idle(d, KIND_READ_PRIVATE);
	region = description_make_region(d, &wanted, &reason);
	if (region == NULL)
		return reason;
	/* It is of the right file only if the number meant the same before and after. */
	if (__atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) != state) {
		region_orphan(region);
		return REASON_descriptor;
	}
	log_line("region %u: descriptor %d, for reads, %ju bytes at %zx", region->index, fd,
		 wanted.size, (size_t)estate_address(region->first));
	description_add_layer(d, region);
	return REASON_none;
}

/* Proves the number and refreshes the size, unless that was done in this tick. */
static enum reason prove(struct description *d, struct fd_entry *entry, int fd, uint64_t tick)
{
	enum reason reason;
	uint64_t size;

	if (LOAD(d->refused_tick) == tick)
		return REASON_atime;
	if (LOAD(entry->reads_served) && LOAD(entry->tick) == tick)
		return REASON_none;
	forgive_large(entry);
	reason = description_prove(d, fd, &size);
	if (reason == REASON_none) {
		STORE(entry->tick, tick);
		STORE(d->fd, fd);
	} else if (reason == REASON_descriptor) {
		/* Closed and used again where no hook saw it. */
		fd_forget(fd);
	} else if (reason == REASON_empty || LOAD(d->atime_tick) == tick) {
		STORE(d->refused_tick, tick);
	} else {
		STORE(d->atime_tick, tick);
	}
	return reason;
}

/* Finds a region, or makes one, and asks whether its pages are in memory. */
static enum reason prepare(struct description *d, struct fd_entry *entry, uint64_t state, int fd,
			   const struct bytes_request *request, struct region_source *ret_source)
{
	enum reason reason = bytes_find(d, state & FD_HANDLE, request, ret_source);

	if (reason == REASON_first) {
		struct lock_hold hold = lock_take(LOCK_VIEWS);

		reason = make_region(d, entry, state, fd, request);
		lock_drop(LOCK_VIEWS, hold);
		if (reason != REASON_none) {
			set_back(entry);
			return reason;
		}
		reason = bytes_find(d, state & FD_HANDLE, request, ret_source);
	}
	if (reason == REASON_none && (!bytes_at_hand(ret_source, request) || has_waited(entry))) {
		turn_cold(entry);
		reason = REASON_cold;
	}
	return reason;
}

/* The next reads in this tick need not come here. `seen`: the proof, before anything was asked. */
static void prove_for_next(struct fd_entry *entry, uint64_t state, const struct description *d,
			   const struct region_source *source, uint64_t seen, uint64_t tick)
{
	struct lock_hold hold = lock_take(LOCK_VIEWS);
	uint64_t voided = fd_void_proof(entry, seen);

	if (voided != 0 && __atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) == state) {
		STORE(entry->source.base, source->base);
		STORE(entry->source.start, source->start);
		STORE(entry->source.extent, source->extent);
		STORE(entry->source.region, source->region);
		STORE(entry->source.stamp, source->stamp);
		STORE(entry->description, d);
		fd_renew_proof(entry, voided, tick);
	}
	lock_drop(LOCK_VIEWS, hold);
}

/* What the number's file is was found out, now or before. Caller holds a reference. */
static enum reason serve(struct description *d, struct fd_entry *entry, uint64_t state, int fd,
			 const struct bytes_request *request)
{
	uint64_t seen = __atomic_load_n(&entry->proof, __ATOMIC_SEQ_CST);
	uint64_t tick = kernel.tick();
	struct region_source source;
	enum reason reason;

	if (LOAD(entry->chunks) != chunk_file(state & FD_HANDLE)) {
		STORE(entry->chunks, chunk_file(state & FD_HANDLE));
		STORE(entry->credit, 0);
	}
	if (!pays(entry, LOAD(entry->chunks), request))
		return REASON_rare;
	if (!guard_enable()) {
		set_back(entry);
		return REASON_guard;
	}
	reason = prove(d, entry, fd, tick);
	if (reason != REASON_none)
		return reason;
	if (!guard_stands(tick) || !guard_ready())
		return REASON_guard;
	reason = prepare(d, entry, state, fd, request, &source);
	if (reason != REASON_none)
		return reason;
	reason = bytes_copy(&source, LOAD(d->readable), request);
	if (reason != REASON_none)
		return reason;
	if (__atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) != state)
		return REASON_descriptor;
	STORE(entry->reads_served, true);
	chunk_earn(&entry->credit, 1);
	if (!fd_proof_is_of(seen, tick) || LOAD(entry->source.stamp) != source.stamp)
		prove_for_next(entry, state, d, &source, seen, tick);
	stats_read(request->n);
	return REASON_none;
}

static enum reason adopt(struct fd_entry *entry, int fd, const struct bytes_request *request)
{
	uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
	enum reason reason = REASON_direct;
	struct description *d;

	if (!(state & FD_TRACKED))
		return REASON_untracked;
	act_on_cancellation();
	d = fd_describe(entry, &state);
	if (d == NULL)
		return REASON_memory;
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_UNRESOLVED)
		description_resolve(d, fd);
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) != POLICY_SERVE)
		reason = (enum reason)d->reason;
	else if (LOAD(d->reads))
		reason = serve(d, entry, state, fd, request);
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) != POLICY_SERVE || !LOAD(d->reads)) {
		stop_serving(entry);
		STORE(entry->setbacks, MOST_SETBACKS);
	}
	description_drop(state & FD_HANDLE);
	return reason;
}

/* Why nothing can be served now, whatever is asked for. */
static enum reason excuse(const struct fd_entry *entry)
{
	if (!(config.modes & MODE_read))
		return REASON_mode;
	if (tls.vfork_child || lock_held())
		return tls.vfork_child ? REASON_child : REASON_reentered;
	return entry == NULL ? REASON_untracked : REASON_none;
}

/* gold's large ones are few, of files whose region it has for its views. */
static bool is_too_large(const struct bytes_request *request)
{
	return request->n >= (config_program_shares() ? GOLD_TOO_MANY : BYTES_TOO_MANY);
}

static enum reason try_slowly(int fd, const struct bytes_request *request)
{
	struct fd_entry *entry = fd_find(fd);
	enum reason reason = excuse(entry);

	if (reason != REASON_none)
		return reason;
	if (request->n == 0 || request->offset > (uint64_t)INT64_MAX - request->n)
		return REASON_arguments;
	if (is_too_large(request)) {
		note_large(entry);
		return REASON_large;
	}
	if (!pattern_shows(entry))
		return REASON_first;
	return config.dry_run ? REASON_dry_run : adopt(entry, fd, request);
}

static __attribute__((noinline)) bool serve_slowly(int fd, const struct bytes_request *request)
{
	enum reason reason;
	int saved = errno;

	if (!config.active)
		return false;
	reason = try_slowly(fd, request);
	errno = saved;
	return reason == REASON_none ? true : pass(reason);
}

/* Makes the pieces ours, and adds them up. They may be read only if the guard stands, and that is
 * not asked for before the pattern shows. */
static enum reason gather(struct fd_entry *entry, const struct iovec *pieces, int count,
			  struct iovec *ret_ours, size_t *ret_total)
{
	size_t total = 0;

	if (!pattern_shows(entry))
		return REASON_first;
	if (!guard_enable() || !guard_stands(kernel.tick()) || !guard_ready())
		return REASON_guard;
	if (!guard_copy(ret_ours, pieces, (size_t)count * sizeof(*pieces)))
		return REASON_fault;
	for (int i = 0; i < count; i++) {
		if (ret_ours[i].iov_len >= BYTES_TOO_MANY)
			return REASON_large;
		total += ret_ours[i].iov_len;
	}
	*ret_total = total;
	return REASON_none;
}

/* The kernel takes all pieces before it copies into any: none may be bad, and what is copied must
 * not lie on top of them. */
static enum reason look_over(struct fd_entry *entry, const struct iovec *pieces, int count)
{
	const char *first = (const char *)pieces;
	const char *end = (const char *)(pieces + count);
	struct iovec ours[MOST_PIECES];

	for (int at = 0; at < count; at += MOST_PIECES) {
		int part = count - at < MOST_PIECES ? count - at : MOST_PIECES;
		size_t n;
		enum reason reason = gather(entry, pieces + at, part, ours, &n);

		for (int i = 0; reason == REASON_none && i < part; i++) {
			const char *to = ours[i].iov_base;

			if (to < end && to + ours[i].iov_len > first)
				return REASON_arguments;
		}
		if (reason != REASON_none)
			return reason;
	}
	return REASON_none;
}

/* Whether all were copied; else nothing is said of why, for reads_serve has. */
static bool scatter(int fd, const struct iovec *pieces, int count, uint64_t offset,
		    size_t *ret_done)
{
	struct fd_entry *entry = fd_find(fd);

	*ret_done = 0;
	for (int at = 0; at < count; at += MOST_PIECES) {
		struct iovec ours[MOST_PIECES];
		struct bytes_request request = {
			.offset = offset + *ret_done,
			.pieces = ours,
			.count = count - at < MOST_PIECES ? count - at : MOST_PIECES,
		};

		if (gather(entry, pieces + at, request.count, ours, &request.n) != REASON_none ||
		    !reads_serve(fd, &request))
			return false;
		*ret_done += request.n;
	}
	return true;
}

size_t reads_scatter(int fd, const struct iovec *pieces, int count, uint64_t offset)
{
	enum reason reason;
	size_t done;
	int saved = errno;

	if (!config.active)
		return 0;
	reason = excuse(fd_find(fd));
	if (reason == REASON_none && config.dry_run)
		reason = REASON_dry_run;
	if (reason == REASON_none && (count <= 0 || count > MOST_PIECES_IN_ALL))
		reason = REASON_arguments;
	if (reason == REASON_none)
		reason = look_over(fd_find(fd), pieces, count);
	errno = saved;
	if (reason != REASON_none) {
		pass(reason);
		return 0;
	}
	return scatter(fd, pieces, count, offset, &done) ? done : 0;
}

void reads_scattered(int fd, ssize_t answer)
{
	struct fd_entry *entry = fd_find(fd);

	if (answer >= (ssize_t)BYTES_TOO_MANY && entry != NULL && excuse(entry) == REASON_none)
		note_large(entry);
}

void reads_ended(int fd, uint64_t offset)
{
	const struct fd_entry *entry = fd_find(fd);
	struct description *d;

	if (entry == NULL || !LOAD(entry->reads_served) || tls.vfork_child)
		return;
	d = description_at(__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) & FD_HANDLE);
	if (d != NULL && offset < LOAD(d->readable))
		STORE(d->readable, offset);
}

void reads_expect(int fd)
{
	struct fd_entry *entry = fd_find(fd);

	if (entry != NULL && !tls.vfork_child)
		STORE(entry->small_reads, FIRST_READS);
}

void reads_refuse(int fd)
{
	struct fd_entry *entry = fd_find(fd);
	struct description *d;

	if (entry == NULL || tls.vfork_child || !config.active)
		return;
	d = description_at(__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) & FD_HANDLE);
	stop_serving(entry);
	STORE(entry->setbacks, MOST_SETBACKS);
	if (d != NULL)
		description_refuse_reads(d);
}
