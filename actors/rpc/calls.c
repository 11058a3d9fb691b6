/* The table of open calls: a free list in an array. A search over all calls (deadlines, end of the session) walks the array,
 * which takes microseconds for some thousand places. */
#include "actors/rpc/calls.h"

#include "schemas/limits.h"

#include <stdlib.h>

enum { NO_PLACE = UINT32_MAX };

bool calls_open(struct calls *calls, uint32_t place_count)
{
	*calls = (struct calls){.place_count = place_count, .first_free = 0};
	calls->places = calloc(place_count, sizeof(*calls->places));
	if (!calls->places) return false;
	for (uint32_t i = 0; i < place_count; i++)
		calls->places[i].next_free = i + 1 < place_count ? i + 1 : NO_PLACE;
	return true;
}

void calls_close(struct calls *calls)
{
	free(calls->places);
	*calls = (struct calls){0};
}

struct pending_call *calls_take(struct calls *calls)
{
	must(calls->outstanding < calls->place_count);
	struct pending_call *call = &calls->places[calls->first_free];
	calls->first_free = call->next_free;
	calls->outstanding++;
	uint32_t turn = call->turn + 1;
	*call = (struct pending_call){.turn = turn ? turn : 1, .taken = true}; /* 0 would make an id of 0 */
	return call;
}

void calls_give_back(struct calls *calls, struct pending_call *call)
{
	must(call->taken);
	call->taken = false;
	call->next_free = calls->first_free;
	calls->first_free = (uint32_t)(call - calls->places);
	calls->outstanding--;
	calls->outstanding_bytes -= call->size_bytes;
}

void calls_count_bytes(struct calls *calls, struct pending_call *call, size_t size)
{
	must(size <= UINT32_MAX);
	calls->outstanding_bytes += size - call->size_bytes;
	call->size_bytes = (uint32_t)size;
}

uint64_t calls_id(const struct calls *calls, const struct pending_call *call)
{
	return (uint64_t)call->turn << 32 | (uint64_t)(call - calls->places);
}

struct pending_call *calls_find(struct calls *calls, uint64_t id)
{
	uint32_t place = (uint32_t)id;
	if (place >= calls->place_count) return NULL;
	struct pending_call *call = &calls->places[place];
	return call->taken && calls_id(calls, call) == id ? call : NULL;
}

bool call_is_any(const struct pending_call *call, mono_us now)
{
	(void)call, (void)now;
	return true;
}

bool call_is_refused(const struct pending_call *call, mono_us now)
{
	(void)now;
	return call->refusal != OK;
}

bool call_is_overdue(const struct pending_call *call, mono_us now)
{
	return now.v - CALL_DEADLINE_GRACE_MS * US_PER_MS >= call->deadline.v;
}
