#pragma once
#include "actors/timer/egress_job.h"
#include "schemas/address.h"

/* Images for one shard: fetched when it asks (FETCH), judged, handed over part by part, and only then is it told that
 * they are there. Nothing is kept: what is lost with the process, the shard asks for again. */
struct fetching;

/* `rules`: what may be dialled; `in_hand`: how many images all shards have fetched together, with EGRESS_FETCHES_MAX at
 * most. Both are borrowed. Errors: ERR_NO_MEMORY. */
must_check enum err fetching_open(struct fetching **fetching, struct rpc *rpc, struct egress *egress,
                                  const struct address_rules *rules, uint32_t *in_hand);
void                fetching_close(struct fetching **fetching);

/* A FETCH of a frame of the shard's `epoch`. It is answered by itself, now or later. */
void fetching_begin(struct fetching *fetching, const struct call *call, uint64_t epoch, mono_us now);
