/* differ FOLDER SEED LINES: draws; the script goes to stderr.
 * differ FOLDER SCRIPT: replays.
 * differ -f FOLDER SEED SECONDS: both processes as they like, only invariants are checked.
 * The transcript goes to stdout. Exit status: 0, or 3 if the model was contradicted. */
#include "differ.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS_MAGIC 0x01021994

static char paths[NAMES + 1][4200];

const char *path_of(int64_t name)
{
	return paths[(uint64_t)name % (NAMES + 1)];
}

static void name_files(const char *folder)
{
	struct statfs fs;

	for (int i = 0; i <= NAMES; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%c", folder, 'a' + i);
	common->tmpfs = statfs(folder, &fs) == 0 && (unsigned long)fs.f_type == TMPFS_MAGIC;
}

/* The transcript goes to stdout, the script to stderr. */
static int run_script(int argc, char **argv)
{
	static char out_bytes[4096];
	static char script_bytes[4096];
	static struct text out = {out_bytes, sizeof(out_bytes), 0, STDOUT_FILENO};
	static struct text script = {script_bytes, sizeof(script_bytes), 0, STDERR_FILENO};
	static struct runner runner = {.by = BY_MAIN, .end_slot = SLOTS, .transcript = &out};

	if (!script_load(argc, argv))
		return 2;
	runner.script = &script;
	script_run(&runner);
	return common->wrong != 0 ? 3 : 0;
}

int main(int argc, char **argv)
{
	bool freely = argc == 5 && strcmp(argv[1], "-f") == 0;
	int status;

	if (argc != 3 && argc != 4 && !freely) {
		fprintf(stderr, "usage: differ FOLDER SEED LINES | differ FOLDER SCRIPT | "
				"differ -f FOLDER SEED SECONDS\n");
		return 2;
	}
	/* What malloc maps might come to lie where dead pages are. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_ARENA_MAX, 1);
	model_begin();
	wrong_count = &common->wrong;
	fault_begin();
	name_files(argv[freely ? 2 : 1]);
	if (freely)
		return free_run(strtoull(argv[3], NULL, 10), strtod(argv[4], NULL));
	peer_begin();
	status = run_script(argc - 2, argv + 2);
	peer_end();
	return status;
}
