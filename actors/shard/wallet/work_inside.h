#pragma once
#include "actors/shard/wallet/work.h"

/* Shared by work.c and held.c. */

/* NULL: it is not known. */
struct wallet_work *work_find(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                              uint32_t number);

/* Out of whatever its state keeps it in, into the agenda, until it is due and does not rest. Errors: ERR_NO_MEMORY. */
must_check enum err work_put_later(struct work_queue *queue, struct wallet_work *work);
