#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Work on passes in wallets that is due at some time, one row a pass and kind. The key has no time, so that the same work is
 * never due twice; the order of times is kept in the shard's memory (actors/shard/wallet/removals.h).
 * WALLET_DUE row: account | kind u8 | number of the pass u32 -> version u8 (1) | due i64, little-endian.
 * Kinds:
 *   REMOVAL  no phone has the pass any more: it becomes `removed` when that is so still
 * Rows are put and deleted, never patched. Errors: as view.h. */
enum wallet_due_kind { WALLET_DUE_REMOVAL = 1, WALLET_DUE_KINDS_END };

struct wallet_due {
	struct account_id    account;
	enum wallet_due_kind kind;
	uint32_t             pass_number;
	wall_us              due; /* service time */
};

must_check enum err wallet_due_put(struct view *view, const struct wallet_due *row);
must_check enum err wallet_due_del(struct view *view, const struct wallet_due *row);
/* By account, kind and pass; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err wallet_due_get(struct view *view, struct wallet_due *row);

/* The first row at or after *row, of any account and kind; the one after that found last. Range reads. Errors: ERR_NOT_FOUND:
 * no more. */
must_check enum err wallet_due_from(struct view *view, struct wallet_due *row);
must_check enum err wallet_due_next(struct view *view, struct wallet_due *row);

/* A stored row, and its key alone. Errors: ERR_DAMAGED. */
must_check enum err wallet_due_read(struct span key, struct span value, struct wallet_due *row);
must_check enum err wallet_due_key_read(struct span key, struct wallet_due *row);
