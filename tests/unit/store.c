/* Opening a store: what is created, what is rebuilt, and what is refused without a change; and the store's
 * operations. */
#include "store/monotonic.h"
#include "tests/unit/shop.h"

#include "schemas/limits.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(store, .init = begin, .fini = end);

/* Empty places, and epochs ------------------------------------------------------------------------------- */

Test(store, an_empty_place_is_damage_unless_it_may_be_formatted)
{
	expect_refused(&test_dir, false, ERR_DAMAGED, "no journal");
	open_ok(&test_dir);
	cr_expect(report.formatted && report.epoch == 1 && report.seq == 1);
	cr_expect(report.replayed_records == 0 && !report.cut_tail);
	store_close(&store);
	cr_assert_null(store);
	cr_expect_eq(shop_open(&test_dir, false, &store, &report), OK);
	cr_expect_not(report.formatted);
}

/* The creation of a store ended early: with tables and no journal, or with a segment that has no record. */
Test(store, an_interrupted_creation_is_repeated)
{
	struct db *db;
	cr_assert_eq(mkdirat(test_dir.fd, "db", 0700), 0);
	cr_assert_eq(mkdirat(test_dir.fd, "journal", 0700), 0);
	int db_fd = openat(test_dir.fd, "db", O_RDONLY | O_DIRECTORY),
	    fd = openat(test_dir.fd, "journal", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(db_open(db_fd, MAP_BYTES, shop_lineage, &db), OK);
	db_close(&db);
	expect_refused(&test_dir, false, ERR_DAMAGED, "no journal");
	test_dir_copy(&test_dir, &copy);
	open_ok(&copy);
	cr_expect_eq(report.epoch, 1);
	store_close(&store);
	struct shard_dir   at = shop_place(&test_dir, true);
	struct journal_dir dir = {.fd = fd, .shard = at.shard, .segment_bytes = at.segment_bytes};
	memcpy(dir.lineage, at.lineage, sizeof dir.lineage);
	cr_assert_eq(segment_create(&dir, 1, NULL), OK);
	open_ok(&test_dir);
	cr_expect(report.epoch == 1 && report.seq == 1);
	close(db_fd);
	close(fd);
}

Test(store, each_opening_begins_the_next_epoch)
{
	for (unsigned i = 1; i < 6; i++) {
		open_ok(&test_dir);
		cr_expect_eq(report.epoch, i);
		cr_expect_eq(store_counters(store).epoch, i);
		save(i, 100);
		store_close(&store);
	}
	open_ok(&test_dir);
	cr_expect_eq(report.replayed_records, 0);
	for (unsigned i = 1; i < 6; i++)
		cr_expect(holds(i, 100));
}

Test(store, remembers_the_newest_service_time)
{
	open_ok(&test_dir);
	shop_put(store, TABLE_BODY, key_of(1), span_str("x"));
	shop_submit(store, (wall_us){5000});
	shop_settle(store);
	shop_put(store, TABLE_BODY, key_of(2), span_str("x"));
	shop_submit(store, (wall_us){3000}); /* earlier: the journal's time never decreases */
	shop_settle(store);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	open_ok(&test_dir);
	cr_expect_eq(report.last_now.v, 5000);
	store_close(&store);
	open_ok(&copy);
	cr_expect_eq(report.last_now.v, 5000);
}

static enum err say_no(void *asked)
{
	++*(unsigned *)asked;
	return ERR_STOPPED;
}

Test(store, a_callback_before_any_change_can_end_the_opening)
{
	static const char *const lost[] = {NULL, "trust",
	                                   "db/data.mdb"}; /* trusted, walked through, rebuilt */
	open_ok(&test_dir);
	save(1, 100);
	store_close(&store);
	for (unsigned i = 0; i < sizeof lost / sizeof *lost; i++) {
		struct shard_dir at;
		struct test_dir  before;
		unsigned         asked = 0;
		if (lost[i]) cr_assert_eq(unlinkat(test_dir.fd, lost[i], 0), 0);
		test_dir_copy(&test_dir, &before);
		at = shop_place(&test_dir, false);
		at.before_change = say_no;
		at.user = &asked;
		cr_expect_eq(store_open(&at, (wall_us){1}, &store, &report), ERR_STOPPED);
		cr_expect_null(store);
		cr_expect_eq(asked, 1);
		cr_expect(test_dir_same(&test_dir, &before), "a file was changed");
		test_dir_remove(&before);
	}
	open_ok(&test_dir);
	cr_expect(holds(1, 100));
}

/* Missing pieces ------------------------------------------------------------------------------------------ */

/* Three segments; the tables have the records of the first one only. */
static void make_three_segments(void)
{
	open_ok(&test_dir);
	for (unsigned i = 0; i < 9; i++) {
		save(i, 60000);
		if (i == 1) cr_assert_eq(store_commit(store), OK);
	}
	while (store_counters(store).seq < 10 ||
	       faccessat(test_dir.fd, "journal/00000000000000000004.seg", F_OK, 0))
		usleep(1000);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
}

static void lose(const char *name)
{
	cr_assert_eq(unlinkat(copy.fd, name, 0), 0);
}

Test(store, a_missing_segment_is_refused)
{
	static const struct {
		const char *name, *what;
	} rows[] = {{"journal/00000000000000000001.seg", "first segments are missing"},
	            {"journal/00000000000000000002.seg", "a journal segment is missing"},
	            {"journal/00000000000000000003.seg", "a journal segment is missing"}};
	make_three_segments();
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *kept;
		size_t   size = file_read(&copy, rows[i].name, &kept);
		lose(rows[i].name);
		expect_refused(&copy, false, ERR_DAMAGED, rows[i].what);
		if (i == 0)
			expect_refused(&copy, true, ERR_DAMAGED, "first segments are missing");
		else
			expect_refused(&copy, true, ERR_DAMAGED, rows[i].what);
		file_write(&copy, rows[i].name, 0, span_of(kept, size));
		free(kept);
	}
	open_ok(&copy);
	for (unsigned i = 0; i < 9; i++)
		cr_expect(holds(i, 60000));
}

