/* Blocks that go when memory is full: which ones may, what readers of every age see afterwards, and what is freed when. */
#include "tests/unit/in_memory.h"

#include "schemas/limits.h"
#include "store/hot.h"
#include "store/index.h"
#include "store/ledger.h"

#include <stdio.h>

enum { ACCOUNTS = 40, ROWS = 3, PASSES = ROWS * HOT_PASSES, BLOCKS = 8, READERS = 3 };

static struct view *readers[READERS];
static int64_t      model[ACCOUNTS][PASSES];
static unsigned     made[ACCOUNTS];
static uint64_t     events[ACCOUNTS]; /* the newest row of the ledger; each has its seq as its change */

static void begin(void)
{
	open_cells(readers, READERS);
	cells_set_bound(cells, (struct cells_bound){.blocks = BLOCKS});
}

static void end(void)
{
	close_cells(readers, READERS);
}

TestSuite(cells_evict, .init = begin, .fini = end);

static struct account_id account_of(unsigned index)
{
	return (struct account_id){{(uint8_t)index, 7}};
}

static void add(unsigned index)
{
	struct hot pass = {.status = 2, .template = 1, .balance = (int64_t)chance_below(&state, 1000)};
	cr_assert_eq(hot_add(s.view, account_of(index), made[index], &pass), OK);
	model[index][made[index]++] = pass.balance;
	scratch_save(&s);
}

static void change(unsigned index, uint32_t number)
{
	struct hot_at at;
	cr_assert_eq(hot_get(s.view, account_of(index), number, &at), OK);
	cr_assert_eq(at.now.balance, model[index][number]);
	struct hot after = at.now;
	after.balance = model[index][number] += 1 + (int64_t)chance_below(&state, 9);
	cr_assert_eq(hot_put(s.view, &at, &after), OK);
	const struct ledger_row row = {
	    .number = number, .what = LEDGER_LOYALTY, .delta = (int64_t)++events[index]};
	cr_assert_eq(ledger_put(s.view, account_of(index), events[index], &row), OK);
	scratch_save(&s);
}

static void expect_pass(struct view *view, unsigned index, uint32_t number, int64_t balance)
{
	struct hot_at at;
	cr_assert_eq(hot_get(view, account_of(index), number, &at), OK);
	cr_assert_eq(at.now.balance, balance, "account %u, pass %u", index, number);
}

/* The view has rows 1 to `end` of the account's ledger and no others. */
static void expect_events(struct view *view, unsigned index, uint64_t end)
{
	struct ledger_row row;
	uint64_t          newest;
	cr_assert_eq(ledger_last(view, account_of(index), &newest), OK);
	cr_assert_eq(newest, end, "account %u", index);
	cr_assert_eq(ledger_get(view, account_of(index), end + 1, &row), ERR_NOT_FOUND);
	for (uint64_t seq = end > 20 ? end - 20 : 1; seq <= end; seq++) {
		cr_assert_eq(ledger_get(view, account_of(index), seq, &row), OK);
		cr_assert_eq(row.delta, (int64_t)seq);
	}
}

static void expect_all(void)
{
	for (unsigned index = 0; index < ACCOUNTS; index++)
		expect_events(s.view, index, events[index]);
	for (unsigned index = 0; index < ACCOUNTS; index++)
		for (uint32_t i = 0; i < made[index]; i++)
			expect_pass(s.view, index, i, model[index][i]);
}

/* Up to `rows` of a round, besides tails. */
static void write_rows(unsigned rows)
{
	bool              some = true;
	struct account_id account;
	uint32_t          number;
	uint8_t           row[HOT_ROW_BYTES];
	bool              stored;
	if (cells_left(cells) == 0) cells_begin_round(cells);
	while (some)
		cr_assert_eq(tails_write_next(s.db, false, &some), OK);
	for (; rows && cells_take(cells, &account, &number, row, &stored); rows--)
		cr_assert_eq(db_write_late(s.db, account, number, span_of(row, sizeof row), stored), OK);
}

static void write_all(void)
{
	while (cells_left(cells) || cells_dirty(cells))
		write_rows(1000);
}

