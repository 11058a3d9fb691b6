/* Streams. LMDB waits for memory at every page, and a checksum at every cache line; prefetched pages are in the
 * cache by then. */
#include "store/stream.h"

#include "store/db_inside.h"

struct stream stream_from(struct view *view, enum table table, const struct row_key *from)
{
	return (struct stream){.view = view, .table = table, .from = *from};
}

/* The cursor is at this row. */
static void follow(struct stream *stream, const uint8_t *key, size_t size)
{
	if (stream->has_begun)
		prefetch_follow(&stream->ahead, key);
	else
		prefetch_begin(&stream->ahead, stream->view, stream->table, span_of(key, size));
	stream->has_begun = true;
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
	must(table_kind(stream->table) == KIND_PLAIN && (!view->writes || view->writes->count == 0));
	while (!err && *count < room &&
	       !(rc = mdb_cursor_get(cursor, &key, &stored, stream->has_begun ? MDB_NEXT : MDB_SET_RANGE))) {
		follow(stream, key.mv_data, key.mv_size);
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
	if (!err) follow(stream, row->key.at, row->key.size);
	return err;
}
