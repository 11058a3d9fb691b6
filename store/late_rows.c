/* Reading and changing late rows. What is not in memory is in LMDB as it is in the view. */
#include "store/cells_inside.h"

#include "store/db_inside.h"

/* Reading ------------------------------------------------------------------------------------------------- */

/* NULL: it is as LMDB has it. */
static const struct late_value *value_in(const struct view *view, enum table table, struct span key)
{
	bool                   is_writer = view == &view->db->writer;
	const struct late_row *row = late_row(view->cells, table, key);
	must(is_writer || late_table_is_shared(table));
	if (!row) return NULL;
	const struct late_value *value = atomic_load_explicit(&row->value, memory_order_acquire);
#ifdef FAULT_LATE_ROW_NEWER
	return value; /* the fault: a view shows rows that are newer than it */
#endif
	while (!is_writer && value && value->txn > mdb_txn_id(view->txn))
		value = atomic_load_explicit(&value->older, memory_order_acquire);
	return value;
}

enum err late_rows_get(struct view *view, enum table table, struct span key, struct span *row)
{
	const struct late_value *value = value_in(view, table, key);
	if (!value) return row_get(view, table, key, row);
#ifdef FAULT_LATE_TOMBSTONE
	if (value->is_gone)
		return row_get(view, table, key, row); /* the fault: a deletion counts once it is written */
#endif
	if (value->is_gone) return ERR_NOT_FOUND;
	*row = late_value_span(value);
	return OK;
}

void late_rows_replace(const struct view *view, enum table table, struct view_row *row)
{
	const struct late_value *value = value_in(view, table, row->key);
	if (value && !value->is_gone) row->value = late_value_span(value);
}

/* Changing ------------------------------------------------------------------------------------------------ */

/* `is_stored`: LMDB has the row, for certain. */
static enum err put(struct cells *cells, uint64_t txn, const struct write *write, const struct span *value,
                    bool is_stored)
{
	struct late_row *row = late_row_made(cells, write->table, write->key);
	if (row && !row->is_listed) row->is_stored |= is_stored;
	enum err err = row ? late_rows_list(cells, row) : ERR_NO_MEMORY;
	if (err) return err;
	uint64_t bytes = late_row_bytes(row), growth = late_row_growth(row);
	if ((err = late_row_set(cells, row, txn, value))) return err;
	cells->rows.bytes += late_row_bytes(row) - bytes;
	cells->rows.growth += late_row_growth(row) - growth;
	return OK;
}

static enum err patch(struct view *writer, const struct write *write)
{
	uint8_t     bytes[ROW_BYTES_MAX];
	struct span value;
	bool        is_stored = !late_row(writer->cells, write->table, write->key);
	enum err    err = late_rows_get(writer, write->table, write->key, &value);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (value.size > sizeof bytes) return ERR_DAMAGED;
	memcpy(bytes, value.at, value.size);
	if ((err = row_patch_bytes(write, bytes, value.size))) return err;
	value.at = bytes;
	return put(writer->cells, mdb_txn_id(writer->txn), write, &value, is_stored);
}

enum err late_rows_apply(struct view *writer, const struct write *write)
{
	const struct span *value = write->kind == WRITE_PUT ? &write->value : NULL;
	if (!late_table_has(write->table, write->kind)) return ERR_UNSUPPORTED;
	if (write->key.size < sizeof(struct account_id) || write->key.size > KEY_BYTES_MAX)
		return ERR_DAMAGED;
	if (write->value.size > ROW_BYTES_MAX) return ERR_DAMAGED;
	if (write->kind == WRITE_PATCH) return patch(writer, write);
	return put(writer->cells, mdb_txn_id(writer->txn), write, value, false);
}

unsigned late_rows_fill(const struct cells *cells)
{
	return (unsigned)(cells->rows.bytes * 1000 / cells->rows.bytes_max);
}

uint64_t late_rows_growth(const struct cells *cells)
{
	return cells->rows.growth;
}
