#pragma once
#include "actors/shard/wallet/wallet.h"
#include "schemas/wallet/push.h"
#include "store/wallet_due.h"

/* What reports on pushes to Apple and on calls of Google have in common. Errors: as view.h. */

/* Has the pass changed since it was leased? A range read: before anything is staged. */
must_check enum err settle_is_behind(struct request *request, const struct push_lease *lease, bool *behind);

/* What a report is of. */
struct settled_work {
	const struct push_lease *lease;
	struct wallet_due        row;
	bool                     is_behind;  /* what it is to show has changed since the lease */
	wall_us                  left_until; /* phones that were left out rest until then; 0: none */
};

/* Stages the end of the row's work, done or given up. The row is deleted, unless the pass has changed since the lease
 * (then it is due now) or phones were left out (then it is due at left_until). A row that stays has no failed tries. */
must_check enum err settle_end(struct request *request, struct settled_work *work);
/* Stages that it has failed and is tried again later; after the last try it ends. */
must_check enum err settle_again(struct request *request, struct settled_work *work);

/* Stages what was said of credentials, as a report has it: one rests, works again, or has an error for the operator. A rehearsal of
 * `wallet check` ends a rest if it went well, and changes nothing otherwise. Errors: also ERR_MALFORMED. */
must_check enum err settle_complaints(struct request *request, enum wallet_kind kind, struct span complaints);
