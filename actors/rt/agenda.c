/* A binary heap in which each entry knows its place. */
#include "actors/rt/agenda.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_ROOM = 64 };

static void set(struct agenda *agenda, size_t at, struct agenda_entry *entry)
{
	agenda->heap[at] = entry;
	entry->place = at + 1;
}

static bool is_before(const struct agenda_entry *a, const struct agenda_entry *b)
{
	return a->at != b->at ? a->at < b->at : a->then < b->then;
}

/* Moves the entry from a place where it may stand wrong to its own. */
static void settle(struct agenda *agenda, size_t at, struct agenda_entry *entry)
{
	for (; at && is_before(entry, agenda->heap[(at - 1) / 2]); at = (at - 1) / 2)
		set(agenda, at, agenda->heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < agenda->count; at = child) {
		if (child + 1 < agenda->count && is_before(agenda->heap[child + 1], agenda->heap[child]))
			child++;
		if (!is_before(agenda->heap[child], entry)) break;
		set(agenda, at, agenda->heap[child]);
	}
	set(agenda, at, entry);
}

enum err agenda_reserve(struct agenda *agenda, size_t count)
{
	size_t room = agenda->room ? agenda->room : FIRST_ROOM;
	if (count <= agenda->room) return OK;
	while (room < count)
		room *= 2;
	struct agenda_entry **heap = realloc(agenda->heap, room * sizeof(struct agenda_entry *));
	if (!heap) return ERR_NO_MEMORY;
	agenda->heap = heap;
	agenda->room = room;
	return OK;
}

enum err agenda_put(struct agenda *agenda, struct agenda_entry *entry, int64_t at)
{
	enum err err = entry->place ? OK : agenda_reserve(agenda, agenda->count + 1);
	if (err) return err;
	entry->at = at;
	settle(agenda, entry->place ? entry->place - 1 : agenda->count++, entry);
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

void *agenda_owner(struct agenda_entry *entry, size_t offset)
{
	return entry ? (char *)entry - offset : NULL;
}

void agenda_free(struct agenda *agenda)
{
	free(agenda->heap);
	*agenda = (struct agenda){.heap = NULL};
}
