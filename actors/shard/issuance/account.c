/* Accounts that issue passes: each has a queue of passes, and is in the ring while it may start another fetch. */
#include "actors/shard/issuance/inside.h"

#include <stdlib.h>

uint32_t issuing_mark(struct account_id id)
{
	uint32_t mark;
	memcpy(&mark, id.b, sizeof mark); /* account ids are random */
	return mark;
}

static struct issuing_account *find_account(struct issuance *issuance, struct account_id id)
{
	struct issuing_account *account;
	LIST_FOREACH(account, &issuance->accounts[issuing_mark(id) % ISSUING_ACCOUNT_BUCKETS], in_bucket)
	{
		if (account_same(account->id, id)) return account;
	}
	return NULL;
}

void issuance_settle(struct issuance *issuance, struct issuing_account *account)
{
	bool is_ready = !TAILQ_EMPTY(&account->line) && account->busy_count < FETCHES_ACCOUNT_MAX &&
	                account->fetch_count < FETCHES_KEPT_MAX;
	if (account->is_in_ring && !is_ready) TAILQ_REMOVE(&issuance->ring, account, in_ring);
	if (!account->is_in_ring && is_ready) TAILQ_INSERT_TAIL(&issuance->ring, account, in_ring);
	account->is_in_ring = is_ready;
	if (account->pass_count || account->fetch_count) return;
	LIST_REMOVE(account, in_bucket);
	free(account);
}

struct issuing_account *issuing_account_of(struct issuance *issuance, struct account_id id)
{
	struct issuing_account *account = find_account(issuance, id);
	if (account || !(account = calloc(1, sizeof *account))) return account;
	account->id = id;
	TAILQ_INIT(&account->line);
	for (int i = 0; i < FETCH_LINES; i++)
		TAILQ_INIT(&account->lines[i]);
	LIST_INSERT_HEAD(&issuance->accounts[issuing_mark(id) % ISSUING_ACCOUNT_BUCKETS], account, in_bucket);
	return account;
}
