#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Entitlements: rewards as they were assigned to passes. Name and kind are in the assigned version (reward.h). Errors:
 * as view.h. The rows of an entitlement in these tables change together:
 *   ENTITLEMENT  account | pass u32 | uuid: every one ever made, each pass's in order of assignment; put only.
 *                Little-endian: version u8 (1) | state u8 | source u8 | 0 u8 | family u32 | version of the reward u32 |
 *                allowance u32 | remaining u32 | 0 u32 | expires i64 (0: never) | created i64 | updated i64
 *   OPEN         account | pass u32 | family u32 | expires u64 (2^63 - 1: never) | uuid -> nothing: those in the state
 *                `open`, ordered so that expired ones are skipped without a read; put and deleted
 *   HELD         account | pass u32 | family u32 -> how many of the family the pass ever got, u32; put only
 * Expiry writes nothing: an expired entitlement stays `open`, and each reader compares its time with the clock.
 * Changes of the rows update the account's counts in EXPIRY (expiry.h) and REWARD_TALLY (reward.h). */
enum entitlement_state { ENTITLEMENT_OPEN = 0, ENTITLEMENT_REDEEMED = 1, ENTITLEMENT_REPLACED = 2 };
enum entitlement_source { SOURCE_MANUAL = 0, SOURCE_AUTOMATIC = 1 };
enum { ENTITLEMENT_BYTES = 48 };

struct entitlement {
	uint32_t    pass; /* its number */
	struct uuid id;
	uint8_t     state, source;   /* enum entitlement_state, enum entitlement_source */
	uint32_t    family, version; /* of the reward */
	uint32_t    allowance, remaining;
	wall_us     expires;          /* 0: never */
	wall_us     created, updated; /* updated: by a redemption or a replacement */
};

/* It expired while open; the microsecond of expiry counts as past. */
static inline bool entitlement_is_past(const struct entitlement *row, wall_us now)
{
	return row->state == ENTITLEMENT_OPEN && row->expires.v && now.v >= row->expires.v;
}

static inline bool entitlement_is_available(const struct entitlement *row, wall_us now)
{
	return row->state == ENTITLEMENT_OPEN && !entitlement_is_past(row, now);
}

/* Errors: ERR_NOT_FOUND: the pass has none of that id. */
must_check enum err entitlement_get(struct view *view, struct account_id account, uint32_t pass,
                                    struct uuid id, struct entitlement *row);

/* Stages a new, open one. */
must_check enum err entitlement_add(struct view *view, struct account_id account,
                                    const struct entitlement *row);

/* Stages the change of an available one to `after`; only state, remaining and updated may differ. */
must_check enum err entitlement_change(struct view *view, struct account_id account,
                                       const struct entitlement *before, const struct entitlement *after);

/* The pass's next one after `*row` (all zero but the pass: the first), in order of assignment. A range read. Errors:
 * ERR_NOT_FOUND: no more. */
must_check enum err entitlement_next(struct view *view, struct account_id account, struct entitlement *row);

/* How many of the family the pass ever got. */
must_check enum err entitlement_held(struct view *view, struct account_id account, uint32_t pass,
                                     uint32_t family, uint32_t *count);

/* An available one, read from its row of OPEN. */
struct entitlement_open {
	uint32_t    pass, family;
	wall_us     expires; /* 0: never */
	struct uuid id;
};

/* The pass's next available one after `*row` (all zero but pass and, optionally, the family to begin with), in the
 * order of family and expiry. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err entitlement_open_next(struct view *view, struct account_id account, wall_us now,
                                          struct entitlement_open *row);

/* The same within one family: rows of other families are not read. */
must_check enum err entitlement_open_next_alike(struct view *view, struct account_id account, wall_us now,
                                                struct entitlement_open *row);

/* The same for those that the current command has staged, of any family and in no order. `*at` is the position to
 * continue at, 0 at first. No range read. */
must_check enum err entitlement_open_staged(struct view *view, struct account_id account, unsigned *at,
                                            struct entitlement_open *row);

/* Stored rows and back. entitlement_read() fills all but pass and id, which are in the key; keys come without the
 * account. Errors: ERR_DAMAGED. */
must_check enum err entitlement_read(struct span value, struct entitlement *row);
void                entitlement_write(const struct entitlement *row, uint8_t value[ENTITLEMENT_BYTES]);
must_check enum err entitlement_key_read(struct span rest, struct entitlement *row);
must_check enum err entitlement_open_read(struct span rest, struct entitlement_open *row);
