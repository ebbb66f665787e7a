#include "lock.h"

#include <stdbool.h>

#include "sys.h"
#include "tls.h"

static uint32_t words[LOCK_COUNT];

/* Written by the thread that forks, while it holds every lock. */
static uint64_t fork_signals;

/* In tls.locks: this thread forks and holds them all. Handlers of pthread_atfork that others have
 * set run then too, before and after ours, and may end views: for them a lock is taken already. */
#define FORKING 0x80

void lock_word_take(uint32_t *word)
{
	uint32_t seen = 0;

	if (__atomic_compare_exchange_n(word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	/* The three-state lock of Drepper, "Futexes are tricky", mutex 2. */
	if (seen != 2)
		seen = __atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE);
	while (seen != 0) {
		sys_futex_wait(word, 2);
		seen = __atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE);
	}
}

void lock_word_drop(uint32_t *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		sys_futex_wake(word);
}

struct lock_hold lock_take(enum lock_rank rank)
{
	struct lock_hold hold = {.signals = 0};

	if (tls.locks & FORKING)
		return hold;
	/* The inner lock of two finds the signals blocked already. */
	if (tls.locks == 0)
		hold.signals = sys_block_signals();
#ifdef MC_CHECK
	if (tls.locks >> rank != 0)
		__builtin_trap();
#endif
	lock_word_take(&words[rank]);
	tls.locks = (uint8_t)(tls.locks | 1U << rank);
	return hold;
}

void lock_drop(enum lock_rank rank, struct lock_hold hold)
{
	if (tls.locks & FORKING)
		return;
	lock_word_drop(&words[rank]);
	tls.locks = (uint8_t)(tls.locks & ~(1U << rank));
	if (tls.locks == 0)
		sys_unblock_signals(hold.signals);
}

int lock_held(void)
{
	return tls.locks != 0;
}

int lock_has(enum lock_rank rank)
{
	return (tls.locks & (FORKING | 1U << rank)) != 0;
}

void lock_fork_prepare(void)
{
	uint64_t signals = sys_block_signals();

	for (int rank = 0; rank < LOCK_COUNT; rank++)
		lock_word_take(&words[rank]);
	fork_signals = signals;
	tls.locks = FORKING;
}

void lock_fork_parent(void)
{
	uint64_t signals = fork_signals;

	tls.locks = 0;
	for (int rank = LOCK_COUNT - 1; rank >= 0; rank--)
		lock_word_drop(&words[rank]);
	sys_unblock_signals(signals);
}

void lock_fork_child(void)
{
	tls.locks = 0;
	/* The waiters were threads of the parent; nobody is left to wake. */
	for (int rank = LOCK_COUNT - 1; rank >= 0; rank--)
		__atomic_store_n(&words[rank], 0, __ATOMIC_RELEASE);
	sys_unblock_signals(fork_signals);
}
