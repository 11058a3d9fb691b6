#pragma once
#include "actors/timer/egress_job.h"

/* Deliveries of one shard: leases what is due, has it rendered, makes the attempt, reports the result. It holds no durable
 * state: what is lost with the process is leased again by the shard. */
struct deliver;

/* `instance`: random number of this process, at least 1. `places`: how many leases may be in hand. Errors: ERR_NO_MEMORY. */
must_check enum err deliver_open(struct deliver **deliver, struct rpc *rpc, struct egress *egress,
                                 uint64_t instance, uint32_t places);
void                deliver_close(struct deliver **deliver);

/* Call before rpc_flush(), once a turn before egress_turn(), and again if that ended something. Returns how long the loop may
 * sleep at most, because of unsent reports. */
dur_us deliver_turn(struct deliver *deliver, mono_us now);

/* deliver_stop(): no more polls and attempts; those in progress continue. Idle: none is in progress and all are reported, or
 * the shard is down. deliver_cut() reports what is still in progress as an attempt with unknown result. */
void deliver_stop(struct deliver *deliver);
bool deliver_is_idle(const struct deliver *deliver);
void deliver_cut(struct deliver *deliver);
