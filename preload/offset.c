#include "offset.h"

#include <errno.h>

#include "aside.h"
#include "config.h"
#include "description.h"
#include "lock.h"
#include "log.h"
#include "reads.h"
#include "stats.h"
#include "sys.h"

/* After so many large reads, or tellings, it is over for good. */
#define MOST_LARGE 64
#define MOST_SETBACKS 6

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

/* Grows when all descriptions become reachable by others. An entry that was opened before that is
 * never asked for its offset again. */
static uint32_t epoch;
/* So many words are OURS or TELLING, or about to be; and no such number is above this one. */
uint32_t offset_ours;
static int highest;
/* No more of them. */
static bool finished;

bool offset_has_strangers;

static inline enum offset_state state_of(uint64_t word)
{
	return (enum offset_state)(word >> OFFSET_STATE_SHIFT);
}

static inline bool is_ours(uint64_t word)
{
	return state_of(word) == OFFSET_OURS || state_of(word) == OFFSET_TELLING;
}

/* The next word after this one. */
static inline uint64_t next_word(uint64_t word, enum offset_state state, uint64_t value)
{
	uint64_t tag = (word + ((uint64_t)1 << OFFSET_VALUE_BITS)) & ~OFFSET_VALUE;

	tag &= ((uint64_t)1 << OFFSET_STATE_SHIFT) - 1;
	return (uint64_t)state << OFFSET_STATE_SHIFT | tag | value;
}

static inline bool change(struct fd_entry *entry, uint64_t *word, enum offset_state state,
			  uint64_t value)
{
	uint64_t next = next_word(*word, state, value);

	if (!__atomic_compare_exchange_n(&entry->offset, word, next, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_ACQUIRE))
		return false;
	*word = next;
	return true;
}

static void count_ours(int fd, int change)
{
	__atomic_fetch_add(&offset_ours, (uint32_t)change, __ATOMIC_SEQ_CST);
	aside_pend(fd, change);
}

/* Whether the number still is the description that it was, asked at most once a tick. If not,
 * nothing is known of it from now on. */
static bool still_is(struct fd_entry *entry, int fd)
{
	uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
	struct description *d = description_at(state & FD_HANDLE);
	uint64_t tick = kernel.tick();
	uint64_t size;

	if (d == NULL) {
		offset_forget(entry, fd);
		return false;
	}
	if (LOAD(entry->offset_tick) == tick)
		return true;
	if (description_prove(d, fd, &size) == REASON_descriptor) {
		fd_forget(fd);
		return false;
	}
	STORE(entry->offset_tick, tick);
	return true;
}

/* Asking. */

/* What the number is, and whether reads of it may be served. */
static bool is_worth_it(struct fd_entry *entry, int fd)
{
	uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
	struct description *d;
	bool good;

	if (!(state & FD_TRACKED))
		return false;
	d = fd_describe(entry, &state);
	if (d == NULL)
		return false;
	if (__atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_UNRESOLVED)
		description_resolve(d, fd);
	good = __atomic_load_n(&d->policy, __ATOMIC_ACQUIRE) == POLICY_SERVE && LOAD(d->reads) &&
	       still_is(entry, fd);
	description_drop(state & FD_HANDLE);
	return good;
}