Test(store, tables_without_their_journal_are_refused)
{
	make_three_segments();
	for (char number = '1'; number <= '4'; number++) {
		char name[] = "journal/00000000000000000001.seg";
		name[strlen("journal/0000000000000000000")] = number;
		lose(name);
	}
	expect_refused(&copy, false, ERR_DAMAGED, "no journal");
	expect_refused(&copy, true, ERR_DAMAGED, "no journal");
}

Test(store, lost_tables_are_rebuilt_from_a_complete_journal)
{
	make_three_segments();
	lose("db/data.mdb");
	cr_assert_eq(shop_open(&copy, false, &store, &report), OK);
	cr_expect_eq(report.replayed_records, 10); /* the epoch's too */
	cr_expect(report.rebuilt && !report.formatted);
	for (unsigned i = 0; i < 9; i++)
		cr_expect(holds(i, 60000));
	store_close(&store);
	lose("db/data.mdb");
	lose("journal/00000000000000000001.seg");
	expect_refused(&copy, false, ERR_DAMAGED, "first segments are missing");
	expect_refused(&copy, true, ERR_DAMAGED, "first segments are missing");
}

Test(store, another_shard_s_or_lineage_s_store_is_refused)
{
	struct shard_dir at;
	open_ok(&test_dir);
	save(1, 100);
	store_close(&store);
	for (unsigned i = 0; i < 2; i++) {
		at = shop_place(&test_dir, false);
		at.shard = (uint16_t)(at.shard + (i == 0));
		at.lineage[9] = (uint8_t)(at.lineage[9] + (i == 1));
		cr_expect_eq(store_open(&at, (wall_us){1}, &store, &report), ERR_DAMAGED);
		cr_expect_null(store);
		cr_expect(report.what[0]);
	}
	open_ok(&test_dir);
	cr_expect(holds(1, 100));
}

/* The tables' own bytes --------------------------------------------------------------------------------- */

Test(store, a_flipped_byte_in_the_tables_is_never_a_value)
{
	uint8_t *bytes;
	unsigned copies = 0;
	open_ok(&test_dir);
	save(1, 500);
	save(2, 500);
	store_close(&store);
	size_t size = file_read(&test_dir, "db/data.mdb", &bytes);
	for (uint8_t *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), filler(1, 500).at, 500));
	     at++, copies++)
		file_flip(&test_dir, "db/data.mdb", (size_t)(at - bytes) + 250, 1);
	free(bytes);
	cr_assert_gt(copies, 0);
	open_ok(&test_dir); /* the checksum of the tables is no longer valid: they were rebuilt */
	cr_expect(report.rebuilt);
	cr_expect(holds(1, 500));
	cr_expect(holds(2, 500));
}

enum { HEAD_BYTES = 4096, LAST_PAGE_AT = 136, ROWS = 9, ROW_BYTES = 2000 };

static void expect_made_anew(uint64_t last_page)
{
	struct store *first = store;
	uint8_t       last[8];
	put_le64(last, last_page);
	test_dir_copy(&test_dir, &copy);
	for (size_t head = 0; head < 2; head++)
		file_write(&copy, "db/data.mdb", head * HEAD_BYTES + LAST_PAGE_AT,
		           span_of(last, sizeof last));
	open_ok(&copy);
	cr_expect(report.rebuilt && report.refused[0], "last page %#lx", last_page);
	for (unsigned row = 0; row < ROWS; row++)
		cr_expect(holds(row, ROW_BYTES));
	store_close(&store);
	test_dir_remove(&copy);
	store = first;
}

