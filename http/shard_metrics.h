#pragma once
#include "schemas/attempt.h"
#include "schemas/buffer.h"
#include "schemas/histogram.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "schemas/url.h"
#include "schemas/wallet/figures.h"

#include <stdbool.h>

/* The shards' part of /metrics, from their answers to SHARD_STATUS, by the table shard_metrics.def. A shard without an answer
 * has stampede_shard_up 0 and no other line. Errors: none. */
enum { SHARD_NUMBERS_MAX = 32, SHARD_HISTOGRAMS_MAX = 4 };

struct shard_numbers {
	bool    up;
	bool    known[SHARD_NUMBERS_MAX]; /* a member may be null */
	int64_t values[SHARD_NUMBERS_MAX];

	bool                  has_histogram[SHARD_HISTOGRAMS_MAX];
	struct histogram_copy histograms[SHARD_HISTOGRAMS_MAX];

	uint64_t attempts[ATTEMPT_ERRORS + 1]; /* by attempt_outcome() */
	unsigned failing_count;
	struct failing {
		char    subscription[UUID_TEXT], endpoint[URL_ORIGIN_TEXT];
		int64_t retries;
	} failing[FAILING_MAX];
	/* Of wallets; from the first credential on. */
	bool                  has_signed, has_pushed;
	struct histogram_copy signing, push_delay;
	int64_t               due[WALLET_DUE_LABELS], oldest_due_s[WALLET_DUE_LABELS];
	int64_t               pushes[PUSH_FATE_LABELS];
	int64_t               resting, phone_lines, registrations;
	int64_t               installed[WALLET_PLATFORM_LABELS];

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
