/* A binary heap of lanes by the time they are ready: each is no later than the two below it. */
#include "actors/shard/delivery/queue_heap.h"

int64_t lane_ready_at(const struct lane *lane)
{
	return lane->hold.v > lane->due.v ? lane->hold.v : lane->due.v;
}

static void heap_set(struct delivery_queue *queue, size_t at, struct lane *lane)
{
	queue->heap[at] = lane;
	lane->heap_at = at;
}

static void heap_up(struct delivery_queue *queue, size_t at)
{
	struct lane *lane = queue->heap[at];
	for (; at && lane_ready_at(queue->heap[(at - 1) / 2]) > lane_ready_at(lane); at = (at - 1) / 2)
		heap_set(queue, at, queue->heap[(at - 1) / 2]);
	heap_set(queue, at, lane);
}

static void heap_down(struct delivery_queue *queue, size_t at)
{
	struct lane *lane = queue->heap[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= queue->heap_count) break;
		if (child + 1 < queue->heap_count &&
		    lane_ready_at(queue->heap[child + 1]) < lane_ready_at(queue->heap[child]))
			child++;
		if (lane_ready_at(queue->heap[child]) >= lane_ready_at(lane)) break;
		heap_set(queue, at, queue->heap[child]);
		at = child;
	}
	heap_set(queue, at, lane);
}

void heap_moved(struct delivery_queue *queue, size_t at)
{
	struct lane *lane = queue->heap[at];
	heap_up(queue, at);
	heap_down(queue, lane->heap_at);
}

void heap_take(struct delivery_queue *queue, size_t at)
{
	struct lane *last = queue->heap[--queue->heap_count];
	if (at == queue->heap_count) return;
	heap_set(queue, at, last);
	heap_moved(queue, at);
}

void heap_add(struct delivery_queue *queue, struct lane *lane)
{
	heap_set(queue, queue->heap_count++, lane);
	heap_up(queue, lane->heap_at);
}
