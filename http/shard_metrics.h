#pragma once
#include "schemas/attempt.h"
#include "schemas/buffer.h"
#include "schemas/histogram.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "schemas/url.h"

#include <stdbool.h>

/* The shards' part of /metrics, from their answers to SHARD_STATUS, by the table shard_metrics.def. A shard without an answer
 * has stampede_shard_up 0 and no other line. Errors: none. */
enum { SHARD_ROWS_MAX = 48, SHARD_WORDS_MAX = 16 };

struct shard_numbers {
	bool up, has_wallets; /* it has had a credential for wallets */
	/* Of each row. */
	bool known[SHARD_ROWS_MAX]; /* a member may be absent or null */
	union shard_value {
		int64_t numbers[SHARD_WORDS_MAX]; /* by word of the label; else only the first */
		struct histogram_copy histogram;
	} values[SHARD_ROWS_MAX];

	unsigned failing_count;
	struct failing {
		char    subscription[UUID_TEXT], endpoint[URL_ORIGIN_TEXT];
		int64_t retries;
	} failing[FAILING_MAX];

	unsigned ending_count;
	struct ending {
		char    account[ACCOUNT_ID_TEXT], kind[8];
		int64_t seconds_left; /* below 0: it has ended */
	} ending[WALLET_ENDS_SHOWN_MAX];
};

void shard_numbers_take(struct shard_numbers *numbers, const msgpack_object *status); /* NULL: no answer */
void shard_numbers_render(const struct shard_numbers *shards, uint32_t count, struct buffer *out);

/* Had this service ever a credential for wallets, as far as its shards have answered? */
bool shard_numbers_have_wallets(const struct shard_numbers *shards, uint32_t count);