static bool has(unsigned index, uint32_t row)
{
	return cells_has(s.view, account_of(index), row);
}

/* All accounts have all passes, everything is written and committed. */
static void fill(void)
{
	for (unsigned index = 0; index < ACCOUNTS; index++)
		while (made[index] < PASSES)
			add(index);
	write_all();
	cr_expect_eq(cells_usage(cells).blocks, ACCOUNTS * ROWS, "all were dirty");
	for (unsigned i = 0; i < ACCOUNTS; i++)
		scratch_commit(&s);
}

/* Reads every row of all accounts but one, so that each block of that one goes which may. */
static void touch_others(unsigned but)
{
	for (unsigned i = 0; i < 3 * ACCOUNTS * ROWS; i++) {
		unsigned index = i / ROWS % ACCOUNTS;
		uint32_t number = i % ROWS * HOT_PASSES;
		if (index != but) expect_pass(s.view, index, number, model[index][number]);
	}
}

Test(cells_evict, memory_holds_as_many_blocks_as_it_may)
{
	fill();
	cr_expect_lt(cells_usage(cells).blocks, BLOCKS, "commits let some go");
	touch_others(ACCOUNTS);
	cr_expect_leq(cells_usage(cells).blocks, BLOCKS);
	cr_expect_geq(cells_usage(cells).evictions, ACCOUNTS * ROWS - BLOCKS);
	expect_all();
	cr_expect_leq(cells_usage(cells).blocks, BLOCKS);
}

Test(cells_evict, a_bound_in_bytes_counts_blocks_accounts_and_ids)
{
	size_t few = 20 * sizeof(struct block);
	fill();
	cells_set_bound(cells, (struct cells_bound){.bytes = few});
	touch_others(ACCOUNTS);
	cr_expect_leq(cells_usage(cells).bytes, few);
	cr_expect_gt(cells_usage(cells).blocks, BLOCKS / 2);
	cells_set_bound(cells, (struct cells_bound){.bytes = 1});
	touch_others(ACCOUNTS);
	cr_expect_eq(cells_usage(cells).blocks, 0);
	expect_all();
	cells_set_bound(cells, (struct cells_bound){.bytes = 0});
	expect_all();
	cr_expect_eq(cells_usage(cells).blocks, ACCOUNTS * ROWS);
}

Test(cells_evict, a_dirty_block_stays)
{
	fill();
	touch_others(0);
	change(0, 5);
	touch_others(0);
	cr_expect(has(0, 0));
	write_rows(1);
	touch_others(0);
	cr_expect(has(0, 0), "its row is not committed");
	scratch_commit(&s);
	touch_others(0);
	cr_expect_not(has(0, 0));
	expect_pass(s.view, 0, 5, model[0][5]);
}

Test(cells_evict, a_block_that_waits_in_a_round_stays)
{
	fill();
	touch_others(0);
	change(0, 5);
	cells_begin_round(cells);
	scratch_commit(&s);
	touch_others(0);
	cr_expect(has(0, 0) && cells_left(cells) == 2, "and its ledger");
	expect_pass(s.view, 0, 5, model[0][5]);
}

Test(cells_evict, a_block_used_lately_gets_another_turn)
{
	fill();
	touch_others(0);
	expect_pass(s.view, 0, 5, model[0][5]);
	for (unsigned i = 0; i < 200; i++) {
		unsigned index = 1 + chance_below(&state, ACCOUNTS - 1);
		expect_pass(s.view, index, 0, model[index][0]);
		cr_assert(has(0, 0));
		expect_pass(s.view, 0, 5, model[0][5]);
	}
}

/* A view that is older than the commit with the block's row would read an older row. */
Test(cells_evict, a_block_written_after_a_view_began_stays_until_the_view_ends)
{
	fill();
	cr_assert_eq(db_reader_begin(readers[0]), OK);
	int64_t then = model[0][5];
	change(0, 5);
	write_all();
	scratch_commit(&s);
	touch_others(0);
	cr_expect(has(0, 0));
	expect_pass(readers[0], 0, 5, then);
	cr_assert_eq(db_reader_begin(readers[1]), OK);
	db_reader_end(readers[0]);
	touch_others(0);
	cr_expect_not(has(0, 0), "the other view is of the commit that has the row");
	expect_pass(readers[1], 0, 5, model[0][5]);
	db_reader_end(readers[1]);
}

