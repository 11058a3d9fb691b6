#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* A pass in Google's wallet, or on its way there, as Google said last. WALLET_GOOGLE row: account | number of the pass u32 ->
 * version u8 (1) | state u8 | issuer u64, wallet_number() of its id | when the callback ends that was applied last, in ms of real
 * time, i64 | number of the notification that was sent last and 1, u32, 0: none | when the last three messages with a notice were
 * sent, i64 each, the oldest first, 0: none | of an erased pass the token of its former link, 16, else 0 | of a pass that is not
 * saved, until when Google is not asked for it again, i64; of a saved one, until when Google may not show it yet. Little-endian.
 * Rows are put and deleted, never patched. Errors: as view.h. */
enum wallet_google_state {
	WALLET_GOOGLE_SAVED = 1, /* its holder has it */
	WALLET_GOOGLE_GONE,      /* its holder has deleted it */
	WALLET_GOOGLE_OFFERED, /* its holder has got a link with the object inside, and Google has said nothing */
	WALLET_GOOGLE_WANTED, /* likewise, but the object is to be made at Google first, since the link would be too long */
	WALLET_GOOGLE_MADE, /* likewise, and it was made */
	WALLET_GOOGLE_STATES
};
enum { WALLET_GOOGLE_NOTICES = 3, WALLET_GOOGLE_TOKEN_BYTES = 16 };

struct wallet_google {
	uint32_t pass_number;
	uint8_t  state;
	uint64_t issuer;
	int64_t  callback_ms;
	uint32_t message;
	wall_us  notices[WALLET_GOOGLE_NOTICES]; /* service time */
	uint8_t  token[WALLET_GOOGLE_TOKEN_BYTES];
	wall_us  quiet; /* service time; of a saved pass real time */
};

must_check enum err wallet_google_row_put(struct view *view, struct account_id account,
                                          const struct wallet_google *row);
must_check enum err wallet_google_row_del(struct view *view, struct account_id account, uint32_t pass_number);
/* By row->pass_number; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err wallet_google_row_get(struct view *view, struct account_id account,
                                          struct wallet_google *row);

/* The account's first row at or behind row->pass_number; the next behind the one found last. Range reads. Errors: ERR_NOT_FOUND: no
 * more of the account. */
must_check enum err wallet_google_row_from(struct view *view, struct account_id account,
                                           struct wallet_google *row);
must_check enum err wallet_google_row_next(struct view *view, struct account_id account,
                                           struct wallet_google *row);

/* A stored row; the key without its account. Errors: ERR_DAMAGED. */
must_check enum err wallet_google_row_read(struct span key, struct span value, struct wallet_google *row);
