/* Rounds of late tables: when slices are due, what they move, and what a start does with tables whose late rows are behind. */
#include "tests/unit/shop.h"

#include "schemas/limits.h"
#include "store/clean_mark.h"
#include "store/hot.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/store_inside.h"
#include "store/tails.h"
#include "store/verify.h"

#include <fcntl.h>
#include <unistd.h>

enum { ROUND = 64 << 10, SLICE = 2, PASSES = 12 * HOT_PASSES };

static const struct account_id account = {{'l'}};
static struct arena            arena;
static int64_t                 model[PASSES]; /* points */
static uint64_t                events;        /* ledger rows */
static uint64_t                tails_bytes;   /* of the store's setting */

static void finish(void)
{
	arena_free(&arena);
	end();
}

TestSuite(late, .init = begin, .fini = finish);

static unsigned memory_blocks; /* 0: any number */

static enum err open_at(const struct test_dir *at)
{
	struct shard_dir place = shop_place(at, true);
	place.memory_blocks = memory_blocks;
	place.quick_sync_us = INT64_MAX; /* all are: slices are of so few rows then */
	place.late_round_bytes = ROUND;
	place.late_slice_rows = SLICE;
	place.late_tails_bytes = tails_bytes;
	place.snapshot_after_bytes = UINT64_MAX; /* only when asked for */
	return store_open(&place, (wall_us){1}, &store, &report);
}

/* One command as one durable record. */
static void save_writes(const struct writes *writes)
{
	cr_assert_eq(store_apply(store, writes), OK);
	shop_submit(store, (wall_us){1});
	shop_settle(store);
	arena_reset(&arena);
}

static void make_passes(void)
{
	for (uint32_t i = 0; i < PASSES;) {
		struct writes writes = writes_none(&arena);
		struct view  *view = store_view(store, &writes, &arena);
		for (unsigned k = 0; k < 10; k++, i++)
			cr_assert_eq(hot_add(view, account, i, &(struct hot){.status = 2, .template = 1}),
			             OK);
		save_writes(&writes);
	}
}

/* So often, in one command. */
static void add_points_often(uint32_t number, int64_t points, unsigned times)
{
	struct hot_at at;
	struct writes writes = writes_none(&arena);
	struct view  *view = store_view(store, &writes, &arena);
	cr_assert_eq(hot_get(view, account, number, &at), OK);
	struct hot after = at.now;
	for (; times; times--) {
		after.balance += points;
		after.updated.v++;
		struct ledger_row row = {.number = number,
		                         .what = LEDGER_LOYALTY,
		                         .previous = after.ledger_head,
		                         .delta = points,
		                         .balance = after.balance};
		after.ledger_head = ++events;
		cr_assert_eq(ledger_put(view, account, events, &row), OK);
	}
	model[number] = after.balance;
	cr_assert_eq(hot_put(view, &at, &after), OK);
	save_writes(&writes);
}

static void add_points(uint32_t number, int64_t points)
{
	add_points_often(number, points, 1);
}

static void expect_events(struct view *view)
{
	static int64_t    sums[PASSES];
	struct ledger_row row;
	uint64_t          last;
	memset(sums, 0, sizeof sums);
	cr_assert_eq(ledger_last(view, account, &last), OK);
	cr_assert_eq(last, events);
	for (uint64_t seq = 1; seq <= last; seq++) {
		cr_assert_eq(ledger_get(view, account, seq, &row), OK, "row %llu", (unsigned long long)seq);
		sums[row.number] += row.delta;
		cr_assert_eq(row.balance, sums[row.number]);
	}
	cr_assert(!memcmp(sums, model, sizeof sums));
	cr_assert_eq(ledger_get(view, account, last + 1, &row), ERR_NOT_FOUND);
}

static void expect_points(void)
{
	struct hot_at at;
	struct view  *view = store_view(store, NULL, &arena);
	for (uint32_t i = 0; i < PASSES; i++) {
		cr_assert_eq(hot_get(view, account, i, &at), OK);
		cr_assert_eq(at.now.balance, model[i], "pass %u: %lld, not %lld", i,
		             (long long)at.now.balance, (long long)model[i]);
	}
	expect_events(view);
	arena_reset(&arena);
}

/* As the tables say. */
static struct standing standing_now(void)
{
	struct standing standing;
	struct view    *raw;
	cr_assert_eq(db_reader_open(store_tables(store), &arena, &raw), OK);
	cr_assert_eq(db_reader_begin(raw), OK);
	cr_assert_eq(db_standing(raw, &standing), OK);
	db_reader_close(&raw);
	return standing;
}

