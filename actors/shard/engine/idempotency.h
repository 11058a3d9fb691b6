#pragma once
#include "actors/shard/command.h"
#include "store/idempotency.h"

/* A command with an idempotency key is executed once. Its answer is stored in the commit of its effect, and the same request
 * with the same key gets that answer again. Errors: as view.h, and those named. */
struct idempotent {
	bool                     replayed; /* the earlier answer is in the outcome */
	bool                     replaces; /* the new row keeps order and time of the existing one */
	uint64_t                 order;    /* of the new row */
	wall_us                  at;       /* likewise */
	unsigned                 old_count;
	struct idempotency_order old[IDEMPOTENCY_FORGOTTEN_MAX + 1]; /* rows to remove with the new one */
};

/* Call before the handler; if idem->replayed, do not call the handler. Looks the key up and plans which old keys to remove.
 * Range reads. Errors: ERR_IDEMPOTENCY_KEY_REUSED (another request used the key). */
must_check enum err idempotent_begin(struct request *request, struct outcome *outcome,
                                     struct idempotent *idem);

/* Call after a handler that succeeded. Stages the key and the outcome's recipe beside the handler's writes. */
must_check enum err idempotent_end(struct request *request, const struct outcome *outcome,
                                   const struct idempotent *idem);
