/* Which late rows are written next, and the writing of them. Those of a round are a heap by their place in the order of keys,
 * so that no slice has to sort all of them. A row that changes while it waits is written in its newer state. */
#include "store/cells_inside.h"

#include "schemas/bytes.h"
#include "store/db_inside.h"

#include <stdlib.h>

enum { PLACES_FIRST = 256, ACCOUNT_BITS = 26, NUMBER_BYTES = 8 };

/* Table, the beginning of the account, and four bytes of what follows: the last ones of a number, or the first ones of
 * a hash. */
static uint64_t place_of(const struct late_row *row)
{
	const uint8_t *rest = row->key + sizeof(struct account_id);
	size_t         size = row->key_size - sizeof(struct account_id);
	uint64_t place = (uint64_t)row->table << ACCOUNT_BITS | get_be32(row->key) >> (32 - ACCOUNT_BITS);
	if (size > NUMBER_BYTES) size = 4;
	return place << 32 | (size < 4 ? 0 : get_be32(rest + size - 4));
}

static enum err make_room(struct late_places *places, uint32_t count)
{
	uint32_t room = places->room ? places->room : (uint32_t)PLACES_FIRST;
	if (count <= places->room) return OK;
	while (room < count)
		room *= 2;
	struct late_place *larger = realloc(places->at, room * sizeof *larger);
	if (!larger) return ERR_NO_MEMORY;
	places->at = larger;
	places->room = room;
	return OK;
}

enum err late_rows_list(struct cells *cells, struct late_row *row)
{
	struct late_rows   *rows = &cells->rows;
	struct late_places *dirty = &rows->dirty;
	if (row->is_listed) return OK;
	enum err err = make_room(dirty, dirty->count + rows->waiting.count + 1);
	if (err) return err;
	dirty->at[dirty->count++] = (struct late_place){place_of(row), row};
	row->is_listed = true;
	row->written = 0;
	rows->bytes += late_row_bytes(row);
	rows->growth += late_row_growth(row);
	return OK;
}

/* The heap ------------------------------------------------------------------------------------------------ */

static void sink(struct late_places *heap, uint32_t at)
{
	struct late_place moving = heap->at[at];
	for (uint32_t child; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count && heap->at[child + 1].at < heap->at[child].at) child++;
		if (moving.at <= heap->at[child].at) break;
		heap->at[at] = heap->at[child];
	}
	heap->at[at] = moving;
}

static struct late_row *take_first(struct late_places *heap)
{
	struct late_row *row = heap->at[0].row;
	heap->at[0] = heap->at[--heap->count];
	if (heap->count) sink(heap, 0);
	return row;
}

uint64_t late_rows_dirty(const struct cells *cells)
{
	return cells->rows.dirty.count;
}

uint64_t late_rows_left(const struct cells *cells)
{
	return (cells->rows.waiting.count + LATE_ROWS_RUN - 1) / LATE_ROWS_RUN;
}

/* The list of new ones has room for those that wait already. */
bool late_rows_take(struct cells *cells)
{
	struct late_places *dirty = &cells->rows.dirty, *waiting = &cells->rows.waiting, taken;
	if (!dirty->count) return false;
	for (uint32_t i = 0; i < waiting->count; i++)
		dirty->at[dirty->count++] = waiting->at[i];
	taken = *dirty;
	*dirty = *waiting;
	dirty->count = 0;
	*waiting = taken;
	cells->rows.taken = waiting->count;
	for (uint32_t i = waiting->count / 2; i-- > 0;)
		sink(waiting, i);
	return true;
}

/* Writing ------------------------------------------------------------------------------------------------- */

/* A damaged row must not become a sound one without notice. */
static enum err check_stored(struct db *db, const struct late_row *row)
{
	struct span before;
	if (!late_table_has(row->table, WRITE_PATCH)) return OK;
	enum err err = row_get(&db->writer, row->table, late_row_key(row), &before);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err write_row(struct db *db, const struct late_row *row)
{
	const struct late_value *value = late_row_value(row);
	struct write             write = {.kind = value->is_gone ? WRITE_DEL : WRITE_PUT,
	                                  .table = row->table,
	                                  .key = late_row_key(row),
	                                  .value = late_value_span(value)};
	enum err                 err = check_stored(db, row);
	return err ? err : row_apply(db, &write, false);
}

/* From now on it counts as written, by the commit to come. */
static void unlist(struct cells *cells, struct late_row *row)
{
	cells->rows.bytes -= late_row_bytes(row);
	cells->rows.growth -= late_row_growth(row);
	row->is_listed = false;
	row->is_stored = !late_row_value(row)->is_gone;
	row->written = cells->commits + 1;
	if (late_table_is_shared(row->table)) {
		late_row_keep(cells, row);
		return;
	}
	late_row_drop(cells, row);
}

/* Rows that are written at once: about as many as there are for a page of the table. */
static unsigned run_of(struct db *db, enum table table)
{
	MDB_stat stat;
	uint64_t rows = db->writer.cells->rows.taken, most = LATE_ROWS_RUN * LATE_ROWS_RUN;
	if (mdb_stat(db->writer.txn, db->dbis[table], &stat) || !stat.ms_leaf_pages) return LATE_ROWS_RUN;
	rows /= stat.ms_leaf_pages;
	if (rows < LATE_ROWS_RUN) return LATE_ROWS_RUN;
	return (unsigned)(rows < most ? rows : most);
}

enum err late_rows_write_next(struct db *db, bool *some)
{
	struct cells *cells = db->writer.cells;
	enum err      err = OK;
	*some = cells->rows.waiting.count;
	unsigned run = *some ? run_of(db, cells->rows.waiting.at[0].row->table) : 0;
	for (unsigned i = 0; !err && i < run && cells->rows.waiting.count; i++) {
		struct late_row *row = take_first(&cells->rows.waiting);
		err = write_row(db, row);
		unlist(cells, row);
	}
	return err;
}
