#pragma once
#include "actors/shard/list/cache.h"
#include "store/hot.h"

/* What lists ask of all passes of an account, as columns in memory, by number: the times of updates, counters and
 * templates. They are read from the rows of HOT, and kept for the next list, which reads again only what was written
 * since. Errors: as view.h. */
enum {
	COLUMNS_PASSES_MIN = 4096, /* smaller accounts are read in no time, and not kept */
	COLUMN_WORD = 64,          /* passes with bounds of their own */
};

struct columns {
	struct list_cache_item kept;
	uint32_t               made, room;
	struct hot_columns     of;
	int64_t               *oldest, *newest; /* `updated` of each COLUMN_WORD passes */
};

/* Those of passes 0 to made - 1, as of this view, the caller's until it gives them back. `kept` may be NULL. */
must_check enum err columns_take(struct list_cache *kept, struct view *view, struct account_id account,
                                 uint32_t made, struct columns **columns);
void                columns_give(struct list_cache *kept, struct columns **columns);
