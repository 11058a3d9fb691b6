#pragma once
#include "schemas/err.h"
#include "schemas/ids.h"
#include "store/table.h"

#include <stddef.h>

/* What readers keep in memory between lists: of an account, what was made of one of its tables. Threads share it; what is
 * taken out is the taker's alone until it gives it back. Those used least recently go when there are too many. */
enum {
	LIST_CACHE_MAX = 192,       /* accounts and tables; more are read anew for each list */
	KEPT_BYTES_MAX = 384 << 20, /* of a shard; ten million passes need some 370 MB */
};

struct list_cache_item;

struct list_cache_kind {
	size_t size; /* of the struct whose first member is the head */
	void (*drop)(struct list_cache_item *item);
};

/* The head of whatever is cache; `bytes` and `moment` are its maker's to keep right. */
struct list_cache_item {
	const struct list_cache_kind *kind;
	struct account_id             account;
	enum table                    table;
	size_t                        bytes;
	uint64_t moment; /* of the view that it is as of; 0: each part of it knows its own */
};

struct list_cache;
must_check enum err list_cache_new(struct list_cache **cache);
void                list_cache_free(struct list_cache **cache);

/* What is kept of the table, unless it is of a later moment (0: whose parts know their own); or a new one, zeroed but for
 * its head. It is the caller's until it gives it back, or drops it. `kept` may be NULL: there is nothing, and nothing is
 * kept. Errors: NULL: no memory. */
struct list_cache_item *list_cache_take(struct list_cache *cache, const struct list_cache_kind *kind,
                                        enum table table, struct account_id account, uint64_t moment);
void                    list_cache_give(struct list_cache *cache, struct list_cache_item *item);
void                    list_cache_drop(struct list_cache_item *item);
