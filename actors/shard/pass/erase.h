#pragma once
#include "actors/shard/command.h"
#include "store/cleanup.h"

/* One step of what remains of an erased pass: its cards, the free texts of its redemptions, the messages of its notifications.
 * Stages at most BULK_WRITES_MAX writes. *done: nothing is left. Reads ranges. Errors: as view.h. */
must_check enum err pass_erased_clean(struct request *request, struct cleanup *row, bool *done);

/* One step of any row of CLEANUP that is due, of whatever account; the row itself goes with the last one. Errors: as view.h. */
must_check enum err cleanup_step(struct request *request, struct cleanup *row);
