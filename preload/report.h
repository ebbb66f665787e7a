/*
 * The dry run's report: for each file that was mapped, what would have become of the mappings, and
 * why not of the rest.
 *
 * Synchronization: LOCK_REPORT.
 */
#ifndef REPORT_H
#define REPORT_H

#include "stats.h"
#include "view.h"

/* Takes down one mmap that could be (REASON_none) or could not be a view by its arguments; returns
 * the reason to count: REASON_dry_run for what would have been a view. */
enum reason report_mmap(const struct view_request *request, enum reason reason);

/* Writes the report on stderr, once. Nothing if this is
 * not a dry run. */
void report_write(void);

#endif