/* Everything written once; nothing is behind. */
static void begin_written(void)
{
	cr_assert_eq(open_at(&test_dir), OK);
	make_passes();
	cr_assert_eq(store_write_all(store), OK);
	cr_expect_not(store_is_behind(store));
}

/* Records of points, a page of the journal each, until so many bytes of it have been written. */
static void add_bytes(unsigned bytes)
{
	static uint64_t luck = 1;
	for (unsigned i = 0; i < bytes; i += RECORD_ALIGN)
		add_points(chance_below(&luck, PASSES), 1 + chance_below(&luck, 9));
}

/* Rounds -------------------------------------------------------------------------------------------------- */

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

static uint64_t rows_on_disk(void)
{
	struct view *raw;
	uint64_t     last;
	cr_assert_eq(db_reader_open(store_tables(store), &arena, &raw), OK);
	cr_assert_eq(db_reader_begin(raw), OK);
	cr_assert_eq(ledger_last(raw, account, &last), OK);
	db_reader_close(&raw);
	return last;
}

enum {
	FEW_ROWS = 48 * TAIL_RUN_ROWS,
	FEW_ROWS_BYTES = 48 * (64 + 48 * TAIL_RUN_ROWS)
}; /* an eighth of it is for written ones */

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

/* Starts -------------------------------------------------------------------------------------------------- */

/* Leaves a place in `copy`, as a kill would: `slices` of a round are written, and passes have changed since. */
static void leave_behind(unsigned slices)
{
	begin_written();
	add_bytes(ROUND);
	for (; slices; slices--) {
		cr_assert_eq(store_slice(store, false), OK);
		add_bytes(2 * RECORD_ALIGN);
	}
	cr_assert_eq(store_commit(store), OK);
	add_bytes(3 * RECORD_ALIGN); /* durable, not committed */
	struct standing now = standing_now();
	cr_assert_lt(now.late.seq, now.at.seq);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
}

Test(late, a_start_replays_from_the_late_position)
{
	for (unsigned slices = 0; slices < 4; slices++) {
		leave_behind(slices);
		cr_assert_eq(open_at(&copy), OK, "%s", report.what);
		cr_expect(!report.rebuilt && report.replayed_records == 3);
		cr_expect(store_is_behind(store));
		expect_points();
		cr_assert_eq(store_write_all(store), OK);
		store_close(&store);
		cr_assert_eq(open_at(&copy), OK);
		cr_expect(report.clean_mark == CLEAN_MARK_CLEAN && !store_is_behind(store));
		expect_points();
		store_close(&store);
		test_dir_remove(&copy);
		test_dir_remove(&test_dir);
		test_dir_make(&test_dir);
		memset(model, 0, sizeof model);
		events = 0;
	}
}

/* Dies after some slices of what it has replayed. */
static int start_and_die(void *slices)
{
	if (open_at(&copy)) return 1;
	for (unsigned left = *(unsigned *)slices; left; left--)
		must(!store_slice(store, true));
	_exit(33);
}

Test(late, a_start_that_was_itself_killed_is_begun_again)
{
	leave_behind(2);
	for (unsigned i = 0; i < 6; i++) {
		unsigned slices = i % 3;
		cr_assert_eq(in_child(start_and_die, &slices), 33);
	}
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect_not(report.rebuilt);
	expect_points();
}

Test(late, a_replay_of_more_ledger_rows_than_memory_takes_writes_them)
{
	cr_assert_eq(open_at(&test_dir), OK);
	make_passes();
	for (unsigned i = 0; i < 8; i++)
		add_points_often(i, 1, FEW_ROWS / 2);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	tails_bytes = FEW_ROWS_BYTES;
	cr_assert_eq(unlinkat(copy.fd, "trust", 0), 0); /* from the first record on */
	for (unsigned slices = 2; slices < 4; slices++)
		cr_assert_eq(in_child(start_and_die, &slices), 33);
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect_gt(rows_on_disk(), 2 * FEW_ROWS);
	expect_points();
	cr_assert_eq(store_write_all(store), OK);
	expect_points();
}

/* What is replayed needs more memory than there is: rows are written meanwhile, and the position stays. */
Test(late, a_start_with_little_memory_writes_rows_as_it_replays)
{
	leave_behind(1);
	memory_blocks = 2;
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect_not(report.rebuilt);
	cr_expect_gt(store_counters(store).evictions, 0);
	expect_points();
	cr_assert_eq(store_write_all(store), OK);
	store_close(&store);
	memory_blocks = 0;
	cr_assert_eq(open_at(&copy), OK);
	cr_expect(report.clean_mark == CLEAN_MARK_CLEAN && !store_is_behind(store));
	expect_points();
}

