#include "guard.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

#include "death.h"
#include "lock.h"
#include "sys.h"

/* The end of the copy, and the way out of it that answers false (arch/MACHINE/copy.S). */
extern const char guard_copy_end[] __attribute__((visibility("hidden")));
extern const char guard_copy_fault[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define COUNTER(context) ((context)->uc_mcontext.gregs[REG_RIP])
#elif defined(__i386__)
#define COUNTER(context) ((context)->uc_mcontext.gregs[REG_EIP])
#elif defined(__aarch64__)
#define COUNTER(context) ((context)->uc_mcontext.pc)
#else
#error "where does a ucontext_t of this machine keep the program counter?"
#endif

/* How often "blocked" is believed. */
#define BLOCKED_FOR 250

/* What the program has asked for. The mask, the flags and libc's restorer are those that a query
 * shows, as the kernel would have kept them.
 *
 * Synchronization: `sequence` is odd while the handler and the flags are written. The handler also
 * goes to SIG_DFL by itself, atomically (SA_RESETHAND). The rest is read under the lock only. */
struct disposition {
	uint32_t sequence;
	int flags;
	uintptr_t handler;
	sigset_t mask;
	void (*restorer)(void);
	bool ours;
};

enum state { STATE_OFF, STATE_ON, STATE_OVER };

static struct guard {
	guard_sigaction action;
	enum state state;
	struct disposition bus;
	struct disposition segv;
	/* A handler of some signal blocks one of ours. Never cleared. */
	bool handlers_block;
	/* siginterrupt's, one bit a signal. */
	uint32_t interrupts;
	/* The tick in which the handler was last seen to stand. */
	uint64_t tick;
} guard;

uint8_t guard_trust;

#define BIT(number) (1UL << ((number)-1))
#define OURS (BIT(SIGBUS) | BIT(SIGSEGV))

static struct disposition *disposition_of(int number)
{
	return number == SIGBUS ? &guard.bus : &guard.segv;
}

/* The handler, in the middle of whatever was going on. */

/* What the program wants done now. */
static uintptr_t take_handler(struct disposition *d)
{
	for (;;) {
		uint32_t before = __atomic_load_n(&d->sequence, __ATOMIC_ACQUIRE);
		uintptr_t handler = __atomic_load_n(&d->handler, __ATOMIC_ACQUIRE);
		int flags = __atomic_load_n(&d->flags, __ATOMIC_ACQUIRE);

		if ((before & 1) || __atomic_load_n(&d->sequence, __ATOMIC_RELAXED) != before)
			continue;
		if (!(flags & SA_RESETHAND) ||
		    __atomic_compare_exchange_n(&d->handler, &handler, (uintptr_t)SIG_DFL, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return handler;
	}
}

/* Whether the instruction that was interrupted is what raised it, and will again. */
static bool is_fault(int number, const siginfo_t *info)
{
	return info->si_code > 0 && !(number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* The process ends. A fault happens again when we return, and is told of as natively; what was sent
 * is sent again. SI_KERNEL may be either (no room on a stack for another signal's frame), and then
 * there is nothing to happen again. */
__attribute__((noinline, cold)) static void die(int number, siginfo_t *info)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};

	death_come();
	guard.action(number, &action, NULL);
	if (!is_fault(number, info) || info->si_code == SI_KERNEL)
		sys_signal_self(number, info);
}

static void on_fault(int number, siginfo_t *info, void *p)
{
	ucontext_t *context = p;
	uintptr_t counter = (uintptr_t)COUNTER(context);
	uintptr_t handler;

	if (counter - (uintptr_t)guard_copy < (uintptr_t)guard_copy_end - (uintptr_t)guard_copy &&
	    is_fault(number, info)) {
		COUNTER(context) = (__typeof__(COUNTER(context)))(uintptr_t)guard_copy_fault;
		return;
	}
	/* The program's handler runs with the signal blocked. */
	tls.signal_mask = GUARD_MASK_UNKNOWN;
	handler = take_handler(disposition_of(number));
	if (handler == (uintptr_t)SIG_DFL)
		die(number, info);
	else if (handler != (uintptr_t)SIG_IGN)
		/* Last, so that it is a jump. */
		((void (*)(int, siginfo_t *, void *))handler)(number, info, p);
}

/* Changes of the dispositions, under the lock. */

static uintptr_t handler_of(const struct sigaction *action)
{
	return (uintptr_t)action->sa_handler;
}

static bool is_ours(const struct sigaction *action)
{
	return handler_of(action) == (uintptr_t)on_fault;
}

static void record(struct disposition *d, const struct sigaction *action)
{
	__atomic_store_n(&d->sequence, d->sequence + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&d->handler, handler_of(action), __ATOMIC_RELEASE);
	__atomic_store_n(&d->flags, action->sa_flags, __ATOMIC_RELEASE);
	__atomic_store_n(&d->sequence, d->sequence + 1, __ATOMIC_RELEASE);
	d->mask = action->sa_mask;
	d->restorer = action->sa_restorer;
}

static void describe(const struct disposition *d, struct sigaction *ret_action)
{
	ret_action->sa_handler = (__sighandler_t)__atomic_load_n(&d->handler, __ATOMIC_RELAXED);
	ret_action->sa_flags = d->flags;
	ret_action->sa_mask = d->mask;
	ret_action->sa_restorer = d->restorer;
}

static bool has_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* Where ours is not the program's. */
#define CHANGED_FLAGS (SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND)

static struct sigaction mirror_of(const struct sigaction *action)
{
	struct sigaction ours = *action;

	ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
	if (!has_handler(action))
		ours.sa_flags |= SA_ONSTACK;
	ours.sa_sigaction = on_fault;
	return ours;
}

static void derive_trust(void)
{
	enum guard_trust trust = GUARD_NOT;

	if (guard.state == STATE_ON && guard.bus.ours && guard.segv.ours)
		trust = __atomic_load_n(&guard.handlers_block, __ATOMIC_RELAXED) ? GUARD_ASK
										 : GUARD_CACHED;
	__atomic_store_n(&guard_trust, (uint8_t)trust, __ATOMIC_RELAXED);
}

static void enter(enum state state)
{
	__atomic_store_n(&guard.state, state, __ATOMIC_RELAXED);
	derive_trust();
}

/* This one on record, ours in the kernel; in that order the new handler may run too early, rather
 * than the old one too late. */
static int install(int number, const struct sigaction *action)
{
	struct sigaction ours = mirror_of(action);

	record(disposition_of(number), action);
	disposition_of(number)->ours = true;
	return guard.action(number, &ours, NULL) == 0 ? 0 : -errno;
}

/* What the kernel keeps of the mask and the flags, and libc's restorer, a query shows. */
static int install_new(int number, const struct sigaction *action)
{
	struct disposition *d = disposition_of(number);
	struct sigaction kept;
	int error = install(number, action);

	if (error != 0)
		return error;
	if (guard.action(number, NULL, &kept) != 0)
		return -errno;
	d->mask = kept.sa_mask;
	d->restorer = kept.sa_restorer;
	__atomic_store_n(&d->flags,
			 (kept.sa_flags & ~CHANGED_FLAGS) | (action->sa_flags & CHANGED_FLAGS),
			 __ATOMIC_RELAXED);
	return 0;
}

static int ignore(int number, const struct sigaction *action)
{
	struct disposition *d = disposition_of(number);

	d->ours = false;
	derive_trust();
	if (guard.action(number, action, NULL) != 0)
		return -errno;
	record(d, action);
	return 0;
}

/* The action as it is in the kernel, whoever's. */
static int ask(int number, struct sigaction *ret_action)
{
	if (guard.action(number, NULL, ret_action) != 0)
		return -errno;
	guard_translate(number, ret_action);
	return 0;
}

void guard_translate(int number, struct sigaction *action)
{
	if ((number == SIGBUS || number == SIGSEGV) && is_ours(action))
		describe(disposition_of(number), action);
}

static int change(int number, const struct sigaction *action)
{
	int error;

	if (guard.state == STATE_OFF ||
	    (guard.state == STATE_OVER && !disposition_of(number)->ours))
		return guard.action(number, action, NULL) == 0 ? 0 : -errno;
	error = action->sa_handler == SIG_IGN ? ignore(number, action)
					      : install_new(number, action);
	derive_trust();
	return error;
}

int guard_action(int number, const struct sigaction *action, struct sigaction *ret_old)
{
	/* The program's pointers, which may be bad, are not for under the lock. */
	struct sigaction new = {.sa_flags = 0};
	struct sigaction old = {.sa_flags = 0};
	struct lock_hold hold;
	int error;

	if (action != NULL)
		new = *action;
	hold = lock_take(LOCK_SIGNALS);
	error = ask(number, &old);
	if (error == 0 && action != NULL)
		error = change(number, &new);
	lock_drop(LOCK_SIGNALS, hold);
	if (error == 0 && ret_old != NULL)
		*ret_old = old;
	return error;
}

bool guard_has(int number)
{
	return (number == SIGBUS || number == SIGSEGV) && guard.action != NULL && !tls.vfork_child;
}

void guard_begin(guard_sigaction action)
{
	guard.action = action;
}

/* Takes over what stands. */
static bool adopt(int number)
{
	struct sigaction action;

	if (guard.action(number, NULL, &action) != 0 || is_ours(&action))
		return false;
	if (action.sa_handler == SIG_IGN) {
		record(disposition_of(number), &action);
		return true;
	}
	return install(number, &action) == 0;
}

/* Handlers that were installed before the hooks could see them, or past them. */
static void look_at_masks(void)
{
	for (int number = 1; number <= 64; number++) {
		struct signal_action action;

		if (number != SIGBUS && number != SIGSEGV &&
		    sys_signal_action(number, &action) == 0 && action.handler > 1 &&
		    (action.mask & OURS))
			__atomic_store_n(&guard.handlers_block, true, __ATOMIC_RELAXED);
	}
}

bool guard_enable(void)
{
	struct lock_hold hold;

	if (__atomic_load_n(&guard.state, __ATOMIC_RELAXED) != STATE_OFF || guard.action == NULL ||
	    tls.vfork_child)
		return __atomic_load_n(&guard_trust, __ATOMIC_RELAXED) != GUARD_NOT;
	hold = lock_take(LOCK_SIGNALS);
	if (guard.state == STATE_OFF) {
		look_at_masks();
		enter(adopt(SIGBUS) && adopt(SIGSEGV) ? STATE_ON : STATE_OVER);
	}
	lock_drop(LOCK_SIGNALS, hold);
	return __atomic_load_n(&guard_trust, __ATOMIC_RELAXED) != GUARD_NOT;
}

static bool stands_for(int number)
{
	struct signal_action action;

	return sys_signal_action(number, &action) == 0 && action.handler == (uintptr_t)on_fault;
}

/* The kernel's handler is another. Whether that is our own doing shows under the lock. */
static bool look_closely(void)
{
	struct lock_hold hold = lock_take(LOCK_SIGNALS);
	bool both = guard.state == STATE_ON;

	for (int i = 0; i < 2; i++) {
		int number = i == 0 ? SIGBUS : SIGSEGV;
		struct disposition *d = disposition_of(number);

		if (d->ours && !stands_for(number)) {
			d->ours = false;
			enter(STATE_OVER);
		}
		both = both && d->ours;
	}
	lock_drop(LOCK_SIGNALS, hold);
	return both && guard.state == STATE_ON;
}

bool guard_stands(uint64_t tick)
{
	if (__atomic_load_n(&guard_trust, __ATOMIC_RELAXED) == GUARD_NOT)
		return false;
	if (__atomic_load_n(&guard.tick, __ATOMIC_RELAXED) == tick)
		return true;
	if (!(stands_for(SIGBUS) && stands_for(SIGSEGV)) && !look_closely())
		return false;
	__atomic_store_n(&guard.tick, tick, __ATOMIC_RELAXED);
	return true;
}

void guard_give_up(void)
{
	struct lock_hold hold;

	if (guard.action == NULL || tls.vfork_child)
		return;
	hold = lock_take(LOCK_SIGNALS);
	enter(STATE_OVER);
	for (int i = 0; i < 2; i++) {
		int number = i == 0 ? SIGBUS : SIGSEGV;
		struct disposition *d = disposition_of(number);
		struct sigaction action;

		describe(d, &action);
		if (d->ours)
			guard.action(number, &action, NULL);
		d->ours = false;
	}
	lock_drop(LOCK_SIGNALS, hold);
}

/* Masks. */

bool guard_ask(void)
{
	bool open;

	if (__atomic_load_n(&guard_trust, __ATOMIC_RELAXED) == GUARD_NOT || tls.vfork_child ||
	    tls.locks != 0)
		return false;
	if (tls.signal_mask >= GUARD_MASK_BLOCKED) {
		tls.signal_mask--;
		/* The lowest of them is followed by "unknown". */
		if (tls.signal_mask < GUARD_MASK_BLOCKED)
			tls.signal_mask = GUARD_MASK_UNKNOWN;
		return false;
	}
	open = (sys_signal_mask() & OURS) == 0;
	if (__atomic_load_n(&guard_trust, __ATOMIC_RELAXED) == GUARD_CACHED)
		tls.signal_mask = open ? GUARD_MASK_OPEN : GUARD_MASK_BLOCKED + BLOCKED_FOR - 1;
	return open;
}

void guard_mask_changed(void)
{
	tls.signal_mask = GUARD_MASK_UNKNOWN;
}

void guard_note_mask(const sigset_t *mask)
{
	uint8_t cached = GUARD_CACHED;

	if (!(mask->__val[0] & OURS))
		return;
	__atomic_store_n(&guard.handlers_block, true, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&guard_trust, &cached, GUARD_ASK, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

void guard_interrupt(int number, bool interrupts)
{
	uint32_t bit = (uint32_t)BIT(number);

	if (interrupts)
		__atomic_fetch_or(&guard.interrupts, bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&guard.interrupts, ~bit, __ATOMIC_RELAXED);
}

bool guard_interrupts(int number)
{
	return __atomic_load_n(&guard.interrupts, __ATOMIC_RELAXED) & BIT(number);
}
