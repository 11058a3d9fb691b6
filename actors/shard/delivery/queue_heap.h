#pragma once
#include "actors/shard/delivery/queue.h"

/* The queue's heap of lanes in state LATER, earliest first. Each lane knows its index (heap_at). The caller of heap_add() has
 * made room. Errors: none. */
int64_t lane_ready_at(const struct lane *lane); /* service time: due, and not held */
void    heap_add(struct delivery_queue *queue, struct lane *lane);
void    heap_take(struct delivery_queue *queue, size_t at);
void    heap_moved(struct delivery_queue *queue, size_t at); /* the lane's ready time changed */
