#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/wallet/kind.h"
#include "store/view.h"

/* An account's facts and its API keys. Errors: as view.h.
 * ACCOUNT row, little-endian: switches u8 (1 rewards, 2 webhooks, 4 suspended, 8 no Apple wallet, 16 no
 * Google wallet, 32 looks) | double_scan_window_seconds u32 |
 * rate_limit u32 (requests/s, 0 = none) | templates made u32 | created i64 | with looks: looks u32 | name's look u32 |
 * named i64 | name.
 * KEY row: SHA-256 of the secret, 32 | created i64 | revoked i64 (0: valid). */
struct account_row {
	bool        rewards, webhooks, suspended;
	uint8_t     wallets_off; /* WALLET_BIT(kind) of those that are switched off */
	uint32_t    double_scan_window_s;
	uint32_t    rate_limit;
	uint32_t    template_count; /* their numbers are 1 to this */
	wall_us     created;
	uint32_t    looks;     /* how often a template or the name has changed: what wallets show of passes */
	uint32_t    name_look; /* `looks` as of the last change of the name; 0: it never changed */
	wall_us     named;     /* when that was */
	struct span name;
};

struct key_row {
	struct uuid id;
	uint8_t     hash[32];
	wall_us     created, revoked;
};

enum { DOUBLE_SCAN_WINDOW_DEFAULT_S = 10 };

must_check enum err account_row_get(struct view *view, struct account_id id, struct account_row *row);
must_check enum err account_row_put(struct view *view, struct account_id id, const struct account_row *row);

must_check enum err key_row_put(struct view *view, struct account_id account, const struct key_row *row);

/* Reads the account's next key after `*row` (all zero: the first), in order of creation. A range read. Errors:
 * ERR_NOT_FOUND: no more. */
must_check enum err key_row_next(struct view *view, struct account_id account, struct key_row *row);

/* Reads the next account of the table after `*id` (all zero: the first). Errors: ERR_NOT_FOUND: no more. */
must_check enum err account_row_next(struct view *view, struct account_id *id, struct account_row *row);

/* Stored values. A key's id is not among them: it is in the row's key. The name points into `value`. Errors:
 * ERR_DAMAGED. */
must_check enum err account_row_read(struct span value, struct account_row *row);
must_check enum err key_row_read(struct span value, struct key_row *row);
