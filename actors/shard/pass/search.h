#pragma once
#include "actors/shard/pass/select.h"

/* `q`: in a counter, as it is shown now, or in a pass's folded text. Errors: as view.h. */

/* May a counter of the account hold q? Not if that is no part of a whole number, or longer than the longest there was. */
bool counters_may_hold(struct span q, const struct tally *tally);

/* Of those selected, the ones whose counter holds q: a bit a pass, in words by number, in the view's arena. */
must_check enum err counters_search(struct request *request, struct span q, const struct columns *columns,
                                    const struct selection *selection, uint64_t **found);

/* Leaves in the selection what holds q: in its text, or by `found` (may be NULL) already. */
must_check enum err search_texts(struct request *request, struct span q, const uint64_t *found,
                                 struct selection *selection);

/* Leaves in the selection those whose id, folded, holds q. */
must_check enum err search_ids(struct request *request, struct span q, struct selection *selection);
