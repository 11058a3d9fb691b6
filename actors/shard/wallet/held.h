#pragma once
#include "actors/shard/wallet/work.h"

/* Pushes and calls of Google that wait for a credential or a setting of their account. Errors: ERR_NO_MEMORY. */

/* Call after a command has written settings of accounts, or credentials: what these held is due again. Of many due passes only
 * the first are looked at; the others are left for held_step(). */
must_check enum err held_on_settings(struct work_queue *queue, const struct writes *writes, wall_us now);

/* Looks at some thousand due passes for which there is news. *more: there are others. */
must_check enum err held_step(struct work_queue *queue, wall_us now, bool *more);

/* One thing is due again: another phone has it. Nothing if it only rests after a push, or is not there. */
must_check enum err held_wake(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                              uint32_t number, wall_us now);
