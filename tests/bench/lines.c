/* lines: what a program does that has nothing to gain: open a small file, read its lines, close it.
 *
 *   lines FILE TIMES
 *
 * Says how many bytes there were in all. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: lines FILE TIMES\n", stderr);
		return 2;
	}
	const long times = atol(argv[2]);
	unsigned long bytes = 0;
	char line[256];
	for (long i = 0; i < times; i++) {
		FILE *in = fopen(argv[1], "r");
		if (!in) {
			fprintf(stderr, "lines: %s: %s\n", argv[1], strerror(errno));
			return 1;
		}
		while (fgets(line, sizeof line, in))
			bytes += strlen(line);
		fclose(in);
	}
	printf("%lu\n", bytes);
	return 0;
}
