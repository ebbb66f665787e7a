/*
 * The dry run's report (advice.h has what it is made of): the files with the most calls and the
 * most bytes, the pattern seen in each, what would have become of its mappings, and why not of the
 * rest; then what each mode would have saved. One text with one write(2), on stderr.
 *
 * Synchronization: none needed: made once, when the process ends.
 */
#ifndef REPORT_H
#define REPORT_H

/* Writes the report, once. Nothing if this is not a dry run. */
void report_write(void);

/* A fork's child makes its own. */
void report_forked(void);

#endif