static void raise_highest(int fd)
{
	int seen = LOAD(highest);

	while (fd > seen && !__atomic_compare_exchange_n(&highest, &seen, fd, true,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
	}
}

/* Caller holds LOCK_OFFSETS. `word`: KERNEL, and no call is in flight. */
static void ask(struct fd_entry *entry, int fd, uint64_t word)
{
	int64_t at;

	if (fd >= ASIDE_NUMBERS || !change(entry, &word, OFFSET_ASKING, 0))
		return;
	raise_highest(fd);
	count_ours(fd, 1);
	at = kernel.tell(fd);
	stats_add(COUNT_own_calls, 1);
	/* After it was counted: either this sees that all became reachable, or who makes them so
	 * sees that there is one. */
	if (at >= 0 && at <= (int64_t)(OFFSET_VALUE / 2) &&
	    LOAD(entry->offset_epoch) == __atomic_load_n(&epoch, __ATOMIC_SEQ_CST) &&
	    change(entry, &word, OFFSET_OURS, (uint64_t)at)) {
		log_line("descriptor %d: its offset is ours, %ju", fd, (uintmax_t)at);
		return;
	}
	count_ours(fd, -1);
	if (state_of(word) == OFFSET_ASKING)
		change(entry, &word, OFFSET_NEVER, 0);
}

static void begin(struct fd_entry *entry, int fd, uint64_t word)
{
	int saved = errno;

	if (is_worth_it(entry, fd)) {
		struct lock_hold hold = lock_take(LOCK_OFFSETS);

		ask(entry, fd, word);
		lock_drop(LOCK_OFFSETS, hold);
	} else {
		change(entry, &word, OFFSET_NEVER, 0);
	}
	errno = saved;
}

/* Whether the kernel's offset should become ours with this read. */
static bool is_time(struct fd_entry *entry, uint64_t word, size_t n)
{
	uint8_t large = LOAD(entry->offset_misses);

	if (n == 0)
		return false;
	if (!reads_pattern(entry, n)) {
		if (n >= BYTES_TOO_MANY && large < MOST_LARGE)
			STORE(entry->offset_misses, (uint8_t)(large + 1));
		return false;
	}
	return state_of(word) == OFFSET_KERNEL && (word & OFFSET_VALUE) == 0 && !lock_held();
}

/* Whether it is over for good. */
static bool is_hopeless(const struct fd_entry *entry)
{
	return LOAD(entry->offset_misses) >= MOST_LARGE ||
	       LOAD(entry->offset_setbacks) >= MOST_SETBACKS ||
	       LOAD(entry->offset_epoch) != LOAD(epoch);
}

enum offset_way offset_begin_slowly(struct offset_call *call, int fd, size_t n)
{
	struct fd_entry *entry = call->entry;
	uint64_t word = call->word;

	if (tls.vfork_child)
		return OFFSET_PASS;
	if (!is_ours(word) && !is_hopeless(entry) && is_time(entry, word, n)) {
		begin(entry, fd, word);
		word = __atomic_load_n(&entry->offset, __ATOMIC_ACQUIRE);
	}
	for (;;) {
		if (state_of(word) == OFFSET_NEVER)
			return OFFSET_PASS;
		if (is_ours(word))
			break;
		if (is_hopeless(entry)) {
			change(entry, &word, OFFSET_NEVER, 0);
			continue;
		}
		if (change(entry, &word, OFFSET_KERNEL,
			   state_of(word) == OFFSET_KERNEL ? (word & OFFSET_VALUE) + 1 : 1))
			break;
	}
	call->word = word;
	return is_ours(word) ? OFFSET_SERVE : OFFSET_COUNT;
}

void offset_end(const struct offset_call *call)
{
	uint64_t word = __atomic_load_n(&call->entry->offset, __ATOMIC_ACQUIRE);

	while (state_of(word) == OFFSET_KERNEL && (word & OFFSET_VALUE) != 0 &&
	       !change(call->entry, &word, OFFSET_KERNEL, (word & OFFSET_VALUE) - 1)) {
	}
}

/* Telling. */

/* One round; true when there is nothing left to be told. */
static bool told(struct fd_entry *entry, int fd, bool for_good)
{
	uint64_t word = __atomic_load_n(&entry->offset, __ATOMIC_ACQUIRE);
	enum offset_state after = for_good ? OFFSET_NEVER : OFFSET_KERNEL;

	if (state_of(word) == OFFSET_NEVER)
		return true;
	if (!is_ours(word)) {
		if (state_of(word) == OFFSET_KERNEL && !for_good)
			return true;
		return change(entry, &word, after, 0);
	}
	if (!change(entry, &word, OFFSET_TELLING, word & OFFSET_VALUE))
		return false;
	kernel.seek(fd, word & OFFSET_VALUE);
	stats_add(COUNT_own_calls, 1);
	if (!change(entry, &word, after, 0))
		return false;
	count_ours(fd, -1);
	if (LOAD(entry->offset_setbacks) < MOST_SETBACKS)
		STORE(entry->offset_setbacks, (uint8_t)(LOAD(entry->offset_setbacks) + 1));
	log_line("descriptor %d: its offset is the kernel's, %ju", fd, word & OFFSET_VALUE);
	return true;
}

static void tell(struct fd_entry *entry, int fd, bool for_good)
{
	bool locks = !lock_has(LOCK_OFFSETS);
	struct lock_hold hold = {0};
	int saved = errno;

	still_is(entry, fd);
	if (locks)
		hold = lock_take(LOCK_OFFSETS);
	while (!told(entry, fd, for_good)) {
	}
	if (locks)
		lock_drop(LOCK_OFFSETS, hold);
	errno = saved;
}

static void tell_fd(int fd, enum aside_why why)
{
	struct fd_entry *entry = fd_find(fd);
	bool for_good = why == ASIDE_SHARED;
	uint64_t word;

	if (entry == NULL || why == ASIDE_LOOKED || why == ASIDE_MAPPED)
		return;
	word = __atomic_load_n(&entry->offset, __ATOMIC_ACQUIRE);
	/* Nothing to be told: no lock, which would be two system calls for each close. */
	while (!is_ours(word)) {
		if (state_of(word) == OFFSET_NEVER ||
		    (state_of(word) == OFFSET_KERNEL && !for_good) ||
		    change(entry, &word, for_good ? OFFSET_NEVER : OFFSET_KERNEL, 0))
			return;
	}
	tell(entry, fd, for_good);
}

static void tell_all(enum aside_why why)
{
	if (why == ASIDE_SHARED)
		__atomic_fetch_add(&epoch, 1, __ATOMIC_SEQ_CST);
	if (why < ASIDE_SEEN || __atomic_load_n(&offset_ours, __ATOMIC_SEQ_CST) == 0)
		return;
	for (int fd = 0; fd <= LOAD(highest); fd++) {
		struct fd_entry *entry = fd_find(fd);

		if (entry == NULL)
			fd |= (1 << FD_LEAF_SHIFT) - 1;
		else if (state_of(LOAD(entry->offset)) > OFFSET_KERNEL)
			tell(entry, fd, why == ASIDE_SHARED);
	}
}

void offset_forking(void)
{
	tell_all(ASIDE_SHARED);
}

void offset_passed(const struct offset_call *call, int fd, size_t n)
{
	uint8_t misses = LOAD(call->entry->offset_misses);

	if (n < BYTES_TOO_MANY)
		return;
	if (misses < MOST_LARGE)
		STORE(call->entry->offset_misses, (uint8_t)(misses + 1));
	else
		tell(call->entry, fd, true);
}

bool offset_move_far(struct offset_call *call, int fd)
{
	if (!change(call->entry, &call->word, OFFSET_KERNEL, 0))
		return false;
	count_ours(fd, -1);
	return true;
}

bool offset_stands(const struct offset_call *call, int fd)
{
	int saved = errno;
	bool stands = still_is(call->entry, fd);

	errno = saved;
	return stands;
}

bool offset_is_plain_slowly(const struct offset_call *call, int fd, uint64_t to)
{
	uint64_t handle = __atomic_load_n(&call->entry->state, __ATOMIC_ACQUIRE) & FD_HANDLE;
	const struct description *d = description_at(handle);

	return d != NULL && to <= LOAD(d->reach) && offset_stands(call, fd);
}

void offset_opened(int fd)
{
	struct fd_entry *entry = fd < 0 ? NULL : fd_find(fd);
	uint64_t word;

	if (entry == NULL || !config.active || config.dry_run || !(config.modes & MODE_read) ||
	    LOAD(finished) || tls.vfork_child)
		return;
	STORE(entry->offset_epoch, LOAD(epoch));
	STORE(entry->offset_setbacks, 0);
	STORE(entry->offset_misses, 0);
	STORE(entry->offset_tick, 0);
	word = LOAD(entry->offset);
	change(entry, &word, OFFSET_KERNEL, 0);
}

/* Whoever tells the kernel is done with the number when it ends. */
static void wait_for_telling(void)
{
	if (!lock_has(LOCK_OFFSETS))
		lock_drop(LOCK_OFFSETS, lock_take(LOCK_OFFSETS));
}

void offset_forget_slowly(struct fd_entry *entry, int fd)
{
	uint64_t word = __atomic_load_n(&entry->offset, __ATOMIC_ACQUIRE);

	while (state_of(word) != OFFSET_NEVER) {
		enum offset_state was = state_of(word);

		if (!change(entry, &word, OFFSET_NEVER, 0))
			continue;
		if (was == OFFSET_OURS || was == OFFSET_TELLING)
			count_ours(fd, -1);
		if (was == OFFSET_TELLING)
			wait_for_telling();
	}
}

static const struct aside_owner owner = {.fd = tell_fd, .all = tell_all};

void offset_start(void)
{
	aside_add(&owner);
}

void offset_finish(void)
{
	STORE(finished, true);
	tell_all(ASIDE_SHARED);
}
