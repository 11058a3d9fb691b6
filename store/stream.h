#pragma once
#include "store/keys.h"
#include "store/view.h"

/* Iterates over many rows of a table in key order. A range read, of one view; another in the same table
 * may continue only after this one has ended. Errors: as view.h. */
struct stream {
	struct view   *view;
	enum table     table;
	struct row_key from;
	bool           has_begun;
};

/* Starts at the first row at or after `from`. Nothing is read yet. */
struct stream stream_from(struct view *view, enum table table, const struct row_key *from);

/* The next rows, up to `room`, of a PLAIN table. Fewer mean the end; zero is no error. */
must_check enum err stream_next(struct stream *stream, struct view_row *rows, unsigned room, unsigned *count);

/* The next value of a PARTED table, as view_parted_next() returns it. */
must_check enum err stream_next_parted(struct stream *stream, struct buffer *room, struct view_row *row);
