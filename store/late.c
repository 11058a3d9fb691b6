/* Rounds and slices. */
#include "store/late.h"

#include "schemas/limits.h"
#include "store/file.h"
#include "store/late_rows.h"
#include "store/monotonic.h"
#include "store/tails.h"

/* As many bytes as the table has rows of 1 KiB: a round then writes each row for many changes. */
static uint64_t bytes_of_round(const struct late *late)
{
	uint64_t bytes = db_late_rows(late->set.db) << 10;
	if (late->set.round_bytes) return late->set.round_bytes;
	if (bytes < LATE_ROUND_BYTES_MIN) return LATE_ROUND_BYTES_MIN;
	return bytes > LATE_ROUND_BYTES_MAX ? (uint64_t)LATE_ROUND_BYTES_MAX : bytes;
}

void late_begin(struct late *late, const struct late_setting *set, uint64_t behind)
{
	*late = (struct late){.set = *set, .bytes = behind, .began_us = monotonic_us()};
	if (!late->set.slice_rows) late->set.slice_rows = LATE_SLICE_ROWS;
	late->round_bytes = bytes_of_round(late);
}

void late_journalled(struct late *late, uint64_t bytes)
{
	late->bytes += bytes;
}

uint64_t late_growth(const struct late *late)
{
	/* A row of a new account dirties a page of its own. */
	return cells_new_rows(late->set.cells) * page_bytes() + tails_growth(late->set.cells) +
	       late_rows_growth(late->set.cells);
}

bool late_is_behind(const struct late *late)
{
	/* Rows may have been taken ahead of a round. */
	return late->is_under_way || cells_dirty(late->set.cells) || cells_left(late->set.cells);
}

/* What has passed of a round's length, in thousandths; at most 1000. */
static uint64_t passed_bytes(const struct late *late)
{
	uint64_t passed = late->bytes * 1000 / late->round_bytes;
	return passed < 1000 ? passed : 1000;
}

/* Likewise, in bytes or in time. */
static uint64_t passed(const struct late *late)
{
	uint64_t of_bytes = passed_bytes(late);
	uint64_t of_time = (uint64_t)(monotonic_us() - late->began_us) / LATE_ROUND_MS;
	if (of_time > 1000) of_time = 1000;
	return of_bytes > of_time ? of_bytes : of_time;
}
_Static_assert(US_PER_MS == 1000, "a thousandth of a time in ms is as many us");

/* Are ledger rows, or late rows, to be written ahead of their round? */
static bool tails_hurry(const struct late *late)
{
	return tails_fill(late->set.cells) >= LATE_AHEAD;
}

static bool rows_hurry(const struct late *late)
{
	return late_rows_fill(late->set.cells) >= LATE_AHEAD;
}

static bool hurries(const struct late *late)
{
	return tails_hurry(late) || rows_hurry(late);
}

/* Units of the round under way that are not written yet. Those taken ahead of the next one are none of them: their memory
 * hurries them, and as a debt of this round they would stop decisions. */
static uint64_t left_of_round(const struct late *late)
{
	uint64_t left = cells_left(late->set.cells);
	return late->has_taken_ahead ? left - late_rows_left(late->set.cells) : left;
}

/* Units of it that should have been written when so much has passed. */
static uint64_t owed(const struct late *late, uint64_t thousandths)
{
	uint64_t due = late->total * thousandths / 1000, written = late->total - left_of_round(late);
	return due > written ? due - written : 0;
}

bool late_owes(const struct late *late, bool idle)
{
	if (!late_is_behind(late)) return false;
	if (idle || hurries(late) || cells_pressure(late->set.cells) >= LATE_HURRY_PERCENT) return true;
	if (!late->is_under_way) return passed(late) >= 1000;
	uint64_t rows = owed(late, passed(late)), left = left_of_round(late);
	return rows >= late->set.slice_rows || rows >= left;
}

