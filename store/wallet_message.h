#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* The last message to the holder of a pass in a wallet, which the pass shows. It exists only while the pass is `active`.
 * WALLET_MESSAGE row: account | number of the pass u32 -> version u8 (1) | flags u8 | number of the notification u32 | when it was
 * sent i64, little-endian. Rows are put and deleted, never patched. Errors: as view.h. */

/* The row's flag: the message before this one had the same words. A phone says nothing of a value that stays the same, so this one
 * is shown with an invisible character at its end. */
enum { WALLET_MESSAGE_IS_MARKED = 1, WALLET_MESSAGE_FLAGS_END = 2 };

struct wallet_message {
	uint32_t pass_number;
	uint32_t notification;
	uint8_t  flags;
	wall_us  sent; /* service time; an older message does not replace it */
};

must_check enum err wallet_message_put(struct view *view, struct account_id account,
                                       const struct wallet_message *row);
must_check enum err wallet_message_del(struct view *view, struct account_id account, uint32_t pass_number);
/* By row->pass_number; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err wallet_message_get(struct view *view, struct account_id account,
                                       struct wallet_message *row);
/* A stored row; the key without its account. Errors: ERR_DAMAGED. */
must_check enum err wallet_message_read(struct span key, struct span value, struct wallet_message *row);
