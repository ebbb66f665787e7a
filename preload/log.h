/*
 * Messages. Silent unless asked for (MAPCOALESCE_LOG), never on the program's stdout, one write(2)
 * a line, and no descriptor is kept: a log file is opened and closed for each line.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

/* Whether decisions are to be logged; ask it before working out what to say. */
bool log_wanted(void);

/* A decision: one line in the log, "mapcoalesce[PID]: …", formatted by text.h. */
void log_line(const char *format, ...);

/* A fault of the user's, said once on stderr whether or not there is a log. */
void log_complain(const char *format, ...);

/* Writes a finished text to `where`: "stderr" (only while descriptor 2 still is what it was at the
 * start) or a file that is appended to. */
void log_write(const char *where, const char *bytes, unsigned long length);

/* Remembers what descriptor 2 is. Called by the constructor. */
void log_begin(void);

#endif
