/* Which late rows are written next, and the writing of them. Those of a round are a heap by their place in the order of keys, so that no slice has to
 * sort all of them. A row that changes while it waits is written in its newer state. */
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
	struct late_places *dirty = &cells->rows.dirty;
	enum err            err = make_room(dirty, dirty->count + cells->rows.waiting.count + 1);
	if (!err) dirty->at[dirty->count++] = (struct late_place){place_of(row), row};
	return err;
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
	for (uint32_t i = waiting->count / 2; i-- > 0;)
		sink(waiting, i);
	return true;
}

/* Writing ------------------------------------------------------------------------------------------------- */

static enum err write_row(struct db *db, const struct late_row *row)
{
	struct write write = {.kind = WRITE_DEL, .table = row->table, .key = late_row_key(row)};
	if (row->value) {
		write.kind = WRITE_PUT;
		write.value = late_row_value(row);
	}
	return row_apply(db, &write, false);
}

enum err late_rows_write_next(struct db *db, bool *some)
{
	struct cells *cells = db->writer.cells;
	enum err      err = OK;
	*some = cells->rows.waiting.count;
	for (unsigned i = 0; !err && i < LATE_ROWS_RUN && cells->rows.waiting.count; i++) {
		struct late_row *row = take_first(&cells->rows.waiting);
		err = write_row(db, row);
		late_row_drop(cells, row);
	}
	return err;
}
