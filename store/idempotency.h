#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/scan_row.h"
#include "store/subscription.h"

/* What an account's clients have asked with an idempotency key, and how to answer it again. Each key has a row in
 * either of two tables, put and deleted together: IDEMPOTENCY finds it by the SHA-256 of the key, IDEMPOTENCY_ORDER
 * lists the account's keys as they came, so that the oldest can be forgotten without a search.
 * IDEMPOTENCY row, little-endian: what u8 | flags u8 | 0 u16 | number u32 | at i64 | order u64 | SHA-256 of the
 * request, 32 | the recipe's detail. IDEMPOTENCY_ORDER row: SHA-256 of the key, 32 | at i64.
 * Order numbers rise by one from 1; there is a gap only where a key came again after its time, and then everything
 * before the gap is past its time as well.
 * Rows of imports (frame.h) are in the same tables, in an order of their own that begins behind
 * IDEMPOTENCY_IMPORTS: they do not count among the clients' keys and take the place of none. That order
 * has gaps. Errors: as view.h. */

#define IDEMPOTENCY_IMPORTS (UINT64_C(1) << 63)

/* What an answer is made of when it is given again, and what the recipe's number is of: recipes.def. */
enum recipe_what {
#define R(number, NAME, name, OF, detail) RECIPE_##NAME = number,
#include "store/recipes.def"
#undef R
};
enum recipe_of { RECIPE_OF_NOTHING, RECIPE_OF_PASS, RECIPE_OF_REWARD };
enum { RECIPE_FLAGS_KNOWN = 2 }; /* REPLY_ACCEPTED of frame.h */

struct recipe {
	uint8_t     what; /* enum recipe_what */
	uint8_t     flags;
	uint32_t    number;
	struct span detail; /* size 0 for none */
};

struct idempotency_row {
	struct recipe recipe;
	wall_us       at; /* service time */
	uint64_t      order;
	uint8_t       request[32];
};

struct idempotency_order {
	uint64_t order;
	uint8_t  key[32];
	wall_us  at;
};

/* The row of a key (its hash). Errors: ERR_NOT_FOUND. */
must_check enum err idempotency_get(struct view *view, struct account_id account, const uint8_t key[32],
                                    struct idempotency_row *row);
/* Stages both rows of a key; only the first, of a key that is there with the same order and time; the end of both. */
must_check enum err idempotency_put(struct view *view, struct account_id account, const uint8_t key[32],
                                    const struct idempotency_row *row);
must_check enum err idempotency_replace(struct view *view, struct account_id account, const uint8_t key[32],
                                        const struct idempotency_row *row);
must_check enum err idempotency_del(struct view *view, struct account_id account,
                                    const struct idempotency_order *old);

/* The account's keys as they came: the first after `*order` (0: of all), rows of imports behind those of clients; and the
 * number of the last of either order, which begins behind `base`: 0 or IDEMPOTENCY_IMPORTS (`base`: there is none).
 * Range reads. Errors: ERR_NOT_FOUND: no more. */
must_check enum err idempotency_after(struct view *view, struct account_id account, uint64_t order,
                                      struct idempotency_order *found);
must_check enum err idempotency_last(struct view *view, struct account_id account, uint64_t base,
                                     uint64_t *order);

/* A subscription as such a detail, in `detail`; and back, its URL in the detail. Errors: ERR_DAMAGED. */
enum { RECIPE_DETAIL_BYTES_MAX = sizeof(struct uuid) + SUBSCRIPTION_BYTES_MAX };
struct span         recipe_detail(const struct subscription *row, uint8_t detail[RECIPE_DETAIL_BYTES_MAX]);
must_check enum err recipe_subscription(const struct recipe *recipe, struct subscription *row);

/* A scan likewise, but for pass and reader; and back, with its pass. Errors: ERR_DAMAGED. */
enum { RECIPE_SCAN_BYTES = 1 + sizeof(struct uuid) };
struct span         recipe_scan_detail(const struct scan_row *row, uint8_t detail[RECIPE_SCAN_BYTES]);
must_check enum err recipe_scan(const struct recipe *recipe, struct scan_row *row);

/* The rows of stored values, a detail pointing into it; of the second without the number, which is in its key. Errors: ERR_DAMAGED. */
must_check enum err idempotency_row_read(struct span value, struct idempotency_row *row);
must_check enum err idempotency_order_read(struct span value, struct idempotency_order *row);
