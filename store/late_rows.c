/* Reading and changing late rows. What is not in memory is in LMDB as it is. */
#include "store/cells_inside.h"

#include "store/db_inside.h"

enum err late_rows_get(struct view *view, enum table table, struct span key, struct span *row)
{
	must(view == &view->db->writer);
	const struct late_row *found = late_row(view->cells, table, key);
	if (!found) return row_get(view, table, key, row);
#ifdef FAULT_LATE_TOMBSTONE
	if (!found->value)
		return row_get(view, table, key, row); /* the fault: a deletion counts once it is written */
#endif
	if (!found->value) return ERR_NOT_FOUND;
	*row = late_row_value(found);
	return OK;
}

enum err late_rows_apply(struct view *writer, const struct write *write)
{
	struct cells *cells = writer->cells;
	if (write->kind != WRITE_PUT && write->kind != WRITE_DEL) return ERR_UNSUPPORTED;
	if (write->key.size < sizeof(struct account_id) || write->key.size > KEY_BYTES_MAX)
		return ERR_DAMAGED;
	if (write->value.size > ROW_BYTES_MAX) return ERR_DAMAGED;
	bool             is_new;
	struct late_row *row = late_row_made(cells, write->table, write->key, &is_new);
	enum err         err = row ? OK : ERR_NO_MEMORY;
	if (!err && is_new && (err = late_rows_list(cells, row))) late_row_drop(cells, row);
	return err ? err : late_row_set(cells, row, write->kind == WRITE_PUT ? &write->value : NULL);
}

unsigned late_rows_fill(const struct cells *cells)
{
	return (unsigned)(cells->rows.bytes * 1000 / cells->rows.bytes_max);
}

uint64_t late_rows_growth(const struct cells *cells)
{
	return cells->rows.growth;
}
