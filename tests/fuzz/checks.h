#pragma once
#include "tests/fuzz/asks.h"

#include "actors/shard/delivery/queue.h"

/* What must hold of the engine's answers, beside what its model says; must() is the finding. */

/* A page is of the account that was asked, by its own token, and can be rendered. */
void check_page(const struct ask *ask, const struct reply *reply);

/* Leases that were handed out: whole ones, not too many. They are noted for later calls. */
void check_leases(const struct reply *reply);

/* What is to be sent of deliveries is JSON, whatever was written into their passes. */
void check_rendered(const struct reply *reply);

/* The lines and leases of an engine's queue are those of one that is made of the tables now. */
void check_queue(struct delivery_queue *queue, struct view *view, mono_us now);
