/* Columns of passes in memory. A million rows' sums and a page of memory for every two rows are what a sweep through HOT
 * costs. So the first list reads them all, as a stream; the next ones read from the cells what was written since, and the
 * store knows which rows that are (view_row_moments()).
 *
 * Lifetime of columns: made or taken from those kept by columns_take(), nobody else's then; given back they are kept in
 * front of all others, and freed when there is no room, or when they could not be read. */
#include "actors/shard/pass/columns.h"

#include "store/keys.h"
#include "store/stream.h"

#include <stdlib.h>

/* Keeping ------------------------------------------------------------------------------------------------- */

static void drop(struct list_cache_item *item)
{
	struct columns *columns = (struct columns *)item; /* whose first member it is */
	free(columns->of.updated);
	free(columns->of.balance);
	free(columns->of.template);
	free(columns->oldest);
	free(columns->newest);
	free(columns);
}

static const struct list_cache_kind kind = {sizeof(struct columns), drop};

void columns_give(struct list_cache *kept, struct columns **columns_p)
{
	struct columns *columns = *columns_p;
	*columns_p = NULL;
	if (columns) list_cache_give(columns->made < COLUMNS_PASSES_MIN ? NULL : kept, &columns->kept);
}

static size_t bytes_of(size_t room)
{
	size_t one = 2 * sizeof(int64_t) + sizeof(uint16_t);
	return room * one + room / COLUMN_WORD * 2 * sizeof(int64_t);
}

/* Reading ------------------------------------------------------------------------------------------------- */

static bool grow(void *column, size_t count, size_t size)
{
	void *grown, *old;
	memcpy(&old, column, sizeof old);
	if ((grown = realloc(old, count * size))) memcpy(column, &grown, sizeof grown);
	return grown != NULL;
}

/* With some room for passes to come. What was there stays, also where memory is out in the midst of it. */
static enum err make_room(struct columns *columns, uint32_t made)
{
	size_t room = (made + made / 64 + (size_t)2 * COLUMN_WORD) / COLUMN_WORD * COLUMN_WORD;
	if (made <= columns->room) return OK;
	if (!grow(&columns->of.updated, room, sizeof *columns->of.updated) ||
	    !grow(&columns->of.balance, room, sizeof *columns->of.balance) ||
	    !grow(&columns->of.template, room, sizeof *columns->of.template) ||
	    !grow(&columns->oldest, room / COLUMN_WORD, sizeof *columns->oldest) ||
	    !grow(&columns->newest, room / COLUMN_WORD, sizeof *columns->newest))
		return ERR_NO_MEMORY;
	columns->room = (uint32_t)room;
	columns->kept.bytes = bytes_of(room);
	return OK;
}

static void bound_word(struct columns *columns, uint32_t word)
{
	uint32_t       first = word * COLUMN_WORD, left = columns->made - first;
	const int64_t *updated = columns->of.updated + first;
	int64_t        oldest = INT64_MAX, newest = INT64_MIN;
	for (uint32_t i = 0; i < COLUMN_WORD && i < left; i++) {
		oldest = updated[i] < oldest ? updated[i] : oldest;
		newest = updated[i] > newest ? updated[i] : newest;
	}
	columns->oldest[word] = oldest;
	columns->newest[word] = newest;
}

/* Of words that rows `from` to `to` - 1 lie in. */
static void bound_rows(struct columns *columns, uint32_t from, uint32_t to)
{
	uint64_t end = (uint64_t)to * HOT_PASSES < columns->made ? (uint64_t)to * HOT_PASSES : columns->made;
	if (from >= to) return;
	for (uint32_t word = from * HOT_PASSES / COLUMN_WORD; word * (uint64_t)COLUMN_WORD < end; word++)
		bound_word(columns, word);
}

/* Where the columns of a row begin. */
static struct hot_columns place_of(const struct columns *columns, uint32_t number)
{
	size_t first = (size_t)number * HOT_PASSES;
	return (struct hot_columns){.updated = columns->of.updated + first,
	                            .balance = columns->of.balance + first,
	                            .template = columns->of.template + first};
}

static unsigned used_of(const struct columns *columns, uint32_t number)
{
	uint32_t left = columns->made - number * HOT_PASSES;
	return left < HOT_PASSES ? left : (unsigned)HOT_PASSES;
}