static void change_position_row(const struct test_dir *at, bool is_removed, uint64_t seq)
{
	struct db      *db;
	struct standing standing;
	struct write    write = {.kind = WRITE_DEL, .table = TABLE_META, .key = span_str("late")};
	int             fd = openat(at->fd, "db", O_RDONLY | O_DIRECTORY);
	cr_assert(fd >= 0 && !db_open(fd, MAP_BYTES, &db) && !db_begin(db));
	cr_assert_eq(db_standing(db_view(db, NULL, NULL), &standing), OK);
	if (is_removed) cr_assert_eq(db_apply(db, &write, false), OK);
	standing.late.seq = seq;
	if (!is_removed) cr_assert_eq(db_put_late(db, &standing.late), OK);
	cr_assert_eq(db_commit(db, &standing.at), OK);
	db_close(&db);
	close(fd);
}

Test(late, without_a_position_of_their_own_late_tables_stand_where_all_do)
{
	begin_written();
	add_bytes(4 * RECORD_ALIGN);
	cr_assert_eq(store_write_all(store), OK);
	add_bytes(4 * RECORD_ALIGN);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	change_position_row(&copy, true, 0);
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(!report.rebuilt && report.replayed_records == 4);
	expect_points();
	/* From now on there is one, or a second kill would lose what is in memory. */
	struct standing now = standing_now();
	cr_expect_lt(now.late.seq, now.at.seq);
}

Test(late, a_position_that_the_journal_does_not_know_has_tables_rebuilt)
{
	leave_behind(1);
	change_position_row(&copy, false, 3);
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(report.rebuilt && strstr(report.refused, "lacks a record"), "%s", report.refused);
	expect_points();
}

/* A record that the tables have, but without its late rows: nothing else has these. */
Test(late, a_damaged_record_between_the_positions_is_refused)
{
	uint8_t *bytes;
	size_t   size, at;
	leave_behind(1);
	size = file_read(&copy, "journal/00000000000000000001.seg", &bytes);
	for (at = size - RECORD_ALIGN; at && !bytes[at]; at -= RECORD_ALIGN)
		;
	at -= 6 * RECORD_ALIGN; /* some records before the last one */
	file_flip(&copy, "journal/00000000000000000001.seg", at + 60, 1);
	free(bytes);
	cr_expect_eq(open_at(&copy), ERR_DAMAGED);
	cr_expect(strstr(report.what, "lacks a record") || strstr(report.what, "damaged before"), "%s",
	          report.what);
	cr_expect_null(store);
}

Test(late, clean_tables_that_are_behind_are_rebuilt)
{
	leave_behind(1);
	cr_assert_eq(clean_mark_write(copy.fd, true), OK);
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(report.rebuilt && strstr(report.refused, "late rows"), "%s", report.refused);
	expect_points();
}

Test(late, a_place_left_behind_is_verified_by_its_pages)
{
	static struct verify_report seen;
	struct shard_dir            at;
	leave_behind(2);
	at = shop_place(&copy, false);
	const struct verify_order order = {.shard_dir = &at};
	cr_assert_eq(verify_shard(&order, &seen), OK);
	cr_expect(seen.tables && seen.faults.count == 0, "%s", seen.faults.texts[0]);
}

/* Snapshots ------------------------------------------------------------------------------------------------ */

Test(late, a_snapshot_has_what_is_in_memory_alone)
{
	static struct snapshotter_state state;
	uint64_t                        number;
	begin_written();
	add_bytes(ROUND / 2);
	cr_assert_eq(store_commit(store), OK);
	cr_assert(store_is_behind(store));
	cr_assert_eq(snapshotter_ask(store_snapshotter(store), JOB_SNAPSHOT, span_of(NULL, 0), &number), OK);
	do {
		usleep(1000);
		snapshotter_state(store_snapshotter(store), &state);
	} while (state.running);
	cr_assert_eq(state.err, OK);
	cr_expect_eq(state.made.at.seq, store_durable_seq(store));
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	cr_assert_eq(unlinkat(copy.fd, "trust", 0), 0); /* the tables go, the snapshot stays */
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(report.rebuilt && report.snapshot_seq == state.made.at.seq);
	cr_expect_eq(report.replayed_records, 0);
	expect_points();
}
