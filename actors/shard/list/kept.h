#pragma once
#include "schemas/err.h"
#include "schemas/ids.h"
#include "store/table.h"

#include <stddef.h>

/* What readers keep in memory between lists: of an account, what was made of one of its tables. Threads share it; what is
 * taken out is the taker's alone until it gives it back. Those used least recently go when there are too many. */
enum {
	KEPT_MAX = 192,             /* accounts and tables; more are read anew for each list */
	KEPT_BYTES_MAX = 384 << 20, /* of a shard; ten million passes need some 370 MB */
};

/* The head of whatever is kept; its maker fills it in and knows how to free it. */
struct kept_item {
	struct account_id account;
	enum table        table;
	size_t            bytes;
	void (*drop)(struct kept_item *item);
};

struct kept;
must_check enum err kept_new(struct kept **kept);
void                kept_free(struct kept **kept);

/* NULL: there is none. `kept` may be NULL: there is nothing, and nothing is kept. */
struct kept_item *kept_take(struct kept *kept, enum table table, struct account_id account);
void              kept_give(struct kept *kept, struct kept_item *item);
