#include "symbol.h"

#include <stdlib.h>
#include <string.h>

#define LIBC "libc.so.6"
/* Of a version's number: not the default version. And the numbers that stand for no version at
 * all (gABI: VER_NDX_LOCAL, VER_NDX_GLOBAL). */
#define VERSION_HIDDEN 0x8000
#define VERSION_LEAST 2

/* The linker's name for where an object begins in memory. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct search {
	struct symbol_objects *found;
	bool ours; /* has come by */
	bool libc;
	bool odd;
};

/* The dynamic linker makes these absolute where the section can be written to, else not. */
static const void *at(const struct dl_phdr_info *info, ElfW(Addr) value)
{
	/* ISO C has no better way. */
	return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static void read_hash_table(struct symbol_object *o, const uint32_t *table)
{
	uint32_t bloom_size = table[2];

	o->bucket_count = table[0];
	o->first = table[1];
	o->bloom_mask = bloom_size - 1;
	o->bloom_shift = table[3];
	o->bloom = (const void *)(table + 4);
	o->buckets = (const void *)(o->bloom + bloom_size);
	o->chains = o->buckets + o->bucket_count;
}

/* False if there is something missing. *ret_libc: it is libc. */
static bool read_object(struct symbol_object *o, const struct dl_phdr_info *info,
			const ElfW(Dyn) * dynamic, bool *ret_libc)
{
	const void *table = NULL;
	size_t name = 0;

	memset(o, 0, sizeof(*o));
	o->base = info->dlpi_addr;
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		switch (dynamic->d_tag) {
		case DT_SYMTAB:
			o->symbols = at(info, dynamic->d_un.d_ptr);
			break;
		case DT_STRTAB:
			o->strings = at(info, dynamic->d_un.d_ptr);
			break;
		case DT_VERSYM:
			o->versions = at(info, dynamic->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			table = at(info, dynamic->d_un.d_ptr);
			break;
		case DT_SONAME:
			name = dynamic->d_un.d_val;
			break;
		default:
			break;
		}
	}
	if (o->symbols == NULL || o->strings == NULL || table == NULL)
		return false;
	read_hash_table(o, table);
	*ret_libc = name != 0 && strcmp(o->strings + name, LIBC) == 0;
	return o->bucket_count != 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct symbol_objects *found = search->found;

	(void)size;
	if (!search->ours) {
		search->ours = info->dlpi_addr == (uintptr_t)&__ehdr_start;
		return 0;
	}
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		search->odd =
			found->count == SYMBOL_OBJECTS ||
			!read_object(&found->objects[found->count++], info,
				     (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				     &search->libc);
		break;
	}
	return search->odd || search->libc;
}

bool symbol_collect(struct symbol_objects *ret_objects)
{
	struct search search = {.found = ret_objects};

	ret_objects->count = 0;
	if (getenv("LD_AUDIT") != NULL)
		return false;
	dl_iterate_phdr(visit, &search);
	return search.libc && !search.odd;
}

/* Bernstein's, as in all GNU hash tables. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name != '\0')
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static bool may_have(const struct symbol_object *o, uint32_t hash)
{
	const uint32_t bits = 8 * sizeof(ElfW(Addr));
	ElfW(Addr) word = o->bloom[(hash / bits) & o->bloom_mask];

	return (word >> (hash % bits) & word >> ((hash >> o->bloom_shift) % bits) & 1) != 0;
}

enum answer { ABSENT, FOUND, ODD };

/* One entry of a chain that has the right hash. */
static enum answer judge(const struct symbol_object *o, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &o->symbols[index];
	unsigned int version = o->versions != NULL ? o->versions[index] : VERSION_LEAST;

	if (strcmp(o->strings + symbol->st_name, name) != 0 || symbol->st_shndx == SHN_UNDEF ||
	    (version & VERSION_HIDDEN))
		return ABSENT;
	/* st_info is laid out alike in both classes. */
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_value == 0 ||
	    symbol->st_shndx == SHN_ABS || version < VERSION_LEAST)
		return ODD;
	return FOUND;
}

static enum answer look_up(const struct symbol_object *o, const char *name, uint32_t hash,
			   void **ret_address)
{
	uint32_t index = o->buckets[hash % o->bucket_count];
	unsigned int found = 0;

	if (index < o->first)
		return ABSENT;
	for (;; index++) {
		uint32_t here = o->chains[index - o->first];

		if ((here ^ hash) >> 1 == 0) {
			switch (judge(o, index, name)) {
			case ABSENT:
				break;
			case FOUND:
				found++;
				*ret_address = (void *)(o->base + o->symbols[index].st_value);
				break;
			case ODD:
				return ODD;
			}
		}
		if (here & 1) /* the chain's last */
			break;
	}
	return found == 0 ? ABSENT : found == 1 ? FOUND : ODD;
}

void *symbol_find(const struct symbol_objects *objects, const char *name)
{
	uint32_t hash = hash_of(name);
	void *address;

	for (unsigned int i = 0; i < objects->count; i++) {
		const struct symbol_object *o = &objects->objects[i];

		if (!may_have(o, hash))
			continue;
		switch (look_up(o, name, hash, &address)) {
		case ABSENT:
			break;
		case FOUND:
			return address;
		case ODD:
			return NULL;
		}
	}
	return NULL;
}
