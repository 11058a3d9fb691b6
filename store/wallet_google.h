#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* A pass in Google's wallet, or on its way there, as Google said last. WALLET_GOOGLE row: account | pass number u32 ->
 * little-endian:
 *   version u8 (1) | state u8
 *   issuer u64       wallet_number() of its id
 *   callback_ms i64  expiry of the callback applied last, real time
 *   message u32      number of the notification sent last, plus 1; 0: none
 *   notices i64[3]   when the last three messages with a notice were sent, oldest first; 0: none
 *   token 16         of the former link of an erased pass; else 0
 *   quiet i64        not saved: Google is not asked again before; saved: Google may not show the object before
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
