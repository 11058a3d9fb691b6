#pragma once
#include "actors/shard/pass/select.h"

/* `q`: in a counter, as it is shown now, or in a pass's folded text. Errors: as view.h. */

/* Counters are compared while the columns are swept, and only if q can be part of a whole number that is no longer
 * than the account's longest. */
enum { COUNTERS_KNOWN = 1 << 14 };
struct counters {
	struct span           q;
	uint64_t             *found; /* a bit a pass, by number; NULL: no counter can hold q */
	const struct account *account;
	struct buffer         text;
	uint8_t
	    known[COUNTERS_KNOWN]; /* of balances from 0 on: 0 not looked at yet, 1 does not hold q, 2 does */
};
must_check enum err counters_begin(struct request *request, struct span q, const struct tally *tally,
                                   struct counters *counters);
void                counters_end(struct counters *counters);

/* Of the passes of a row of the columns that are in `mask`: those whose counter holds q. */
uint64_t counters_hold(struct counters *counters, struct span row, uint64_t mask);

/* Leaves in the selection what holds q: in its text, or by `found` (may be NULL) already. */
must_check enum err search_texts(struct request *request, struct span q, const uint64_t *found,
                                 struct selection *selection);

/* Leaves in the selection those whose id, folded, holds q. */
must_check enum err search_ids(struct request *request, struct span q, struct selection *selection);
