#pragma once
#include "actors/shard/delivery/queue.h"

/* The queue's heap of lines that are LATER, the earliest first; each knows its place (heap_at). Whoever adds one has made
 * room. Errors: none. */
int64_t line_ready_at(const struct line *line); /* service time: due, and not held */
void    heap_add(struct delivery_queue *queue, struct line *line);
void    heap_take(struct delivery_queue *queue, size_t at);
void    heap_moved(struct delivery_queue *queue, size_t at); /* when its line is ready has changed */
