#pragma once
#include "store/prefetch.h"
#include "store/keys.h"

/* Going through many rows of a table in the order of keys: what comes is asked from memory well before it is looked at.
 * A range read, of one view; others may go on in the same table only once this one is done with. Errors: as view.h. */
struct stream {
	struct view    *view;
	enum table      table;
	struct row_key  from;
	bool            has_begun;
	struct prefetch ahead;
};

/* From the first row at or after `from` on. Nothing is read yet. */
struct stream stream_from(struct view *view, enum table table, const struct row_key *from);

/* The next rows, up to `room` of them, of a PLAIN table. Fewer are the last ones; none is no error. */
must_check enum err stream_next(struct stream *stream, struct view_row *rows, unsigned room, unsigned *count);

/* The next value of a PARTED table, as view_parted_next() shows it. */
must_check enum err stream_next_parted(struct stream *stream, struct buffer *room, struct view_row *row);
