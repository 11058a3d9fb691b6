/* Tails in memory: what rows of the ledger would be, to the writer and to readers of any commit, and what rounds write. */
#include "tests/unit/beside.h"

enum { ACCOUNTS = 3, ROWS = 4000, RUNS = 64 };

static int64_t  model[ACCOUNTS][ROWS]; /* the change of each row */
static uint64_t last[ACCOUNTS];

static void begin_few(void)
{
	begin();
	tails_bound(cells, RUNS * sizeof(struct tail_run));
}

TestSuite(tails, .init = begin_few, .fini = end);

static void add(unsigned index)
{
	int64_t           delta = (int64_t)chance_below(&state, 1000) + 1;
	struct ledger_row row = {.number = index,
	                         .what = chance_below(&state, 4) ? LEDGER_LOYALTY : LEDGER_ISSUED,
	                         .at = {delta},
	                         .delta = delta,
	                         .balance = 2 * delta};
	must(last[index] + 1 < ROWS);
	model[index][++last[index]] = delta;
	cr_assert_eq(ledger_put(s.view, account_of(index), last[index], &row), OK);
	cr_assert_eq(ledger_put(plain.view, account_of(index), last[index], &row), OK);
	save();
}

static void add_any(unsigned count)
{
	for (; count; count--)
		add(chance_below(&state, ACCOUNTS));
}

/* Writes up to so many runs; of the round, or any. Returns how many. */
static unsigned write_runs(unsigned runs, bool ahead)
{
	bool     some = true;
	unsigned count = 0;
	for (; count < runs && some; count += some)
		cr_assert_eq(tails_write_next(s.db, ahead, &some), OK);
	return count;
}

/* The view has rows 1 to `end` of the account and no others. */
static void expect_rows(struct view *view, unsigned index, uint64_t end)
{
	struct ledger_row row;
	uint64_t          newest;
	cr_assert_eq(ledger_last(view, account_of(index), &newest), OK);
	cr_assert_eq(newest, end);
	for (uint64_t seq = 1; seq <= end; seq++) {
		cr_assert_eq(ledger_get(view, account_of(index), seq, &row), OK, "row %u", (unsigned)seq);
		cr_assert(row.at.v == model[index][seq] && row.number == index);
		if (ledger_moves(row.what)) cr_assert_eq(row.delta, model[index][seq]);
	}
	cr_assert_eq(ledger_get(view, account_of(index), 0, &row), ERR_NOT_FOUND);
	cr_assert_eq(ledger_get(view, account_of(index), end + 1, &row), ERR_NOT_FOUND);
	arena_reset(&arena);
}

/* To the writer ------------------------------------------------------------------------------------------- */

Test(tails, are_what_rows_would_be)
{
	for (unsigned i = 0; i < 600; i++) {
		add_any(chance_below(&state, 8));
		if (chance_below(&state, 8) == 0) (void)write_runs(chance_below(&state, 20), true);
		if (chance_below(&state, 10) == 0 && !cells_left(cells)) cells_begin_round(cells);
		if (chance_below(&state, 4) == 0) (void)write_runs(chance_below(&state, 6), false);
		if (chance_below(&state, 8) == 0) commit();
		if (i % 100) continue;
		for (unsigned index = 0; index < ACCOUNTS; index++)
			expect_rows(s.view, index, last[index]);
	}
	(void)write_runs(ROWS, true);
	expect_tables_equal(TABLE_LEDGER);
	cr_expect(cells_dirty(cells) == 0 && tails_fill(cells) == 0 && tails_growth(cells) == 0);
}

static enum err apply(enum write_kind kind, struct row_key key, struct span value)
{
	struct patch patch = {0, 1, (const uint8_t *)"x"};
	struct write write = {.kind = kind,
	                      .table = TABLE_LEDGER,
	                      .key = key_span(&key),
	                      .value = value,
	                      .patches = &patch,
	                      .patch_count = kind == WRITE_PATCH};
	return db_apply(s.db, &write, false);
}

