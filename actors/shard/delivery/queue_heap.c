/* Lines by when they are ready, as a binary heap: each no later than the two below it. */
#include "actors/shard/delivery/queue_heap.h"

int64_t line_ready_at(const struct line *line)
{
	return line->hold.v > line->due.v ? line->hold.v : line->due.v;
}

static void heap_set(struct delivery_queue *queue, size_t at, struct line *line)
{
	queue->heap[at] = line;
	line->heap_at = at;
}

static void heap_up(struct delivery_queue *queue, size_t at)
{
	struct line *line = queue->heap[at];
	for (; at && line_ready_at(queue->heap[(at - 1) / 2]) > line_ready_at(line); at = (at - 1) / 2)
		heap_set(queue, at, queue->heap[(at - 1) / 2]);
	heap_set(queue, at, line);
}

static void heap_down(struct delivery_queue *queue, size_t at)
{
	struct line *line = queue->heap[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= queue->heap_count) break;
		if (child + 1 < queue->heap_count &&
		    line_ready_at(queue->heap[child + 1]) < line_ready_at(queue->heap[child]))
			child++;
		if (line_ready_at(queue->heap[child]) >= line_ready_at(line)) break;
		heap_set(queue, at, queue->heap[child]);
		at = child;
	}
	heap_set(queue, at, line);
}

void heap_moved(struct delivery_queue *queue, size_t at)
{
	struct line *line = queue->heap[at];
	heap_up(queue, at);
	heap_down(queue, line->heap_at);
}

void heap_take(struct delivery_queue *queue, size_t at)
{
	struct line *last = queue->heap[--queue->heap_count];
	if (at == queue->heap_count) return;
	heap_set(queue, at, last);
	heap_moved(queue, at);
}

void heap_add(struct delivery_queue *queue, struct line *line)
{
	heap_set(queue, queue->heap_count++, line);
	heap_up(queue, line->heap_at);
}
