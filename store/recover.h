#pragma once
#include "store/db.h"
#include "store/scan.h"
#include "store/store.h"

/* A position in the form the tables store. */
struct applied applied_at(const struct position *at, wall_us now);

/* Recovery in two steps, so that a refusal has changed nothing. Zeroed is empty. */
struct recovery {
	struct scan     scan;
	struct position at, end;    /* position of the tables; the last valid record */
	struct applied  late;       /* up to where the tables have the changes of late tables */
	uint64_t        late_bytes; /* of journal, from there to the end */
	uint64_t        vouched;    /* seq that this record states as durable */
	bool            blank;      /* nothing was written behind it */
	bool            has_late;   /* recover_late() has replayed those of late tables */
};

/* Checks whether the tables are a prefix of the journal, whether the journal reaches `floor_seq` (a record known to
 * be acknowledged), and whether the bytes after its end are a torn tail or damage. Changes nothing. Errors: as
 * store_open(). */
must_check enum err recover_judge(const struct journal_dir *dir, struct db *db, uint64_t floor_seq,
                                  struct recovery *recovery, struct store_report *report);

/* After recover_judge(), and before recover_finish() if at all: replays the operations of late tables, which go into memory
 * alone; what does not fit there is left to recover_finish(). Changes no file. Errors: ERR_DAMAGED, ERR_IO, ERR_NO_MEMORY. */
must_check enum err recover_late(struct recovery *recovery, struct db *db);

/* Replays the journal into the tables: from recovery->late the operations of late tables, unless that was done, and from
 * the tables' position all others. Afterwards its end is durable and blank behind; recovery->end is where it
 * continues. Errors: ERR_IO, ERR_DAMAGED, ERR_NO_MEMORY. */
must_check enum err recover_finish(struct recovery *recovery, struct db *db, struct store_report *report);
void                recover_end(struct recovery *recovery);

/* Applies the records behind `from` up to `to`, which is durable, to tables that include at least `from`. The journal
 * may grow meanwhile. Leaves a transaction open. `progress` counts and can stop it, but does not set its pace, since
 * the journal may grow faster.
 * Errors: ERR_DAMAGED (the journal does not lead there), ERR_IO, ERR_NO_MEMORY, ERR_STOPPED. */
must_check enum err recover_catch_up(const struct journal_dir *dir, struct db *db, const struct applied *from,
                                     const struct applied *to, struct progress *progress);
