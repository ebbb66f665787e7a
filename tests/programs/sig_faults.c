/*
 * Faults of the program's own, and what its handlers see of them: addresses, codes, masks, stacks,
 * jumps out, nesting, threads, signals that were sent. argv[1]: a folder.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static char *wall;      /* no access */
static char *truncated; /* mapped, past the end of its file */
static char stack[65536] __attribute__((aligned(16)));
static volatile sig_atomic_t depth;

static bool on_stack(const char *p)
{
	return p >= stack && p < stack + sizeof(stack);
}

static const char *place_of(const void *p)
{
	if (p == wall + 5)
		return "wall + 5";
	if (p == truncated + 7)
		return "truncated + 7";
	return p == NULL ? "null" : "elsewhere";
}

static unsigned long mask_now(void)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return *(unsigned long *)&set;
}

static void tell(int number, const siginfo_t *info, const ucontext_t *context)
{
	char here;

	printf("%d code %d at %s, mask %lx, before %lx, on the other stack %d\n", number,
	       info->si_code, info->si_code > 0 ? place_of(info->si_addr) : "-", mask_now(),
	       *(const unsigned long *)&context->uc_sigmask, on_stack(&here));
}

static void jumps(int number, siginfo_t *info, void *context)
{
	tell(number, info, context);
	siglongjmp(back, number);
}

static void jumps_plain(int number)
{
	char here;

	printf("%d, mask %lx, on the other stack %d\n", number, mask_now(), on_stack(&here));
	siglongjmp(back, number);
}

static void returns(int number, siginfo_t *info, void *context)
{
	tell(number, info, context);
	if (info->si_code == SI_QUEUE)
		printf("value %d from myself %d\n", info->si_value.sival_int,
		       info->si_pid == getpid());
	if (info->si_code == SI_USER || info->si_code == SI_TKILL)
		printf("from myself %d\n", info->si_pid == getpid());
}

static void mends(int number, siginfo_t *info, void *context)
{
	tell(number, info, context);
	mprotect(wall, 4096, PROT_READ | PROT_WRITE);
}

static void nests(int number, siginfo_t *info, void *context)
{
	tell(number, info, context);
	if (++depth < 4)
		*(volatile char *)(depth % 2 ? truncated + 7 : wall + 5);
	depth = 0;
	siglongjmp(back, number);
}

static void set(int number, void *handler, int flags, int blocks)
{
	struct sigaction action = {.sa_flags = flags};

	action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
	if (blocks != 0)
		sigaddset(&action.sa_mask, blocks);
	sigaction(number, &action, NULL);
}

static void touch(const char *what, const char *p)
{
	int number = sigsetjmp(back, 1);

	if (number == 0) {
		printf("%s: ", what);
		*(volatile const char *)p;
		printf("no fault\n");
	}
	printf("mask %lx\n", mask_now());
}

static void own_faults(void)
{
	set(SIGSEGV, jumps, SA_SIGINFO, 0);
	set(SIGBUS, jumps, SA_SIGINFO, SIGUSR1);
	touch("null", NULL);
	touch("wall", wall + 5);
	touch("truncated", truncated + 7);
#if defined(__x86_64__)
	touch("not an address", (char *)0x1234567812345678);
#endif
	set(SIGSEGV, jumps_plain, 0, SIGHUP);
	touch("without details", wall + 5);
	set(SIGSEGV, jumps_plain, SA_NODEFER, 0);
	touch("not deferred", wall + 5);
	signal(SIGSEGV, jumps_plain);
	touch("signal", wall + 5);
	set(SIGSEGV, mends, SA_SIGINFO, 0);
	touch("mended", wall + 5);
	mprotect(wall, 4096, PROT_NONE);
	set(SIGSEGV, nests, SA_SIGINFO | SA_NODEFER, 0);
	set(SIGBUS, nests, SA_SIGINFO | SA_NODEFER, 0);
	touch("nested", wall + 5);
}

static void stacks(void)
{
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	stack_t none = {.ss_flags = SS_DISABLE};

	sigaltstack(&other, NULL);
	set(SIGSEGV, jumps, SA_SIGINFO | SA_ONSTACK, 0);
	set(SIGBUS, jumps, SA_SIGINFO, 0);
	touch("other stack", wall + 5);
	touch("same stack", truncated + 7);
	set(SIGSEGV, jumps, SA_SIGINFO, 0);
	touch("same stack", wall + 5);
	sigaltstack(&none, NULL);
}

static void one_shot(void)
{
	struct sigaction now;

	set(SIGSEGV, jumps, SA_SIGINFO | (int)SA_RESETHAND, 0);
	touch("one shot", wall + 5);
	sigaction(SIGSEGV, NULL, &now);
	printf("after: default %d flags %x\n", now.sa_handler == SIG_DFL, (unsigned)now.sa_flags);
	set(SIGSEGV, returns, SA_SIGINFO | (int)SA_RESETHAND, 0);
	raise(SIGSEGV);
	sigaction(SIGSEGV, NULL, &now);
	printf("after: default %d\n", now.sa_handler == SIG_DFL);
}

static void sent(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGBUS};
	struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
	sigset_t both;
	timer_t timer;

	set(SIGSEGV, returns, SA_SIGINFO, 0);
	set(SIGBUS, returns, SA_SIGINFO | SA_RESTART, 0);
	kill(getpid(), SIGSEGV);
	raise(SIGBUS);
	pthread_kill(pthread_self(), SIGSEGV);
	sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 77});
	sigemptyset(&both);
	sigaddset(&both, SIGBUS);
	sigaddset(&both, SIGSEGV);
	sigprocmask(SIG_BLOCK, &both, NULL);
	kill(getpid(), SIGBUS);
	sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 78});
	printf("now\n");
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	sigprocmask(SIG_BLOCK, &both, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &soon, NULL);
	sigemptyset(&both);
	sigsuspend(&both);
	timer_delete(timer);
	sigaddset(&both, SIGBUS);
	sigaddset(&both, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV);
	printf("ignored\n");
}

static __thread sigjmp_buf own_back;
static long faults;

static void jumps_in_thread(int number, siginfo_t *info, void *context)
{
	(void)context;
	__atomic_fetch_add(&faults, number == SIGSEGV && info->si_addr == wall + 5,
			   __ATOMIC_RELAXED);
	siglongjmp(own_back, 1);
}

static void *fault_often(void *p)
{
	for (volatile int i = 0; i < 2000; i++) {
		if (sigsetjmp(own_back, 1) == 0)
			*(volatile char *)(wall + 5);
	}
	return p;
}

static void threads(void)
{
	pthread_t all[4];

	set(SIGSEGV, jumps_in_thread, SA_SIGINFO, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, fault_often, NULL);
	/* The action changes to and fro meanwhile. */
	for (int i = 0; i < 500; i++)
		set(SIGSEGV, jumps_in_thread, SA_SIGINFO | (i % 2 ? SA_NODEFER : 0), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	printf("%ld faults in threads\n", faults);
}

int main(int argc, char **argv)
{
	char path[4096];
	int fd;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(path, sizeof(path), "%s/truncated", argv[1]);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	wall = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truncated = mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0);
	own_faults();
	stacks();
	one_shot();
	sent();
	threads();
	return 0;
}
