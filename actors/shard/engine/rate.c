/* Rate limits of accounts. Buckets are separate from the cached accounts (account.h), which are dropped when one of their rows
 * is written. Otherwise an account that writes often would have no limit.
 *
 * Lifetime of a bucket: from the first request without one until it has been idle for a second and another request arrives. It
 * is full by then, which is what an absent bucket means. */
#include "actors/shard/engine/rate.h"

#include "schemas/crc32c.h"

#include <stdlib.h>
#include <string.h>

void rates_open(struct rates *rates)
{
	*rates = (struct rates){.count = 0};
	TAILQ_INIT(&rates->by_age);
}

static void drop(struct rates *rates, struct rate_bucket *bucket)
{
	LIST_REMOVE(bucket, in_slot);
	TAILQ_REMOVE(&rates->by_age, bucket, by_age);
	free(bucket);
	rates->count--;
}

void rates_free(struct rates *rates)
{
	while (rates->count)
		drop(rates, TAILQ_FIRST(&rates->by_age));
}

static struct rate_slot *slot_of(struct rates *rates, struct account_id account)
{
	return &rates->slots[crc32c(0, account.b, sizeof account.b) % RATE_SLOTS];
}

static struct rate_bucket *find(struct rates *rates, struct account_id account)
{
	struct rate_bucket *bucket;
	LIST_FOREACH(bucket, slot_of(rates, account), in_slot)
	if (account_same(bucket->account, account)) return bucket;
	return NULL;
}

/* Each request drops up to two buckets and adds at most one, so hardly more exist than requests of the last second need. */
static void drop_idle(struct rates *rates, wall_us now)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rate_bucket *oldest = TAILQ_FIRST(&rates->by_age);
		if (!oldest || now.v - oldest->at.v < US_PER_SEC) return;
		drop(rates, oldest);
	}
}

/* Adds a full bucket. */
static struct rate_bucket *add(struct rates *rates, struct account_id account, uint32_t per_second)
{
	struct rate_bucket *bucket = malloc(sizeof *bucket);
	if (!bucket) return NULL;
	if (rates->count == RATED_ACCOUNTS_MAX) drop(rates, TAILQ_FIRST(&rates->by_age));
	bucket->account = account;
	bucket->allowance = per_second;
	LIST_INSERT_HEAD(slot_of(rates, account), bucket, in_slot);
	rates->count++;
	return bucket;
}

static void fill(struct rate_bucket *bucket, uint32_t per_second, wall_us now)
{
	bucket->allowance += (double)(now.v - bucket->at.v) / (double)US_PER_SEC * per_second;
	if (bucket->allowance > per_second) bucket->allowance = per_second;
}

enum err rates_admit(struct rates *rates, struct account_id account, uint32_t per_second, wall_us now)
{
	if (per_second == 0) return OK;
	drop_idle(rates, now);
	struct rate_bucket *bucket = find(rates, account);
	if (bucket) {
		fill(bucket, per_second, now);
		TAILQ_REMOVE(&rates->by_age, bucket, by_age);
	} else if (!(bucket = add(rates, account, per_second))) {
		return ERR_NO_MEMORY;
	}
	bucket->at = now;
	TAILQ_INSERT_TAIL(&rates->by_age, bucket, by_age);
	if (bucket->allowance < 1) return ERR_RATE_LIMITED;
	bucket->allowance -= 1;
	return OK;
}
