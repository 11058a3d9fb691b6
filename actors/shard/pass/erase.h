#pragma once
#include "actors/shard/command.h"
#include "store/cleanup.h"

/* One step of removing the rest of an erased pass: its cards, the texts of its redemptions, the messages of its notifications.
 * Stages at most BULK_WRITES_MAX writes. *done: nothing is left. Reads ranges. Errors: as view.h. */
must_check enum err pass_erased_clean(struct request *request, struct cleanup *row, bool *done);

/* One step of forgetting the phones of a pass that has ended, or was erased. Likewise. */
must_check enum err pass_phones_clean(struct request *request, struct cleanup *row, bool *done);

/* One step of a due row of CLEANUP, of any account. The last step removes the row. Errors: as view.h. */
must_check enum err cleanup_step(struct request *request, struct cleanup *row);
