#pragma once
#include "store/db.h"
#include "store/faults.h"
#include "store/progress.h"

/* Reads every page and row of the tables once. Checks: every row's checksum; ascending keys; that a search finds the
 * first and last row of each page where the walk found it; that each table has as many rows as it states; that no page
 * is missing, counted twice, or both free and in use. Each violation becomes a fault.
 * Errors: ERR_IO, ERR_NO_MEMORY, ERR_STOPPED. A badly damaged page can kill the process: a caller that must survive
 * walks in a child process, or handles the signal. */
must_check enum err walk_tables(struct view *reader, struct faults *faults, struct progress *progress);

/* The same, at full speed. The listener is notified of each table that the walk has passed while it had found nothing: of META and
 * the late tables first. It is called by this thread. */
struct walk_listener {
	void (*on_whole)(void *user, enum table table);
	void *user;
};
must_check enum err walk_tables_notify(struct view *reader, struct faults *faults,
                                       const struct walk_listener *listener);
