#pragma once
#include "schemas/delivery.h"
#include "schemas/messages.h"
#include "schemas/limits.h"

/* The arguments of every message: what it is called, where HTTP finds it, its JSON type, and its range.
 * F(message, name, source, type, need, min, max)
 *   source  PATH | QUERY | BODY | SELF (given by the sender itself: the CLI, another process)
 *   type    STRING   msgpack str; range in bytes (0 = no limit here; the handler has finer rules)
 *           INTEGER  msgpack int; inclusive range
 *           BOOLEAN  msgpack bool; in a query also 1, 0, t, f
 *           OBJECT   msgpack map of key -> str (a string) | bin (any other value, as its JSON text) | nil
 *           NULLABLE an OBJECT for which an explicit null means something: an empty bin is that null
 *           BYTES    msgpack bin
 *           STRINGS  a query's parameter that may be repeated: msgpack array of str
 *           TIME     RFC 3339; travels as int, microseconds since 1970
 *           VALUE    any JSON value, which the handler judges with codes of its own: str (a string) | bin (any other
 *                    value, as its JSON text; empty: one larger than the range). Left out it is nil, a REQUIRED one too
 *           PLATFORM a STRING that is "ios" or "android"
 *           UUID     in a path: msgpack str
 * What cannot be an id in a path travels as the empty text, which is nobody's.
 * Absent optional arguments travel as nil. On the wire the arguments are one array in this order. */
#define FIELDS_AUTH(F) F(AUTH, stands_for, SELF, INTEGER, OPTIONAL, 0, MSG_COUNT - 1)
#define FIELDS_PASS_CREATE(F)                                          \
	F(PASS_CREATE, pass_id, BODY, STRING, REQUIRED, 0, 0)          \
	F(PASS_CREATE, pass_template_id, BODY, STRING, OPTIONAL, 0, 0) \
	F(PASS_CREATE, visible, BODY, OBJECT, OPTIONAL, 0, 0)          \
	F(PASS_CREATE, hidden, BODY, OBJECT, OPTIONAL, 0, 0)           \
	F(PASS_CREATE, appearance, BODY, OBJECT, OPTIONAL, 0, 0)       \
	F(PASS_CREATE, initial_platform, BODY, PLATFORM, OPTIONAL, 0, 0)
