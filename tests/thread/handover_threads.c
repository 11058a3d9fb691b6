/* Handovers under the thread sanitizer: several threads put numbered items while another takes them. Every item arrives once,
 * and those of one thread arrive in their order. */
#include "actors/shard/engine/handover.h"
#include "schemas/err.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { PRODUCERS = 3, ITEMS = 100000 };

struct numbered {
	struct handover_item item;
	unsigned             producer, number;
};

static struct handover handover;
static struct numbered items[PRODUCERS][ITEMS];

static void *produce(void *first)
{
	struct numbered *own = first;
	for (unsigned i = 0; i < ITEMS; i++) {
		handover_put(&handover, &own[i].item);
		if (i % 64 == 0) sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[PRODUCERS];
	unsigned  next[PRODUCERS] = {0}, left = PRODUCERS * ITEMS;
	for (unsigned p = 0; p < PRODUCERS; p++)
		for (unsigned i = 0; i < ITEMS; i++)
			items[p][i] = (struct numbered){.producer = p, .number = i};
	for (unsigned p = 0; p < PRODUCERS; p++)
		must(!pthread_create(&threads[p], NULL, produce, items[p]));
	while (left) {
		struct handover_item *item = handover_take(&handover);
		for (; item; item = item->next, left--) {
			const struct numbered *numbered = (const struct numbered *)item;
			must(numbered->number == next[numbered->producer]++);
		}
	}
	for (unsigned p = 0; p < PRODUCERS; p++)
		must(!pthread_join(threads[p], NULL));
	must(handover_is_empty(&handover));
	puts("handover_threads: ok");
	return 0;
}
