/*
 * Small reads of a file that is not in memory: prints how many KiB they took from the disk.
 *
 * usage: read_cold DIRECTORY random|forward
 */
#include "map_common.h"

#define LENGTH ((size_t)32 << 20)

static long read_from_disk(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	char line[100];
	long bytes = -1;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		sscanf(line, "read_bytes: %ld", &bytes);
	if (file != NULL)
		fclose(file);
	return bytes;
}

int main(int argc, char **argv)
{
	static unsigned char bytes[4096];
	bool random = argc > 2 && strcmp(argv[2], "random") == 0;
	uint64_t state = 7;
	char name[4096];
	long before;
	int fd;

	if (argc < 3)
		return 2;
	snprintf(name, sizeof(name), "%s/cold", argv[1]);
	fd = make_file(name, 1, LENGTH);
	if (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		return 1;
	before = read_from_disk();
	for (size_t i = 0; i < (random ? 1500 : LENGTH / sizeof(bytes)); i++) {
		size_t n = random ? 100 : sizeof(bytes);
		size_t offset = random ? next_random(&state) % (LENGTH - n) : i * n;

		if (pread(fd, bytes, n, (off_t)offset) != (ssize_t)n ||
		    !bytes_are(bytes, n, 1, offset))
			return 1;
	}
	printf("%ld\n", (read_from_disk() - before) / 1024);
	return 0;
}
