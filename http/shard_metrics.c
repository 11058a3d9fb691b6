/* The shards' metrics for Prometheus: all lines of one metric together. */
#include "http/shard_metrics.h"

#include "actors/rt/counts.h"
#include "http/metrics.h"
#include "schemas/msgpack_look.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
	const char *member, *type, *name, *help;
} rows[] = {
#define S(member, type, name, help) {member, type, "shard_" name, help},
#define H(member, scale, name, help)
#include "http/shard_metrics.def"
#undef S
#undef H
};
static const struct {
	const char         *member;
	const struct scale *scale;
	const char         *name, *help;
} histograms[] = {
#define S(member, type, name, help)
#define H(member, scale, name, help) {member, &scale, "shard_" name, help},
#include "http/shard_metrics.def"
#undef S
#undef H
};
enum { ROWS = sizeof rows / sizeof *rows, HISTOGRAMS = sizeof histograms / sizeof *histograms };
_Static_assert((int)ROWS <= (int)SHARD_NUMBERS_MAX,
               "shard_metrics.def has more rows than shard_numbers has places");
_Static_assert((int)HISTOGRAMS <= (int)SHARD_HISTOGRAMS_MAX,
               "shard_metrics.def has more histograms than shard_numbers has places");

/* A histogram arrives as an array: its counts, then its sum. */
static bool take_histogram(const msgpack_object *value, struct histogram_copy *copy)
{
	if (!value || !msgpack_is_array(value, SCALE_BOUNDS + 2)) return false;
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

static void take_deliveries(struct shard_numbers *numbers, const msgpack_object *status)
{
	const msgpack_object *attempts = msgpack_member(status, "attempts");
	const msgpack_object *failing = msgpack_member(status, "failing_subscriptions");
	for (unsigned i = 0; attempts && i <= ATTEMPT_ERRORS; i++)
		numbers->attempts[i] = (uint64_t)take_number(msgpack_member(attempts, attempt_outcome(i)));
	if (!failing || failing->type != MSGPACK_OBJECT_ARRAY) return;
	for (uint32_t i = 0; i < failing->via.array.size && i < FAILING_MAX; i++) {
		const msgpack_object *line = &failing->via.array.ptr[i];
		struct failing       *to = &numbers->failing[numbers->failing_count++];
		take_text(msgpack_member(line, "subscription_id"), to->subscription, sizeof to->subscription);
		take_text(msgpack_member(line, "endpoint"), to->endpoint, sizeof to->endpoint);
		to->retries = take_number(msgpack_member(line, "retries"));
	}
}

static void take_pushes(struct shard_numbers *numbers, const msgpack_object *status)
{
	const msgpack_object *due = msgpack_member(status, "wallet_due"),
	                     *pushes = msgpack_member(status, "wallet_pushes");
	numbers->has_pushed = take_histogram(msgpack_member(status, "push_histogram"), &numbers->push_delay);
	for (unsigned i = 0; due && i < WALLET_DUE_LABELS; i++) {
		const msgpack_object *line = msgpack_member(due, wallet_due_labels[i]);
		if (!line || !msgpack_is_array(line, 2)) continue;
		numbers->due[i] = take_number(&line->via.array.ptr[0]);
		numbers->oldest_due_s[i] = take_number(&line->via.array.ptr[1]);
	}
	numbers->resting = take_number(msgpack_member(status, "wallet_resting"));
	numbers->phone_lines = take_number(msgpack_member(status, "wallet_phone_lines"));
	for (unsigned i = 0; pushes && i < PUSH_FATE_LABELS; i++)
		numbers->pushes[i] = take_number(msgpack_member(pushes, push_fate_labels[i]));
}

static void take_installed(struct shard_numbers *numbers, const msgpack_object *status)
{
	const msgpack_object *installed = msgpack_member(status, "wallet_installed");
	numbers->registrations = take_number(msgpack_member(status, "wallet_registrations"));
	for (unsigned i = 0; installed && i < WALLET_PLATFORM_LABELS; i++)
		numbers->installed[i] = take_number(msgpack_member(installed, wallet_platform_labels[i]));
}

static void take_wallets(struct shard_numbers *numbers, const msgpack_object *status)
{
	const msgpack_object *ending = msgpack_member(status, "wallet_credentials");
	take_pushes(numbers, status);
	take_installed(numbers, status);
	numbers->has_signed = take_histogram(msgpack_member(status, "sign_histogram"), &numbers->signing);
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
	for (unsigned i = 0; status && i < ROWS; i++) {
		const msgpack_object *value = msgpack_member(status, rows[i].member);
		if (!value || value->type != MSGPACK_OBJECT_POSITIVE_INTEGER) continue;
		numbers->known[i] = true;
		numbers->values[i] = value->via.i64;
	}
	for (unsigned i = 0; status && i < HISTOGRAMS; i++)
		numbers->has_histogram[i] = take_histogram(msgpack_member(status, histograms[i].member),
		                                           &numbers->histograms[i]);
	if (status) take_deliveries(numbers, status);
	if (status) take_wallets(numbers, status);
}

static void render_histogram(const struct shard_numbers *shards, uint32_t count, unsigned row,
                             struct buffer *out)
{
	metrics_head(out, histograms[row].name, "histogram", histograms[row].help);
	for (uint32_t shard = 0; shard < count; shard++) {
		char labels[32];
		snprintf(labels, sizeof labels, "shard=\"%" PRIu32 "\"", shard);
		if (shards[shard].has_histogram[row])
			metrics_histogram(out, histograms[row].name, labels, histograms[row].scale,
			                  &shards[shard].histograms[row]);
	}
}

static void render_deliveries(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	metrics_head(out, "delivery_attempts_total", "counter", "Attempts to deliver webhooks, by outcome.");
	for (uint32_t shard = 0; shard < count; shard++)
		for (unsigned i = 0; shards[shard].up && i <= ATTEMPT_ERRORS; i++)
			metrics_line(out,
			             "stampede_delivery_attempts_total{shard=\"%" PRIu32
			             "\",outcome=\"%s\"} %" PRIu64 "\n",
			             shard, attempt_outcome(i), shards[shard].attempts[i]);
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

static void render_signing(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	static const char name[] = "wallet_sign_seconds";
	metrics_head(out, name, "histogram", "Time to sign a package for Apple's wallet.");
	for (uint32_t shard = 0; shard < count; shard++) {
		char labels[32];
		snprintf(labels, sizeof labels, "shard=\"%" PRIu32 "\"", shard);
		if (shards[shard].has_signed)
			metrics_histogram(out, name, labels, &scale_us, &shards[shard].signing);
	}
}

static void render_push_delay(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	static const char name[] = "wallet_push_delay_seconds";
	metrics_head(out, name, "histogram",
	             "Time from a pass's change to APNs' answer for the last of its phones.");
	for (uint32_t shard = 0; shard < count; shard++) {
		char labels[32];
		snprintf(labels, sizeof labels, "shard=\"%" PRIu32 "\"", shard);
		if (shards[shard].has_pushed)
			metrics_histogram(out, name, labels, &scale_us, &shards[shard].push_delay);
	}
}

/* A family with a line for each shard and word of its label; without a label, one for each shard. */
struct labelled {
	const char        *name, *type, *help, *label;
	const char *const *words;
	unsigned           words_count;
	size_t             at; /* of its numbers, in struct shard_numbers */
};

static const struct labelled of_wallets[] = {
    {"wallet_registrations", "gauge",
     "Phones with a pass in Apple's wallet, counted for each of their passes; also those of passes that have "
     "ended less than 30 days ago.",
     NULL, NULL, 1, offsetof(struct shard_numbers, registrations)},
    {"wallet_installed", "gauge", "Active passes that a wallet has, by platform.", "platform",
     wallet_platform_labels, WALLET_PLATFORM_LABELS, offsetof(struct shard_numbers, installed)},
    {"wallet_due", "gauge", "Work on passes in wallets that is not done, by kind.", "kind", wallet_due_labels,
     WALLET_DUE_LABELS, offsetof(struct shard_numbers, due)},
    {"wallet_oldest_due_seconds", "gauge", "Time since when the oldest of that work is due.", "kind",
     wallet_due_labels, WALLET_DUE_LABELS, offsetof(struct shard_numbers, oldest_due_s)},
    {"wallet_pushes_total", "counter",
     "Pushes for a pass, by what became of them: retry and held are repeated, refused is not. gone counts "
     "phones that have the pass no more.",
     "fate", push_fate_labels, PUSH_FATE_LABELS, offsetof(struct shard_numbers, pushes)},
    {"wallet_credentials_resting", "gauge",
     "Credentials for wallets that rest because Apple or Google refused them.", NULL, NULL, 1,
     offsetof(struct shard_numbers, resting)},
    {"wallet_device_log_lines_total", "counter", "Lines that phones wrote for `wallet log`.", NULL, NULL, 1,
     offsetof(struct shard_numbers, phone_lines)},
};

static void render_labelled(const struct labelled *family, const struct shard_numbers *shards, uint32_t count,
                            struct buffer *out)
{
	metrics_head(out, family->name, family->type, family->help);
	for (uint32_t shard = 0; shard < count; shard++) {
		const int64_t *numbers = (const int64_t *)((const char *)&shards[shard] + family->at);
		for (unsigned i = 0; shards[shard].has_pushed && i < family->words_count; i++) {
			char label[64] = "";
			if (family->label)
				snprintf(label, sizeof label, ",%s=\"%s\"", family->label, family->words[i]);
			metrics_line(out, "stampede_%s{shard=\"%" PRIu32 "\"%s} %" PRId64 "\n", family->name,
			             shard, label, numbers[i]);
		}
	}
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
		have |= shards[shard].has_pushed;
	return have;
}

/* Without any, not even their head: a service without wallets does not show that there could be some. */
static void render_wallets(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	bool has_head = false;
	if (!shard_numbers_have_wallets(shards, count)) return;
	render_signing(shards, count, out);
	for (unsigned i = 0; i < sizeof of_wallets / sizeof *of_wallets; i++)
		render_labelled(&of_wallets[i], shards, count, out);
	render_push_delay(shards, count, out);
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
	for (unsigned i = 0; i < ROWS; i++) {
		metrics_head(out, rows[i].name, rows[i].type, rows[i].help);
		for (uint32_t shard = 0; shard < count; shard++)
			if (shards[shard].known[i])
				metrics_line(out, "stampede_%s{shard=\"%" PRIu32 "\"} %" PRId64 "\n",
				             rows[i].name, shard, shards[shard].values[i]);
	}
	for (unsigned i = 0; i < HISTOGRAMS; i++)
		render_histogram(shards, count, i, out);
	render_deliveries(shards, count, out);
	render_wallets(shards, count, out);
}
