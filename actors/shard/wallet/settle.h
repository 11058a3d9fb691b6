#pragma once
#include "actors/shard/wallet/wallet.h"
#include "schemas/wallet/push.h"
#include "store/wallet_due.h"

/* What reports on pushes to Apple and on calls of Google have in common. Errors: as view.h. */

/* Has the pass changed since it was leased? A range read: before anything is staged. */
must_check enum err settle_is_behind(struct request *request, const struct push_lease *lease, bool *behind);

/* Stages that the row's work is to be done at once again, because the pass has changed since its lease; or later, because it
 * failed. After the last try the row goes, and the next change makes another one. */
must_check enum err settle_renew(struct request *request, const struct push_lease *lease,
                                 struct wallet_due *row);
must_check enum err settle_again(struct request *request, struct wallet_due *row);

/* Stages what was said of a credential: it rests, works again, or has an error for the operator. A rehearsal of `wallet check`
 * ends a rest if it went well, and changes nothing otherwise. */
must_check enum err settle_complaint(struct request *request, enum wallet_kind kind,
                                     const struct push_complaint *complaint);
