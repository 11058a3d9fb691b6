/* Rows in key order. */
#include "store/stream.h"

#include "store/db_inside.h"

struct stream stream_from(struct view *view, enum table table, const struct row_key *from)
{
	return (struct stream){.view = view, .table = table, .from = *from};
}

enum err stream_next(struct stream *stream, struct view_row *rows, unsigned room, unsigned *count)
{
	MDB_cursor  *cursor;
	MDB_val      key = val(key_span(&stream->from)), stored;
	int          rc = 0;
	struct view *view = stream->view;
	enum err     err = view_cursor(view, stream->table, &cursor);
	*count = 0;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	/* Of a late table it gives the rows in LMDB: its caller knows that they are not in memory. */
	must(table_kind(stream->table) == KIND_PLAIN && (!view->writes || view->writes->count == 0));
	while (!err && *count < room &&
	       !(rc = mdb_cursor_get(cursor, &key, &stored, stream->has_begun ? MDB_NEXT : MDB_SET_RANGE))) {
		stream->has_begun = true;
		rows[*count].key = span_of(key.mv_data, key.mv_size);
		err = row_checked(stream->table, rows[*count].key, stored, &rows[*count].value);
		++*count;
	}
	return rc && rc != MDB_NOTFOUND ? db_err(rc) : err;
}

enum err stream_next_parted(struct stream *stream, struct buffer *room, struct view_row *row)
{
	enum err err = stream->has_begun ? view_parted_next(stream->view, stream->table, room, row)
	                                 : view_parted_from(stream->view, stream->table,
	                                                    key_span(&stream->from), room, row);
	stream->has_begun |= !err;
	return err;
}
