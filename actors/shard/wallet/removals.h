#pragma once
#include "store/wallet_due.h"

/* When passes without a phone are to be removed: the order of times, in the writer's memory. Built from the table WALLET_DUE at
 * start, updated with every write. A row that is put again or deleted leaves its former entry behind, which does nothing when it
 * comes up. Times are service time. Errors: ERR_NO_MEMORY, and as view.h. */
struct removal {
	struct account_id account;
	uint32_t          pass_number;
	wall_us           due;
};

struct removals {
	struct removal *heap; /* next first */
	size_t          count, room;
};

must_check enum err removals_load(struct removals *removals, struct view *view);
void                removals_free(struct removals *removals);
must_check enum err removals_on_writes(struct removals *removals, const struct writes *writes);

/* One that was taken and could not be done comes up again after a minute. */
must_check enum err removals_again(struct removals *removals, const struct removal *taken, wall_us now);

/* Takes the next that is due. False: none. */
bool removals_take(struct removals *removals, wall_us now, struct removal *next);
