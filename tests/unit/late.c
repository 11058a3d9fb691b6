/* Rounds of late tables: when slices are due, and what they move. */
#include "tests/unit/late_desk.h"

#include "schemas/limits.h"

TestSuite(late, .init = begin, .fini = finish);

Test(late, a_commit_without_anything_behind_moves_both_positions)
{
	begin_written();
	save(1, 100);
	cr_assert_eq(store_commit(store), OK);
	struct standing now = standing_now();
	cr_expect(now.late.seq == store_durable_seq(store) && now.at.seq == now.late.seq);
	cr_expect_not(store_owes_slice(store, true));
}

Test(late, slices_are_due_as_the_journal_grows_and_the_last_one_moves_the_position)
{
	begin_written();
	uint64_t before = standing_now().late.seq;
	add_points(0, 1);
	cr_expect(store_is_behind(store));
	cr_expect_not(store_owes_slice(store, false), "a round begins later");
	cr_expect(store_owes_slice(store, true), "unless nobody is waiting");
	add_bytes(ROUND - RECORD_ALIGN);
	cr_assert(store_owes_slice(store, false));
	cr_assert_eq(store_commit(store), OK);
	cr_expect_eq(standing_now().late.seq, before, "rows are behind");
	uint64_t began = store_durable_seq(store);
	unsigned slices = 0;
	cr_assert_eq(store_slice(store, false), OK);
	cr_expect_not(store_owes_slice(store, false), "the next one has its time");
	for (unsigned records = 0; standing_now().late.seq == before; records++) {
		cr_assert_lt(records, 2 * ROUND / RECORD_ALIGN);
		add_points(0, 1);
		if (!store_owes_slice(store, false)) continue;
		cr_assert_eq(store_slice(store, false), OK);
		slices++;
	}
	cr_expect_geq(slices, PASSES / HOT_PASSES / SLICE / 2);
	cr_expect_eq(standing_now().late.seq, began, "where the round began");
	cr_expect_gt(standing_now().at.seq, began);
	cr_expect(store_is_behind(store), "what was changed since");
	expect_points();
}

Test(late, decisions_pause_when_too_much_is_due)
{
	begin_written();
	add_bytes(ROUND + ROUND / 4);
	cr_expect(store_wants_commit(store));
	cr_assert_eq(store_slice(store, false), OK);
	cr_expect_not(store_wants_commit(store));
}

Test(late, slices_hurry_and_decisions_pause_when_much_memory_is_dirty)
{
	memory_blocks = 8;
	begin_written();
	cr_assert_eq(store_commit(store), OK);
	for (unsigned block = 0; block < 3; block++)
		add_points(block * HOT_PASSES, 1);
	cr_expect_not(store_owes_slice(store, false));
	add_points(3 * HOT_PASSES, 1);
	cr_expect(store_owes_slice(store, false), "half of it");
	cr_expect_not(store_wants_commit(store));
	add_points(4 * HOT_PASSES, 1);
	add_points(5 * HOT_PASSES, 1);
	cr_expect(store_wants_commit(store), "three quarters");
	cr_assert_eq(store_slice(store, false), OK);
	cr_expect_not(store_wants_commit(store));
	expect_points();
	cr_expect_leq(store_counters(store).memory_bytes, 4 << 20);
}

Test(late, idle_slices_write_all)
{
	begin_written();
	add_bytes(10 * RECORD_ALIGN);
	for (unsigned i = 0; store_owes_slice(store, true); i++) {
		cr_assert_lt(i, PASSES / HOT_PASSES);
		cr_assert_eq(store_slice(store, true), OK);
	}
	cr_expect_eq(standing_now().late.seq, store_durable_seq(store));
	cr_expect(store_is_committed(store) && !store_is_behind(store));
}

Test(late, no_slice_is_written_before_all_is_durable)
{
	struct hot_at at;
	struct writes writes = writes_none(&arena);
	begin_written();
	struct view *view = store_view(store, &writes, &arena);
	cr_assert_eq(hot_get(view, account, 7, &at), OK);
	struct hot after = at.now;
	after.balance = 77;
	cr_assert_eq(hot_put(view, &at, &after), OK);
	cr_assert_eq(store_apply(store, &writes), OK);
	cr_expect(store_is_behind(store) && !store_owes_slice(store, true), "a record is open");
	shop_submit(store, (wall_us){1});
	cr_expect_not(store_owes_slice(store, true), "its arrival is not known");
	shop_settle(store);
	cr_expect(store_owes_slice(store, true));
}

