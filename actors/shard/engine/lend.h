#pragma once
#include "actors/shard/account/cache.h"
#include "schemas/frame.h"

/* Fills `lent` with the accounts that a SCAN call is about, as the writer's `view` shows them. Errors: none. */
void lend_accounts(struct account_cache *accounts, struct view *view, const struct call *call,
                   struct lent *lent);
