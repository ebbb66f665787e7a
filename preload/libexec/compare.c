/*
 * mapfast-compare: what `mapfast --compare` becomes.
 *
 *   mapfast-compare RUNS PREPARE FILE PRELOAD COMMAND [ARG]...
 *
 * Runs COMMAND natively (the environment as it is) and coalesced (LD_PRELOAD=PRELOAD) in turn: once
 * each as a warm-up, then RUNS times each. Before every run `sh -c PREPARE`, unless that is empty.
 * Prints medians on stderr; appends the measured runs to FILE as JSON lines, unless it is empty.
 *
 * Only the coalesced warm-up writes statistics, into memory (a memfd, reached through /proc), so
 * the measured runs pay for none, and nothing is left behind however this ends. Every run begins
 * with standard input at the same offset; where that can't be (a pipe), it is /dev/null.
 *
 * Exit status: that of the first native run, 128 + N for signal N; 2 if there is nothing to
 * measure.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_MAX 1000

enum figure { WALL, USER, SYS, MINFLT, MAJFLT, NVCSW, NIVCSW, MAXRSS, FIGURES };
enum side { NATIVE, COALESCED, SIDES };

static const struct {
	const char *title;
	const char *key;
	int decimals;
} figures[FIGURES] = {
	{"wall time, s", "wall_s", 3},
	{"user time, s", "user_s", 3},
	{"system time, s", "sys_s", 3},
	{"minor page faults", "minflt", 0},
	{"major page faults", "majflt", 0},
	{"voluntary context switches", "nvcsw", 0},
	{"involuntary context switches", "nivcsw", 0},
	{"peak memory, KB", "maxrss_kb", 0},
};

static const char *const side_names[SIDES] = {"native", "coalesced"};

/* What a mode has done is told by these counters; the mode with the highest is named. */
static const struct {
	const char *mode;
	const char *key;
} doings[] = {
	{"mmap", "mmap_views"},       {"read", "read_mapped"},     {"stdio", "streams_mapped"},
	{"write", "writes_combined"}, {"plugins", "plugins_kept"},
};

static double values[SIDES][FIGURES][RUNS_MAX];
static const char *preload;
static const char *prepare;
static off_t input_start;

__attribute__((format(printf, 1, 2), noreturn)) static void give_up(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fputs("mapfast: --compare: ", stderr);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	exit(2);
}