/* The view does not find the row in its snapshot of LMDB. */
Test(cells_evict, an_account_stays_while_a_view_needs_its_ledger)
{
	fill();
	change(0, 5);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(readers[0]), OK);
	write_all();
	scratch_commit(&s);
	touch_others(0);
	cr_expect(cells_account(cells, account_of(0)) != NULL);
	expect_events(readers[0], 0, 1);
	db_reader_end(readers[0]);
	touch_others(0);
	cells_begin_round(cells);
	cr_expect_null(cells_account(cells, account_of(0)));
	expect_events(s.view, 0, 1);
	change(0, 5);
	expect_events(s.view, 0, 2);
}

Test(cells_evict, an_old_view_reads_a_block_that_went_and_came_back)
{
	fill();
	cr_assert_eq(db_reader_begin(readers[0]), OK);
	int64_t then = model[0][5];
	touch_others(0);
	cr_expect_not(has(0, 0));
	expect_pass(readers[0], 0, 5, then);
	for (unsigned i = 0; i < 5; i++)
		change(0, 5);
	cr_expect(has(0, 0));
	expect_pass(readers[0], 0, 5, then);
	db_reader_end(readers[0]);
}

/* The memory of what went is used again when the views that may hold it have ended; those that began later do not count. */
Test(cells_evict, memory_is_kept_for_views_under_way)
{
	fill();
	touch_others(ACCOUNTS);
	cr_assert_eq(db_reader_begin(readers[0]), OK);
	touch_others(ACCOUNTS);
	const struct retired *first = cells->retired_blocks.first;
	cr_assert(first && cells->retired > 1);
	const struct block *went = (const struct block *)((const char *)first -
	                                                  offsetof(struct block, retired));
	cr_expect_eq(atomic_load(&went->counts) >> 56, HOT_PASSES, "as it was");
	cr_expect_not(went->account);
	cr_assert_eq(db_reader_begin(readers[1]), OK);
	db_reader_end(readers[0]);
	cells_reclaim(cells);
	cr_expect_not(cells->retired_blocks.first || cells->retired_memory.first);
	db_reader_end(readers[1]);
}

Test(cells_evict, a_long_view_does_not_drive_out_all_blocks)
{
	fill();
	touch_others(ACCOUNTS);
	cr_assert_eq(db_reader_begin(readers[0]), OK);
	touch_others(ACCOUNTS);
	cr_expect_geq(cells->blocks, BLOCKS / 2);
	cr_expect_leq(cells->retired, BLOCKS);
	for (unsigned i = 0; i < 100; i++) {
		change(i % ACCOUNTS, i % PASSES);
		write_all();
		scratch_commit(&s);
	}
	cr_expect_leq(cells->retired, BLOCKS + cells->blocks / 8);
	expect_all();
	db_reader_end(readers[0]);
	for (unsigned i = 0; i < ACCOUNTS; i++)
		scratch_commit(&s);
	cr_expect_eq(cells->retired, 0);
	cr_expect_lt(cells->blocks, BLOCKS);
}

Test(cells_evict, reads_make_no_blocks_while_none_can_go)
{
	struct row_key key;
	struct span    row;
	fill();
	for (unsigned index = 0; index < 10; index++)
		change(index, 0);
	uint64_t blocks = cells_usage(cells).blocks;
	for (unsigned index = 0; index < ACCOUNTS; index++) {
		expect_pass(s.view, index, HOT_PASSES, model[index][HOT_PASSES]);
		key = key_u32(account_of(index), 1);
		cr_assert_eq(view_get(s.view, TABLE_HOT, key_span(&key), &row), OK);
		arena_reset(&s.arena);
	}
	cr_expect_leq(cells_usage(cells).blocks, blocks);
	change(20, 0);
	cr_expect(has(20, 0), "a change needs one");
}

