#pragma once
#include "actors/shard/command.h"
#include "store/hot.h"
#include "store/wallet_due.h"

/* Service time in which phones may still have a pass that has ended; one that was erased. */
enum { WALLET_ENDED_DAYS = 30, WALLET_ERASED_HOURS = 24 };
static inline wall_us wallet_ended_until(wall_us ended)
{
	return (wall_us){ended.v + WALLET_ENDED_DAYS * US_PER_DAY};
}

/* Stages that phones, or Google, must get a change at due->due (kind PUSH or GOOGLE; flags: BULK or none). A pass has
 * one such row of each kind, which serves this change too. It becomes due at due->due if that is earlier and no try
 * has failed. It then takes the flags of this change, as it does when it was BULK and this change is not. */
must_check enum err wallet_due_put_change(struct request *request, const struct wallet_due *due);
must_check enum err wallet_changes_due(struct request *request, const struct hot_at *pass,
                                       enum wallet_due_kind kind);

/* Stages what follows when a pass becomes `after`: the phones of an active one are to be notified. If it is active no more, no
 * removal is due, and phones lose one that has ended after WALLET_ENDED_DAYS. Clears flags of `after`. For pass_change() alone.
 * Point reads. Errors: as view.h. */
must_check enum err wallet_pass_changes(struct request *request, const struct hot_at *pass,
                                        struct hot *after);

/* For commands that end a pass: looks whether it is one that phones have, by a range read, and stages that it is counted as installed
 * no more. `pass` as it was before. Errors: as view.h. */
struct wallet_ending {
	bool is_on_phone; /* it was active, and on a phone */
	bool has_phones;  /* of which one can be reached */
};
must_check enum err wallet_look_ends(struct request *request, const struct hot_at *pass,
                                     struct wallet_ending *ending);
must_check enum err wallet_ended(struct request *request, const struct hot_at *pass,
                                 const struct wallet_ending *ending);

/* Stages, for a pass that is erased, that its phones get it once more, without its texts, and are forgotten WALLET_ERASED_HOURS
 * later. Until then the row of CLEANUP has the token of its former link, by which they know it. Phones that cannot be reached are
 * left to the erasure. Point reads. */
must_check enum err wallet_pass_erased(struct request *request, const struct hot_at *pass,
                                       const uint8_t token[TOKEN_BYTES], const struct wallet_ending *ending);
