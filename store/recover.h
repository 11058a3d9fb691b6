#pragma once
#include "store/db.h"
#include "store/scan.h"
#include "store/store.h"

/* A position as the tables keep it. */
struct applied applied_at(const struct position *at, wall_us now);

/* Recovery in two steps, so that nothing has been changed when it is refused. Zeroed is empty. */
struct recovery {
	struct scan     scan;
	struct position at, end; /* what the tables hold; the last valid record */
	uint64_t        vouched; /* known to be on disk, by what that record says */
	bool            blank;   /* nothing was written behind it */
};

/* Looks: is what the tables hold a beginning of the journal, does it reach `floor_seq` (a record known to have been
 * acknowledged), and is what comes after its end a tail or damage? Changes nothing. Errors: as store_open(). */
must_check enum err recover_judge(const struct journal_dir *dir, struct db *db, uint64_t floor_seq,
                                  struct recovery *recovery, struct store_report *report);

/* Brings the tables up to the journal's end, which is certainly on disk then, and blank behind it: recovery->end is where
 * the journal goes on. Errors: ERR_IO, ERR_DAMAGED, ERR_NO_MEMORY. */
must_check enum err recover_finish(struct recovery *recovery, struct db *db, struct store_report *report);
void                recover_end(struct recovery *recovery);

/* Applies the records behind `from` up to `to`, which is durable, to tables that hold at least what `from` says; the
 * journal may be written to meanwhile. Leaves a transaction open. Not at the pace of
 * `progress`, since the journal may grow faster than that, but counted and stopped by it.
 * Errors: ERR_DAMAGED (the journal does not lead there), ERR_IO, ERR_NO_MEMORY, ERR_STOPPED. */
must_check enum err recover_catch_up(const struct journal_dir *dir, struct db *db, const struct applied *from,
                                     const struct applied *to, struct progress *progress);
