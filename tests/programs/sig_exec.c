/*
 * What of the actions goes on to a program that is started, in every way to start one; and that
 * what a child sets before is its own. With an argument: prints what it was given.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char **environ;
static char *self;
static char *report[3];

static void handler(int number)
{
	(void)number;
}

static const char *name_of(int number)
{
	struct sigaction action;

	sigaction(number, NULL, &action);
	if (action.sa_handler == SIG_DFL)
		return "default";
	if (action.sa_handler == SIG_IGN)
		return "ignored";
	return action.sa_handler == handler ? "handled" : "a stranger's";
}

static void show(const char *who)
{
	printf("%s: SIGBUS %s, SIGSEGV %s\n", who, name_of(SIGBUS), name_of(SIGSEGV));
	fflush(stdout);
}

static void wait_for(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	if (status != 0)
		printf("status %x\n", (unsigned int)status);
}

static void start(const char *how, pid_t pid)
{
	if (pid != 0) {
		wait_for(pid);
		return;
	}
	if (strcmp(how, "execl") == 0)
		execl(self, self, how, NULL);
	else if (strcmp(how, "execvp") == 0)
		execvp(self, report);
	else if (strcmp(how, "execle") == 0)
		execle(self, self, how, NULL, environ);
	else
		execve(self, report, environ);
	_exit(1);
}

static void in_each_way(void)
{
	char command[4200];
	FILE *stream;
	pid_t pid;

	show("parent");
	start("execl", fork());
	start("execvp", fork());
	start("execle", fork());
	start("execve", fork());
	start("vfork", vfork());
	if (posix_spawn(&pid, self, NULL, NULL, report, environ) == 0)
		wait_for(pid);
	snprintf(command, sizeof(command), "%s system", self);
	if (system(command) != 0)
		printf("system failed\n");
	snprintf(command, sizeof(command), "%s popen", self);
	stream = popen(command, "w");
	if (stream != NULL)
		pclose(stream);
}

/* A vfork child's actions are not its parent's. */
static void child_sets(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		signal(SIGSEGV, signal(SIGSEGV, SIG_IGN) == handler ? SIG_IGN : SIG_DFL);
		sigset(SIGBUS, SIG_DFL);
		execve(self, report, environ);
		_exit(1);
	}
	wait_for(pid);
	show("parent");
	pid = fork();
	if (pid == 0) {
		signal(SIGBUS, SIG_IGN);
		show("child");
		execve(self, report, environ);
		_exit(1);
	}
	wait_for(pid);
	show("parent");
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		show(argv[1]);
		return 0;
	}
	self = argv[0];
	report[0] = self;
	report[1] = "exec";
	in_each_way();
	signal(SIGBUS, SIG_IGN);
	in_each_way();
	signal(SIGSEGV, SIG_IGN);
	in_each_way();
	signal(SIGBUS, handler);
	signal(SIGSEGV, handler);
	in_each_way();
	child_sets();
	return 0;
}
