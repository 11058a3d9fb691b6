#pragma once
#include "actors/rpc/rpc.h"
#include "actors/timer/egress_job.h"
#include "schemas/buffer.h"

/* The root keys with which Google signs what it says of passes: fetched every six hours, once they are wanted, and handed over to one
 * shard, which keeps them. */
struct root_keys {
	struct rpc       *rpc;
	struct egress    *egress;
	const char       *url;
	struct egress_job fetching;
	struct asked      naming;
	struct buffer     text; /* fetched, and not handed over yet */
	bool              is_wanted, is_fetching, is_naming;
	bool              has_named; /* the shard has taken some */
	mono_us           fetch_at, name_at, now;
};

void root_keys_open(struct root_keys *keys, struct rpc *rpc, struct egress *egress, const char *url);
void root_keys_close(struct root_keys *keys);
void root_keys_turn(struct root_keys *keys, mono_us now);