Test(tails, refuse_what_no_ledger_has)
{
	static const uint8_t zeros[LEDGER_MOVE_BYTES + 8], ones[LEDGER_MOVE_BYTES] = {1};
	struct span          value = span_of(zeros, LEDGER_MOVE_BYTES);
	struct account_id    account = account_of(0);
	cr_expect_eq(apply(WRITE_PUT, key_u64(account, 2), value), ERR_DAMAGED, "a gap");
	cr_expect_eq(apply(WRITE_PUT, key_u64(account, 0), value), ERR_DAMAGED, "seqs begin with 1");
	cr_expect_eq(apply(WRITE_PUT, key_u32(account, 1), value), ERR_DAMAGED, "another key");
	for (unsigned size = 0; size < sizeof zeros; size++)
		if (size != LEDGER_EVENT_BYTES && size != LEDGER_MOVE_BYTES)
			cr_expect_eq(apply(WRITE_PUT, key_u64(account, 1), span_of(zeros, size)), ERR_DAMAGED,
			             "%u bytes", size);
	cr_assert_eq(apply(WRITE_PUT, key_u64(account, 1), value), OK);
	cr_expect_eq(apply(WRITE_PUT, key_u64(account, 3), value), ERR_DAMAGED, "a gap");
	cr_expect_eq(apply(WRITE_DEL, key_u64(account, 1), value), ERR_UNSUPPORTED);
	cr_expect_eq(apply(WRITE_PATCH, key_u64(account, 1), value), ERR_UNSUPPORTED);
	cr_expect_eq(apply(WRITE_PUT, key_u64(account, 1), span_of(ones, sizeof ones)), ERR_DAMAGED,
	             "it is in memory");
	cr_expect_eq(write_runs(RUNS, true), 1);
	cr_expect_eq(apply(WRITE_PUT, key_u64(account, 1), span_of(ones, sizeof ones)), ERR_DAMAGED,
	             "it has been written");
	cr_expect_eq(apply(WRITE_PUT, key_u64(account, 1), span_of(zeros, LEDGER_EVENT_BYTES)), ERR_DAMAGED);
}

/* As a start does it: LMDB has the rows up to some one, and all are put once more. */
Test(tails, begin_behind_what_the_tables_have)
{
	struct cells *later;
	add_any(200);
	(void)write_runs(4, true);
	struct raw_row raw;
	unsigned       written = 0;
	for (enum err err = view_raw_from(s.view, TABLE_LEDGER, span_of(NULL, 0), &raw); !err;
	     err = view_raw_next(s.view, TABLE_LEDGER, &raw))
		written++;
	cr_assert(written > 20 && written < 100);
	cr_assert_eq(cells_open(&later), OK);
	db_use_cells(s.db, later);
	for (unsigned index = 0; index < ACCOUNTS; index++) {
		for (uint64_t seq = 1; seq <= last[index]; seq++) {
			struct row_key key = key_u64(account_of(index), seq);
			struct span    value;
			cr_assert_eq(view_get(plain.view, TABLE_LEDGER, key_span(&key), &value), OK);
			cr_assert_eq(apply(WRITE_PUT, key, value), OK);
		}
		expect_rows(s.view, index, last[index]);
	}
	cr_expect_eq(later->tails.rows, 200 - written);
	(void)write_runs(RUNS, true);
	expect_tables_equal(TABLE_LEDGER);
	db_use_cells(s.db, cells);
	cells_close(&later);
}

Test(tails, of_a_damaged_row_are_damage)
{
	struct raw_row raw;
	struct row_key key = key_u64(account_of(0), 1);
	struct cells  *later;
	add(0);
	(void)write_runs(1, true);
	cr_assert_eq(view_raw_from(s.view, TABLE_LEDGER, key_span(&key), &raw), OK);
	((uint8_t *)(uintptr_t)raw.stored.at)[8] ^= 1; /* in the open transaction's own copy of the page */
	cr_assert_eq(cells_open(&later), OK);
	db_use_cells(s.db, later);
	cr_expect_eq(apply(WRITE_PUT, key_u64(account_of(0), 2), filler(1, LEDGER_MOVE_BYTES)), ERR_DAMAGED);
	db_use_cells(s.db, cells);
	cells_close(&later);
}

/* To readers ---------------------------------------------------------------------------------------------- */

Test(tails, show_a_reader_the_commit_that_it_is_of)
{
	uint64_t then[ACCOUNTS];
	for (unsigned turn = 0; turn < 100; turn++) {
		commit();
		memcpy(then, last, sizeof then);
		cr_assert_eq(db_reader_begin(reader), OK);
		add_any(chance_below(&state, 20));
		if (turn % 2) (void)write_runs(chance_below(&state, 4), true);
		if (turn % 4) commit();
		add_any(chance_below(&state, 20));
		for (unsigned index = 0; index < ACCOUNTS; index++)
			expect_rows(reader, index, then[index]);
		cr_expect_not(db_reader_is_too_old(reader));
		db_reader_end(reader);
		if (turn % 3 == 0) (void)write_runs(RUNS, true);
	}
}