/* Asked for each command: by bytes, and by memory. */
bool late_presses(const struct late *late)
{
	if (cells_pressure(late->set.cells) >= LATE_PAUSE_PERCENT) return true;
	if (tails_fill(late->set.cells) >= 1000 || late_rows_fill(late->set.cells) >= 1000) return true;
	if (!late->is_under_way)
		return late->bytes >= late->round_bytes + late->round_bytes / 8 && late_is_behind(late);
	return owed(late, passed_bytes(late)) >= (uint64_t)late->set.slice_rows * LATE_SLICES_OWED_MAX;
}

static enum err begin_round(struct late *late, const struct applied *now)
{
	late->round_bytes = bytes_of_round(late);
	late->bytes = 0;
	late->began_us = monotonic_us();
	late->from = *now;
	cells_begin_round(late->set.cells);
	late->total = cells_left(late->set.cells);
	late->has_taken_ahead = false;
	late->is_under_way = true;
#ifdef FAULT_LATE_POSITION
	return db_put_late(late->set.db, now); /* the fault: the position moves before the rows are written */
#endif
	return OK;
}

static enum err end_round(struct late *late, const struct applied *now)
{
	late->is_under_way = false;
#ifdef FAULT_LATE_POSITION
	return OK;
#endif
	/* What has changed since the round began may have been written with it. */
	bool is_all = !cells_dirty(late->set.cells) && !cells_left(late->set.cells);
	return db_put_late(late->set.db, is_all ? now : &late->from);
}

static enum err write_block(struct late *late, bool *some)
{
	struct account_id account;
	uint32_t          number;
	uint8_t           row[HOT_ROW_BYTES];
	bool              stored;
	*some = cells_take(late->set.cells, &account, &number, row, &stored);
	return *some ? db_write_late(late->set.db, account, number, span_of(row, sizeof row), stored) : OK;
}

/* The next unit of the round under way, or of what is written ahead of it. Rows that were taken ahead, and whose memory does
 * not hurry any more, wait for the next round. */
static enum err write_next(struct late *late, bool tails_ahead, bool all, bool *some)
{
	enum err err = OK;
	*some = false;
	if (!all || !late->has_taken_ahead) err = late_rows_write_next(late->set.db, some);
	if (!err && !*some) err = tails_write_next(late->set.db, tails_ahead, some);
	return !err && !*some && all ? write_block(late, some) : err;
}

/* If those that wait are not enough. */
static void take_rows_ahead(struct late *late)
{
	if (late_rows_left(late->set.cells)) return;
	if (late_rows_take(late->set.cells)) late->has_taken_ahead = late->is_under_way;
}

enum err late_slice(struct late *late, const struct applied *now, unsigned rows)
{
	bool     tails_ahead = tails_hurry(late), ahead = tails_ahead || rows_hurry(late), some = true;
	enum err err = late->is_under_way || ahead ? OK : begin_round(late, now);
	if (rows_hurry(late)) take_rows_ahead(late);
	for (unsigned i = 0; !err && some && i < rows; i++)
		err = write_next(late, tails_ahead, !ahead, &some);
	if (!late_rows_left(late->set.cells)) late->has_taken_ahead = false;
	bool is_over = late->is_under_way && left_of_round(late) == 0;
	return !err && is_over ? end_round(late, now) : err;
}

enum err late_write_all(struct db *db, struct cells *cells)
{
	struct account_id account;
	uint32_t          number;
	uint8_t           row[HOT_ROW_BYTES];
	bool              stored;
	bool              some = true;
	enum err          err = OK;
	if (cells_left(cells) == 0) cells_begin_round(cells);
	while (!err && some)
		err = late_rows_write_next(db, &some);
	for (some = true; !err && some;)
		err = tails_write_next(db, false, &some);
	while (!err && cells_take(cells, &account, &number, row, &stored))
		err = db_write_late(db, account, number, span_of(row, sizeof row), stored);
	return err;
}

enum err late_commit(const struct late *late, const struct applied *now)
{
	return late_is_behind(late) ? OK : db_put_late(late->set.db, now);
}
