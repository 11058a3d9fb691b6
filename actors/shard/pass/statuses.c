/* Statuses of passes in memory. Between two lists most rows stay as they are, and the store knows which
 * (view_row_moments()). A delta writes none of them.
 *
 * Lifetime of statuses: made or taken from those kept by statuses_take(), nobody else's then; given back they are kept in
 * front of all others, and freed when there is no room, or when they could not be read. */
#include "actors/shard/pass/statuses.h"

#include "store/keys.h"

#include <stdlib.h>

static void drop(struct list_cache_item *item)
{
	struct statuses *statuses = (struct statuses *)item; /* whose first member it is */
	free(statuses->rows);
	free(statuses);
}

static const struct list_cache_kind kind = {sizeof(struct statuses), drop};

void statuses_give(struct list_cache *kept, struct statuses **statuses_p)
{
	struct statuses *statuses = *statuses_p;
	*statuses_p = NULL;
	if (statuses) list_cache_give(statuses->made < STATUSES_PASSES_MIN ? NULL : kept, &statuses->kept);
}

/* With some room for passes to come. */
static enum err make_room(struct statuses *statuses, uint32_t rows)
{
	uint32_t room = rows + rows / 64 + 1;
	if (rows <= statuses->room) return OK;
	struct status_bits *grown = realloc(statuses->rows, room * sizeof *grown);
	if (!grown) return ERR_NO_MEMORY;
	statuses->rows = grown;
	statuses->room = room;
	statuses->kept.bytes = room * sizeof *grown;
	return OK;
}

static enum err read_row(struct statuses *statuses, struct view *view, uint32_t row)
{
	struct row_key key = key_u32(statuses->kept.account, row);
	struct span    value;
	enum err       err = view_get(view, TABLE_STATUS, key_span(&key), &value);
	if (!err && !status_row_is_whole(value)) err = ERR_DAMAGED;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	status_turn(value.at, &statuses->rows[row]);
	return OK;
}

/* Reads what is new or was written since. A row that was not full before has been written when it is fuller now. */
static enum err bring_up(struct statuses *statuses, struct view *view, uint32_t rows)
{
	uint32_t known = (statuses->made + STATUS_PASSES - 1) / STATUS_PASSES;
	uint64_t row_txns[VIEW_ROWS];
	enum err err = OK;
	for (uint32_t row = 0; row < rows && !err; row++) {
		if (row % VIEW_ROWS == 0)
			view_row_moments(view, TABLE_STATUS, statuses->kept.account, row / VIEW_ROWS,
			                 row_txns);
		if (row >= known || row_txns[row % VIEW_ROWS] > statuses->kept.moment)
			err = read_row(statuses, view, row);
	}
	return err;
}

enum err statuses_take(struct list_cache *kept, struct view *view, struct account_id account, uint32_t made,
                       struct statuses **out)
{
	uint64_t                moment = view_txn(view);
	uint32_t                rows = made / STATUS_PASSES + (made % STATUS_PASSES != 0);
	struct list_cache_item *item = list_cache_take(kept, &kind, TABLE_STATUS, account, moment);
	struct statuses        *statuses = (struct statuses *)item;
	enum err                err = OK;
	*out = NULL;
	if (!item) return ERR_NO_MEMORY;
	err = made < statuses->made ? ERR_DAMAGED : make_room(statuses, rows);
	if (!err) err = bring_up(statuses, view, rows);
	statuses->made = made;
	item->moment = moment;
	if (err)
		list_cache_drop(item);
	else
		*out = statuses;
	return err;
}
