/*
 * Jumps and calls that change the mask: what holds after each. Coroutines on stacks of their own,
 * one of them carried on by another thread.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern void __longjmp_chk(struct __jmp_buf_tag *where, int value);

static jmp_buf plain;
static sigjmp_buf saved;
static ucontext_t here, there;
static char stack[262144] __attribute__((aligned(16)));

static void show(const char *what)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("%s: mask %lx\n", what, *(unsigned long *)&set);
}

static void block(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void clear(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static void jump(const char *name, int kind)
{
	int value = kind < 2 ? _setjmp(plain) : sigsetjmp(saved, 1);

	if (value == 0) {
		block(SIGSEGV);
		if (kind == 0)
			longjmp(plain, 5);
		if (kind == 1)
			_longjmp(plain, 6);
		if (kind == 2)
			siglongjmp(saved, 0);
		__longjmp_chk(saved, 8);
	}
	printf("%s: %d ", name, value);
	show("then");
	clear();
}

static void coroutine(int a, int b)
{
	for (int i = a; i < b; i++) {
		printf("step %d ", i);
		show("inside");
		swapcontext(&there, &here);
	}
}

static void *carry_on(void *p)
{
	block(SIGUSR2);
	swapcontext(&here, &there);
	show("in a thread");
	return p;
}

static void contexts(void)
{
	volatile int turns = 0;
	pthread_t thread;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	sigaddset(&there.uc_sigmask, SIGBUS);
	makecontext(&there, (void (*)(void))coroutine, 2, 3, 7);
	swapcontext(&here, &there);
	show("back");
	block(SIGSEGV);
	swapcontext(&here, &there);
	show("back again");
	clear();
	pthread_create(&thread, NULL, carry_on, NULL);
	pthread_join(thread, NULL);
	swapcontext(&here, &there);
	show("once more");
	getcontext(&here);
	if (turns++ < 2) {
		block(SIGHUP);
		setcontext(&here);
	}
	printf("%d turns ", turns);
	show("then");
	clear();
}

static void on_signal(int number)
{
	printf("%d ", number);
	show("in the handler");
}

static void waiting(void)
{
	struct timespec soon = {0, 1000000};
	sigset_t only;
	int poller = epoll_create1(0);
	struct epoll_event event;

	signal(SIGUSR1, on_signal);
	sigfillset(&only);
	sigdelset(&only, SIGUSR1);
	for (int i = 0; i < 5; i++) {
		int answer = 0;

		block(SIGUSR1);
		raise(SIGUSR1);
		if (i == 0)
			answer = sigsuspend(&only);
		else if (i == 1)
			answer = ppoll(NULL, 0, &soon, &only);
		else if (i == 2)
			answer = pselect(0, NULL, NULL, NULL, &soon, &only);
		else if (i == 3)
			answer = epoll_pwait(poller, &event, 1, 1, &only);
		else
			answer = (int)syscall(SYS_rt_sigsuspend, &only, 8);
		printf("%d: %d ", i, answer);
		show("after");
		clear();
	}
	close(poller);
}

int main(void)
{
	sigset_t set;

	setvbuf(stdout, NULL, _IOLBF, 0);
	jump("longjmp", 0);
	jump("_longjmp", 1);
	jump("siglongjmp", 2);
	jump("__longjmp_chk", 3);
	contexts();
	waiting();
	printf("%x\n", (unsigned int)sigblock(1));
	show("sigblock");
	printf("%x\n", (unsigned int)sigsetmask(0));
	sighold(SIGSEGV);
	show("sighold");
	sigrelse(SIGSEGV);
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
	show("syscall");
	printf("%d\n", pthread_sigmask(99, &set, NULL));
	return 0;
}
