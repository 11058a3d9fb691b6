#pragma once
#include "tests/fuzz/asks.h"

#include "actors/shard/delivery/queue.h"

/* Properties of the engine's answers in addition to its model. A violation fails a must(). */

/* A page belongs to the requested account and its own token, and can be rendered. */
void check_page(const struct ask *ask, const struct reply *reply);

/* Leases that were handed out are valid and not too many. They are remembered for later calls. */
void check_leases(const struct reply *reply);

/* The contents of deliveries are JSON, whatever was written into their passes. */
void check_rendered(const struct reply *reply);

/* The lanes and leases of an engine's queue equal those of a queue built from the tables now. */
void check_queue(struct delivery_queue *queue, struct view *view, mono_us now);