#define FIELDS_PASS_GET(F)                                 \
	F(PASS_GET, pass_id, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_GET, include_deleted, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_PASS_LIST(F)                                              \
	F(PASS_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(PASS_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)     \
	F(PASS_LIST, include_deleted, QUERY, BOOLEAN, OPTIONAL, 0, 0)    \
	F(PASS_LIST, q, QUERY, STRING, OPTIONAL, 0, 0)                   \
	F(PASS_LIST, status, QUERY, STRINGS, OPTIONAL, 0, 0)             \
	F(PASS_LIST, sort_by, QUERY, STRING, OPTIONAL, 0, 0)             \
	F(PASS_LIST, sort_dir, QUERY, STRING, OPTIONAL, 0, 0)            \
	F(PASS_LIST, created_from, QUERY, TIME, OPTIONAL, 0, 0)          \
	F(PASS_LIST, created_to, QUERY, TIME, OPTIONAL, 0, 0)            \
	F(PASS_LIST, updated_from, QUERY, TIME, OPTIONAL, 0, 0)          \
	F(PASS_LIST, updated_to, QUERY, TIME, OPTIONAL, 0, 0)
#define FIELDS_PASS_PATCH(F)                                 \
	F(PASS_PATCH, pass_id, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_PATCH, visible, BODY, OBJECT, OPTIONAL, 0, 0) \
	F(PASS_PATCH, hidden, BODY, OBJECT, OPTIONAL, 0, 0)  \
	F(PASS_PATCH, appearance, BODY, NULLABLE, OPTIONAL, 0, 0)
#define FIELDS_PASS_DELETE(F) F(PASS_DELETE, pass_id, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_PASS_LOYALTY(F)                                                              \
	F(PASS_LOYALTY, pass_id, PATH, STRING, REQUIRED, 0, 0)                              \
	F(PASS_LOYALTY, balance_to_add, BODY, INTEGER, REQUIRED, -BALANCE_MAX, BALANCE_MAX) \
	F(PASS_LOYALTY, message, BODY, STRING, OPTIONAL, 0, 0)
#define FIELDS_TEMPLATE_FIELDS(F) F(TEMPLATE_FIELDS, pass_template_id, QUERY, STRING, OPTIONAL, 0, 0)
#define FIELDS_SUBSCRIPTION_CREATE(F)                                        \
	F(SUBSCRIPTION_CREATE, url, BODY, VALUE, REQUIRED, 0, URL_BYTES_MAX) \
	F(SUBSCRIPTION_CREATE, event_types, BODY, VALUE, REQUIRED, 0, WEBHOOK_KINDS_BYTES_MAX)
#define FIELDS_SUBSCRIPTION_LIST(F)
#define FIELDS_SUBSCRIPTION_GET(F) F(SUBSCRIPTION_GET, subscription_id, PATH, UUID, REQUIRED, 0, 0)
#define FIELDS_SUBSCRIPTION_PATCH(F)                                                          \
	F(SUBSCRIPTION_PATCH, subscription_id, PATH, UUID, REQUIRED, 0, 0)                    \
	F(SUBSCRIPTION_PATCH, url, BODY, VALUE, OPTIONAL, 0, URL_BYTES_MAX)                   \
	F(SUBSCRIPTION_PATCH, event_types, BODY, VALUE, OPTIONAL, 0, WEBHOOK_KINDS_BYTES_MAX) \
	F(SUBSCRIPTION_PATCH, active, BODY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_SUBSCRIPTION_DELETE(F) F(SUBSCRIPTION_DELETE, subscription_id, PATH, UUID, REQUIRED, 0, 0)
#define FIELDS_ENTITLEMENT_COUNTS(F)
#define FIELDS_ENTITLEMENT_LIST(F)                                 \
	F(ENTITLEMENT_LIST, pass_id, PATH, STRING, REQUIRED, 0, 0) \
	F(ENTITLEMENT_LIST, include_history, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_ENTITLEMENT_ASSIGN(F)                                 \
	F(ENTITLEMENT_ASSIGN, pass_id, PATH, STRING, REQUIRED, 0, 0) \
	F(ENTITLEMENT_ASSIGN, slug, BODY, STRING, REQUIRED, 0, 0)    \
	F(ENTITLEMENT_ASSIGN, replace, BODY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_ENTITLEMENT_REDEEM(F)                                         \
	F(ENTITLEMENT_REDEEM, pass_id, PATH, STRING, REQUIRED, 0, 0)         \
	F(ENTITLEMENT_REDEEM, entitlement_id, PATH, UUID, REQUIRED, 0, 0)    \
	F(ENTITLEMENT_REDEEM, amount, BODY, INTEGER, OPTIONAL, 1, INT64_MAX) \
	F(ENTITLEMENT_REDEEM, context, BODY, STRING, OPTIONAL, 0, 0)         \
	F(ENTITLEMENT_REDEEM, note, BODY, STRING, OPTIONAL, 0, 0)
/* The terms of a reward, which an edit replaces as a whole; need: of those that have no default. */
#define FIELDS_OF_TERMS(F, message, need)                                                      \
	F(message, name, BODY, STRING, need, 1, 4 * REWARD_NAME_POINTS_MAX)                    \
	F(message, kind, BODY, STRING, need, 0, 0)                                             \
	F(message, description, BODY, STRING, OPTIONAL, 0, 4 * REWARD_DESCRIPTION_POINTS_MAX)  \
	F(message, repeat_assignment, BODY, BOOLEAN, OPTIONAL, 0, 0)                           \
	F(message, redemption_allowance, BODY, INTEGER, OPTIONAL, 0, REDEMPTION_ALLOWANCE_MAX) \
	F(message, assignment_limit, BODY, INTEGER, OPTIONAL, 1, ASSIGNMENT_LIMIT_MAX)         \
	F(message, expiration, BODY, OBJECT, need, 0, 0)
/* What an edit of a reward may bring back as it was shown, and what is not looked at, but for the slug. */
#define FIELDS_OF_SHOWN_REWARD(F, message)                                      \
	F(message, slug, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)       \
	F(message, status, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)     \
	F(message, version, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)    \
	F(message, created_at, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX) \
	F(message, updated_at, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)
#define FIELDS_REWARD_CREATE(F)                     \
	FIELDS_OF_TERMS(F, REWARD_CREATE, REQUIRED) \
	F(REWARD_CREATE, slug, BODY, STRING, OPTIONAL, 0, 0)
#define FIELDS_REWARD_LIST(F) F(REWARD_LIST, include_archived, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_REWARD_GET(F)  F(REWARD_GET, reward_slug, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_REWARD_PUT(F)                                     \
	F(REWARD_PUT, reward_slug, PATH, STRING, REQUIRED, 0, 0) \
	FIELDS_OF_TERMS(F, REWARD_PUT, REQUIRED)                 \
	FIELDS_OF_SHOWN_REWARD(F, REWARD_PUT)
#define FIELDS_REWARD_ARCHIVE(F) F(REWARD_ARCHIVE, reward_slug, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_REWARD_RESTORE(F)                                     \
	F(REWARD_RESTORE, reward_slug, PATH, STRING, REQUIRED, 0, 0) \
	FIELDS_OF_TERMS(F, REWARD_RESTORE, OPTIONAL)                 \
	FIELDS_OF_SHOWN_REWARD(F, REWARD_RESTORE)
#define FIELDS_REWARD_DELETE(F) F(REWARD_DELETE, reward_slug, PATH, STRING, REQUIRED, 0, 0)

#define FIELDS_PASS_PAGE(F) F(PASS_PAGE, token, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_PASS_IMAGE(F)                               \
	F(PASS_IMAGE, token, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_IMAGE, image, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_IMAGE, known, SELF, BYTES, OPTIONAL, 32, 32)
#define FIELDS_SCAN_CREATE(F)                                   \
	F(SCAN_CREATE, pass_id, BODY, STRING, OPTIONAL, 0, 0)   \
	F(SCAN_CREATE, qr_value, BODY, STRING, OPTIONAL, 0, 0)  \
	F(SCAN_CREATE, reader_id, BODY, STRING, OPTIONAL, 0, 0) \
	F(SCAN_CREATE, pass_info, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_SCAN_LIST(F)                                              \
	F(SCAN_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(SCAN_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)     \
	F(SCAN_LIST, q, QUERY, STRING, OPTIONAL, 0, 0)                   \
	F(SCAN_LIST, status, QUERY, STRINGS, OPTIONAL, 0, 0)             \
	F(SCAN_LIST, sort_by, QUERY, STRING, OPTIONAL, 0, 0)             \
	F(SCAN_LIST, sort_dir, QUERY, STRING, OPTIONAL, 0, 0)            \
	F(SCAN_LIST, created_from, QUERY, TIME, OPTIONAL, 0, 0)          \
	F(SCAN_LIST, created_to, QUERY, TIME, OPTIONAL, 0, 0)            \
	F(SCAN_LIST, pass_info, QUERY, BOOLEAN, OPTIONAL, 0, 0)

#define FIELDS_ACCOUNT_CREATE(F)                                   \
	F(ACCOUNT_CREATE, name, SELF, STRING, REQUIRED, 1, 200)    \
	F(ACCOUNT_CREATE, rewards, SELF, BOOLEAN, OPTIONAL, 0, 0)  \
	F(ACCOUNT_CREATE, webhooks, SELF, BOOLEAN, OPTIONAL, 0, 0) \
	F(ACCOUNT_CREATE, key_hash, SELF, BYTES, REQUIRED, 32, 32)
#define FIELDS_ACCOUNT_SET(F)                                                            \
	F(ACCOUNT_SET, rewards, SELF, BOOLEAN, OPTIONAL, 0, 0)                           \
	F(ACCOUNT_SET, webhooks, SELF, BOOLEAN, OPTIONAL, 0, 0)                          \
	F(ACCOUNT_SET, suspended, SELF, BOOLEAN, OPTIONAL, 0, 0)                         \
	F(ACCOUNT_SET, double_scan_window_seconds, SELF, INTEGER, OPTIONAL, 0, 31536000) \
	F(ACCOUNT_SET, rate_limit, SELF, INTEGER, OPTIONAL, 0, 1000000)
#define FIELDS_ACCOUNT_SHOW(F)
#define FIELDS_ACCOUNT_LIST(F)
#define FIELDS_KEY_CREATE(F) F(KEY_CREATE, key_hash, SELF, BYTES, REQUIRED, 32, 32)
#define FIELDS_KEY_LIST(F)
#define FIELDS_KEY_REVOKE(F)   F(KEY_REVOKE, key_id, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_TEMPLATE_PUT(F) F(TEMPLATE_PUT, file, SELF, OBJECT, REQUIRED, 0, 0)
#define FIELDS_TEMPLATE_LIST(F)
#define FIELDS_PASS_EVENT(F)                                 \
	F(PASS_EVENT, pass_id, SELF, STRING, REQUIRED, 0, 0) \
	F(PASS_EVENT, event, SELF, STRING, REQUIRED, 0, 0)   \
	F(PASS_EVENT, block_reinstall, SELF, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_PASS_HISTORY(F) F(PASS_HISTORY, pass_id, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_SCAN_DELETE(F)  F(SCAN_DELETE, scan_id, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_READER_PUT(F)                            \
	F(READER_PUT, id, SELF, STRING, REQUIRED, 0, 0) \
	F(READER_PUT, name, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_READER_LIST(F)
#define FIELDS_ISSUER_SET(F) F(ISSUER_SET, paused, SELF, BOOLEAN, REQUIRED, 0, 0)
#define FIELDS_SHARD_STATUS(F)
#define FIELDS_KEEP(F)                               \
	F(KEEP, what, SELF, STRING, REQUIRED, 1, 16) \
	F(KEEP, dir, SELF, STRING, OPTIONAL, 0, 1023)
#define FIELDS_KEEPING(F)

#define FIELDS_DELIVERY_LIST(F) F(DELIVERY_LIST, subscription_id, SELF, STRING, OPTIONAL, 0, 0)
#define FIELDS_CLOCK_SHOW(F)
#define FIELDS_CLOCK_SET(F) F(CLOCK_SET, offset, SELF, INTEGER, REQUIRED, 0, CLOCK_OFFSET_MAX)

#define FIELDS_CARD_LINK(F)                                 \
	F(CARD_LINK, pass_id, SELF, STRING, REQUIRED, 0, 0) \
	F(CARD_LINK, code, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_CARD_UNLINK(F) F(CARD_UNLINK, card_id, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_CARD_LIST(F)                                              \
	F(CARD_LIST, pass_id, PATH, STRING, REQUIRED, 0, 0)              \
	F(CARD_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(CARD_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)

#define FIELDS_RULE_PUT(F)    F(RULE_PUT, file, SELF, OBJECT, REQUIRED, 0, 0)
#define FIELDS_RULE_DELETE(F) F(RULE_DELETE, rule_id, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_RULE_LIST(F)                                              \
	F(RULE_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(RULE_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)

#define FIELDS_NOTIFICATION_LIST(F)                                              \
	F(NOTIFICATION_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(NOTIFICATION_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)     \
	F(NOTIFICATION_LIST, q, QUERY, STRING, OPTIONAL, 0, 0)                   \
	F(NOTIFICATION_LIST, status, QUERY, STRINGS, OPTIONAL, 0, 0)             \
	F(NOTIFICATION_LIST, sort_by, QUERY, STRING, OPTIONAL, 0, 0)             \
	F(NOTIFICATION_LIST, sort_dir, QUERY, STRING, OPTIONAL, 0, 0)            \
	F(NOTIFICATION_LIST, scheduled_from, QUERY, TIME, OPTIONAL, 0, 0)        \
	F(NOTIFICATION_LIST, scheduled_to, QUERY, TIME, OPTIONAL, 0, 0)
#define FIELDS_AUDIENCE_PUT(F)                                     \
	F(AUDIENCE_PUT, audience_id, SELF, STRING, OPTIONAL, 0, 0) \
	F(AUDIENCE_PUT, name, SELF, STRING, REQUIRED, 0, 0)        \
	F(AUDIENCE_PUT, pass_id, SELF, STRINGS, REQUIRED, 0, 0)
#define FIELDS_NOTIFICATION_SCHEDULE(F)                                     \
	F(NOTIFICATION_SCHEDULE, pass_id, SELF, STRING, OPTIONAL, 0, 0)     \
	F(NOTIFICATION_SCHEDULE, audience_id, SELF, STRING, OPTIONAL, 0, 0) \
	F(NOTIFICATION_SCHEDULE, message, SELF, STRING, REQUIRED, 0, 0)     \
	F(NOTIFICATION_SCHEDULE, scheduled_at, SELF, TIME, REQUIRED, 0, 0)
#define FIELDS_NOTIFICATION_SEND(F)

/* Of one pass: it has been issued, or could not be, and why; how it stands now. */
#define FIELDS_PASS_ISSUE(F)                                          \
	F(PASS_ISSUE, number, SELF, INTEGER, REQUIRED, 0, UINT32_MAX) \
	F(PASS_ISSUE, in_time, SELF, BOOLEAN, REQUIRED, 0, 0)         \
	F(PASS_ISSUE, error, SELF, STRING, OPTIONAL, 0, CREATION_ERROR_BYTES_MAX)
#define FIELDS_PASS_LOOK(F) F(PASS_LOOK, number, SELF, INTEGER, REQUIRED, 0, UINT32_MAX)
#define FIELDS_IMAGE_PUT(F)                                        \
	F(IMAGE_PUT, hash, SELF, BYTES, REQUIRED, 32, 32)          \
	F(IMAGE_PUT, part, SELF, INTEGER, REQUIRED, 0, UINT16_MAX) \
	F(IMAGE_PUT, bytes, SELF, BYTES, REQUIRED, 1, IMAGE_PART_BYTES)
#define FIELDS_IMAGE_NAME(F)                                             \
	F(IMAGE_NAME, url, SELF, STRING, REQUIRED, 1, URL_BYTES_MAX)     \
	F(IMAGE_NAME, hash, SELF, BYTES, REQUIRED, 32, 32)               \
	F(IMAGE_NAME, size, SELF, INTEGER, REQUIRED, 1, IMAGE_BYTES_MAX) \
	F(IMAGE_NAME, width, SELF, INTEGER, REQUIRED, 1, IMAGE_SIDE_MAX) \
	F(IMAGE_NAME, height, SELF, INTEGER, REQUIRED, 1, IMAGE_SIDE_MAX)
#define FIELDS_FETCH(F) F(FETCH, url, SELF, STRING, REQUIRED, 1, URL_BYTES_MAX)

#define FIELDS_DELIVERY_LEASE(F)                                           \
	F(DELIVERY_LEASE, instance, SELF, INTEGER, REQUIRED, 1, INT64_MAX) \
	F(DELIVERY_LEASE, count, SELF, INTEGER, REQUIRED, 0, LEASES_PER_CALL_MAX)
#define FIELDS_DELIVERY_RENDER(F) \
	F(DELIVERY_RENDER, leases, SELF, BYTES, REQUIRED, LEASE_BYTES, LEASES_PER_CALL_MAX *LEASE_BYTES)
#define FIELDS_DELIVERY_REPORT(F)                                                \
	F(DELIVERY_REPORT, reports, SELF, BYTES, REQUIRED, ATTEMPT_REPORT_BYTES, \
	  REPORTS_PER_CALL_MAX *ATTEMPT_REPORT_BYTES)
#define FIELDS_HEARTBEAT(F)
#define FIELDS_PREPARE(F) F(PREPARE, image_count, SELF, INTEGER, REQUIRED, 0, 2)

#define FIELDS_REPORT(F)                                \
	F(REPORT, state, SELF, STRING, REQUIRED, 0, 32) \
	F(REPORT, epoch, SELF, INTEGER, REQUIRED, 0, INT64_MAX)
#define FIELDS_STATUS(F)

#define CLOCK_OFFSET_MAX \
	(INT64_C(100) * 365 * 86400 * 1000000) /* microseconds: a test clock may be so far ahead */
#define BALANCE_MAX               INT64_C(9007199254740991) /* 2^53 - 1: the counter stays within plus or minus this */
#define ASSIGNMENT_LIMIT_MAX      INT64_C(9007199254740991) /* 2^53 - 1, which every reader of JSON has exactly */
#define REWARD_WINDOW_SECONDS_MAX INT64_C(3155760000)       /* 100 years of 365.25 days */

enum field_source { FROM_PATH, FROM_QUERY, FROM_BODY, FROM_SELF };
enum field_type {
	TYPE_STRING,
	TYPE_INTEGER,
	TYPE_BOOLEAN,
	TYPE_OBJECT,
	TYPE_NULLABLE,
	TYPE_BYTES,
	TYPE_STRINGS,
	TYPE_TIME,
	TYPE_VALUE,
	TYPE_UUID,
	TYPE_PLATFORM, /* "ios" or "android": any other value, null too, is INVALID_REQUEST; travels as str */
};
enum field_need { NEED_OPTIONAL, NEED_REQUIRED };

struct field {
	const char       *name;
	enum field_source source;
	enum field_type   type;
	enum field_need   need;
	int64_t           min, max;
};

/* Positions of the arguments: ARG_PASS_CREATE_visible and the like; ARGS_PASS_CREATE is how many. */
#define FIELD_AS_ENUM(message, name, source, type, need, min, max) ARG_##message##_##name,
#define M(name, ...)                                               enum { FIELDS_##name(FIELD_AS_ENUM) ARGS_##name };
#include "schemas/messages.def"
#undef M

enum { ARGS_MAX = 16 };

/* The fields of a message, `*count` of them, in the order of its arguments. Errors: none. */
const struct field *message_fields(enum message message, unsigned *count);
