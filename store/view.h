#pragma once
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "store/writes.h"

/* What a handler sees: the tables as of one moment, with its own staged writes laid over them. Spans returned
 * are borrowed until the handler returns. Range reads see the tables only, so they come before a command's
 * first write. Every value's checksum is verified on the way out.
 * Errors: ERR_NOT_FOUND; ERR_DAMAGED (checksum, or a part is missing); ERR_IO; ERR_NO_MEMORY. */
struct view;

must_check enum err view_get(struct view *view, enum table table, struct span key, struct span *value);
/* OK: there is a value. Of one in several parts only the first is read. */
must_check enum err view_exists(struct view *view, enum table table, struct span key);

struct view_row {
	struct span key, value;
};
/* The first row at or after `key`; the last row before `key`; the row after, or before, the one found last in `table`.
 * PLAIN tables only. The caller looks whether the key is still in its range. */
must_check enum err view_from(struct view *view, enum table table, struct span key, struct view_row *row);
must_check enum err view_before(struct view *view, enum table table, struct span key, struct view_row *row);
must_check enum err view_next(struct view *view, enum table table, struct view_row *row);
must_check enum err view_previous(struct view *view, enum table table, struct view_row *row);

/* Of a PARTED table: the first value at or after `key`, the value after the one found last. A value in several
 * parts is put together in `room`; both are the caller's until its next call. */
must_check enum err view_parted_from(struct view *view, enum table table, struct span key,
                                     struct buffer *room, struct view_row *row);
must_check enum err view_parted_next(struct view *view, enum table table, struct buffer *room,
                                     struct view_row *row);

/* Of one whose keys are account | uuid: the account's next value after that of row->id (all zero: the first), and its id.
 * Errors: ERR_NOT_FOUND: no more. */
struct id_row {
	struct account_id account;
	struct uuid       id;
	struct span       value;
};
must_check enum err view_parted_after(struct view *view, enum table table, struct buffer *room,
                                      struct id_row *row);

/* For who keeps in memory what rows held: the moment of a view, which rises with every commit; and of VIEW_ROWS rows that
 * are numbered in their account, from VIEW_ROWS * word on, the row_txns of their last writes, or later ones; 0: not since the
 * start. If such a one is not after the moment of the view in which the row was read, the row is the same in every view
 * until now. A reader's view. Errors: none. */
enum { VIEW_ROWS = 64 };
uint64_t view_txn(struct view *view);
void     view_row_moments(struct view *view, enum table table, struct account_id account, uint32_t word,
                          uint64_t row_txns[VIEW_ROWS]);

/* Memory that lives as long as the command (the view's own arena). */
struct arena  *view_arena(struct view *view);
struct writes *view_writes(struct view *view); /* NULL in a reader's view */
