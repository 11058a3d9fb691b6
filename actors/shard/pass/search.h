#pragma once
#include "actors/shard/pass/select.h"

/* Searches for `q` in counters as they are shown now, and in folded texts of passes. Errors: as view.h. */

/* May a counter of the account contain q? Not if q cannot be part of a whole number, or is longer than any counter was. */
bool counters_may_hold(struct span q, const struct tally *tally);

/* Finds the selected passes whose counter contains q: a bit a pass, in words by number, in the view's arena. */
must_check enum err counters_search(struct request *request, struct span q, const struct columns *columns,
                                    const struct selection *selection, uint64_t **found);

/* Keeps the selected passes whose text contains q, and those in `found` (may be NULL). */
must_check enum err search_texts(struct request *request, struct span q, const uint64_t *found,
                                 struct selection *selection);

/* Keeps the selected passes whose folded id contains q. */
must_check enum err search_ids(struct request *request, struct span q, struct selection *selection);
