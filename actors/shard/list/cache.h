#pragma once
#include "schemas/err.h"
#include "schemas/ids.h"
#include "store/table.h"

#include <stddef.h>

/* What readers keep in memory between lists: data derived from one table of an account. Threads share it. An item that is
 * taken belongs to the taker until it is given back. The least recently used ones are dropped when there are too many. */
enum {
	LIST_CACHE_MAX = 192,       /* accounts and tables; further ones are read for each list */
	KEPT_BYTES_MAX = 384 << 20, /* of a shard; ten million passes need some 370 MB */
};

struct list_cache_item;

struct list_cache_kind {
	size_t size; /* of the struct whose first member is the head */
	void (*drop)(struct list_cache_item *item);
};

/* The head of every cached item; its maker keeps `bytes` and `moment` right. */
struct list_cache_item {
	const struct list_cache_kind *kind;
	struct account_id             account;
	enum table                    table;
	size_t                        bytes;
	uint64_t                      moment; /* of its view; 0: its parts have their own moments */
};

struct list_cache;
must_check enum err list_cache_new(struct list_cache **cache);
void                list_cache_free(struct list_cache **cache);

/* Takes what is kept of the table, unless it is of a later moment (0: its parts have their own). Otherwise makes a new item,
 * zeroed except for its head. The caller gives it back or drops it. `cache` may be NULL: nothing is kept. NULL: no memory. */
struct list_cache_item *list_cache_take(struct list_cache *cache, const struct list_cache_kind *kind,
                                        enum table table, struct account_id account, uint64_t moment);
void                    list_cache_give(struct list_cache *cache, struct list_cache_item *item);
void                    list_cache_drop(struct list_cache_item *item);
