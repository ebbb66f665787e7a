/*
 * The guard: copying out of a mapped file as read(2) would, which never kills its caller.
 *
 *   guard_copy ──fault──> kernel ──> on_fault ── program counter inside the copy? ──> false
 *    (copy.S)                        (guard.c)          │ no
 *                                                       └──> what the program had asked for
 *
 * A page of a mapped file can go away at any moment (truncation), fail to be read (an I/O error),
 * and the destination is the program's pointer, good or bad. Then guard_copy() answers false, with
 * some bytes of the destination written perhaps, and its caller makes the real system call, which
 * answers as it would have without us.
 *
 * What tells our faults from the program's is where they happened: between two labels of an
 * assembly copy, which nobody else calls. No flag is set and no environment saved for a copy that
 * succeeds. Nanoseconds a copy, from anywhere in 4 KiB / in 1 MiB, on a 2.0 GHz Xeon (Sapphire
 * Rapids) with glibc 2.36; sigsetjmp is sigsetjmp(jb, 0), a flag, memcpy:
 *
 *     bytes            16        64        512      4,096        65,536
 *     memcpy        3.4 / 3.4  2.6 / 2.9  5.3 / 7.2   24 / 37  1,425 / 1,438
 *     sigsetjmp     5.2 / 5.1  4.9 / 5.7  8.0 / 10.1  26 / 40  1,434 / 1,435
 *     guard_copy    1.4 / 1.5  1.8 / 2.1  7.1 / 9.0   24 / 38  1,436 / 1,452
 *
 * guard_ready(), which comes before it, takes 0.5 ns while its answer is known. Where a system call
 * takes 105 ns, a copy that faults takes 1,200 ns, guard_stands() 210 ns once a tick, and
 * guard_enable() 9 us once.
 *
 * The handler. From guard_enable() on it stands for SIGBUS and SIGSEGV, and what the program has
 * asked for is kept beside it, a `disposition`. The kernel's action mirrors it: the program's mask
 * and flags, so that masks, SA_NODEFER, SA_RESTART and the choice of the stack are the kernel's own
 * doing. Then the handler is reached by a jump, its return address is the kernel's, and leaving
 * it by siglongjmp, nesting and unwinding need nothing from us. What differs from the mirror:
 *   - SA_SIGINFO is always set, SA_RESETHAND never (on_fault does it);
 *   - SA_ONSTACK is added where the program has no handler, and only there: its own handler runs on
 *     the stack that it asked for;
 *   - a program that ignores one of them gets just that, and the guard is not ready meanwhile. So
 *     an ignored signal interrupts nothing, is never pending, and stays ignored through exec, in
 *     every way that a program can be started, with nothing to be done there.
 *
 * Invariants, for each of the two signals:
 *   - disposition.ours ⇔ the kernel's handler is on_fault, unless somebody went past libc;
 *   - ready ⇒ state is ON and both are ours;
 *   - a query answers the disposition, never the kernel's action, while it is ours.
 *
 * Past libc: a handler may be installed by the bare system call, or by a plugin that is bound past
 * us. guard_stands() looks, once a clock tick; the guard is then over for good, for what it would
 * replace may chain to on_fault, which still knows what to do.
 *
 * Masks. A fault while its signal is blocked kills, so a thread may copy only if it lets both
 * through. It asks the kernel once (tls.signal_mask), and again after each call that changes the
 * mask: the hooks of entry_signal.c. New threads begin with "not known". A signal handler runs with
 * its sa_mask added, and nothing tells that it runs; so from the moment that a handler is
 * installed, for any signal, whose mask has one of the two, every thread asks each time
 * (GUARD_ASK), for good: a handler may have been replaced while it runs. "Blocked" is believed for
 * 250 questions.
 *
 * Synchronization: dispositions change under LOCK_SIGNALS; on_fault, which may run in any thread
 * then, reads the handler and the flags under a sequence count. guard_trust is one byte that is
 * derived from the rest.
 *
 * What is not as without us, and why:
 *   - i386: a handler without SA_SIGINFO finds (int, siginfo_t *, void *) on its stack, not a
 * struct sigcontext, which the kernel lays out in another frame;
 *   - a debugger sees a fatal fault twice, and a fault of a copy once;
 *   - a program that sets a signal to SIG_IGN in one thread in the very microsecond in which a copy
 *     of another faults is killed;
 *   - a handler that blocks one of the two by writing to its ucontext, and one that unblocks it,
 *     reads, and returns to code that had it blocked, are not noticed.
 *
 * Deliberately absent: hooks of exec and posix_spawn, pthread_create (see above), sigvec (no
 * program can be linked with it any more), and a second try after a fault.
 */
