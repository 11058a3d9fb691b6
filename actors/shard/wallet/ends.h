#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "schemas/wallet/kind.h"
#include "store/writes.h"
#include "store/view.h"

#include <pthread.h>

/* When credentials for wallets end: those that make an account's new passes, and the operator's, in memory. The writer keeps
 * it, logs what ends soon and says when it wants to be called again; readers copy from it. Google's do not end. Which credentials
 * rest is here, too. */
struct wallet_end {
	struct account_id account; /* nil: the operator's */
	enum wallet_kind  kind;
	wall_us           end;
	unsigned          next; /* threshold that is logged next: an index, see ends.c */
};

/* A credential that rested when it was last written. */
struct wallet_rest {
	struct account_id account;
	enum wallet_kind  kind;
	uint64_t          number;
	wall_us           until;
};

struct wallet_ends {
	pthread_mutex_t    lock; /* over the rest, which only the writer changes */
	struct wallet_end *of;
	size_t             count, room;

	struct wallet_rest *rests;
	size_t              rest_count, rest_room;

	wall_us look_at;  /* writer only: nothing is to be logged before */
	bool    is_first; /* shard 0: it alone speaks of the operator's, which every shard has */
};

/* Reads all rows. The next call of wallet_ends_log() logs what is below a threshold already. Errors: as view.h. */
must_check enum err wallet_ends_load(struct wallet_ends *ends, struct view *view, bool is_first);
void                wallet_ends_free(struct wallet_ends *ends);

/* To be called once rows were written; `view` shows them. What is put below a threshold is not logged for it. Errors: as
 * view.h. */
must_check enum err wallet_ends_on_writes(struct wallet_ends *ends, const struct writes *writes,
                                          struct view *view, wall_us now);

/* Logs those that have come below another threshold: once, for the lowest one. Cheap before ends->look_at. */
void wallet_ends_log(struct wallet_ends *ends, wall_us now);

/* How many credentials rest at that moment. Any thread. */
unsigned wallet_ends_resting(struct wallet_ends *ends, wall_us now);

/* Copies those that end first, the first one first; returns how many. Any thread. */
unsigned wallet_ends_soonest(struct wallet_ends *ends, struct wallet_end soonest[WALLET_ENDS_SHOWN_MAX]);
