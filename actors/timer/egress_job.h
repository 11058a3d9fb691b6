#pragma once
#include "actors/rpc/rpc.h"
#include "actors/timer/egress.h"

/* What the timer's calls carry with them, so that their ends find back: each kind of work has one of these in what it
 * keeps of the call. */
struct asked { /* of a call to a shard */
	void (*on_reply)(struct asked *asked, const struct reply *reply);
};
struct egress_job { /* of a request to an endpoint */
	void (*on_done)(struct egress_job *job, const struct egress_outcome *outcome);
};
