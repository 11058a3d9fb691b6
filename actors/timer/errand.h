#pragma once
#include "actors/rpc/rpc.h"
#include "actors/timer/egress.h"

/* What the timer's calls carry with them, so that their ends find back: each kind of work has one of these in what it
 * keeps of the call. */
struct asked { /* of a call to a shard */
	void (*on_reply)(struct asked *asked, const struct reply *reply);
};
struct errand { /* of a request to an endpoint */
	void (*on_done)(struct errand *errand, const struct egress_outcome *outcome);
};