static int status_of(int raw)
{
	return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noreturn)) static void become(char **command, enum side side, const char *stats)
{
	int input = -1;

	if (input_start < 0 && !isatty(STDIN_FILENO))
		input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (input >= 0)
		dup2(input, STDIN_FILENO);
	unsetenv("MAPCOALESCE_STATS");
	if (side == COALESCED)
		setenv("LD_PRELOAD", preload, 1);
	if (stats != NULL)
		setenv("MAPCOALESCE_STATS", stats, 1);
	execvp(command[0], command);
	fprintf(stderr, "mapfast: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* One run; its figures go to ret_values unless that is NULL. Returns its exit status. */
static int run(char **command, enum side side, const char *stats, double *ret_values)
{
	struct rusage use;
	double begin;
	int raw;
	pid_t pid;

	/* It is the user's own command. NOLINTNEXTLINE(cert-env33-c) */
	if (*prepare != '\0' && (raw = system(prepare)) != 0)
		give_up("'%s' fails (status %d)", prepare, raw < 0 ? raw : status_of(raw));
	if (input_start >= 0)
		lseek(STDIN_FILENO, input_start, SEEK_SET);
	fflush(NULL);
	begin = now();
	pid = fork();
	if (pid < 0)
		give_up("fork: %s", strerror(errno));
	if (pid == 0)
		become(command, side, stats);
	while (wait4(pid, &raw, 0, &use) < 0)
		if (errno != EINTR)
			give_up("wait4: %s", strerror(errno));
	if (ret_values == NULL)
		return status_of(raw);
	ret_values[WALL] = now() - begin;
	ret_values[USER] = seconds(use.ru_utime);
	ret_values[SYS] = seconds(use.ru_stime);
	ret_values[MINFLT] = (double)use.ru_minflt;
	ret_values[MAJFLT] = (double)use.ru_majflt;
	ret_values[NVCSW] = (double)use.ru_nvcsw;
	ret_values[NIVCSW] = (double)use.ru_nivcsw;
	ret_values[MAXRSS] = (double)use.ru_maxrss;
	return status_of(raw);
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(const double *list, int count)
{
	static double sorted[RUNS_MAX];

	memcpy(sorted, list, (size_t)count * sizeof(*list));
	qsort(sorted, (size_t)count, sizeof(*sorted), ascending);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The ratio of the medians, and the least and greatest ratio of two runs that followed each other.
 */
struct ratio {
	double middle, least, greatest;
	bool known;
};

static struct ratio ratio_of(enum figure figure, int runs)
{
	const double *native = values[NATIVE][figure];
	const double *coalesced = values[COALESCED][figure];
	struct ratio ratio = {0, 1e300, 0, median(native, runs) > 0};

	for (int i = 0; i < runs; i++) {
		double one = native[i] > 0 ? coalesced[i] / native[i] : 0;

		ratio.known = ratio.known && native[i] > 0;
		ratio.least = one < ratio.least ? one : ratio.least;
		ratio.greatest = one > ratio.greatest ? one : ratio.greatest;
	}
	if (ratio.known)
		ratio.middle = median(coalesced, runs) / median(native, runs);
	return ratio;
}

/* Statistics: one JSON object a process. */

struct counts {
	double done[sizeof(doings) / sizeof(*doings)];
	double saved;
	double vmas, vmas_saved;
	int processes;
};

static double number_of(const char *line, const char *key)
{
	char quoted[40];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(line, quoted);
	return at == NULL ? 0 : strtod(at + strlen(quoted), NULL);
}

static struct counts read_counts(int fd)
{
	struct counts counts = {0};
	char *line = NULL;
	size_t size = 0;
	FILE *file = fdopen(fd, "r");

	if (file == NULL)
		return counts;
	rewind(file);
	while (getline(&line, &size, file) > 0) {
		double vmas = number_of(line, "vmas_peak");

		counts.processes++;
		counts.saved += number_of(line, "syscalls_saved");
		if (vmas > counts.vmas) {
			counts.vmas = vmas;
			counts.vmas_saved = number_of(line, "vmas_saved_peak");
		}
		for (size_t i = 0; i < sizeof(doings) / sizeof(*doings); i++)
			counts.done[i] += number_of(line, doings[i].key);
	}
	free(line);
	fclose(file);
	return counts;
}

static const char *mode_of(const struct counts *counts)
{
	size_t best = 0;

	for (size_t i = 1; i < sizeof(doings) / sizeof(*doings); i++)
		if (counts->done[i] > counts->done[best])
			best = i;
	return counts->done[best] > 0 ? doings[best].mode : NULL;
}

static void print_verdict(const struct counts *counts, int runs)
{
	struct ratio wall = ratio_of(WALL, runs);
	const char *mode = mode_of(counts);
	double percent = 100 * (wall.middle - 1);

	if (counts->processes == 0)
		fputs("The library was in no process of it.\n", stderr);
	else if (mode == NULL)
		fputs("It found nothing to do; mapfast --dry-run says why.\n", stderr);
	else if (wall.known && wall.greatest < 1)
		fprintf(stderr, "It helped: %.1f %% less wall time (mode %s did the most).\n",
			-percent, mode);
	else if (wall.known && wall.least > 1)
		fprintf(stderr, "It did not help: %.1f %% more wall time (mode %s did the most).\n",
			percent, mode);
	else
		fprintf(stderr, "No clear difference in wall time (mode %s did the most).\n", mode);
}

static void print_table(const struct counts *counts, int runs)
{
	fprintf(stderr, "%-30s %12s %12s %7s   %s\n", "", "native", "coalesced", "ratio",
		"from - to");
	for (int i = 0; i < FIGURES; i++) {
		struct ratio ratio = ratio_of((enum figure)i, runs);

		fprintf(stderr, "%-30s %12.*f %12.*f ", figures[i].title, figures[i].decimals,
			median(values[NATIVE][i], runs), figures[i].decimals,
			median(values[COALESCED][i], runs));
		if (ratio.known)
			fprintf(stderr, "%7.3f   %.3f - %.3f\n", ratio.middle, ratio.least,
				ratio.greatest);
		else
			fprintf(stderr, "%7s\n", "-");
	}
	fprintf(stderr, "%-30s %12.0f %12.0f\n", "mappings at the peak",
		counts->vmas + counts->vmas_saved, counts->vmas);
	fprintf(stderr, "%-30s %12s %12.0f\n", "system calls saved", "", counts->saved);
}

static void write_run(FILE *file, enum side side, int number, int status)
{
	fprintf(file, "{\"run\":%d,\"side\":\"%s\",\"status\":%d", number + 1, side_names[side],
		status);
	for (int i = 0; i < FIGURES; i++)
		fprintf(file, ",\"%s\":%.*f", figures[i].key, figures[i].decimals * 2,
			values[side][i][number]);
	fputs("}\n", file);
}

static void check_status(enum side side, int status, int expected)
{
	if (status != expected)
		fprintf(stderr,
			"mapfast: --compare: EXIT STATUS DIFFERS: %d in a %s run, %d in the "
			"first\n",
			status, side_names[side], expected);
}

/* Every second pair begins with the other side, so that neither always follows the same. */
static void measure(char **command, int runs, FILE *file, int expected)
{
	bool tell = isatty(STDERR_FILENO);

	for (int i = 0; i < runs; i++) {
		for (int j = 0; j < SIDES; j++) {
			enum side side = (i + j) % 2 == 0 ? NATIVE : COALESCED;
			double one[FIGURES];
			int status;

			if (tell)
				fprintf(stderr, "\r\033[Krun %d of %d, %s\r", i + 1, runs,
					side_names[side]);
			status = run(command, side, NULL, one);
			for (int k = 0; k < FIGURES; k++)
				values[side][k][i] = one[k];
			check_status(side, status, expected);
			if (file != NULL)
				write_run(file, side, i, status);
		}
	}
	if (tell)
		fputs("\r\033[K", stderr);
}

int main(int argc, char **argv)
{
	char stats[64];
	struct counts counts;
	FILE *file = NULL;
	int runs, memory, expected;

	if (argc < 6)
		give_up("usage: mapfast-compare RUNS PREPARE FILE PRELOAD COMMAND [ARG]...");
	runs = atoi(argv[1]);
	if (runs < 1 || runs > RUNS_MAX)
		give_up("the number of runs must be 1 to %d", RUNS_MAX);
	prepare = argv[2];
	preload = argv[4];
	memory = memfd_create("mapfast", MFD_CLOEXEC);
	if (memory < 0)
		give_up("memfd_create: %s", strerror(errno));
	snprintf(stats, sizeof(stats), "/proc/%d/fd/%d", (int)getpid(), memory);
	input_start = lseek(STDIN_FILENO, 0, SEEK_CUR);

	expected = run(argv + 5, NATIVE, NULL, NULL);
	if (expected == 126 || expected == 127)
		return expected;
	check_status(COALESCED, run(argv + 5, COALESCED, stats, NULL), expected);
	counts = read_counts(memory);
	if (*argv[3] != '\0' && (file = fopen(argv[3], "ae")) == NULL)
		give_up("%s: %s", argv[3], strerror(errno));
	measure(argv + 5, runs, file, expected);
	print_table(&counts, runs);
	print_verdict(&counts, runs);
	if (file != NULL && (ferror(file) | fclose(file)) != 0)
		give_up("%s: %s", argv[3], strerror(errno));
	return expected;
}
