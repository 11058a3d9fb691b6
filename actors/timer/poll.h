#pragma once
#include "actors/timer/egress_job.h"

/* The long poll of one shard for leases of one kind: DELIVERY_LEASE, WALLET_LEASE or GOOGLE_LEASE. The shard answers when something
 * is due. One poll waits at a time. The next one follows when its owner has room, but POLL_AGAIN_MS after a failure at the soonest.
 * A stop withdraws the poll by one for 0 leases; the withdrawn one still gets its own answer. */
enum { POLL_AGAIN_MS = 200 };

struct poll {
	/* From the owner; the rest begins as zero. */
	struct rpc  *rpc;
	enum message message;
	uint64_t     instance;  /* random number of this process, at least 1 */
	uint32_t     count_max; /* leases in one answer */
	void (*on_answer)(struct poll          *poll,
	                  const msgpack_object *answer); /* not checked yet; also after a stop */

	mono_us  ask_at; /* the owner may delay the next poll */
	uint32_t asked_for;
	bool     is_waiting; /* for its answer */
	bool     is_withdrawn, is_stopping;

	/* Of poll.c. */
	struct asked asked, withdrawal;
	mono_us      now;
};

/* Once a turn, before rpc_flush(): polls for `room` leases, at most `count_max`, or after a stop withdraws the poll. Without room
 * there is no poll. What the session refuses is tried again in the next turn. Errors: none. */
void poll_turn(struct poll *poll, mono_us now, uint32_t room);

/* From the next turn on, there are no more polls. */
void poll_stop(struct poll *poll);
