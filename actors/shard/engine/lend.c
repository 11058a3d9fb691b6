/* Lends a reader's job the accounts that it will need, once everything decided is committed. */
#include "actors/shard/engine/lend.h"

#include "schemas/delivery.h"
#include "schemas/api/delivery.h"

/* An account that cannot be read is left out: the reader meets the same error and reports it. */
static void lend(struct account_cache *accounts, struct view *view, struct account_id id, struct lent *lent)
{
	struct account *account;
	if (lent->count < LENT_MAX && !account_cached(accounts, view, id, &account)) lent_add(lent, account);
}

void lend_accounts(struct account_cache *accounts, struct view *view, const struct call *call,
                   struct lent *lent)
{
	struct account_id last = {{0}};
	if (call->has_account) lend(accounts, view, call->account, lent);
	if (call->message != MSG_DELIVERY_RENDER) return;
	struct span leases = arg_span(&call->args[ARG_DELIVERY_RENDER_leases]);
	for (size_t at = 0; at + LEASE_BYTES <= leases.size; at += LEASE_BYTES) {
		struct lease lease;
		lease_read(leases.at + at, &lease);
		if (!account_same(last, lease.account)) lend(accounts, view, lease.account, lent);
		last = lease.account;
	}
}