static enum err take_row(struct columns *columns, struct span row, uint32_t number)
{
	struct hot_columns at = place_of(columns, number);
	if (!hot_row_is_whole(row) || hot_row_counts(row)[HOT_COUNT_USED] != used_of(columns, number))
		return ERR_DAMAGED;
	hot_row_columns(row, &at);
	return OK;
}

/* Rows that are not in memory. */
static enum err take_stored(struct columns *columns, struct view *view, uint32_t from, uint32_t to)
{
	enum { ROWS = 32 };
	struct row_key  key = key_u32(columns->kept.account, from);
	struct stream   stream = stream_from(view, TABLE_HOT, &key);
	struct view_row rows[ROWS];
	unsigned        count;
	uint32_t        number = from;
	while (number < to) {
		enum err err = stream_next(&stream, rows, to - number < ROWS ? to - number : ROWS, &count);
		if (err || count == 0) return err ? err : ERR_DAMAGED;
		for (unsigned i = 0; i < count; i++, number++) {
			key = key_u32(columns->kept.account, number);
			if (!span_equal(rows[i].key, key_span(&key))) return ERR_DAMAGED;
			if ((err = take_row(columns, rows[i].value, number))) return err;
		}
	}
	return OK;
}

static enum err take_one(struct columns *columns, struct view *view, uint32_t number)
{
	struct hot_columns at = place_of(columns, number);
	unsigned           used, wanted = used_of(columns, number);
	enum err           err = hot_columns(view, columns->kept.account, number, &at, &used);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return used == wanted ? OK : ERR_DAMAGED;
}

/* Rows `from` to `to` - 1, mostly not in memory, and the bounds of what lies in them. */
static enum err take_rows(struct columns *columns, struct view *view, uint32_t from, uint32_t to)
{
	struct account_id account = columns->kept.account;
	enum err          err = OK;
	for (uint32_t row = from, end; row < to && !err; row = end) {
		for (end = row; end < to && !hot_is_in_memory(view, account, end);)
			end++;
		bool is_long = end - row > 1;
		if (!is_long) end = row + 1;
		err = is_long ? take_stored(columns, view, row, end) : take_one(columns, view, row);
	}
	if (!err) bound_rows(columns, from, to);
	return err;
}

/* Reads what is new or was written since. Such rows lie in memory. */
static enum err bring_up(struct columns *columns, struct view *view, uint32_t rows, uint32_t whole)
{
	uint64_t row_txns[VIEW_ROWS];
	uint32_t from = 0; /* rows from here on were read, and have no bounds yet */
	enum err err = OK;
	for (uint32_t row = 0; row < rows && !err; row++) {
		if (row % VIEW_ROWS == 0)
			view_row_moments(view, TABLE_HOT, columns->kept.account, row / VIEW_ROWS, row_txns);
		bool is_known = row < whole && row_txns[row % VIEW_ROWS] <= columns->kept.moment;
		if (is_known) {
			bound_rows(columns, from, row);
			from = row + 1;
		} else {
			err = take_one(columns, view, row);
		}
	}
	if (!err) bound_rows(columns, from, rows);
	return err;
}

static enum err read_all(struct columns *columns, struct view *view, uint32_t made)
{
	uint32_t rows = (made + HOT_PASSES - 1) / HOT_PASSES, whole = columns->made / HOT_PASSES;
	columns->made = made;
	return whole ? bring_up(columns, view, rows, whole) : take_rows(columns, view, 0, rows);
}

enum err columns_take(struct list_cache *kept, struct view *view, struct account_id account, uint32_t made,
                      struct columns **out)
{
	uint64_t                moment = view_txn(view);
	struct list_cache_item *item = list_cache_take(kept, &kind, TABLE_HOT, account, moment);
	struct columns         *columns = (struct columns *)item;
	enum err                err = OK;
	*out = NULL;
	if (!item) return ERR_NO_MEMORY;
	err = made < columns->made ? ERR_DAMAGED : make_room(columns, made);
	if (!err) err = read_all(columns, view, made);
	item->moment = moment;
	if (err)
		list_cache_drop(item);
	else
		*out = columns;
	return err;
}
