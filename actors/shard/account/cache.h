#pragma once
#include "actors/shard/account/account.h"
#include "store/scan_row.h"
#include "store/writes.h"

/* The writer's cache of accounts, as the writer sees the tables. The least recently used one is dropped first. A miss costs some
 * dozen reads. */
enum { ACCOUNT_CACHE_MAX = 20000, ACCOUNT_CACHE_SLOTS = 32768, ACCOUNT_CACHE_BYTES_MAX = 128 << 20 };
struct account_entry;
struct account_cache {
	struct account_entry *slots[ACCOUNT_CACHE_SLOTS];
	struct account_entry *newest, *oldest; /* by last use */
	unsigned              count;
};

/* The tables that a struct account is made from. */
#define ACCOUNT_SETTINGS                                                               \
	(TABLE_BIT(TABLE_ACCOUNT) | TABLE_BIT(TABLE_KEY) | TABLE_BIT(TABLE_TEMPLATE) | \
	 TABLE_BIT(TABLE_SUBSCRIPTION) | TABLE_BIT(TABLE_RULE))

/* Range reads on a miss: before any staged write. The account is borrowed until the next call of the cache. Errors: as account.h.
 */
must_check enum err account_cached(struct account_cache *cache, struct view *view, struct account_id id,
                                   struct account **account);

/* Where the account's ledger and scans end; NULL: the account is not in memory. */
struct account_ends *account_ends(struct account_cache *cache, struct account_id id);

/* To be called once rows have been written to the tables that `view`, the writer's, shows: makes the next versions of their
 * accounts. An account that finds no memory is dropped. Errors: none. */
void account_on_writes(struct account_cache *cache, const struct writes *writes, struct view *view);

void account_forget(struct account_cache *cache, struct account_id id);
void account_forget_all(struct account_cache *cache);
