#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Hands items from some threads to others without a lock: a thread that puts an item never waits for another thread, which
 * may have a lower priority and not be running. An item is embedded in what is handed over, and belongs to the thread that took it.
 * Order: items of one thread are taken in the order in which it put them. Errors: none. */
struct handover_item {
	struct handover_item *next;
};

struct handover {
	_Atomic(struct handover_item *) newest;
};

static inline void handover_put(struct handover *handover, struct handover_item *item)
{
	item->next = atomic_load_explicit(&handover->newest, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&handover->newest, &item->next, item))
		continue;
}

static inline bool handover_is_empty(struct handover *handover)
{
	return atomic_load(&handover->newest) == NULL;
}

/* All items, the oldest first; NULL: none. */
static inline struct handover_item *handover_take(struct handover *handover)
{
	if (handover_is_empty(handover)) return NULL;
	struct handover_item *item = atomic_exchange(&handover->newest, NULL), *oldest = NULL;
	while (item) {
		struct handover_item *before = item->next;
		item->next = oldest;
		oldest = item;
		item = before;
	}
	return oldest;
}
