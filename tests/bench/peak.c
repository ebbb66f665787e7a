/* peak: run a command and say what it cost.
 *
 *   peak [-s] [-l LABEL] [-o FILE] COMMAND [ARG]...
 *
 * Appends one tab-separated row to FILE (default: standard error), and a header first where FILE is
 * empty: the label, then times, faults and switches as wait4 reports them (COMMAND with every child
 * it waited for); with -s instead the largest number of mappings that COMMAND itself was seen to
 * have, and the most memory that is no file's (RssAnon). Sampling takes the process's mapping lock,
 * so that run says nothing about time. Exits as COMMAND did, as a shell would say it. */

#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_EVERY_MS = 1 };

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The number of lines of an open /proc/PID/maps; 0 when the process has gone. */
static long count_lines(int maps)
{
	static char block[1 << 16];
	long lines = 0;
	ssize_t got;
	if (lseek(maps, 0, SEEK_SET) != 0)
		return 0;
	while ((got = read(maps, block, sizeof block)) > 0)
		for (const char *at = block; (at = memchr(at, '\n', (size_t)(block + got - at)));
		     at++)
			lines++;
	return lines;
}

/* The memory of the process that is no file's, in KB; 0 when it has gone. */
static long own_memory(pid_t process)
{
	char name[64], line[128];
	long kb = 0;
	snprintf(name, sizeof name, "/proc/%ld/status", (long)process);
	FILE *in = fopen(name, "re");
	if (!in)
		return 0;
	while (kb == 0 && fgets(line, sizeof line, in))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kb = strtol(line + 8, NULL, 10);
	fclose(in);
	return kb;
}

static pid_t start(char **command)
{
	const pid_t child = fork();
	if (child != 0)
		return child;
	execvp(command[0], command);
	const int status = errno == ENOENT ? 127 : 126;
	fprintf(stderr, "peak: %s: %s\n", command[0], strerror(errno));
	_exit(status);
}

struct peaks {
	long mappings;
	long own_kb;
	long samples;
};

/* Looks again and again until the process has ended. */
static struct peaks watch(pid_t child)
{
	char name[64];
	struct peaks most = {0};
	snprintf(name, sizeof name, "/proc/%ld/maps", (long)child);
	for (;;) {
		siginfo_t info = {0};
		if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
		    info.si_pid == child)
			return most;
		/* Opened anew each time: the file belongs to the memory of before an exec. */
		const int maps = open(name, O_RDONLY | O_CLOEXEC);
		if (maps >= 0) {
			const long lines = count_lines(maps);
			if (lines > most.mappings)
				most.mappings = lines;
			most.samples++;
			close(maps);
		}
		const long kb = own_memory(child);
		if (kb > most.own_kb)
			most.own_kb = kb;
		poll(NULL, 0, SAMPLE_EVERY_MS);
	}
}

static void usage(void)
{
	fputs("usage: peak [-s] [-l LABEL] [-o FILE] COMMAND [ARG]...\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	bool sample = false;
	const char *label = "run", *file = NULL;
	for (int option; (option = getopt(argc, argv, "+sl:o:")) != -1;)
		switch (option) {
		case 's':
			sample = true;
			break;
		case 'l':
			label = optarg;
			break;
		case 'o':
			file = optarg;
			break;
		default:
			usage();
		}
	if (optind == argc)
		usage();

	const double begin = now();
	const pid_t child = start(argv + optind);
	if (child < 0) {
		perror("peak: fork");
		return 126;
	}
	/* What the terminal sends is for COMMAND; we still report. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	const struct peaks most = sample ? watch(child) : (struct peaks){0};
	int status;
	struct rusage cost;
	while (wait4(child, &status, 0, &cost) < 0)
		if (errno != EINTR) {
			perror("peak: wait4");
			return 126;
		}
	const double wall = now() - begin;
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

	FILE *out = file ? fopen(file, "a") : stderr;
	if (!out) {
		fprintf(stderr, "peak: %s: %s\n", file, strerror(errno));
		return 126;
	}
	struct stat st;
	const bool header = !file || (fstat(fileno(out), &st) == 0 && st.st_size == 0);
	if (sample) {
		if (header)
			fputs("variant\tvmas_peak\town_peak_kb\tsamples\tstatus\n", out);
		fprintf(out, "%s\t%ld\t%ld\t%ld\t%d\n", label, most.mappings, most.own_kb,
			most.samples, code);
	} else {
		const double user = seconds(cost.ru_utime), sys = seconds(cost.ru_stime);
		if (header)
			fputs("variant\twall_s\tuser_s\tsys_s\tcpu_"
			      "s\tminflt\tmajflt\tnvcsw\tnivcsw\tmaxrss_kb\tstatus\n",
			      out);
		fprintf(out, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%ld\t%ld\t%ld\t%ld\t%ld\t%d\n", label,
			wall, user, sys, user + sys, cost.ru_minflt, cost.ru_majflt, cost.ru_nvcsw,
			cost.ru_nivcsw, cost.ru_maxrss, code);
	}
	if (ferror(out) | (file && fclose(out) != 0)) {
		fprintf(stderr, "peak: %s: %s\n", file ? file : "standard error", strerror(errno));
		return 126;
	}
	return code;
}
