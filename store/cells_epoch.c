/* Views under way, and the memory that is retired while they are.
 *
 * Epochs: a view notes the epoch in which it begins. Retired memory notes the epoch in which the writer made it
 * unreachable; that epoch then ends. Views of later epochs cannot find the memory. It is freed when no view of its
 * epoch or an older one is under way. A view that holds a pointer to a retired block reads its last content, which is
 * that of the view's commit. */
#include "store/cells_inside.h"

#include <stdlib.h>

/* Readers ------------------------------------------------------------------------------------------------- */

struct cells_reader *cells_reader_take(struct cells *cells)
{
	for (unsigned i = 0; i < CELLS_READERS; i++)
		if (!atomic_exchange(&cells->readers[i].is_taken, true)) return &cells->readers[i];
	return NULL;
}

/* The snapshot of LMDB, and all pointers, are read behind the fence. So either the writer finds this reader, or the reader
 * finds all that the writer did before it looked. */
void cells_reader_begin(const struct cells *cells, struct cells_reader *reader)
{
	atomic_store_explicit(&reader->commit, 0, memory_order_relaxed);
	atomic_store_explicit(&reader->epoch, atomic_load_explicit(&cells->epoch, memory_order_acquire),
	                      memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
}

void cells_reader_end(struct cells_reader *reader)
{
	atomic_store_explicit(&reader->epoch, 0, memory_order_release);
}

void cells_reader_give(struct cells_reader **reader_p)
{
	struct cells_reader *reader = *reader_p;
	*reader_p = NULL;
	if (!reader) return;
	cells_reader_end(reader);
	atomic_store(&reader->is_taken, false);
}

struct cells_oldest cells_oldest(const struct cells *cells)
{
	struct cells_oldest oldest = {UINT64_MAX, UINT64_MAX};
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < CELLS_READERS; i++) {
		const struct cells_reader *reader = &cells->readers[i];
		uint64_t                   epoch = atomic_load_explicit(&reader->epoch, memory_order_acquire);
		uint64_t commit = atomic_load_explicit(&reader->commit, memory_order_acquire);
		if (epoch && epoch < oldest.epoch) oldest.epoch = epoch;
		if (epoch && commit < oldest.commit) oldest.commit = commit;
	}
	return oldest;
}

/* What has gone ------------------------------------------------------------------------------------------- */

void cells_retire(struct cells *cells, struct retired_list *list, struct retired *retired)
{
	uint64_t epoch = atomic_load_explicit(&cells->epoch, memory_order_relaxed);
	*retired = (struct retired){.epoch = epoch};
	if (list->last)
		list->last->next = retired;
	else
		list->first = retired;
	list->last = retired;
	atomic_store_explicit(&cells->epoch, epoch + 1, memory_order_release);
}

/* The first of the list, if no view that began before `epoch` can hold it. */
static struct retired *next_free(struct retired_list *list, uint64_t epoch)
{
	struct retired *first = list->first;
	if (!first || first->epoch >= epoch) return NULL;
	list->first = first->next;
	if (!list->first) list->last = NULL;
	return first;
}

static void reclaim(struct cells *cells, uint64_t epoch)
{
	struct retired *retired;
	while ((retired = next_free(&cells->retired_memory, epoch)))
		free(retired);
	while ((retired = next_free(&cells->retired_blocks, epoch))) {
		retired->next = cells->free;
		cells->free = retired;
		cells->retired--;
	}
}

void cells_reclaim(struct cells *cells)
{
	reclaim(cells, cells_oldest(cells).epoch);
}
