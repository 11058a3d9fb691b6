#pragma once
#include "actors/shard/list/cache.h"
#include "store/status.h"

/* The statuses of all passes of an account in memory, as bits by number: a list of a status costs a look at a few words and
 * not at a byte of every pass. They are read from the rows of STATUS, and kept for the next list, which reads again only
 * what was written since. Half a byte a pass. Errors: as view.h. */
enum { STATUSES_PASSES_MIN = 4096 }; /* smaller accounts are read in no time, and not kept */

struct statuses {
	struct list_cache_item kept;
	uint32_t               made, room; /* passes; rows */
	struct status_bits    *rows;
};

/* Those of passes 0 to made - 1, as of this view, the caller's until it gives them back. `kept` may be NULL. */
must_check enum err statuses_take(struct list_cache *kept, struct view *view, struct account_id account,
                                  uint32_t made, struct statuses **statuses);
void                statuses_give(struct list_cache *kept, struct statuses **statuses);
