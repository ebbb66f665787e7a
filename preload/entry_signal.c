/*
 * The exported names: signals. The actions of SIGBUS and SIGSEGV are the guard's to set (guard.h):
 * what libc's functions do beyond sigaction(2) is done here for these two, since inside libc they
 * would not come back to us. All other signals pass through.
 *
 * Calls that change the mask only make the guard forget what it knew of it: before the call, for a
 * handler that runs during it, and after it. Jumps that restore a mask forget before.
 */
#include <errno.h>
#include <string.h>

#include "aside.h"
#include "death.h"
#include "entry.h"
#include "entry_signal.h"
#include "guard.h"
#include "jump.h"
#include "stream.h"
#include "tls.h"

/* An action of any signal but the guard's passes through; a handler's mask is noted before it can
 * run. */
static int pass_action(int number, const struct sigaction *action, struct sigaction *old,
		       __typeof__(next.sigaction) next_sigaction)
{
	int answer;

	if (action != NULL && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN &&
	    number != SIGBUS && number != SIGSEGV)
		guard_note_mask(&action->sa_mask);
	answer = next_sigaction(number, action, old);
	if (answer == 0 && old != NULL) {
		guard_translate(number, old);
		death_translate(number, old);
	}
	if (answer == 0 && action != NULL && !tls.vfork_child)
		death_default(number);
	return answer;
}

/* The guard's answer, as libc gives it. */
static int set_action(int number, const struct sigaction *action, struct sigaction *old)
{
	int error = guard_action(number, action, old);

	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

int entry_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	int saved = errno;
	int answer;

	if (!guard_has(number))
		return pass_action(number, action, old, NEXT(sigaction));
	answer = set_action(number, action, old);
	if (answer == 0)
		errno = saved;
	return answer;
}

int mc_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	return entry_sigaction(number, action, old);
}

int mc___sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (!guard_has(number))
		return pass_action(number, action, old, NEXT(__sigaction));
	return entry_sigaction(number, action, old);
}

/* What signal(3) and its kin do: the old handler, or SIG_ERR. */
static __sighandler_t set_handler(int number, __sighandler_t handler, int flags, bool blocks_itself)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	struct sigaction old;

	if (blocks_itself)
		action.sa_mask.__val[0] = 1UL << (number - 1);
	return entry_sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static __sighandler_t refused(void)
{
	errno = EINVAL;
	return SIG_ERR;
}

static __sighandler_t signal_of_bsd(int number, __sighandler_t handler)
{
	if (handler == SIG_ERR)
		return refused();
	return set_handler(number, handler, guard_interrupts(number) ? 0 : SA_RESTART, true);
}

static __sighandler_t signal_of_system_v(int number, __sighandler_t handler)
{
	if (handler == SIG_ERR)
		return refused();
	return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false);
}

/* In a vfork child the old handler may still be ours. */
static __sighandler_t translated(int number, __sighandler_t handler)
{
	struct sigaction action;

	if (handler == SIG_ERR)
		return handler;
	action.sa_handler = handler;
	guard_translate(number, &action);
	death_translate(number, &action);
	return action.sa_handler;
}

static __sighandler_t set_by_next(int number, __sighandler_t handler, __sighandler_t old)
{
	old = translated(number, old);
	if (handler == SIG_DFL && old != SIG_ERR && !tls.vfork_child)
		death_default(number);
	return old;
}

#define BODY_OF_SIGNAL(name, set)                                                                  \
	__sighandler_t mc_##name(int number, __sighandler_t handler)                               \
	{                                                                                          \
		if (guard_has(number))                                                             \
			return set(number, handler);                                               \
		return set_by_next(number, handler, NEXT(name)(number, handler));                  \
	}

BODY_OF_SIGNAL(signal, signal_of_bsd)
BODY_OF_SIGNAL(ssignal, signal_of_bsd)
BODY_OF_SIGNAL(bsd_signal, signal_of_bsd)
BODY_OF_SIGNAL(sysv_signal, signal_of_system_v)
BODY_OF_SIGNAL(__sysv_signal, signal_of_system_v)

static __sighandler_t hold_or_set(int number, __sighandler_t handler)
{
	int how = handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK;
	sigset_t set = {.__val = {1UL << (number - 1)}};
	struct sigaction current;
	__sighandler_t old;
	sigset_t before = {.__val = {0}};

	/* SIG_HOLD blocks first and asks then; all else, even SIG_ERR, is set first. */
	if (handler != SIG_HOLD) {
		old = set_handler(number, handler, 0, false);
		if (old == SIG_ERR)
			return SIG_ERR;
	}
	guard_mask_changed();
	if (NEXT(sigprocmask)(how, &set, &before) != 0)
		return SIG_ERR;
	guard_mask_changed();
	if (before.__val[0] & set.__val[0])
		return SIG_HOLD;
	if (handler != SIG_HOLD)
		return old;
	return entry_sigaction(number, NULL, &current) == 0 ? current.sa_handler : SIG_ERR;
}

__sighandler_t mc_sigset(int number, __sighandler_t handler)
{
	__sighandler_t old;

	if (guard_has(number))
		return hold_or_set(number, handler);
	guard_mask_changed();
	old = NEXT(sigset)(number, handler);
	guard_mask_changed();
	return set_by_next(number, handler, old);
}

int mc_sigignore(int number)
{
	if (!guard_has(number))
		return NEXT(sigignore)(number);
	return set_handler(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

int mc_siginterrupt(int number, int interrupts)
{
	struct sigaction action;

	if (!guard_has(number))
		return NEXT(siginterrupt)(number, interrupts);
	if (entry_sigaction(number, NULL, &action) != 0)
		return -1;
	guard_interrupt(number, interrupts != 0);
	if (interrupts)
		action.sa_flags &= ~SA_RESTART;
	else
		action.sa_flags |= SA_RESTART;
	return entry_sigaction(number, &action, NULL);
}

/* Calls that never come back here, but to a place where another mask may hold. */
#define BODY_OF_JUMP(name)                                                                         \
	void mc_##name(struct __jmp_buf_tag *where, int value)                                     \
	{                                                                                          \
		if (where->__mask_was_saved)                                                       \
			guard_mask_changed();                                                      \
		if (stream_is_moving())                                                            \
			stream_jumped(jump_stack(where));                                          \
		NEXT(name)(where, value);                                                          \
	}

BODY_OF_JUMP(longjmp)
BODY_OF_JUMP(_longjmp)
BODY_OF_JUMP(__longjmp_chk)
BODY_OF_JUMP(siglongjmp)

int mc_setcontext(const ucontext_t *context)
{
	guard_mask_changed();
	if (stream_is_moving())
		stream_jumped(jump_context_stack(context));
	return NEXT(setcontext)(context);
}

int mc_swapcontext(ucontext_t *old, const ucontext_t *context)
{
	guard_mask_changed();
	return NEXT(swapcontext)(old, context);
}

#define HOOK(ret, name, params, fallback)
#define NEWFD(name, params, args, fallback)
#define MASKS(ret, name, params, args, fallback)                                                   \
	ret mc_##name params                                                                       \
	{                                                                                          \
		ret answer;                                                                        \
                                                                                                   \
		/* Some wait for somebody, who may look meanwhile. */                              \
		aside_bytes();                                                                     \
		guard_mask_changed();                                                              \
		answer = NEXT(name) args;                                                          \
		guard_mask_changed();                                                              \
		return answer;                                                                     \
	}
#include "hooks.def"
