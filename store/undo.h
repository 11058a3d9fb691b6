#pragma once
#include "schemas/err.h"
#include "store/hot_row.h"

#include <stdatomic.h>

/* What cells were before they changed, so that a reader can lay back what is newer than its view. The writer enters the
 * old words of a pass before it stores the new ones; the entries of one block are a chain, newest first. Positions count
 * all entries since the ring was made, from 1; the ring keeps the newest UNDO_ENTRIES.
 * Order, for readers without a lock: entry, head and chain, fence, new words. A reader loads words, fence, chain: if it has
 * seen any part of a change, it finds the entry of that change. */
enum { UNDO_ENTRIES = 1 << 16 };
struct undo;

must_check enum err undo_open(struct undo **undo); /* Errors: ERR_NO_MEMORY. */
void                undo_close(struct undo **undo);

/* The position of the newest entry: what a view notes as its mark. */
uint64_t undo_head(const struct undo *undo);

/* The writer: enters the words of `index` as they are, at the front of `chain`. Its caller then stores the new ones. */
void undo_put(struct undo *undo, _Atomic uint64_t *chain, unsigned index, const uint64_t words[HOT_WORDS]);

/* A reader, after it has loaded words of a block with relaxed loads: gives each entry behind `mark` to `lay_back`, the
 * newest first. Errors: ERR_OVERLOADED: an entry is no longer kept; the view is too old for this block. */
must_check enum err undo_each(const struct undo *undo, const _Atomic uint64_t *chain, uint64_t mark,
                              void (*lay_back)(void *user, unsigned index, const uint64_t words[HOT_WORDS]),
                              void *user);
