#pragma once
#include "store/cells.h"
#include "store/db.h"

/* When the dirty blocks (cells.h), tails (tails.h) and late rows (late_rows.h) of late tables go to LMDB. A round writes all
 * that were dirty when it began, late rows before tails before blocks, each in the order of keys; a slice is the part of it that
 * goes into one commit. Its unit is a row of HOT, a run of ledger rows or a few late rows. Slices are spread over the journal's
 * next bytes, so that they are due about when the next round begins. The last slice of a round also writes the position at which
 * the round began: a start replays the late tables' operations from there. Where tails or late rows take much memory, slices
 * write them ahead of their round. The writer's alone.
 * Only call late_slice() when everything decided is durable: a row of LMDB never holds what the journal could lose. */
struct late {
	struct late_setting {
		struct db    *db;
		struct cells *cells;
		uint64_t      round_bytes; /* of journal; 0: by the rule of late.c */
		unsigned      slice_rows;  /* units in one commit; 0: LATE_SLICE_ROWS */
	} set;

	uint64_t bytes; /* journalled since the last round began */
	int64_t  began_us;
	uint64_t round_bytes; /* from the beginning of one round to that of the next */
	uint64_t total;       /* units of the round under way */
	bool     is_under_way;
	bool     has_taken_ahead; /* the late rows that are left came to it later, and are none of `total` */
	struct applied from;      /* where it began */
};

/* `behind`: bytes of the journal behind the position that the tables have. */
void late_begin(struct late *late, const struct late_setting *set, uint64_t behind);
void late_journalled(struct late *late, uint64_t bytes); /* a record was submitted */

/* Bytes that the tables will grow by at most, for rows that they do not have yet. */
uint64_t late_growth(const struct late *late);

/* Is there anything that LMDB does not have? */
bool late_is_behind(const struct late *late);
/* Is a slice due? `idle`: nobody waits for anything else. */
bool late_owes(const struct late *late, bool idle);
/* Have so many slices become due that decisions must pause for one? */
bool late_presses(const struct late *late);

/* Writes the next rows, at most `rows` units, into the open transaction; begins a round if none is under way. `now`: the
 * position that the commit will have. Errors: ERR_DAMAGED (a row that would be replaced), ERR_IO, ERR_NO_MEMORY. */
must_check enum err late_slice(struct late *late, const struct applied *now, unsigned rows);
/* For a replay that changes more than memory should hold: writes all dirty rows, which the caller then commits. The position
 * stays, so that a replay that is begun again leads to the same. Errors: as late_slice(). */
must_check enum err late_write_all(struct db *db, struct cells *cells);

/* Before a commit without a slice: if nothing is behind, the late tables are as far as all others. Errors: ERR_IO. */
must_check enum err late_commit(const struct late *late, const struct applied *now);
