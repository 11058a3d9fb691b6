#pragma once
#include "store/db.h"
#include "store/scan.h"
#include "store/store.h"

/* A position as the tables keep it. */
struct applied applied_at(const struct position *at, wall_us now);

/* Brings the tables up to the journal's end. On OK *at is where the journal goes on (after the last valid
 * record, whose bytes are now certainly on disk), and the journal behind it is blank.
 * Errors: as store_open(). */
must_check enum err recover(const struct journal_dir *dir, struct db *db, struct position *at,
                            struct store_report *report);

/* Applies the records behind `from` up to `to`, which is durable, to tables that hold at least what `from` says; the
 * journal may be written to meanwhile. Leaves a transaction open.
 * Errors: ERR_DAMAGED (the journal does not lead there), ERR_IO, ERR_NO_MEMORY. */
must_check enum err recover_catch_up(const struct journal_dir *dir, struct db *db, const struct applied *from,
                                     const struct applied *to);
