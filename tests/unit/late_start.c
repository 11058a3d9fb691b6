/* What a start does with tables whose late rows are behind. */
#include "tests/unit/late_desk.h"

#include "store/clean_mark.h"
#include "store/verify.h"

#include <fcntl.h>
#include <unistd.h>

TestSuite(late_start, .init = begin, .fini = finish);

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

Test(late_start, a_start_replays_from_the_late_position)
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

Test(late_start, a_start_that_was_itself_killed_is_begun_again)
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

Test(late_start, a_replay_of_more_ledger_rows_than_memory_takes_writes_them)
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

/* Keys that LMDB has and that are deleted in memory, and such that have come and gone in memory alone. */
Test(late_start, keys_are_replayed_with_their_deletions)
{
	begin_written();
	add_keys(60, 0);
	cr_assert_eq(store_write_all(store), OK);
	add_keys(0, 30);
	add_keys(50, 0);
	add_keys(10, 40);
	cr_assert_eq(store_commit(store), OK);
	add_keys(5, 5);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	for (unsigned i = 0; i < 6; i++) {
		unsigned slices = i % 3;
		cr_assert_eq(in_child(start_and_die, &slices), 33);
	}
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect_not(report.rebuilt);
	expect_keys();
	cr_assert_eq(store_write_all(store), OK);
	expect_keys();
	cr_expect_eq(keys_on_disk(), keys_last - keys_first + 1);
}

Test(late_start, a_replay_of_more_late_rows_than_memory_takes_writes_them)
{
	cr_assert_eq(open_at(&test_dir), OK);
	for (unsigned i = 0; i < 40; i++)
		add_keys(50, i < 10 ? 0 : 40);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	rows_bytes = 50000;
	cr_assert_eq(unlinkat(copy.fd, "trust", 0), 0); /* from the first record on */
	for (unsigned slices = 2; slices < 4; slices++)
		cr_assert_eq(in_child(start_and_die, &slices), 33);
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect_gt(keys_on_disk(), 100);
	expect_keys();
	cr_assert_eq(store_write_all(store), OK);
	expect_keys();
}

/* What is replayed needs more memory than there is: rows are written meanwhile, and the position stays. */
Test(late_start, a_start_with_little_memory_writes_rows_as_it_replays)
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
	cr_assert(fd >= 0 && !db_open(fd, MAP_BYTES, shop_lineage, &db) && !db_begin(db));
	cr_assert_eq(db_standing(db_view(db, NULL, NULL), &standing), OK);
	if (is_removed) cr_assert_eq(db_apply(db, &write, false), OK);
	standing.late.seq = seq;
	if (!is_removed) cr_assert_eq(db_put_late(db, &standing.late), OK);
	cr_assert_eq(db_commit(db, &standing.at), OK);
	db_close(&db);
	close(fd);
}

Test(late_start, without_a_position_of_their_own_late_tables_stand_where_all_do)
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

Test(late_start, a_position_that_the_journal_does_not_know_has_tables_rebuilt)
{
	leave_behind(1);
	change_position_row(&copy, false, 3);
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(report.rebuilt && strstr(report.refused, "lacks a record"), "%s", report.refused);
	expect_points();
}

/* A record that the tables have, but without its late rows: nothing else has these. */
Test(late_start, a_damaged_record_between_the_positions_is_refused)
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

Test(late_start, clean_tables_that_are_behind_are_rebuilt)
{
	leave_behind(1);
	cr_assert_eq(clean_mark_write(copy.fd, true), OK);
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(report.rebuilt && strstr(report.refused, "late rows"), "%s", report.refused);
	expect_points();
}

Test(late_start, a_place_left_behind_is_verified_by_its_pages)
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

Test(late_start, a_snapshot_has_what_is_in_memory_alone)
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
