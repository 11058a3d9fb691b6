#pragma once
#include "actors/rt/channel.h"
#include "schemas/buffer.h"

/* In place of actors/rt's channel, clocks, randomness and log, so that a shard's engine runs in one process, by the fuzzer's bytes
 * alone: letters are put in and taken out by hand, time is what was set, random bytes are a row that begins anew with each run, and a log line
 * that wants the operator is a finding. */
void post_reset(void);

/* A letter that the engine will receive. */
void post_in(const struct peer *from, struct span bytes);

/* The next letter that the engine has sent; false: none. The bytes live until the next call. */
bool post_out(struct peer *to, struct span *bytes);

/* The time of all clocks. */
void post_set_time(mono_us now);
