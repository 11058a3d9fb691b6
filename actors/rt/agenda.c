/* A binary heap in which each entry knows its place. */
#include "actors/rt/agenda.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

static void set(struct agenda *agenda, size_t at, struct agenda_entry *entry)
{
	agenda->heap[at] = entry;
	entry->place = at + 1;
}

/* Moves the entry from a place where it may stand wrong to its own. */
static void settle(struct agenda *agenda, size_t at, struct agenda_entry *entry)
{
	for (; at && agenda->heap[(at - 1) / 2]->at > entry->at; at = (at - 1) / 2)
		set(agenda, at, agenda->heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < agenda->count; at = child) {
		if (child + 1 < agenda->count && agenda->heap[child + 1]->at < agenda->heap[child]->at)
			child++;
		if (agenda->heap[child]->at >= entry->at) break;
		set(agenda, at, agenda->heap[child]);
	}
	set(agenda, at, entry);
}

enum err agenda_put(struct agenda *agenda, struct agenda_entry *entry, int64_t at)
{
	entry->at = at;
	if (entry->place) {
		settle(agenda, entry->place - 1, entry);
		return OK;
	}
	if (agenda->count == agenda->room) {
		size_t                room = agenda->room ? 2 * agenda->room : FIRST_ROOM;
		struct agenda_entry **heap = realloc(agenda->heap, room * sizeof(struct agenda_entry *));
		if (!heap) return ERR_NO_MEMORY;
		agenda->heap = heap;
		agenda->room = room;
	}
	settle(agenda, agenda->count++, entry);
	return OK;
}

void agenda_drop(struct agenda *agenda, struct agenda_entry *entry)
{
	if (!entry->place) return;
	size_t               at = entry->place - 1;
	struct agenda_entry *last = agenda->heap[--agenda->count];
	entry->place = 0;
	if (last != entry) settle(agenda, at, last);
}

struct agenda_entry *agenda_first(const struct agenda *agenda)
{
	return agenda->count ? agenda->heap[0] : NULL;
}

void agenda_free(struct agenda *agenda)
{
	free(agenda->heap);
	*agenda = (struct agenda){.heap = NULL};
}
