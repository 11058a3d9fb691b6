#pragma once
#include "actors/shard/pass/pass.h"

/* Pictures of a pass that a PATCH changes: an image that is not there is fetched, and until then the pass in the wallet shows the
 * former one. Errors: as view.h. */

/* Stages what the change of a pass's body means for its pictures. Nothing in an account without Apple's wallet. Point reads. */
must_check enum err pictures_change(struct request *request, const struct hot_at       *pass,
                                    const struct template *template, const struct body *before,
                                    const struct body *after);

/* Stages that the phones of a pass are pushed to when those of its pictures have been reduced that are there. Point reads. */
must_check enum err pictures_await(struct request *request, const struct hot_at *pass);

/* Stages that no picture is kept for the pass. Point reads. */
must_check enum err pictures_forget(struct request *request, const struct hot_at *pass);