Test(tails, written_rows_make_way_and_an_old_view_says_so)
{
	struct ledger_row row;
	uint64_t          newest;
	for (unsigned i = 0; i < 20; i++)
		add(0);
	commit();
	cr_assert_eq(db_reader_begin(reader), OK);
	(void)write_runs(RUNS, true);
	commit();
	expect_rows(reader, 0, 20);
	for (unsigned i = 0; i < RUNS / 8; i++) { /* as many runs as are kept */
		for (unsigned left = TAIL_RUN_ROWS; left; left--)
			add(1);
		(void)write_runs(RUNS, true);
	}
	cr_expect_eq(ledger_get(reader, account_of(0), 1, &row), ERR_OVERLOADED);
	cr_expect(db_reader_is_too_old(reader));
	cr_expect_eq(ledger_last(reader, account_of(0), &newest), ERR_OVERLOADED);
	cr_expect_eq(ledger_get(reader, account_of(1), 1, &row), ERR_OVERLOADED, "perhaps it was there");
	cr_expect_eq(ledger_get(reader, account_of(2), 1, &row), ERR_NOT_FOUND);
	db_reader_end(reader);
	commit();
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_expect_not(db_reader_is_too_old(reader));
	for (unsigned index = 0; index < ACCOUNTS; index++)
		expect_rows(reader, index, last[index]);
	for (unsigned i = 0; i < 2 * TAIL_RUN_ROWS;
	     i++) { /* the newest run of the account is now of another */
		add(i % 2);
		expect_rows(s.view, 0, last[0]);
	}
	(void)write_runs(RUNS, true);
	expect_tables_equal(TABLE_LEDGER);
}

/* A run that is kept, gets a row, is written and kept again. */
Test(tails, a_run_is_kept_since_it_was_written_last)
{
	add(0);
	(void)write_runs(1, true);
	commit();
	for (unsigned i = 0; i < RUNS / 8 - 1; i++) {
		add(1 + i % 2);
		(void)write_runs(1, true);
	}
	add(0);
	commit();
	cr_assert_eq(db_reader_begin(reader), OK);
	(void)write_runs(1, true);
	for (unsigned i = 0; i < RUNS / 8 - 3; i++) {
		add(1);
		(void)write_runs(1, true);
	}
	expect_rows(reader, 0, 2);
}

/* Rounds -------------------------------------------------------------------------------------------------- */

static uint64_t first_on_disk(unsigned index, uint64_t from)
{
	struct row_key key = key_u64(account_of(index), from);
	struct raw_row raw;
	enum err       err = view_raw_from(s.view, TABLE_LEDGER, key_span(&key), &raw);
	return !err && raw.key.at[0] == key.bytes[0] ? get_be64(raw.key.at + sizeof(struct account_id)) : 0;
}

Test(tails, are_written_by_rounds_in_the_order_of_accounts)
{
	for (unsigned index = 0; index < ACCOUNTS; index++)
		for (unsigned i = 0; i < 2 * TAIL_RUN_ROWS; i++)
			add(index);
	cr_expect_eq(cells_dirty(cells), ACCOUNTS);
	cr_expect_eq(tails_fill(cells), 3 * ACCOUNTS * 1000 / (RUNS - RUNS / 8),
	             "the first run begins with row 1");
	cells_begin_round(cells);
	cr_expect(cells_dirty(cells) == 0 && cells_left(cells) == 3 * ACCOUNTS);
	cr_expect_eq(write_runs(4, false), 4);
	cr_expect_eq(first_on_disk(2, 2 * TAIL_RUN_ROWS), 2 * TAIL_RUN_ROWS, "the first account by keys");
	cr_expect(first_on_disk(1, 1) == 1 && !first_on_disk(1, TAIL_RUN_ROWS) && !first_on_disk(0, 1));
	cr_expect_eq(write_runs(RUNS, false), 3 * ACCOUNTS - 4);
	cr_expect_eq(cells_left(cells), 0);
	expect_tables_equal(TABLE_LEDGER);
}

/* A row of the round's last run goes with it, others wait for the next. */
Test(tails, that_grow_during_a_round_wait_for_the_next)
{
	for (unsigned i = 0; i < 4; i++)
		add(0), add(1);
	cells_begin_round(cells);
	cr_expect_eq(cells_left(cells), 2);
	add(0);
	for (unsigned i = 0; i < 2 * TAIL_RUN_ROWS; i++)
		add(1);
	cr_expect_eq(cells_dirty(cells), 2);
	cr_expect_eq(write_runs(RUNS, false), 2);
	cr_expect(cells_left(cells) == 0 && cells_dirty(cells) == 1);
	cr_expect(first_on_disk(0, 5) == 5 && first_on_disk(1, TAIL_RUN_ROWS - 1) &&
	          !first_on_disk(1, TAIL_RUN_ROWS));
	cells_begin_round(cells);
	cr_expect_eq(write_runs(RUNS, false), 2);
	cr_expect_eq(cells_dirty(cells), 0);
	expect_tables_equal(TABLE_LEDGER);
}

/* Written ahead, a tail is of no round any more. */
Test(tails, written_ahead_leave_the_round)
{
	add_any(100);
	cells_begin_round(cells);
	add_any(100);
	cr_expect_gt(tails_growth(cells), 200 * 60);
	(void)write_runs(ROWS, true);
	cr_expect(cells_left(cells) == 0 && cells_dirty(cells) == 0 && tails_growth(cells) == 0);
	expect_tables_equal(TABLE_LEDGER);
	cells_begin_round(cells);
	cr_expect_eq(cells_left(cells), 0);
}
