/* Values of rewards, webhooks, stored responses, rules and notifications. */
#include "store/dump_inside.h"

#include "schemas/bytes.h"
#include "schemas/event.h"
#include "store/audience.h"
#include "store/cleanup.h"
#include "store/delivery.h"
#include "store/entitlement.h"
#include "store/expiry.h"
#include "store/idempotency.h"
#include "store/notification.h"

/* Entitlements ---------------------------------------------------------------------------------------------- */

bool dump_entitlement(struct buffer *out, struct span key, struct span value)
{
	static const char *const states[] = {[ENTITLEMENT_OPEN] = "open",
	                                     [ENTITLEMENT_REDEEMED] = "redeemed",
	                                     [ENTITLEMENT_REPLACED] = "replaced"};
	struct entitlement       row;
	(void)key;
	if (entitlement_read(value, &row)) return false;
	dump_word(out, "state", row.state < sizeof states / sizeof *states ? states[row.state] : "unknown");
	dump_word(out, "source", row.source == SOURCE_MANUAL ? "manual" : "automatic");
	dump_count(out, "family", row.family);
	dump_count(out, "version", row.version);
	dump_count(out, "allowance", row.allowance);
	dump_count(out, "remaining", row.remaining);
	dump_time(out, "expires", row.expires);
	dump_time(out, "created", row.created);
	dump_time(out, "updated", row.updated);
	return true;
}

bool dump_ends(struct buffer *out, struct span key, struct span value)
{
	(void)key;
	if (value.size != EXPIRY_BYTES) return false;
	dump_count(out, "count", get_le64(value.at));
	return true;
}

/* Webhooks -------------------------------------------------------------------------------------------------- */

static void show_subscription(struct buffer *out, const struct subscription *row)
{
	dump_flag(out, "active", row->active);
	dump_count(out, "generation", row->generation);
	dump_time(out, "created", row->created);
	dump_time(out, "updated", row->updated);
	dump_hidden(out, "secret", sizeof row->secret);
	dump_begin(out, "events", '[');
	for (unsigned i = 0; i < row->kind_count; i++) {
		dump_item(out);
		buffer_byte(out, '"');
		buffer_text(out, event_text(row->kinds[i]));
		buffer_byte(out, '"');
	}
	buffer_byte(out, ']');
	dump_span(out, "url", row->url);
}

bool dump_subscription(struct buffer *out, struct span key, struct span value)
{
	struct subscription row;
	(void)key;
	if (subscription_read(value, &row)) return false;
	show_subscription(out, &row);
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

/* Stored responses: only fields of the recipe that cannot hold a secret. */
bool dump_idempotency(struct buffer *out, struct span key, struct span value)
{
	static const char *const words[] = {
#define R(number, NAME, name, OF, detail) [number] = #name,
#include "store/recipes.def"
#undef R
	};
	struct idempotency_row row;
	(void)key;
	if (idempotency_row_read(value, &row)) return false;
	unsigned what = row.recipe.what;
	dump_word(out, "what", what < sizeof words / sizeof *words && words[what] ? words[what] : "unknown");
	dump_count(out, "flags", row.recipe.flags);
	dump_count(out, "number", row.recipe.number);
	dump_time(out, "at", row.at);
	dump_count(out, "order", row.order);
	dump_hidden(out, "request_hash", sizeof row.request);
	if (row.recipe.detail.size) dump_hidden(out, "detail", row.recipe.detail.size);
	return true;
}

/* Rules and notifications ----------------------------------------------------------------------------------- */

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

bool dump_notification(struct buffer *out, struct span key, struct span value)
{
	struct notification row;
	(void)key;
	if (notification_read(value, &row)) return false;
	dump_uuid(out, "id", row.id);
	dump_time(out, "created", row.created);
	if (row.to_audience)
		dump_uuid(out, "audience", row.audience);
	else
		dump_count(out, "pass", row.pass_number);
	dump_span(out, "message", row.message);
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

bool dump_notification_tally(struct buffer *out, struct span key, struct span value)
{
	struct notification_tally tally;
	(void)key;
	if (notification_tally_read(value, &tally)) return false;
	dump_count(out, "made", tally.made);
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		dump_count(out, notification_status_text(i), tally.counts[i]);
	return true;
}

/* Background removals and uses of images ------------------------------------------------------------------------- */

bool dump_cleanup(struct buffer *out, struct span key, struct span value)
{
	struct cleanup row;
	if (cleanup_read(key, value, &row)) return false;
	dump_time(out, "from", row.from);
	if (row.kind == CLEANUP_REGISTRATIONS && row.state_size)
		dump_hidden(out, "state", row.state_size);
	else
		dump_hex(out, "state", span_of(row.state, row.state_size));
	return true;
}
