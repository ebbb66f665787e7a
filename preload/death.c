#include "death.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "sys.h"

#define SIGNALS 65

static guard_sigaction set_action;
static void (*what_first)(void);
static bool watching;
/* What stood where ours does. */
static struct sigaction actions[SIGNALS];

void death_come(void)
{
	int saved = errno;

	if (what_first != NULL)
		what_first();
	errno = saved;
}

/* It is sent again, with all that is known of it, and waits until we return. */
static void on_death(int number, siginfo_t *info, void *context)
{
	(void)context;
	death_come();
	set_action(number, &actions[number], NULL);
	sys_signal_self(number, info);
}

/* Whether its default action ends the process. 32 and 33 are libc's own. */
static bool kills(int number)
{
	switch (number) {
	case SIGKILL:
	case SIGSTOP:
	case SIGBUS:
	case SIGSEGV:
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case 32:
	case 33:
		return false;
	default:
		return number > 0 && number < SIGNALS;
	}
}

static void watch(int number)
{
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction found;

	if (!kills(number) || set_action(number, NULL, &found) != 0 || found.sa_handler != SIG_DFL)
		return;
	memcpy(&actions[number], &found, sizeof(found));
	ours.sa_sigaction = on_death;
	set_action(number, &ours, NULL);
}

void death_begin(guard_sigaction action, void (*before)(void))
{
	set_action = action;
	what_first = before;
}

void death_watch(void)
{
	int saved = errno;

	if (set_action == NULL || __atomic_exchange_n(&watching, true, __ATOMIC_RELAXED))
		return;
	for (int number = 1; number < SIGNALS; number++)
		watch(number);
	errno = saved;
}

void death_default(int number)
{
	if (__atomic_load_n(&watching, __ATOMIC_RELAXED))
		watch(number);
}

void death_translate(int number, struct sigaction *action)
{
	if (action->sa_sigaction == on_death && number > 0 && number < SIGNALS)
		memcpy(action, &actions[number], sizeof(*action));
}
