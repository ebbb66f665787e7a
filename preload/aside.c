#include "aside.h"

#include <stddef.h>

#define MOST_OWNERS 4

static const struct aside_owner *owners[MOST_OWNERS];
static unsigned int owner_count;

uint8_t aside_kept[ASIDE_NUMBERS];
uint32_t aside_pending;
uint32_t aside_files;

void aside_add(const struct aside_owner *owner)
{
	if (owner_count < MOST_OWNERS)
		owners[owner_count++] = owner;
}

void aside_tell_fd(int fd, enum aside_why why)
{
	for (unsigned int i = 0; i < owner_count; i++)
		owners[i]->fd(fd, why);
}

void aside_tell_bytes(void)
{
	for (unsigned int i = 0; i < owner_count; i++) {
		if (owners[i]->bytes != NULL)
			owners[i]->bytes();
	}
}

void aside_tell_all(enum aside_why why)
{
	for (unsigned int i = 0; i < owner_count; i++)
		owners[i]->all(why);
}

void aside_tell_opened(int fd)
{
	for (unsigned int i = 0; i < owner_count; i++) {
		if (owners[i]->opened != NULL)
			owners[i]->opened(fd);
	}
}
