/* The shards' metrics for Prometheus: all lines of one metric together. */
#include "http/shard_metrics.h"

#include "actors/rt/counts.h"
#include "http/metrics.h"
#include "schemas/delivery.h"
#include "schemas/msgpack_look.h"
#include "schemas/wallet/figures.h"

#include <inttypes.h>
#include <stdio.h>

enum group { SHARDS, WALLETS };

static const struct row {
	enum group          group;
	const char         *member, *type, *name, *help;
	const struct scale *scale; /* NULL: no histogram */
	const char         *label; /* NULL: one number */
	const char *const  *words; /* NULL: attempt_outcome() */
	unsigned            count, item;
} rows[] = {
#define S(group, member, type, name, help)      {group, member, type, name, help, .count = 1},
#define H(group, member, scale, name, help)     {group, member, "histogram", name, help, &scale},
#define L(group, member, type, name, help, ...) {group, member, type, name, help, NULL, __VA_ARGS__},
#include "http/shard_metrics.def"
#undef S
#undef H
#undef L
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS <= (int)SHARD_ROWS_MAX, "shard_numbers has a place for each row");
_Static_assert((int)ATTEMPT_ERRORS < (int)SHARD_WORDS_MAX && (int)WALLET_DUE_LABELS <= (int)SHARD_WORDS_MAX &&
                   (int)WALLET_PLATFORM_LABELS <= (int)SHARD_WORDS_MAX &&
                   (int)PUSH_FATE_LABELS <= (int)SHARD_WORDS_MAX,
               "shard_numbers has a place for each word");

static const char *word_of(const struct row *row, unsigned i)
{
	return row->words ? row->words[i] : attempt_outcome(i);
}

/* A histogram arrives as an array: its counts, then its sum. */
static bool take_histogram(const msgpack_object *value, struct histogram_copy *copy)
{
	if (!msgpack_is_array(value, SCALE_BOUNDS + 2)) return false;
	for (unsigned i = 0; i < SCALE_BOUNDS + 2; i++) {
		const msgpack_object *item = &value->via.array.ptr[i];
		if (item->type != MSGPACK_OBJECT_POSITIVE_INTEGER) return false;
		*(i <= SCALE_BOUNDS ? &copy->counts[i] : &copy->sum) = item->via.u64;
	}
	return true;
}

static void take_text(const msgpack_object *value, char *text, size_t size)
{
	bool is_text = value && value->type == MSGPACK_OBJECT_STR;
	snprintf(text, size, "%.*s", is_text ? (int)value->via.str.size : 0,
	         is_text ? value->via.str.ptr : "");
}

static int64_t take_number(const msgpack_object *value)
{
	return value && value->type == MSGPACK_OBJECT_POSITIVE_INTEGER ? value->via.i64 : 0;
}

/* False: it is absent, or null. */
static bool take_row(const struct row *row, const msgpack_object *value, union shard_value *to)
{
	if (!value) return false;
	if (row->scale) return take_histogram(value, &to->histogram);
	to->numbers[0] = take_number(value);
	if (!row->label) return value->type == MSGPACK_OBJECT_POSITIVE_INTEGER;
	for (unsigned i = 0; i < row->count; i++) {
		const msgpack_object *number = msgpack_member(value, word_of(row, i));
		if (number && number->type == MSGPACK_OBJECT_ARRAY)
			number = row->item < number->via.array.size ? &number->via.array.ptr[row->item]
			                                            : NULL;
		to->numbers[i] = take_number(number);
	}
	return true;
}

static void take_failing(struct shard_numbers *numbers, const msgpack_object *status)
{
	const msgpack_object *failing = msgpack_member(status, "failing_subscriptions");
	if (!failing || failing->type != MSGPACK_OBJECT_ARRAY) return;
	for (uint32_t i = 0; i < failing->via.array.size && i < FAILING_MAX; i++) {
		const msgpack_object *line = &failing->via.array.ptr[i];
		struct failing       *to = &numbers->failing[numbers->failing_count++];
		take_text(msgpack_member(line, "subscription_id"), to->subscription, sizeof to->subscription);
		take_text(msgpack_member(line, "endpoint"), to->endpoint, sizeof to->endpoint);
		to->retries = take_number(msgpack_member(line, "retries"));
	}
}

static void take_ending(struct shard_numbers *numbers, const msgpack_object *status)
{
	const msgpack_object *ending = msgpack_member(status, "wallet_credentials");
	if (!ending || ending->type != MSGPACK_OBJECT_ARRAY) return;
	for (uint32_t i = 0; i < ending->via.array.size && i < WALLET_ENDS_SHOWN_MAX; i++) {
		const msgpack_object *line = &ending->via.array.ptr[i];
		const msgpack_object *left = msgpack_member(line, "seconds_left");
		struct ending        *to = &numbers->ending[numbers->ending_count++];
		take_text(msgpack_member(line, "account"), to->account, sizeof to->account);
		take_text(msgpack_member(line, "kind"), to->kind, sizeof to->kind);
		bool is_past = left && left->type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
		to->seconds_left = is_past ? left->via.i64 : take_number(left);
	}
}

