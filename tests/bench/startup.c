/* startup: what a library in LD_PRELOAD adds to the start of a program.
 *
 *   startup [-n ROUNDS] [-b BATCHES] LABEL=LIBRARY... -- COMMAND [ARG]...
 *
 * Each round spawns COMMAND once natively and once with each library, so that whatever else the
 * machine does hits all alike. Prints a header and, for each batch of rounds, a tab-separated row a
 * variant: label, median and mean in us from posix_spawn to the end of waitpid. */

#define _GNU_SOURCE 1
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_VARIANTS = 8, MAX_ROUNDS = 100000 };

extern char **environ;

struct variant {
	const char *label;
	char **environment;
	double *us;
};

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static _Noreturn void die(const char *what, int error)
{
	fprintf(stderr, "startup: %s: %s\n", what, strerror(error));
	exit(1);
}

static void *need(void *memory)
{
	if (!memory)
		die("memory", ENOMEM);
	return memory;
}

/* The environment without LD_PRELOAD, and with library in its place if there is one. */
static char **environment_with(const char *library)
{
	size_t n = 0, kept = 0;
	while (environ[n])
		n++;
	char **copy = need(calloc(n + 2, sizeof *copy));
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			copy[kept++] = environ[i];
	if (library && asprintf(&copy[kept], "LD_PRELOAD=%s", library) < 0)
		die("memory", ENOMEM);
	return copy;
}

static double spawn_once(char **command, char **environment)
{
	pid_t child;
	int status;
	const double begin = now_us();
	const int error = posix_spawnp(&child, command[0], NULL, NULL, command, environment);
	if (error)
		die(command[0], error);
	if (waitpid(child, &status, 0) != child)
		die("waitpid", errno);
	const double us = now_us() - begin;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "startup: %s failed\n", command[0]);
		exit(1);
	}
	return us;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void usage(void)
{
	fputs("usage: startup [-n ROUNDS] [-b BATCHES] LABEL=LIBRARY... -- COMMAND [ARG]...\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	long rounds = 50, batches = 20;
	for (int option; (option = getopt(argc, argv, "+n:b:")) != -1;)
		switch (option) {
		case 'n':
			rounds = atol(optarg);
			break;
		case 'b':
			batches = atol(optarg);
			break;
		default:
			usage();
		}
	if (rounds < 1 || rounds > MAX_ROUNDS || batches < 1)
		usage();

	struct variant variants[MAX_VARIANTS] = {
		{.label = "native", .environment = environment_with(NULL)}};
	int count = 1, at = optind;
	for (; at < argc && count < MAX_VARIANTS && strchr(argv[at], '='); at++) {
		char *library = strchr(argv[at], '=');
		*library++ = 0;
		variants[count++] = (struct variant){.label = argv[at],
						     .environment = environment_with(library)};
	}
	if (at < argc && strcmp(argv[at], "--") == 0)
		at++;
	if (at >= argc)
		usage();
	for (int v = 0; v < count; v++) {
		variants[v].us = need(calloc((size_t)rounds, sizeof *variants[v].us));
		spawn_once(argv + at,
			   variants[v].environment); /* warms the caches, is not counted */
	}

	puts("variant\tmedian_us\tmean_us");
	for (long b = 0; b < batches; b++) {
		for (long r = 0; r < rounds; r++)
			for (int v = 0; v < count; v++)
				variants[v].us[r] = spawn_once(argv + at, variants[v].environment);
		for (int v = 0; v < count; v++) {
			double sum = 0;
			for (long r = 0; r < rounds; r++)
				sum += variants[v].us[r];
			qsort(variants[v].us, (size_t)rounds, sizeof *variants[v].us, by_size);
			printf("%s\t%.1f\t%.1f\n", variants[v].label, variants[v].us[rounds / 2],
			       sum / (double)rounds);
		}
	}
	for (int v = 0; v < count; v++) {
		free(variants[v].environment);
		free(variants[v].us);
	}
	return 0;
}