/* Both meta pages of data.mdb name the last page. A number that is too high needs a map that no host has, or
 * is beyond the map or the file. With a number that is too low, pages in use are after it. */
Test(store, tables_with_a_wrong_size_are_rebuilt)
{
	static const unsigned bits[] = {62, 58, 50, 39, 20, 10};
	uint8_t              *file;
	open_ok(&test_dir);
	for (unsigned row = 0; row < ROWS; row++)
		save(row, ROW_BYTES);
	cr_assert_eq(store_commit(store), OK);
	cr_assert_gt(file_read(&test_dir, "db/data.mdb", &file), 2 * HEAD_BYTES);
	uint64_t last[2] = {get_le64(file + LAST_PAGE_AT), get_le64(file + HEAD_BYTES + LAST_PAGE_AT)};
	free(file);
	for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++)
		expect_made_anew(UINT64_C(1) << bits[i]);
	for (uint64_t page = last[0] > last[1] ? last[0] : last[1]; page > 0; page--)
		expect_made_anew(page - 1);
}

/* Steps --------------------------------------------------------------------------------------------------- */

Test(store, requests_a_commit_after_some_records_or_many_rows)
{
	open_ok(&test_dir);
	cr_expect(store_is_committed(store) && !store_wants_commit(store));
	int64_t slowest_us = 0;
	for (unsigned i = 0; i < COMMIT_RECORDS_MAX; i++) {
		cr_expect_not(store_wants_commit(store));
		int64_t begun = monotonic_us();
		save(i, 10);
		int64_t took_us = monotonic_us() - begun;
		if (took_us > slowest_us) slowest_us = took_us;
	}
	cr_expect(store_wants_commit(store) && !store_is_committed(store));
	cr_assert_eq(store_commit(store), OK);
	cr_expect(!store_wants_commit(store) && store_is_committed(store));
	/* On a slow disk a commit has more rows, perhaps more than fit into a record here. */
	if (slowest_us >= (int64_t)COMMIT_ROWS_MAX * COMMIT_ROW_SYNC_US) return;
	for (unsigned i = 0; i <= COMMIT_ROWS_MAX; i++) {
		shop_put(store, TABLE_IDEMPOTENCY_ORDER, key_of(i), span_str("counts for nothing"));
		shop_put(store, TABLE_BODY, key_of(0), span_str("counts once"));
	}
	cr_expect_not(store_wants_commit(store));
	unsigned rows = 1;
	for (; !store_wants_commit(store); rows++)
		shop_put(store, TABLE_BODY, key_of(rows), span_str("x"));
	cr_expect_geq(rows, COMMIT_ROWS_MAX);
	cr_expect_leq(rows, COMMIT_ROWS_MAX + COMMIT_ROWS_MAX / 8, "an estimate, but a near one");
	cr_expect_gt(store_open_bytes(store), 0);
	shop_submit(store, (wall_us){1});
	shop_settle(store);
	cr_assert_eq(store_commit(store), OK);
	cr_expect_eq(store_counters(store).commits, 3);
	cr_expect_eq(store_counters(store).syncs, COMMIT_RECORDS_MAX + 1);
}

/* A few large values use many pages. */
Test(store, requests_a_commit_after_some_bytes)
{
	enum { VALUE = 50000, FEW = COMMIT_BYTES_MAX / VALUE };
	_Static_assert((int)FEW < (int)COMMIT_RECORDS_MAX, "records come first");
	unsigned records = 0;
	open_ok(&test_dir);
	for (; !store_wants_commit(store); records++)
		save(records % 4, VALUE);
	cr_expect_geq(records, FEW - 1);
	cr_expect_leq(records, FEW + 1);
	cr_assert_eq(store_commit(store), OK);
	save(0, VALUE);
	cr_expect_not(store_wants_commit(store), "counted again");
}

Test(store, readers_see_commits_and_the_writer_its_own_changes)
{
	struct arena arena = {0};
	struct view *reader;
	struct span  got;
	open_ok(&test_dir);
	cr_assert_eq(store_reader_open(store, &arena, &reader), OK);
	save(1, 100);
	cr_assert_eq(store_reader_begin(reader), OK);
	cr_expect_eq(view_get(reader, TABLE_BODY, key_of(1), &got), ERR_NOT_FOUND);
	store_reader_end(reader);
	cr_expect(holds(1, 100));
	cr_assert_eq(store_commit(store), OK);
	cr_assert_eq(store_reader_begin(reader), OK);
	cr_expect_eq(view_get(reader, TABLE_BODY, key_of(1), &got), OK);
	store_reader_end(reader);
	store_reader_close(&reader);
	arena_free(&arena);
}