#ifndef GUARD_H
#define GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tls.h"

/* sigaction(2) as libc has it: fills in what the kernel wants of libc. */
typedef int (*guard_sigaction)(int number, const struct sigaction *action, struct sigaction *old);

/* Before anything else, once: how to set a signal's action. Until then, and if it is NULL, nothing
 * here ever happens. */
void guard_begin(guard_sigaction action);

/* Puts the handler in place, if that is not so already; whether the guard is of use now. Takes some
 * 70 system calls the first time. */
bool guard_enable(void);

/* Copies n bytes (none is fine). False if an access faulted: call it only if guard_ready() has said
 * so on this thread since the last call of anything that may change masks. Never takes a lock. */
bool guard_copy(void *to, const void *from, size_t n) __attribute__((visibility("hidden")));

/* Reads the byte at `from`, and then the first one of each page behind it, to that of `last`, in
 * another page than `from`, if no access faults; `page` is the size of one. In the same way. */
bool guard_touch(const void *from, const void *last, size_t page)
	__attribute__((visibility("hidden")));

/* How far the answer for a thread may be trusted. */
enum guard_trust {
	GUARD_NOT,    /* not in place, ignored, or over */
	GUARD_ASK,    /* each time */
	GUARD_CACHED, /* as long as tls.signal_mask says so */
};
extern uint8_t guard_trust __attribute__((visibility("hidden")));

/* The values of tls.signal_mask; those above, counted down, are "blocked" too. */
enum { GUARD_MASK_UNKNOWN, GUARD_MASK_OPEN, GUARD_MASK_BLOCKED };

bool guard_ask(void);

/* Whether this thread may call guard_copy. False while it holds a lock of ours, for then all
 * signals are blocked, and in a vfork child. Three loads. */
static inline bool guard_ready(void)
{
	if (__builtin_expect(__atomic_load_n(&guard_trust, __ATOMIC_RELAXED) == GUARD_CACHED &&
				     tls.signal_mask == GUARD_MASK_OPEN && tls.locks == 0,
			     1))
		return true;
	return guard_ask();
}

/* Whether the handler still stands; false is for good. To be asked before a copy, with the clock's
 * tick (kernel.tick): the kernel is asked once in each. */
bool guard_stands(uint64_t tick);

/* For the hooks of calls on signals. */

/* Whether this signal's action is to be set and asked through guard_action(), because it is one of
 * the two. False in a vfork child, whose actions are its own: guard_translate() what it is told. */
bool guard_has(int number);
/* sigaction(2) for such a signal, as the program sees it: 0 or -errno. */
int guard_action(int number, const struct sigaction *action, struct sigaction *ret_old);
/* An action that the kernel told of: if it is ours, then it becomes the program's. */
void guard_translate(int number, struct sigaction *action);
/* A handler with this mask is about to be installed, or found, for whatever signal. */
void guard_note_mask(const sigset_t *mask);
/* This thread's mask may be another now. */
void guard_mask_changed(void);
/* siginterrupt(3) for such a signal: what signal(3) has to remember. */
void guard_interrupt(int number, bool interrupts);
bool guard_interrupts(int number);

/* For good: the program's actions are put back. Before a process comes into being that shares our
 * memory and has actions of its own. */
void guard_give_up(void);

#endif