Test(cells_evict, an_account_without_blocks_goes)
{
	fill();
	uint64_t most = cells->account_count;
	for (unsigned turn = 0; turn < 50; turn++) {
		touch_others(turn % ACCOUNTS);
		change(turn % ACCOUNTS, 0);
		write_all();
		scratch_commit(&s);
	}
	cells_begin_round(cells);
	cr_expect_eq(most, ACCOUNTS);
	cr_expect_leq(cells->account_count, BLOCKS + 2);
	cr_expect_leq(cells->account_bytes, 64 << 10);
	expect_all();
}

Test(cells_evict, ids_go_with_their_blocks)
{
	char           text[16];
	uint32_t       number;
	struct row_key key;
	fill();
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned index = 0; index < ACCOUNTS; index++)
			for (uint32_t i = 0; i < PASSES; i++) {
				struct span id = span_of(text, (size_t)snprintf(text, sizeof text, "p%u", i));
				key = key_pass_id(account_of(index), id, i);
				if (turn == 0) {
					cr_assert_eq(write_put(&s.staged, TABLE_PASS_ID, key_span(&key),
					                       span_of(NULL, 0)),
					             OK);
					scratch_save(&s);
				}
				cr_assert_eq(index_find(s.view, account_of(index), id, &number), OK);
				cr_assert_eq(number, i);
			}
	cr_expect_leq(cells->ids.taken, BLOCKS * HOT_PASSES);
	cr_expect_gt(cells->ids.taken, 0);
}

Test(cells_evict, pressure_is_what_is_dirty)
{
	fill();
	touch_others(ACCOUNTS);
	cr_expect_eq(cells_pressure(cells), 0);
	for (unsigned index = 0; index < BLOCKS / 2; index++)
		change(index, 0);
	cr_expect_eq(cells_pressure(cells), 50);
	cells_begin_round(cells);
	cr_expect_eq(cells_pressure(cells), 50);
	write_rows(1);
	cr_expect_lt(cells_pressure(cells), 50);
	cells_set_bound(cells, (struct cells_bound){.blocks = 0});
	cr_expect_eq(cells_pressure(cells), 0);
}

/* Any work, beside views of any age that look at anything. */
Test(cells_evict, every_view_sees_its_own_commit)
{
	static int64_t  then[READERS][ACCOUNTS][PASSES];
	static unsigned count[READERS][ACCOUNTS];
	static uint64_t newest[READERS][ACCOUNTS];
	static bool     is_under_way[READERS];
	for (unsigned turn = 0; turn < 30000; turn++) {
		unsigned index = chance_below(&state, ACCOUNTS), i = chance_below(&state, READERS);
		unsigned what = chance_below(&state, 16);
		if (!made[index] || (what == 0 && made[index] < PASSES)) {
			add(index);
		} else if (what < 6) {
			change(index, chance_below(&state, made[index]));
		} else if (what < 9) {
			write_rows(1 + chance_below(&state, 4));
			scratch_commit(&s);
		} else if (what == 9 && is_under_way[i]) {
			db_reader_end(readers[i]);
			is_under_way[i] = false;
		} else if (what == 10 && !is_under_way[i]) {
			scratch_commit(&s);
			cr_assert_eq(db_reader_begin(readers[i]), OK);
			memcpy(then[i], model, sizeof model);
			memcpy(count[i], made, sizeof made);
			memcpy(newest[i], events, sizeof events);
			is_under_way[i] = true;
		} else if (is_under_way[i] && count[i][index]) {
			uint32_t number = chance_below(&state, count[i][index]);
			expect_pass(readers[i], index, number, then[i][index][number]);
			expect_events(readers[i], index, newest[i][index]);
		} else {
			uint32_t number = chance_below(&state, made[index]);
			expect_pass(s.view, index, number, model[index][number]);
		}
		if (turn % 64 == 0) arena_reset(&arena);
	}
	for (unsigned i = 0; i < READERS; i++)
		if (is_under_way[i]) db_reader_end(readers[i]);
	expect_all();
	cr_expect_gt(cells_usage(cells).evictions, 1000);
}
