/* The ring. An entry that is being overwritten is found out as in a sequence lock: the head is moved before the words of a
 * new entry are stored, and looked at again after an old entry's words were loaded. */
#include "store/undo.h"

#include <stdlib.h>

/* One cache line. */
struct entry {
	_Alignas(64) _Atomic uint64_t before; /* position of the entry behind it in its chain; 0: none */
	_Atomic uint64_t index;
	_Atomic uint64_t words[HOT_WORDS];
};
_Static_assert(sizeof(struct entry) == 64, "a line");

struct undo {
	_Atomic uint64_t head; /* entries made, the one under way included */
	struct entry    *entries;
};

enum err undo_open(struct undo **out)
{
	struct undo *undo = calloc(1, sizeof *undo);
	*out = undo;
	if (!undo) return ERR_NO_MEMORY;
	undo->entries = aligned_alloc(_Alignof(struct entry), sizeof(struct entry) * UNDO_ENTRIES);
	return undo->entries ? OK : ERR_NO_MEMORY;
}

void undo_close(struct undo **undo_p)
{
	struct undo *undo = *undo_p;
	*undo_p = NULL;
	if (!undo) return;
	free(undo->entries);
	free(undo);
}

uint64_t undo_head(const struct undo *undo)
{
	return atomic_load_explicit(&undo->head, memory_order_relaxed);
}

void undo_put(struct undo *undo, _Atomic uint64_t *chain, unsigned index, const uint64_t words[HOT_WORDS])
{
	uint64_t      position = undo_head(undo) + 1;
	struct entry *entry = &undo->entries[position % UNDO_ENTRIES];
	atomic_store_explicit(&undo->head, position, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* before any word of the entry that it overwrites */
	atomic_store_explicit(&entry->before, atomic_load_explicit(chain, memory_order_relaxed),
	                      memory_order_relaxed);
	atomic_store_explicit(&entry->index, index, memory_order_relaxed);
	for (unsigned i = 0; i < HOT_WORDS; i++)
		atomic_store_explicit(&entry->words[i], words[i], memory_order_relaxed);
	atomic_store_explicit(chain, position, memory_order_release);
	atomic_thread_fence(memory_order_release); /* before the new words */
}

enum err undo_each(const struct undo *undo, const _Atomic uint64_t *chain, uint64_t mark,
                   void (*lay_back)(void *user, unsigned index, const uint64_t words[HOT_WORDS]), void *user)
{
#ifdef FAULT_LATE_NO_UNDO
	(void)undo, (void)chain, (void)mark, (void)lay_back, (void)user;
	return OK; /* the fault: readers see whatever is newest */
#endif
	atomic_thread_fence(memory_order_acquire); /* behind the words that were loaded */
	uint64_t position = atomic_load_explicit(chain, memory_order_acquire), words[HOT_WORDS];
	while (position > mark) {
		const struct entry *entry = &undo->entries[position % UNDO_ENTRIES];
		uint64_t            before = atomic_load_explicit(&entry->before, memory_order_relaxed);
		unsigned index = (unsigned)atomic_load_explicit(&entry->index, memory_order_relaxed);
		for (unsigned i = 0; i < HOT_WORDS; i++)
			words[i] = atomic_load_explicit(&entry->words[i], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (undo_head(undo) - position >= UNDO_ENTRIES) return ERR_OVERLOADED;
		lay_back(user, index, words);
		position = before;
	}
	return OK;
}
