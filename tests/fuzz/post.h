#pragma once
#include "actors/rt/channel.h"
#include "schemas/buffer.h"

/* Replaces actors/rt's channel, clocks, randomness and log, so that a shard's engine runs in one process
 * controlled by the fuzzer's bytes alone: letters are put in and taken out by hand, time is set, random bytes
 * are a sequence that restarts with each run, and a log line for the operator is a finding. */
void post_reset(void);

/* A letter that the engine will receive. */
void post_in(const struct peer *from, struct span bytes);

/* The next letter that the engine has sent; false: none. The bytes are valid until the next call. */
bool post_out(struct peer *to, struct span *bytes);

/* The time of all clocks. */
void post_set_time(mono_us now);
