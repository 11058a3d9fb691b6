#pragma once
#include "schemas/ids.h"
#include "store/hot.h"

enum { TALLY_WALLETS_END = 3 }; /* WALLET_KIND_END */

/* How many passes an account has: one row, exact at every commit. Little-endian: made u32 (ever; the next
 * pass's number) | live u32[6] by status | deleted u32 | width u32 | registrations u32, installed u32[2] by kind of wallet.
 * A row ends before `registrations` while all of these are 0. Errors: as view.h; an absent row reads as zeros. */
struct tally {
	uint32_t made;
	uint32_t counts[HOT_COUNT_DELETED + 1]; /* as in a hot row: by status, then the deleted ones */
	uint32_t width;         /* characters of the longest balance ever, except 0: no balance is longer */
	uint32_t registrations; /* rows of REGISTRATION, those of passes that have ended, too */
	uint32_t installed
	    [TALLY_WALLETS_END]; /* `active` passes that this kind of wallet has, by enum wallet_kind */
};

must_check enum err tally_get(struct view *view, struct account_id account, struct tally *tally);
must_check enum err tally_put(struct view *view, struct account_id account, const struct tally *tally);

/* Stages the move of one pass between counts. */
must_check enum err tally_move(struct view *view, struct account_id account, const struct hot *before,
                               const struct hot *after);

/* The printed width of a balance; and staging of a change that may exceed the width so far. */
uint32_t            balance_width(int64_t balance);
must_check enum err tally_widen(struct view *view, struct account_id account, int64_t before, int64_t after);

/* Stage that there are so many more registrations, or active passes that this kind of wallet (enum wallet_kind) has. Less than
 * none is none: the audit compares these counts with the rows. Nothing for 0. */
must_check enum err tally_registrations(struct view *view, struct account_id account, int more);
must_check enum err tally_installed(struct view *view, struct account_id account, unsigned kind, int more);

uint32_t tally_live(const struct tally *tally);

/* A stored value. Errors: ERR_DAMAGED. */
must_check enum err tally_read(struct span value, struct tally *tally);
