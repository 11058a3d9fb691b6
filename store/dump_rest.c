/* Values of webhooks, audiences, notifications in columns and credentials. */
#include "store/dump_inside.h"

#include "schemas/bytes.h"
#include "schemas/event.h"
#include "store/audience.h"
#include "store/delivery.h"
#include "store/expiry.h"
#include "store/notification.h"
#include "store/subscription.h"
#include "store/wallet_credential.h"

bool dump_ends(struct buffer *out, struct span key, struct span value)
{
	(void)key;
	if (value.size != EXPIRY_BYTES) return false;
	dump_count(out, "count", get_le64(value.at));
	return true;
}

/* Webhooks -------------------------------------------------------------------------------------------------- */

/* Receivers put tokens into the query. */
static void dump_url(struct buffer *out, struct span url)
{
	const uint8_t *query = memchr(url.at, '?', url.size);
	size_t         shown = query ? (size_t)(query - url.at) : url.size;
	dump_span(out, "url", span_of(url.at, shown));
	if (query) dump_hidden(out, "query", url.size - shown);
}

bool dump_subscription(struct buffer *out, struct span key, struct span value)
{
	struct subscription row;
	(void)key;
	if (subscription_read(value, &row)) return false;
	dump_flag(out, "active", row.active);
	dump_count(out, "generation", row.generation);
	dump_time(out, "created", row.created);
	dump_time(out, "updated", row.updated);
	dump_hidden(out, "secret", sizeof row.secret);
	dump_begin(out, "events", '[');
	for (unsigned i = 0; i < row.kind_count; i++) {
		dump_item(out);
		buffer_byte(out, '"');
		buffer_text(out, event_text(row.kinds[i]));
		buffer_byte(out, '"');
	}
	buffer_byte(out, ']');
	dump_url(out, row.url);
	return true;
}

static void show_delivery(struct buffer *out, const struct delivery *row)
{
	dump_word(out, "event", event_text(row->kind));
	dump_count(out, "subject", row->subject);
	dump_count(out, "attempts", row->attempts);
	dump_word(out, "last_error", attempt_word(row->error));
	dump_word(out, "detail", attempt_detail_text(row->detail));
	dump_count(out, "last_status", row->status);
	dump_count(out, "generation", row->generation);
	dump_time(out, "fact", row->fact);
}

bool dump_delivery(struct buffer *out, struct span key, struct span value)
{
	struct delivery row;
	if (delivery_read(key, value, &row)) return false;
	show_delivery(out, &row);
	if (row.zone != ZONE_LEASED) return true;
	dump_count(out, "attempt", row.token);
	dump_count(out, "timer", row.instance);
	return true;
}

bool dump_delivery_end(struct buffer *out, struct span key, struct span value)
{
	struct delivery_end row;
	if (delivery_end_read(key, value, &row)) return false;
	dump_word(out, "outcome", delivery_outcome_text(row.outcome));
	dump_time(out, "ended", row.ended);
	dump_uuid(out, "subscription", row.was.subscription);
	dump_uuid(out, "event_id", row.was.event);
	show_delivery(out, &row.was);
	return true;
}

/* Notifications and credentials ----------------------------------------------------------------------------------- */

bool dump_audience(struct buffer *out, struct span key, struct span value)
{
	struct audience row;
	(void)key;
	if (audience_read(value, &row)) return false;
	dump_span(out, "name", row.name);
	dump_time(out, "created", row.created);
	dump_begin(out, "members", '[');
	for (uint32_t i = 0; i < row.count; i++) {
		wall_us since = {0};
		dump_item(out);
		buffer_byte(out, '{');
		dump_count(out, "pass", audience_pass(&row, i));
		(void)audience_has(&row, audience_pass(&row, i), &since);
		dump_time(out, "since", since);
		buffer_byte(out, '}');
	}
	buffer_byte(out, ']');
	return true;
}

bool dump_notices(struct buffer *out, struct span key, struct span value)
{
	if (!notices_row_is_whole(value)) return false;
	dump_begin(out, "notifications", '[');
	for (unsigned i = 0; i < notices_row_used(value); i++) {
		struct notification_state state = notices_row_state(value, i);
		dump_item(out);
		buffer_byte(out, '{');
		dump_count(out, "number", (uint64_t)dump_u32_of(key) * NOTICES + i);
		dump_word(out, "status", notification_status_text(state.status));
		dump_time(out, "scheduled", state.scheduled);
		dump_time(out, "sent", state.sent);
		buffer_byte(out, '}');
	}
	buffer_byte(out, ']');
	return true;
}

/* The row with number 0 says which credential makes new passes. */
bool dump_wallet_credential(struct buffer *out, struct span key, struct span value)
{
	enum wallet_kind kind;
	uint64_t         number;
	if (!wallet_key_read(dump_rest_of(key), &kind, &number)) return false;
	return number ? dump_credential(out, key, value) : dump_credential_current(out, key, value);
}
