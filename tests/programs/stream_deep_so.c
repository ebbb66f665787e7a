/* build: -shared -fPIC */
/* A library with streams of its own, from its constructor to its destructor, and one that finds
 * libc's functions before all others if it is loaded with RTLD_DEEPBIND. */
#include "stream_common.h"

static FILE *own;
static const char *own_name;

/* The environment has the name: a constructor has no arguments of its own. */
__attribute__((constructor)) static void begin(void)
{
	own_name = getenv("STREAM_DEEP");
	if (own_name == NULL)
		return;
	own = fopen(own_name, "w+");
	if (own != NULL)
		scribble(own, 0, BUSY);
}

__attribute__((destructor)) static void end(void)
{
	if (own == NULL)
		return;
	scribble(own, 9000, 40);
	put(own, 20000, "the last words");
}

void use_stream(FILE *fp)
{
	char bytes[32] = "";

	fseek(fp, 96, SEEK_SET);
	printf("deep: %zu ", fread(bytes, 1, 20, fp));
	puts(bytes);
	scribble(fp, 7000, 30);
	put(fp, 12000, "from the deep");
}
