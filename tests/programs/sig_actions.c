/*
 * Sets and asks the actions of signals in every way that libc has, at random but the same each
 * time, and prints what comes back, and what a signal then does.
 *
 * Usage: sig_actions SEED STEPS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static const int signals[] = {SIGBUS, SIGSEGV, SIGUSR1};
static uint64_t state;
static volatile sig_atomic_t calls[2];

extern __sighandler_t bsd_signal(int number, __sighandler_t handler);
extern __sighandler_t __sysv_signal(int number, __sighandler_t handler);
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

static unsigned int below(unsigned int n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned int)(state >> 33) % n;
}

static void plain(int number)
{
	calls[0] += number;
}

static void detailed(int number, siginfo_t *info, void *context)
{
	calls[1] += number + (info->si_code == SI_TKILL) + (context != NULL);
}

static const char *name_of(__sighandler_t handler)
{
	if (handler == SIG_DFL)
		return "default";
	if (handler == SIG_IGN)
		return "ignored";
	if (handler == SIG_ERR)
		return "error";
	if (handler == SIG_HOLD)
		return "held";
	if (handler == plain)
		return "plain";
	return (void *)handler == (void *)detailed ? "detailed" : "a stranger";
}

static void show(const char *what, int number, const struct sigaction *action)
{
	printf("%s %d: %s flags %x mask %lx restorer %d\n", what, number,
	       name_of(action->sa_handler), (unsigned int)action->sa_flags,
	       *(const unsigned long *)&action->sa_mask,
	       (action->sa_flags & 0x04000000) != 0 && action->sa_restorer != NULL);
}

static __sighandler_t any_handler(void)
{
	static const __sighandler_t handlers[] = {SIG_DFL, SIG_IGN, plain, plain, SIG_ERR};

	return handlers[below(5)];
}

static struct sigaction any_action(void)
{
	static const int flags[] = {(int)SA_RESETHAND, SA_NODEFER,   SA_ONSTACK, SA_RESTART,
				    SA_NOCLDSTOP,      SA_NOCLDWAIT, 0x20000000, 0x400};
	struct sigaction action = {.sa_flags = 0};

	action.sa_handler = any_handler();
	if (action.sa_handler == SIG_ERR)
		action.sa_handler = plain;
	for (unsigned int i = 0; i < 8; i++)
		action.sa_flags |= below(3) == 0 ? flags[i] : 0;
	if (action.sa_handler == plain && below(2)) {
		action.sa_sigaction = detailed;
		action.sa_flags |= SA_SIGINFO;
	}
	for (int i = 0; i < 4; i++)
		sigaddset(&action.sa_mask, 1 + (int)below(31));
	return action;
}

static void set_action(int number, unsigned int way)
{
	struct sigaction action = any_action();
	struct sigaction old = {.sa_flags = 0};
	int answer;

	if (way == 0)
		answer = sigaction(number, &action, &old);
	else if (way == 1)
		answer = __sigaction(number, &action, &old);
	else
		answer = sigaction(number, &action, NULL);
	printf("sigaction %s: %d ", name_of(action.sa_handler), answer);
	show("old", number, &old);
}

/* The kernel's own structure. */
struct raw {
	__sighandler_t handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void set_raw(int number)
{
	struct raw new = {0};
	struct raw old = {0};
	struct sigaction borrowed;
	long answer;

	/* libc's restorer comes with an action that libc has set. */
	sigaction(SIGURG, &(struct sigaction){.sa_handler = plain}, NULL);
	sigaction(SIGURG, NULL, &borrowed);
	new.handler = plain;
	new.flags = (unsigned int)borrowed.sa_flags;
	new.restorer = borrowed.sa_restorer;
	new.mask = 1U << below(31);
	answer = syscall(SYS_rt_sigaction, number, below(2) ? &new : NULL, &old, 8);
	printf("syscall: %ld old %s flags %lx mask %llx\n", answer, name_of(old.handler), old.flags,
	       (unsigned long long)old.mask);
	answer = syscall(SYS_rt_sigaction, number, NULL, &old, 4);
	printf("wrong size: %ld errno %d\n", answer, errno);
	answer = syscall(SYS_rt_sigaction, number, (void *)8, NULL, 8);
	printf("bad pointer: %ld errno %d\n", answer, errno);
}

static bool is_blocked(int number)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, number);
}

/* Sends it, if that does not kill. */
static void send(int number)
{
	struct sigaction action;
	sigset_t pending;

	sigaction(number, NULL, &action);
	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_ERR)
		return;
	raise(number);
	sigpending(&pending);
	printf("raised %d: plain %d detailed %d blocked %d pending %d\n", number, (int)calls[0],
	       (int)calls[1], is_blocked(number), sigismember(&pending, number));
}

static void step(int number, unsigned int kind)
{
	struct sigaction action;
	__sighandler_t handler = any_handler();

	errno = 0;
	switch (kind) {
	case 0:
	case 1:
	case 2:
		set_action(number, kind);
		break;
	case 3:
		printf("signal: %s\n", name_of(signal(number, handler)));
		break;
	case 4:
		printf("bsd_signal: %s\n", name_of(bsd_signal(number, handler)));
		break;
	case 5:
		printf("ssignal: %s\n", name_of(ssignal(number, handler)));
		break;
	case 6:
		printf("sysv_signal: %s\n", name_of(sysv_signal(number, handler)));
		break;
	case 7:
		printf("__sysv_signal: %s\n", name_of(__sysv_signal(number, handler)));
		break;
	case 8:
		handler = below(3) == 0 ? SIG_HOLD : handler;
		printf("sigset: %s\n", name_of(sigset(number, handler)));
		break;
	case 9:
		printf("sigignore: %d\n", sigignore(number));
		break;
	case 10:
		printf("siginterrupt: %d\n", siginterrupt(number, (int)below(2)));
		break;
	case 11:
		printf("sighold: %d\n", sighold(number));
		break;
	case 12:
		/* What is pending may kill. */
		sigaction(number, NULL, &action);
		if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_ERR)
			printf("sigrelse: %d\n", sigrelse(number));
		break;
	case 13:
		set_raw(number);
		break;
	default:
		send(number);
		break;
	}
	printf("errno %d\n", errno);
	sigaction(number, NULL, &action);
	show("now", number, &action);
}

int main(int argc, char **argv)
{
	unsigned int steps = argc > 2 ? (unsigned int)atoi(argv[2]) : 100;
	pid_t child;
	int status = 0;

	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned int i = 0; i < steps; i++)
		step(signals[below(3)], below(18));
	fflush(stdout);
	/* A child goes on where its parent is. */
	child = fork();
	if (child == 0) {
		for (unsigned int i = 0; i < steps; i++)
			step(signals[below(3)], below(18));
		fflush(stdout);
		_exit(7);
	}
	while (waitpid(child, &status, 0) < 0) {
	}
	printf("child: %x\n", (unsigned int)status);
	return 0;
}
