/* A binary heap of removals, by time. */
#include "actors/shard/wallet/removals.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64, AGAIN_S = 60 };

static void swap(struct removals *removals, size_t a, size_t b)
{
	struct removal was = removals->heap[a];
	removals->heap[a] = removals->heap[b];
	removals->heap[b] = was;
}

static bool is_before(const struct removals *removals, size_t a, size_t b)
{
	return removals->heap[a].due.v < removals->heap[b].due.v;
}

static enum err add(struct removals *removals, const struct wallet_due *row)
{
	if (removals->count == removals->room) {
		size_t          room = removals->room ? 2 * removals->room : FIRST_ROOM;
		struct removal *heap = realloc(removals->heap, room * sizeof *heap);
		if (!heap) return ERR_NO_MEMORY;
		removals->heap = heap;
		removals->room = room;
	}
	size_t at = removals->count++;
	removals->heap[at] = (struct removal){row->account, row->pass_number, row->due};
	for (; at && is_before(removals, at, (at - 1) / 2); at = (at - 1) / 2)
		swap(removals, at, (at - 1) / 2);
	return OK;
}

enum err removals_load(struct removals *removals, struct view *view)
{
	struct wallet_due row = {.kind = WALLET_DUE_REMOVAL};
	enum err          err = wallet_due_from(view, &row);
	while (!err) {
		if ((err = add(removals, &row))) return err;
		err = wallet_due_next(view, &row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

void removals_free(struct removals *removals)
{
	free(removals->heap);
	*removals = (struct removals){.heap = NULL};
}

enum err removals_on_writes(struct removals *removals, const struct writes *writes)
{
	enum err err = OK;
	for (unsigned i = 0; i < writes->count && !err; i++) {
		const struct write *write = &writes->rows[i];
		struct wallet_due   row;
		if (write->table != TABLE_WALLET_DUE || write->kind != WRITE_PUT) continue;
		if (!(err = wallet_due_read(write->key, write->value, &row))) err = add(removals, &row);
	}
	return err;
}

enum err removals_again(struct removals *removals, const struct removal *taken, wall_us now)
{
	const struct wallet_due row = {.account = taken->account,
	                               .kind = WALLET_DUE_REMOVAL,
	                               .pass_number = taken->pass_number,
	                               .due = {now.v + AGAIN_S * US_PER_SEC}};
	return add(removals, &row);
}

bool removals_take(struct removals *removals, wall_us now, struct removal *next)
{
	if (!removals->count || removals->heap[0].due.v > now.v) return false;
	*next = removals->heap[0];
	swap(removals, 0, --removals->count);
	for (size_t at = 0, child; (child = 2 * at + 1) < removals->count; at = child) {
		if (child + 1 < removals->count && is_before(removals, child + 1, child)) child++;
		if (!is_before(removals, child, at)) break;
		swap(removals, at, child);
	}
	return true;
}
