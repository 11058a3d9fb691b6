#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/ids.h"
#include "schemas/limits.h"

#include <sys/queue.h>

/* How many requests accounts may still send: each has a bucket that holds at most the requests of one second, and fills
 * at the account's rate. A second after its last request it is full, and not kept any more: an account that is not found
 * here may send all of a second's. It outlives every copy of the account's rows. The writer thread owns it. */
struct rate_bucket {
	LIST_ENTRY(rate_bucket) in_slot;
	TAILQ_ENTRY(rate_bucket) by_age;
	struct account_id account;
	double            allowance; /* requests */
	wall_us           at;        /* when that was so: the last request */
};

enum { RATE_SLOTS = 1 << 14 };
LIST_HEAD(rate_slot, rate_bucket);
TAILQ_HEAD(rate_age, rate_bucket);

struct rates {
	struct rate_slot slots[RATE_SLOTS];
	struct rate_age  by_age; /* the longest idle first */
	unsigned         count;
};

void rates_open(struct rates *rates);
void rates_free(struct rates *rates);

/* Takes one request off the account's bucket. `per_second`: its limit; 0: it has none. `now` is service time. Of more than
 * RATED_ACCOUNTS_MAX accounts within one second the longest idle are forgotten.
 * Errors: ERR_RATE_LIMITED (nothing is left, nothing was taken), ERR_NO_MEMORY. */
must_check enum err rates_admit(struct rates *rates, struct account_id account, uint32_t per_second,
                                wall_us now);