Test(late, ledger_rows_that_fill_their_memory_are_written_ahead_of_a_round)
{
	tails_bytes = FEW_ROWS_BYTES;
	begin_written();
	uint64_t before = standing_now().late.seq;
	while (!store_owes_slice(store, false))
		add_points_often(0, 1, 50);
	cr_expect(events >= FEW_ROWS * 6 / 10 && events <= FEW_ROWS * 3 / 4, "%llu",
	          (unsigned long long)events);
	cr_expect_not(store_wants_commit(store), "others may go on");
	while (!store_wants_commit(store))
		add_points_often(1, 1, 50);
	cr_expect(events >= FEW_ROWS * 8 / 10 && events <= FEW_ROWS, "%llu", (unsigned long long)events);
	cr_assert_eq(rows_on_disk(), 0);
	cr_expect_gt(late_growth(&store->late), events * 60, "room is reserved for them");
	unsigned slices = 0;
	for (; store_owes_slice(store, false); slices++)
		cr_assert_eq(store_slice(store, false), OK);
	cr_expect_not(store_wants_commit(store));
	cr_expect_eq(rows_on_disk(),
	             slices * SLICE * TAIL_RUN_ROWS - 1); /* the first run begins with row 1 */
	cr_expect(!store->late.is_under_way && standing_now().late.seq == before, "no round began");
	expect_points();
	cr_assert_eq(store_write_all(store), OK);
	cr_expect_eq(rows_on_disk(), events);
	expect_points();
}

Test(late, ledger_rows_that_fill_their_memory_come_before_blocks)
{
	tails_bytes = FEW_ROWS_BYTES;
	begin_written();
	add_bytes(ROUND);
	cr_assert_eq(store_slice(store, false), OK);
	uint64_t written = rows_on_disk();
	cr_assert_eq(written, events, "the round has only blocks left");
	add_points(0, 1);
	cr_assert_eq(store_slice(store, false), OK);
	cr_expect_eq(rows_on_disk(), written);
	while (events - written < FEW_ROWS * 7 / 10)
		add_points_often(0, 1, 50);
	cr_assert_eq(store_slice(store, false), OK);
	cr_expect_gt(rows_on_disk(), written);
	cr_assert_eq(store_write_all(store), OK);
	store_close(&store);
	cr_assert_eq(open_at(&test_dir), OK); /* with nothing in memory */
	cr_expect(report.clean_mark == CLEAN_MARK_CLEAN && report.replayed_records == 0);
	expect_points();
}

Test(late, rows_that_fill_their_memory_are_written_ahead_of_a_round)
{
	enum { KEY_BYTES = 250, KEYS = 200, KEYS_A_PAGE = 20 }; /* of memory, about; of journal */
	rows_bytes = KEYS * KEY_BYTES;
	begin_written();
	uint64_t before = standing_now().late.seq;
	while (!store_owes_slice(store, false))
		add_keys(KEYS_A_PAGE, 0);
	cr_expect(keys_last > KEYS / 2 && keys_last < KEYS, "%llu", (unsigned long long)keys_last);
	cr_expect_not(store_wants_commit(store), "others may go on");
	while (!store_wants_commit(store))
		add_keys(KEYS_A_PAGE, 0);
	cr_assert_eq(keys_on_disk(), 0);
	cr_expect_gt(late_growth(&store->late), keys_last * 200, "room is reserved for them");
	unsigned slices = 0;
	for (; store_owes_slice(store, false); slices++)
		cr_assert_eq(store_slice(store, false), OK);
	cr_expect_not(store_wants_commit(store));
	cr_expect_eq(keys_on_disk(), slices * SLICE * LATE_ROWS_RUN);
	cr_expect(!store->late.is_under_way && standing_now().late.seq == before, "no round began");
	/* Some have been taken and wait: they are behind, even if nothing else is. */
	cr_expect(cells_dirty(store->cells) == 0 && cells_left(store->cells) && store_is_behind(store));
	cr_assert_eq(store_commit(store), OK);
	cr_expect_eq(standing_now().late.seq, before);
	expect_keys();
	cr_assert_eq(store_write_all(store), OK);
	cr_expect_eq(standing_now().late.seq, store_durable_seq(store));
	cr_expect_eq(keys_on_disk(), keys_last);
	expect_keys();
}

Test(late, rows_that_fill_their_memory_do_not_belong_to_the_round_under_way)
{
	rows_bytes = 50000;
	begin_written();
	add_bytes(ROUND);
	cr_assert_eq(store_slice(store, false), OK);
	cr_assert(store->late.is_under_way);
	while (late_rows_fill(store->cells) < 800)
		add_keys(10, 0);
	cr_assert_eq(store_slice(store, false), OK);
	cr_expect_eq(keys_on_disk(), SLICE * LATE_ROWS_RUN, "before the blocks");
	cr_expect(store->late.has_taken_ahead && cells_left(store->cells) > late_rows_left(store->cells));
	for (unsigned i = 0; store->late.is_under_way; i++) {
		cr_assert_lt(i, 1000);
		add_points(0, 1);
		if (store_owes_slice(store, false)) cr_assert_eq(store_slice(store, false), OK);
	}
	expect_keys();
	expect_points();
	cr_assert_eq(store_write_all(store), OK);
	cr_expect_eq(keys_on_disk(), keys_last);
}
