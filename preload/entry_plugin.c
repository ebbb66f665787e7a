/*
 * The exported name dlopen, which is a stub for each machine (arch/MACHINE/dlopen.S).
 *
 * libc's dlopen takes its return address for that of the library that calls it: whose search path
 * holds, what $ORIGIN is, which namespace to load into. So the next definition must be reached by a
 * jump that leaves the program's return address where it was, and no frame of ours may be there
 * while the library's constructors run, which may call any hook. The stub asks dlopen_target()
 * where to go, lets it change the flags, and jumps there.
 *
 * Deliberately absent: dlmopen (another namespace has another libc, and none of our hooks), and
 * dlclose, to which nothing has to be said.
 */
#include "entry_plugin.h"

#include <dlfcn.h>

#include "aside.h"
#include "config.h"
#include "offset.h"
#include "plugin.h"
#include "stream.h"
#include "tls.h"

/*
 * A library is about to be loaded that will find libc's functions before ours. Whatever relies on
 * seeing all calls on something has to end here, for good: streams. Descriptors that such a library
 * closes are missed like those that libc closes inside itself (fd.h).
 */
static void entry_deepbind(void)
{
	if (!tls.vfork_child) {
		stream_finish();
		offset_finish();
	}
}

any_function dlopen_target(const char *path, int *flags)
{
	if (config.active) {
		/* The dynamic linker looks at the file inside libc. */
		aside_bytes();
		if (*flags & RTLD_DEEPBIND)
			entry_deepbind();
		*flags = plugin_flags(path, *flags);
	}
	return (any_function)NEXT(dlopen);
}
