#pragma once
#include "actors/rpc/rpc.h"
#include "actors/timer/egress.h"

/* Callbacks of the timer's calls and requests. Each kind of work embeds one in its own structure, to find it at the end. */
struct asked { /* for a call to a shard */
	void (*on_reply)(struct asked *asked, const struct reply *reply);
};
struct egress_job { /* for a request to an endpoint */
	void (*on_done)(struct egress_job *job, const struct egress_outcome *outcome);
};
