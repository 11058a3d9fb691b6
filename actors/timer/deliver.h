#pragma once
#include "actors/timer/egress_job.h"

/* Deliveries of one shard: asks it for what is due, gets each rendered, makes the attempt and reports what became of it.
 * It holds nothing that matters: what is lost with the process, the shard hands out again. */
struct deliver;

/* `instance`: of this process' life, random, at least 1. `places`: how many may be in hand. Errors: ERR_NO_MEMORY. */
must_check enum err deliver_open(struct deliver **deliver, struct rpc *rpc, struct egress *egress,
                                 uint64_t instance, uint32_t places);
void                deliver_close(struct deliver **deliver);

/* Before rpc_flush(), once a turn before egress_turn() and again if that ended something. Returns how long the loop may sleep
 * at most for what waits to be told. */
dur_us deliver_turn(struct deliver *deliver, mono_us now);

/* No more is asked for, and no attempt is begun; what is under way goes on. Idle: nothing is, and all is reported, or the
 * shard is not there. To cut: what is still under way is reported as an attempt of which nothing is known. */
void deliver_stop(struct deliver *deliver);
bool deliver_is_idle(const struct deliver *deliver);
void deliver_cut(struct deliver *deliver);