void shard_numbers_take(struct shard_numbers *numbers, const msgpack_object *status)
{
	*numbers = (struct shard_numbers){.up = status != NULL};
	if (!status) return;
	for (unsigned i = 0; i < ROWS; i++)
		numbers->known[i] = take_row(&rows[i], msgpack_member(status, rows[i].member),
		                             &numbers->values[i]);
	numbers->has_wallets = msgpack_member(status, "push_histogram") != NULL;
	take_failing(numbers, status);
	take_ending(numbers, status);
}

static void render_row(const struct shard_numbers *shards, uint32_t count, unsigned at, struct buffer *out)
{
	const struct row *row = &rows[at];
	metrics_head(out, row->name, row->type, row->help);
	for (uint32_t shard = 0; shard < count; shard++) {
		const union shard_value *value = &shards[shard].values[at];
		char                     labels[32], word[64] = "";
		snprintf(labels, sizeof labels, "shard=\"%" PRIu32 "\"", shard);
		if (!shards[shard].known[at]) continue;
		if (row->scale) metrics_histogram(out, row->name, labels, row->scale, &value->histogram);
		for (unsigned i = 0; i < row->count; i++) {
			if (row->label)
				snprintf(word, sizeof word, ",%s=\"%s\"", row->label, word_of(row, i));
			metrics_line(out, "stampede_%s{%s%s} %" PRId64 "\n", row->name, labels, word,
			             value->numbers[i]);
		}
	}
}

static void render_rows(enum group group, const struct shard_numbers *shards, uint32_t count,
                        struct buffer *out)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (rows[i].group == group) render_row(shards, count, i, out);
}

static void render_failing(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	metrics_head(out, "delivery_retries", "gauge",
	             "Deliveries that wait after a failed attempt, for the subscriptions with the most of "
	             "them in each shard.");
	for (uint32_t shard = 0; shard < count; shard++)
		for (unsigned i = 0; i < shards[shard].failing_count; i++)
			metrics_line(out,
			             "stampede_delivery_retries{shard=\"%" PRIu32
			             "\",subscription=\"%s\",endpoint=\"%s\"} %" PRId64 "\n",
			             shard, shards[shard].failing[i].subscription,
			             shards[shard].failing[i].endpoint, shards[shard].failing[i].retries);
}

/* What the timer counts. */
static void render_calls(struct buffer *out)
{
	const struct counts *counts = counts_shared();
	metrics_head(out, "wallet_apns_connections", "gauge", "Connections to APNs.");
	metrics_line(out, "stampede_wallet_apns_connections %" PRIuFAST64 "\n",
	             atomic_load_explicit(&counts->apns_connections, memory_order_relaxed));
	metrics_head(out, "wallet_google_calls_total", "counter",
	             "Calls of Google's Wallet API, by HTTP status; none: no answer. Without those for "
	             "access tokens.");
	for (unsigned status = 0; status < COUNTS_STATUS_END; status++) {
		char     label[16] = "none";
		uint64_t count = atomic_load_explicit(&counts->google_calls[status], memory_order_relaxed);
		if (status) snprintf(label, sizeof label, "%u", status);
		if (count)
			metrics_line(out, "stampede_wallet_google_calls_total{status=\"%s\"} %" PRIu64 "\n",
			             label, count);
	}
}

bool shard_numbers_have_wallets(const struct shard_numbers *shards, uint32_t count)
{
	bool have = false;
	for (uint32_t shard = 0; shard < count; shard++)
		have |= shards[shard].has_wallets;
	return have;
}

/* Without any, not even their head: a service without wallets does not show that there could be some. */
static void render_wallets(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	bool has_head = false;
	if (!shard_numbers_have_wallets(shards, count)) return;
	render_rows(WALLETS, shards, count, out);
	render_calls(out);
	for (uint32_t shard = 0; shard < count; shard++) {
		for (unsigned i = 0; i < shards[shard].ending_count; i++) {
			const struct ending *ending = &shards[shard].ending[i];
			if (!has_head)
				metrics_head(
				    out, "wallet_credential_seconds_left", "gauge",
				    "Time until a credential for wallets ends, below 0 after it; for "
				    "those of each shard that end first.");
			has_head = true;
			metrics_line(out,
			             "stampede_wallet_credential_seconds_left{account=\"%s\",kind=\"%s\"} "
			             "%" PRId64 "\n",
			             ending->account, ending->kind, ending->seconds_left);
		}
	}
}

void shard_numbers_render(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	metrics_head(out, "shard_up", "gauge",
	             "1 if the shard responds; if it is 0, the shard has no other metrics.");
	for (uint32_t shard = 0; shard < count; shard++)
		metrics_line(out, "stampede_shard_up{shard=\"%" PRIu32 "\"} %d\n", shard, shards[shard].up);
	render_rows(SHARDS, shards, count, out);
	render_failing(shards, count, out);
	render_wallets(shards, count, out);
}
