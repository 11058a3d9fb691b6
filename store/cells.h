#pragma once
#include "schemas/ids.h"
#include "store/hot_row.h"
#include "store/view.h"

/* The hot part of passes in memory, which is newer than the rows of HOT in LMDB. A cell is a pass, a block the cells of one
 * row. A block is whole or absent: it is made of the row in LMDB, whose checksum is verified then, or by the creation of its
 * first pass. Blocks stay as long as memory allows.
 *
 * The writer alone changes cells, makes blocks, lets them go, and says which of them are dirty, which means changed since they
 * were last written to LMDB. Readers look at the same memory. A reader's view is of one commit; what changed since, it lays
 * back (undo.h). A reader that finds no block reads the row in its own view of LMDB, which is right: a block goes only if the
 * commit that has its row is not newer than any view under way (cells_evict.c).
 * No memory that a reader may look at is freed before the reader's view has ended. */
struct cells;

must_check enum err cells_open(struct cells **cells); /* Errors: ERR_NO_MEMORY, ERR_IO (no random bytes). */
void                cells_close(struct cells **cells);

/* What may lie in memory: bytes of blocks, accounts and the index of ids; or blocks, for tests. 0: no bound. At it blocks go
 * that are clean and were not used lately. Blocks that are dirty, or that a view under way may need, stay beyond it: the
 * former are bounded by cells_pressure(), and a view under way delays it. */
struct cells_bound {
	uint64_t bytes, blocks;
};
void cells_set_bound(struct cells *cells, struct cells_bound bound);
/* Dirty blocks, in percent of the bound. */
unsigned cells_pressure(const struct cells *cells);

struct cells_usage {
	uint64_t bytes, blocks, evictions;
};
struct cells_usage cells_usage(const struct cells *cells);

/* A reader's view, from any thread: takes a place, NULL: none is free; begins before its snapshot of LMDB does, ends after
 * it. cells_mark() is to follow the beginning. */
enum { CELLS_READERS = 16 };
struct cells_reader;
struct cells_reader *cells_reader_take(struct cells *cells);
void                 cells_reader_begin(const struct cells *cells, struct cells_reader *reader);
void                 cells_reader_end(struct cells_reader *reader);
void                 cells_reader_give(struct cells_reader **reader);

/* The pass and the counts of its row, without staged writes; from LMDB if the block is absent or the view has no cells. The
 * writer's view makes a block of it. Errors: ERR_NOT_FOUND; ERR_OVERLOADED: a reader's view that is too old for this block;
 * as view.h. */
must_check enum err cells_get(struct view *view, struct account_id account, uint32_t number,
                              uint8_t counts[HOT_COUNTS], struct hot *pass);

/* The writer: makes sure that the pass is in memory, if it can be read. False: it is not, or the view is another. */
bool cells_bring(struct view *view, struct account_id account, uint32_t number);

/* For a view with cells: the row as LMDB would have it, in the view's arena. Errors: as cells_get(). */
must_check enum err cells_row(struct view *view, struct span key, struct span *row);

/* Is the block in memory? If so, cells_columns() needs no row of LMDB. */
bool cells_has(struct view *view, struct account_id account, uint32_t row);

/* The columns of the passes of a row, of which there are `*used`. Errors: as cells_get(). */
must_check enum err cells_columns(struct view *view, struct account_id account, uint32_t row,
                                  const struct hot_columns *columns, unsigned *used);

/* The writer: puts a write of HOT into cells instead of LMDB. Errors: ERR_DAMAGED (no row to patch, a row of another form,
 * numbers that are not dense), ERR_UNSUPPORTED (rows are never deleted), ERR_NO_MEMORY, ERR_IO. */
must_check enum err cells_apply(struct view *writer, const struct write *write);

/* The index of ids (id_index.h): the number of the newest pass with the id of `key`, a key of PASS_ID whatever its number.
 * False: the caller looks it up in PASS_ID, and gives the number to cells_learn_id(), which keeps it if the pass is in
 * memory. Views of readers know no ids. cells_on_id() is called for each write of PASS_ID, which may give an id to another
 * pass. */
bool cells_find_id(struct view *view, struct span key, uint32_t *number);
void cells_learn_id(struct view *view, struct span key, uint32_t number);
void cells_on_id(struct view *writer, const struct write *write);

/* The writer, before transaction `txn` is committed: the cells as they are belong to it. */
void cells_commit(struct cells *cells, uint64_t txn);
/* The writer, after a commit: lets some blocks go if memory is over its bound, since a slice leaves many that may. */
void cells_trim(struct cells *cells);
/* A reader that has begun, and whose view is of transaction `txn`: its mark. False: it may be of a later one, or its
 * mark is no longer known; begin again. */
bool cells_mark(const struct cells *cells, uint64_t txn, struct cells_reader *reader, uint64_t *mark);

/* Dirty blocks, for rounds; the writer's. */
uint64_t cells_dirty(const struct cells *cells); /* how many, besides those of a round under way */
uint64_t cells_left(const struct cells *cells);  /* of the round under way, not yet taken */
/* Begins a round of all that are dirty. Only when none is under way. */
void cells_begin_round(struct cells *cells);
/* Takes the next block of the round, in the order of keys: its row as it is now, which the caller writes. *stored: LMDB
 * has the row already; from now on it counts as having it. False: none is left. */
bool cells_take(struct cells *cells, struct account_id *account, uint32_t *number, uint8_t row[HOT_ROW_BYTES],
                bool *stored);
uint64_t cells_new_rows(const struct cells *cells); /* blocks whose row LMDB does not have yet */
