#pragma once
#include "actors/rpc/rpc.h"
#include "actors/timer/google/access.h"

/* Passes of one shard in Google's wallet: leases those that have changed, calls Google, reports what became of it. Also fetches the
 * root keys with which Google signs what it says of passes, once the shard wants them. It holds no durable state. */
struct googling;

/* `instance`: random number of this process, at least 1. `key` opens credentials; borrowed. `keys_url`: of Google's root keys. */
struct googling_options {
	struct rpc    *rpc;
	struct google *google;
	struct egress *egress;
	uint64_t       instance;
	const uint8_t *key;
	const char    *keys_url;
};
must_check enum err googling_open(struct googling **googling, const struct googling_options *options);
void                googling_close(struct googling **googling); /* before google_close() */

/* Call before rpc_flush(), once a turn, and again if a call has ended. Returns how long the loop may sleep at most. */
dur_us googling_turn(struct googling *googling, mono_us now);
/* No more leases; what is not reported is leased again by the next timer. */
void googling_stop(struct googling *googling);
bool googling_is_idle(
    const struct googling *googling); /* none is under way and all are reported, or the shard is down */
