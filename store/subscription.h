#pragma once
#include "schemas/clock.h"
#include "schemas/event.h"
#include "schemas/ids.h"
#include "schemas/secret.h"
#include "schemas/webhook.h"
#include "store/view.h"

/* A webhook subscription, by its account and id. Errors: as view.h.
 * SUBSCRIPTION row, little-endian: version u8 (1) | active u8 | generation u32 | created i64 | updated i64 | the secret,
 * sealed, 60 | number of kinds u8 | the kinds, a byte each | URL as it was given. Rows are put and deleted, never patched.
 * The generation rises whenever what waits to be delivered is to be discarded; a subscription that is deleted has none. */
enum {
	WEBHOOK_SEALED_BYTES = WEBHOOK_KEY_BYTES + SECRET_SEAL_BYTES,
	SUBSCRIPTION_BYTES_MAX = 83 + EVENT_KINDS + URL_BYTES_MAX, /* of a row */
};

struct subscription {
	struct uuid id;
	bool        active;
	uint32_t    generation; /* from 1 */
	wall_us     created, updated;
	uint8_t     secret[WEBHOOK_SEALED_BYTES];
	uint8_t     kind_count;
	uint8_t     kinds[EVENT_KINDS]; /* enum event_kind, each once, as the caller ordered them */
	struct span url;
};

must_check enum err subscription_get(struct view *view, struct account_id account, struct uuid id,
                                     struct subscription *row);
must_check enum err subscription_put(struct view *view, struct account_id account,
                                     const struct subscription *row);
must_check enum err subscription_del(struct view *view, struct account_id account, struct uuid id);

/* Reads the next of the account's subscriptions after `*row` (all zero: the first), in order of id, which is that of
 * making. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err subscription_next(struct view *view, struct account_id account, struct subscription *row);

/* A stored value and back; all but the id, which is in its key. The URL points into `value`. Errors: ERR_DAMAGED. */
must_check enum err subscription_read(struct span value, struct subscription *row);
size_t              subscription_write(const struct subscription *row, uint8_t value[SUBSCRIPTION_BYTES_MAX]);
