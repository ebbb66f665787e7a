/*
 * Linker plugins that stay loaded (mode `plugins`).
 *
 * For every archive member libbfd (nm, ar, ranlib …) does this with each linker plugin it knows:
 *
 *	dlopen ──> onload(), asks "is this object yours?" ──> dlclose
 *
 * and each time the dynamic loader opens, maps, relocates and unmaps the same file, in calls of its
 * own that no hook sees. With RTLD_NODELETE among its flags the first dlopen is the last one that
 * costs anything: dlclose leaves the plugin where it is, and the next dlopen finds it by its name.
 *
 * A plugin that is not unloaded has its variables still when onload() is called again. So only
 * those stay of which the source says that this does not show; they are known by the last part of
 * the path:
 *
 *	liblto_plugin.so  gcc's. What onload() is told replaces what it was told before. The files
 *	                  that it claims it only adds to a list that nobody but a linker asks for,
 *	                  and no linker unloads it.
 *	libdep.so         binutils' own. onload() keeps pointers to the linker's functions, and
 *	                  registers nothing where there is no linker.
 *
 * Neither has a destructor or a handler for exit. Clang's LLVMgold.so need not be here: it is
 * linked to stay loaded (-z nodelete). Every other plugin is left alone, and so are these two
 * unless they lie in a directory `bfd-plugins`, where only libbfd looks, or the program is one of
 * libbfd's own.
 *
 * What does show: a plugin file that is replaced while the program runs is not seen, the old one
 * goes on. And dlopen allocates less, so that a plugin which reads past the end of its memory
 * (gcc's does, on a damaged symbol table) finds other bytes there.
 *
 * Synchronization: atomics; any thread may call at any time.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

/* The flags to open `path` with, for a program that asked for `flags`. Counts. */
int plugin_flags(const char *path, int flags);

#endif
