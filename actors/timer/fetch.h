#pragma once
#include "actors/timer/egress_job.h"
#include "schemas/address.h"

/* Images for one shard: fetched at its request (FETCH), checked, and handed over in parts before the FETCH is answered.
 * Nothing is kept: the shard requests again what is lost with the process. */
struct fetching;

/* `rules`: addresses that may be dialled. `in_hand`: images being fetched for all shards, at most EGRESS_FETCHES_MAX. Both are
 * borrowed. Errors: ERR_NO_MEMORY. */
must_check enum err fetching_open(struct fetching **fetching, struct rpc *rpc, struct egress *egress,
                                  const struct address_rules *rules, uint32_t *in_hand);
void                fetching_close(struct fetching **fetching);

/* Handles a FETCH from a frame of the shard's `epoch`, and answers it, now or later. */
void fetching_begin(struct fetching *fetching, const struct call *call, uint64_t epoch, mono_us now);

/* Goes on with images that wait for their pace. Returns how long until the next may go on. */
dur_us fetching_turn(struct fetching *fetching, mono_us now);
