#pragma once
#include "actors/rpc/rpc.h"
#include "actors/timer/apns/apns.h"
#include "schemas/secret.h"

/* Pushes of one shard: leases passes that have changed, pushes to their phones, reports what became of it. It holds no durable
 * state: what is lost with the process is leased again by the shard, and at worst a phone is pushed twice. */
struct pushing;

enum { PUSHES_IN_HAND_MAX = 1024 }; /* leases, of all shards */

/* `instance`: random number of this process, at least 1. `places`: how many leases may be in hand. `key` opens credentials
 * (WALLET_CREDENTIAL_PURPOSE); borrowed. Errors: ERR_NO_MEMORY. */
struct pushing_options {
	struct rpc    *rpc;
	struct apns   *apns;
	uint64_t       instance;
	uint32_t       places;
	const uint8_t *key;
};
must_check enum err pushing_open(struct pushing **pushing, const struct pushing_options *options);
void                pushing_close(struct pushing **pushing); /* before apns_close() */

/* Call before rpc_flush(), once a turn before apns_turn(), and again if that ended something. Returns how long the loop may sleep
 * at most, because of unsent reports. */
dur_us pushing_turn(struct pushing *pushing, mono_us now);

/* pushing_stop(): no more polls; pushes in progress continue. Idle: none is in progress and all are reported, or the shard is
 * down. What is not reported is leased again by the next timer. */
void pushing_stop(struct pushing *pushing);
bool pushing_is_idle(const struct pushing *pushing);
