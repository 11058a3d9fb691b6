#pragma once
#include "actors/shard/delivery/queue.h"

/* The queue's heap of lanes that are LATER, the earliest first; each knows its place (heap_at). Whoever adds one has made
 * room. Errors: none. */
int64_t lane_ready_at(const struct lane *lane); /* service time: due, and not held */
void    heap_add(struct delivery_queue *queue, struct lane *lane);
void    heap_take(struct delivery_queue *queue, size_t at);
void    heap_moved(struct delivery_queue *queue, size_t at); /* when its lane is ready has changed */
