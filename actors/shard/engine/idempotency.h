#pragma once
#include "actors/shard/command.h"
#include "store/idempotency.h"

/* A command whose request came with an idempotency key happens once: what it answered is kept in the commit of its
 * effect, and the same request with the same key gets that answer again. Errors: as view.h, and those named. */
struct idempotent {
	bool     replayed; /* the answer has been given before, and is in the outcome again */
	bool     replaces; /* the new row keeps the order and the time of the one that is there */
	uint64_t order;    /* the new row's */
	wall_us  at;       /* likewise */
	unsigned old_count;
	struct idempotency_order old[IDEMPOTENCY_FORGOTTEN_MAX + 1]; /* what goes when the new row comes */
};

/* Before the handler, which must not be called if idem->replayed: looks the key up, and what to forget for it.
 * Range reads. Errors: ERR_IDEMPOTENCY_KEY_REUSED (another request had the key). */
must_check enum err idempotent_begin(struct request *request, struct outcome *outcome,
                                     struct idempotent *idem);

/* After a handler that succeeded: stages the key with the recipe of the outcome, beside the handler's writes. */
must_check enum err idempotent_end(struct request *request, const struct outcome *outcome,
                                   const struct idempotent *idem);
