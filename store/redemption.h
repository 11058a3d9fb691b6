#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "store/view.h"

/* Redemptions: how much of an entitlement was redeemed, and where. Put only, and never undone; the texts of an erased
 * pass's redemptions are emptied. Errors: as view.h.
 * REDEMPTION row: account | pass u32 | entitlement 16 | uuid. Little-endian: version u8 (1) | 0 u8[3] | amount u32 |
 * remaining u32 | sizes of context and note, u16 each | created i64 | context | note. */
enum { REDEMPTION_HEAD_BYTES = 24, REDEMPTION_KEY_REST = 36 };

struct redemption {
	uint32_t    pass; /* its number */
	struct uuid entitlement, id;
	uint32_t    amount, remaining; /* remaining: on the entitlement, afterwards */
	wall_us     created;
	struct span context, note; /* UTF-8 */
};

/* The row whose pass, entitlement and id are in *row; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err redemption_get(struct view *view, struct account_id account, struct redemption *row);
must_check enum err redemption_put(struct view *view, struct account_id account,
                                   const struct redemption *row);

/* The pass's next redemption after *row (all zero but the pass: the first), in order of assignment of the
 * entitlements, then of redemption id. Its texts are in `room` until the next call. A range read. Errors:
 * ERR_NOT_FOUND: no more. */
must_check enum err redemption_next(struct view *view, struct account_id account, struct buffer *room,
                                    struct redemption *row);

/* Decode a stored value, context and note pointing into it; and its key without the account. Errors: ERR_DAMAGED. */
must_check enum err redemption_read(struct span value, struct redemption *row);
must_check enum err redemption_key_read(struct span rest, struct redemption *row);
