#pragma once
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "store/keys.h"
#include "store/writes.h"

/* A handler's view: the tables as of one moment, with its own staged writes laid over them. Returned spans are borrowed
 * until the handler returns. Range reads see the tables only, so they come before a command's first write. Every
 * value's checksum is verified when read.
 * Errors: ERR_NOT_FOUND; ERR_DAMAGED (checksum, or a missing part); ERR_IO; ERR_NO_MEMORY. */
struct view;

must_check enum err view_get(struct view *view, enum table table, struct span key, struct span *value);
/* OK: there is a value. Of a value in parts only the first is read. */
must_check enum err view_exists(struct view *view, enum table table, struct span key);

struct view_row {
	struct span key, value;
};
/* The first row at or after `key`; the last row before `key`; the row after, or before, the one found last in
 * `table`. PLAIN tables only. The caller checks whether the key is still in its range. */
must_check enum err view_from(struct view *view, enum table table, struct span key, struct view_row *row);
must_check enum err view_before(struct view *view, enum table table, struct span key, struct view_row *row);
must_check enum err view_next(struct view *view, enum table table, struct view_row *row);
must_check enum err view_previous(struct view *view, enum table table, struct view_row *row);

/* In a PARTED table: the first value at or after `key`, the value after the one found last. A value in several parts
 * is joined in `room`; key and value are the caller's until its next call. */
must_check enum err view_parted_from(struct view *view, enum table table, struct span key,
                                     struct buffer *room, struct view_row *row);
must_check enum err view_parted_next(struct view *view, enum table table, struct buffer *room,
                                     struct view_row *row);

/* In a PARTED table with keys account | uuid: the account's next value after row->id (all zero: the first), and its
 * id. Errors: ERR_NOT_FOUND: no more. */
struct id_row {
	struct account_id account;
	struct uuid       id;
	struct span       value;
};
must_check enum err view_parted_after(struct view *view, enum table table, struct buffer *room,
                                      struct id_row *row);

/* For caches of rows. view_txn(): the view's transaction number, which rises with every commit. view_row_moments():
 * for VIEW_ROWS rows numbered in their account, from VIEW_ROWS * word on, the transactions of their last writes, or
 * later ones; 0: none since the start. If a row's last write is not after the view in which it was read, the row is
 * unchanged in every view until now. For a reader's view. Errors: none. */
enum { VIEW_ROWS = 64 };
uint64_t view_txn(struct view *view);
void     view_row_moments(struct view *view, enum table table, struct account_id account, uint32_t word,
                          uint64_t row_txns[VIEW_ROWS]);

/* Memory that lives as long as the command (the view's own arena). */
struct arena  *view_arena(struct view *view);
struct writes *view_writes(struct view *view); /* NULL in a reader's view */

/* Stage a row, or its removal, in the view's writes. Not for a reader's view. Errors: as write_put(), write_del(). */
must_check static inline enum err view_put(struct view *view, enum table table, const struct row_key *key,
                                           struct span value)
{
	return write_put(view_writes(view), table, key_span(key), value);
}

must_check static inline enum err view_del(struct view *view, enum table table, const struct row_key *key)
{
	return write_del(view_writes(view), table, key_span(key));
}

/* As view_put(), and frees `value` in every case. Errors: also ERR_NO_MEMORY, if `value` has failed. */
must_check static inline enum err view_put_buffer(struct view *view, enum table table,
                                                  const struct row_key *key, struct buffer *value)
{
	enum err err = value->failed ? ERR_NO_MEMORY : view_put(view, table, key, buffer_span(value));
	buffer_free(value);
	return err;
}
