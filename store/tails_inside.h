#pragma once
#include "store/ledger.h"
#include "store/retired.h"
#include "store/tails.h"

#include <stdatomic.h>

/* Shared by the files that hold tails, and a part of what cells are (cells_inside.h). */
struct cell_account;

enum { TAIL_ROW_WORDS = LEDGER_MOVE_BYTES / 8 };
_Static_assert((int)LEDGER_MOVE_BYTES % 8 == 0 && (int)LEDGER_EVENT_BYTES % 8 == 0, "rows are whole words");

struct tail_row {
	_Atomic uint64_t about; /* its transaction << 8 | its bytes; 0: none */
	_Atomic uint64_t words[TAIL_ROW_WORDS];
};

/* Rows that follow each other: seq / TAIL_RUN_ROWS is the same. */
struct tail_run {
	_Alignas(64) _Atomic uint64_t stamp; /* another one each time that it is taken; 0: free */
	_Atomic(struct cell_account *) account;
	_Atomic uint64_t               first; /* seq of rows[0], be it there or not */
	uint64_t         kept_at; /* place among those kept; 0: it has rows that LMDB does not have */
	struct tail_run *next;    /* free ones */
	struct tail_row  rows[TAIL_RUN_ROWS];
};
_Static_assert(sizeof(struct tail_run) == 64 + 48 * TAIL_RUN_ROWS, "whole lines");

/* An account's runs by their number, seq / TAIL_RUN_ROWS, modulo the size. One that is full is replaced by a larger one. */
struct tail_ring {
	struct retired             retired;
	uint32_t                   mask;
	struct tail_ring          *replaced;
	_Atomic(struct tail_run *) at[];
};

struct tail {
	_Atomic(struct tail_ring *) ring;
	_Atomic uint64_t            written, last; /* the newest rows in LMDB, and at all */

	/* The writer's. */
	struct tail_run *newest;    /* of `last`, if it is in memory */
	uint64_t         round_end; /* the round under way takes rows up to this one */
	uint64_t         commit;    /* the one that has `written`; 0: read from it */
	bool             is_known;  /* `written` and `last` are set */
	bool             is_dirty;  /* has rows that are not of the round */
};

struct tails {
	uint64_t          stamp;
	uint64_t          dirty;        /* tails, as in struct tail */
	uint64_t          left;         /* runs of the round under way, not yet written */
	uint64_t          behind, rows; /* tails with rows that LMDB does not have, and such rows */
	uint64_t          ring_bytes;
	uint32_t          runs, runs_max; /* that have such rows */
	struct tail_run  *free;
	struct tail_slab *slabs;

	/* The newest ones that were written, a ring. */
	struct tail_run **kept;
	uint32_t          kept_max;
	uint64_t          kept_head;

	uint32_t round_at, ahead_at; /* places in the lists of accounts */
};

/* tails_pool.c: memory of runs. The run of a seq, or NULL. The one of the row behind the account's last, which it gets next:
 * made if absent. After tails_keep(), when all of its rows are in LMDB, it may be given to other rows.
 * Errors: NULL: no memory; ERR_NO_MEMORY. */
struct tail_run    *tails_run(const struct cell_account *account, uint64_t seq);
struct tail_run    *tails_run_next(struct tails *tails, struct cell_account *account);
must_check enum err tails_keep(struct tails *tails, struct tail_run *run);
void                tails_close(struct tails *tails);
void                tail_close(struct tail *tail);
/* May the account go? If all of its rows are in LMDB, by a commit that is not newer than any view (`oldest`). Its runs are free
 * then, and what readers may look at is retired. */
bool tail_may_go(const struct cells *cells, const struct tail *tail, uint64_t oldest);
void tail_drop(struct cells *cells, struct tail *tail);

/* tails_round.c: the account's tail has another row; a round of the accounts in cells->round begins. */
void tails_set_dirty(struct cells *cells, struct cell_account *account);
void tails_begin_round(struct cells *cells);
