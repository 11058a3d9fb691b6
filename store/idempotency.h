#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/scan_row.h"
#include "store/subscription.h"

/* Idempotency keys of an account's clients, and how to repeat each response. Each key has a row in both tables, put and
 * deleted together: IDEMPOTENCY finds it by the SHA-256 of the key, IDEMPOTENCY_ORDER lists the account's keys in order
 * of arrival, so that the oldest is dropped without a search. Errors: as view.h.
 * IDEMPOTENCY row, little-endian: what u8 | flags u8 | 0 u16 | number u32 | at i64 | order u64 | SHA-256 of the
 * request, 32 | the recipe's detail. IDEMPOTENCY_ORDER row: SHA-256 of the key, 32 | at i64.
 * Order numbers rise by one from 1. A gap exists only where a key was used again after its expiry; then everything
 * before the gap has expired too.
 * Rows of imports (frame.h) share the tables in an order of their own, behind IDEMPOTENCY_IMPORTS. They do not count
 * as clients' keys and displace none. That order has gaps. */

#define IDEMPOTENCY_IMPORTS (UINT64_C(1) << 63)

/* How a response is made again, and what the recipe's number refers to: recipes.def. */
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
/* Stages both rows of a key; only the first, of an existing key with the same order and time; the deletion of both. */
must_check enum err idempotency_put(struct view *view, struct account_id account, const uint8_t key[32],
                                    const struct idempotency_row *row);
must_check enum err idempotency_replace(struct view *view, struct account_id account, const uint8_t key[32],
                                        const struct idempotency_row *row);
must_check enum err idempotency_del(struct view *view, struct account_id account,
                                    const struct idempotency_order *old);

/* The account's keys in order of arrival: the first after `*order` (0: the first of all), imports after clients.
 * idempotency_last(): the last number of the order that begins behind `base`, 0 or IDEMPOTENCY_IMPORTS; `base` if it
 * is empty. Range reads. Errors: ERR_NOT_FOUND: no more. */
must_check enum err idempotency_after(struct view *view, struct account_id account, uint64_t order,
                                      struct idempotency_order *found);
must_check enum err idempotency_last(struct view *view, struct account_id account, uint64_t base,
                                     uint64_t *order);

/* Encodes a subscription as a detail, into `detail`; and decodes it, the URL pointing into the detail. Errors:
 * ERR_DAMAGED. */
enum { RECIPE_DETAIL_BYTES_MAX = sizeof(struct uuid) + SUBSCRIPTION_BYTES_MAX };
struct span         recipe_detail(const struct subscription *row, uint8_t detail[RECIPE_DETAIL_BYTES_MAX]);
must_check enum err recipe_subscription(const struct recipe *recipe, struct subscription *row);

/* Encodes a scan without pass and reader; and decodes it, with its pass. Errors: ERR_DAMAGED. */
enum { RECIPE_SCAN_BYTES = 1 + sizeof(struct uuid) };
struct span         recipe_scan_detail(const struct scan_row *row, uint8_t detail[RECIPE_SCAN_BYTES]);
must_check enum err recipe_scan(const struct recipe *recipe, struct scan_row *row);

/* Decode stored values. A detail points into `value`; the order's number is in its key. Errors: ERR_DAMAGED. */
must_check enum err idempotency_row_read(struct span value, struct idempotency_row *row);
must_check enum err idempotency_order_read(struct span value, struct idempotency_order *row);
