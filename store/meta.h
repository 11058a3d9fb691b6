#pragma once
#include "schemas/limits.h"
#include "store/view.h"

/* META: values of the shard as a whole, by name:
 *   clock_offset    i64, little-endian: microseconds by which service time has been set ahead of the wall clock
 *   issuer_paused   one byte, 0 or 1: the operator's switch
 *   erased          i64, little-endian: service time of the last step of an erasure
 *   segment_begun   i64, little-endian: service time at which the journal was made to begin a segment
 *   wallets         one byte, WALLET_BIT(kind) or'ed: the kinds of wallets for which anybody here ever had a credential
 *   google_keys     JSON: the root keys with which Google's wallet signs what it says of passes, as fetched last
 *   applied, late   positions of the journal: position.c's own
 * An absent row reads as 0 and false. Errors: as view.h; putting stages. */
must_check enum err clock_offset_get(struct view *view, int64_t *offset);
must_check enum err clock_offset_put(struct view *view, int64_t offset);
must_check enum err erased_get(struct view *view, wall_us *at);
must_check enum err erased_put(struct view *view, wall_us at);
must_check enum err segment_begun_put(struct view *view, wall_us at);
must_check enum err issuer_paused_get(struct view *view, bool *paused);
must_check enum err issuer_paused_put(struct view *view, bool paused);
/* The set of kinds, WALLET_BIT(kind) or'ed. */
must_check enum err wallets_get(struct view *view, unsigned *kinds);
must_check enum err wallets_put(struct view *view, unsigned kinds);
/* Errors: ERR_NOT_FOUND: there are none yet. */
must_check enum err google_keys_get(struct view *view, struct span *keys);
must_check enum err google_keys_put(struct view *view, struct span keys);
