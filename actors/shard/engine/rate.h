#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/ids.h"
#include "schemas/limits.h"

#include <sys/queue.h>

/* How many requests accounts may still send. A bucket holds at most the requests of one second and refills at the account's
 * rate. A second after its last request it is full and is dropped: an account without a bucket may send a whole second's
 * requests. Buckets outlive every cached copy of the account. The writer thread owns them. */
struct rate_bucket {
	LIST_ENTRY(rate_bucket) in_slot;
	TAILQ_ENTRY(rate_bucket) by_age;
	struct account_id account;
	double            allowance; /* requests */
	wall_us           at;        /* when `allowance` was right: the last request */
};

enum { RATE_SLOTS = 1 << 14 };
LIST_HEAD(rate_slot, rate_bucket);
TAILQ_HEAD(rate_age, rate_bucket);

struct rates {
	struct rate_slot slots[RATE_SLOTS];
	struct rate_age  by_age; /* longest idle first */
	unsigned         count;
};

void rates_open(struct rates *rates);
void rates_free(struct rates *rates);

/* Takes one request from the account's bucket. `per_second`: the account's limit; 0: none. `now` is service time. Above
 * RATED_ACCOUNTS_MAX accounts within a second, the longest idle bucket is dropped. Errors: ERR_RATE_LIMITED (bucket empty,
 * nothing taken), ERR_NO_MEMORY. */
must_check enum err rates_admit(struct rates *rates, struct account_id account, uint32_t per_second,
                                wall_us now);
