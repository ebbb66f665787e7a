/* Reads a file from one end to the other, once, in pieces of so many bytes, and prints their sum.
 *
 * usage: read_once read|pread|fread SIZE FILE */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t size = argc == 4 ? strtoul(argv[2], NULL, 0) : 0;
	unsigned char *piece = malloc(size);
	FILE *stream;
	unsigned long sum = 0;
	off_t at = 0;
	int fd;

	if (argc != 4 || piece == NULL)
		return 2;
	stream = argv[1][0] == 'f' ? fopen(argv[3], "r") : NULL;
	fd = stream == NULL ? open(argv[3], O_RDONLY) : -1;
	for (;;) {
		ssize_t got = stream != NULL      ? (ssize_t)fread(piece, 1, size, stream)
			      : argv[1][0] == 'p' ? pread(fd, piece, size, at)
						  : read(fd, piece, size);

		if (got <= 0)
			break;
		for (ssize_t i = 0; i < got; i++)
			sum = sum * 31 + piece[i];
		at += got;
	}
	printf("%lu, %jd bytes\n", sum, (intmax_t)at);
	return 0;
}
