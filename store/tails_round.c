/* Which tails have rows that LMDB does not have, and the writing of them. A round takes a tail as far as it went when the round
 * began, and all of the last run, which may have got rows since. */
#include "store/cells_inside.h"

#include "schemas/limits.h"
#include "store/db_inside.h"
#include "store/file.h"
#include "store/keys.h"

enum {
	/* With its key and what LMDB adds; a page among others is half full after it was divided. */
	ROW_BYTES_IN_TABLE = 2 * 72,
};

static uint64_t seq_of(const _Atomic uint64_t *seq)
{
	return atomic_load_explicit(seq, memory_order_relaxed);
}

void tails_set_dirty(struct cells *cells, struct cell_account *account)
{
	struct tail *tail = &account->tail;
	cells->tails.rows++;
	if (seq_of(&tail->last) == seq_of(&tail->written) + 1) cells->tails.behind++;
	if (tail->is_dirty) return;
	tail->is_dirty = true;
	cells->tails.dirty++;
	cells_list(cells, account);
}

static uint64_t begin_tail(struct tail *tail)
{
	if (!tail->is_dirty) return 0;
	tail->is_dirty = false;
	tail->round_end = seq_of(&tail->last);
	return tail->round_end / TAIL_RUN_ROWS - (seq_of(&tail->written) + 1) / TAIL_RUN_ROWS + 1;
}

void tails_begin_round(struct cells *cells)
{
	for (uint32_t i = 0; i < cells->round.count; i++)
		cells->tails.left += begin_tail(&cells->round.at[i]->tail);
	cells->tails.dirty = 0;
	cells->tails.round_at = cells->tails.ahead_at = 0;
}

unsigned tails_fill(const struct cells *cells)
{
	return (unsigned)((uint64_t)cells->tails.runs * 1000 / cells->tails.runs_max);
}

uint64_t tails_growth(const struct cells *cells)
{
	return cells->tails.behind * page_bytes() + cells->tails.rows * ROW_BYTES_IN_TABLE;
}

/* Writing ------------------------------------------------------------------------------------------------- */

static bool is_in_round(const struct tail *tail)
{
	return seq_of(&tail->written) < tail->round_end;
}

static struct cell_account *next_of_round(struct cells *cells)
{
	for (; cells->tails.round_at < cells->round.count; cells->tails.round_at++)
		if (is_in_round(&cells->round.at[cells->tails.round_at]->tail))
			return cells->round.at[cells->tails.round_at];
	return NULL;
}

/* Goes round the accounts that have changed since the round began. */
static struct cell_account *next_of_others(struct cells *cells)
{
	for (uint32_t looked = 0; looked < cells->listed.count; looked++, cells->tails.ahead_at++) {
		if (cells->tails.ahead_at >= cells->listed.count) cells->tails.ahead_at = 0;
		if (cells->listed.at[cells->tails.ahead_at]->tail.is_dirty)
			return cells->listed.at[cells->tails.ahead_at];
	}
	return NULL;
}

static enum err write_row(struct db *db, struct account_id account, uint64_t seq, const struct tail_row *row)
{
	struct row_key key = key_u64(account, seq);
	uint64_t       words[TAIL_ROW_WORDS];
	for (unsigned i = 0; i < TAIL_ROW_WORDS; i++)
		words[i] = atomic_load_explicit(&row->words[i], memory_order_relaxed);
	size_t size = (uint8_t)atomic_load_explicit(&row->about, memory_order_relaxed);
	return row_put(db, TABLE_LEDGER, key_span(&key), span_of(NULL, 0), span_of(words, size));
}

/* The rest of the run of the first row that LMDB does not have. */
static enum err write_run(struct db *db, struct cell_account *account)
{
	struct cells    *cells = db->writer.cells;
	struct tail     *tail = &account->tail;
	uint64_t         seq = seq_of(&tail->written) + 1, last = seq_of(&tail->last);
	uint64_t         end = (seq / TAIL_RUN_ROWS + 1) * TAIL_RUN_ROWS;
	struct tail_run *run = tails_run(account, seq);
	bool             was_in_round = is_in_round(tail);
	enum err         err = OK;
	must(run && seq <= last);
	for (; !err && seq < end && seq <= last; seq++) {
		err = write_row(db, account->id, seq, &run->rows[seq % TAIL_RUN_ROWS]);
		cells->tails.rows--;
	}
	if (err) return err;
	atomic_store_explicit(&tail->written, seq - 1, memory_order_release);
	tail->commit = cells->commits + 1; /* the one to come */
	if (was_in_round) cells->tails.left--;
	if (seq > last) cells->tails.behind--;
	if (seq > last && tail->is_dirty) {
		tail->is_dirty = false;
		cells->tails.dirty--;
	}
	return tails_keep(&cells->tails, run);
}

enum err tails_write_next(struct db *db, bool ahead, bool *some)
{
	struct cells        *cells = db->writer.cells;
	struct cell_account *account = next_of_round(cells);
	if (!account && ahead) account = next_of_others(cells);
	*some = account != NULL;
	return account ? write_run(db, account) : OK;
}
