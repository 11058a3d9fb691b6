/* Opening a store: what is rebuilt, what is cut, and what is refused with nothing changed. A crash is made in
 * two ways: the directory is copied while the store is open, or the process that has it open ends without a
 * word. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"
#include "store/record.h"
#include "store/segment.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct place place, copy;
static struct store *store;
static struct store_report report;

static void begin(void)
{
	place_make(&place);
}

static void end(void)
{
	store_close(&store);
	place_remove(&place);
	place_remove(&copy);
}

TestSuite(store, .init = begin, .fini = end);

static void open_ok(const struct place *at)
{
	cr_assert_eq(shop_open(at, true, &store, &report), OK, "%s", report.what);
}

static void expect_refused(const struct place *at, bool may_format, enum err want, const char *what)
{
	struct place before;
	place_copy(at, &before);
	cr_expect_eq(shop_open(at, may_format, &store, &report), want);
	cr_expect_null(store);
	cr_expect(strstr(report.what, what), "%s instead of %s", report.what, what);
	cr_expect(place_same(at, &before), "something was changed");
	place_remove(&before);
}

static struct span key_of(unsigned i)
{
	static uint8_t key[4];
	put_be32(key, i);
	return span_of(key, sizeof key);
}

static void save(unsigned i, size_t size)
{
	shop_save(store, TABLE_BODY, key_of(i), filler(i, size));
}

static bool holds(unsigned i, size_t size)
{
	struct span got;
	enum err err = shop_get(store, TABLE_BODY, key_of(i), &got);
	return !err && span_equal(got, filler(i, size));
}

static bool is_missing(unsigned i)
{
	struct span got;
	return shop_get(store, TABLE_BODY, key_of(i), &got) == ERR_NOT_FOUND;
}

/* The journal's records of a place by seq: the segment's name, where in it, how long. */
struct found {
	char name[64];
	size_t at, size;
};

static struct found find_record(const struct place *in, uint64_t seq)
{
	struct found found = {.size = 0};
	for (unsigned segment = 1; !found.size; segment++) {
		char name[SEGMENT_NAME];
		struct record record;
		uint8_t *bytes;
		segment_name(segment, name);
		snprintf(found.name, sizeof found.name, "journal/%s", name);
		size_t size = file_read(in, found.name, &bytes);
		for (size_t at = RECORD_ALIGN; at < size && !found.size; at += RECORD_ALIGN) {
			if (record_open(span_of(bytes + at, size - at), &record) || record.seq != seq)
				continue;
			found.at = at;
			found.size = RECORD_HEAD + record.writes.size;
		}
		free(bytes);
	}
	return found;
}

/* Empty places, and epochs ------------------------------------------------------------------------------- */

Test(store, an_empty_place_is_damage_unless_it_may_be_formatted)
{
	expect_refused(&place, false, ERR_DAMAGED, "no journal");
	open_ok(&place);
	cr_expect(report.formatted && report.epoch == 1 && report.seq == 1);
	cr_expect(report.replayed_records == 0 && !report.cut_tail);
	store_close(&store);
	cr_assert_null(store);
	cr_expect_eq(shop_open(&place, false, &store, &report), OK);
	cr_expect_not(report.formatted);
}

/* The making of a store ended early: with tables but no journal, or with a segment nothing was written to. */
Test(store, an_interrupted_making_is_made_anew)
{
	struct db *db;
	bool fresh;
	cr_assert_eq(mkdirat(place.fd, "db", 0700), 0);
	cr_assert_eq(mkdirat(place.fd, "journal", 0700), 0);
	int db_fd = openat(place.fd, "db", O_RDONLY | O_DIRECTORY),
	    fd = openat(place.fd, "journal", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(db_open(db_fd, MAP_BYTES, &db, &fresh), OK);
	cr_expect(fresh);
	db_close(&db);
	expect_refused(&place, false, ERR_DAMAGED, "no journal");
	place_copy(&place, &copy);
	open_ok(&copy);
	cr_expect_eq(report.epoch, 1);
	store_close(&store);
	struct store_place at = shop_place(&place, true);
	struct journal_dir dir = {.fd = fd, .shard = at.shard, .segment_bytes = at.segment_bytes};
	memcpy(dir.lineage, at.lineage, sizeof dir.lineage);
	cr_assert_eq(segment_create(&dir, 1), OK);
	open_ok(&place);
	cr_expect(report.epoch == 1 && report.seq == 1);
	close(db_fd);
	close(fd);
}

Test(store, each_opening_begins_the_next_epoch)
{
	for (unsigned i = 1; i < 6; i++) {
		open_ok(&place);
		cr_expect_eq(report.epoch, i);
		cr_expect_eq(store_counters(store).epoch, i);
		save(i, 100);
		store_close(&store);
	}
	open_ok(&place);
	cr_expect_eq(report.replayed_records, 0);
	for (unsigned i = 1; i < 6; i++)
		cr_expect(holds(i, 100));
}

Test(store, remembers_the_newest_service_time)
{
	open_ok(&place);
	shop_put(store, TABLE_BODY, key_of(1), span_str("x"));
	shop_submit(store, (wall_us){5000});
	shop_settle(store);
	shop_put(store, TABLE_BODY, key_of(2), span_str("x"));
	shop_submit(store, (wall_us){3000}); /* earlier: the journal's time never falls */
	shop_settle(store);
	place_copy(&place, &copy);
	store_close(&store);
	open_ok(&place);
	cr_expect_eq(report.last_now.v, 5000);
	store_close(&store);
	open_ok(&copy);
	cr_expect_eq(report.last_now.v, 5000);
}

/* Crashes -------------------------------------------------------------------------------------------------
 */

Test(store, durable_records_are_replayed_though_never_committed)
{
	open_ok(&place);
	for (unsigned i = 0; i < 30; i++)
		save(i, i * 300);
	shop_put(store, TABLE_BODY, key_of(100), span_str("never submitted"));
	place_copy(&place, &copy);
	store_close(&store);
	open_ok(&copy);
	cr_expect_eq(report.replayed_records, 30);
	cr_expect(report.epoch == 2 && report.seq == 32 && !report.cut_tail);
	for (unsigned i = 0; i < 30; i++)
		cr_expect(holds(i, i * 300), "row %u", i);
	cr_expect(is_missing(100));
}

/* Durable, committed, or both for a part; then the process is gone. */
static int die_after_thirty(void *user)
{
	unsigned committed = *(unsigned *)user;
	must(!shop_open(&place, true, &store, &report));
	for (unsigned i = 0; i < 30; i++) {
		save(i, 2500);
		if (i + 1 == committed) must(!store_commit(store));
	}
	_exit(33);
}

Test(store, survives_the_end_of_its_process_between_journal_and_commit)
{
	static const unsigned committed[] = {0, 1, 17, 30};
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(in_child(die_after_thirty, (void *)(uintptr_t)&committed[i]), 33);
		open_ok(&place);
		cr_expect_eq(report.replayed_records, 30 - committed[i]);
		for (unsigned k = 0; k < 30; k++)
			cr_expect(holds(k, 2500), "row %u", k);
		store_close(&store);
	}
}

enum { MANY = 1500 };

static int leave_much_to_replay(void *user)
{
	(void)user;
	must(!shop_open(&place, true, &store, &report));
	for (unsigned i = 0; i < MANY; i++)
		save(i, 700);
	_exit(0);
}

static int open_and_stop(void *user)
{
	struct rlimit limit = {*(rlim_t *)user, RLIM_INFINITY};
	must(!setrlimit(RLIMIT_FSIZE, &limit)); /* the write that reaches it is short, one beyond it kills */
	enum err err = shop_open(&place, false, &store, &report);
	_exit(err == ERR_IO ? 1 : err ? 2 : 0);
}

static uint64_t applied_seq(void)
{
	struct applied applied;
	struct db *db;
	bool fresh;
	int fd = openat(place.fd, "db", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(db_open(fd, MAP_BYTES, &db, &fresh), OK);
	cr_assert_eq(db_begin(db), OK);
	cr_assert_eq(db_applied(db, &applied), OK);
	db_close(&db);
	close(fd);
	return applied.seq;
}

/* A disk that ends ever later: replay fails within ever later commits, and each goes on from the one before.
 */
Test(store, replay_that_dies_goes_on_where_it_was)
{
	unsigned deaths = 0, stages = 0;
	uint64_t applied = 1;
	rlim_t limit = 600 << 10;
	cr_assert_eq(in_child(leave_much_to_replay, NULL), 0);
	for (int died; (died = in_child(open_and_stop, &limit)); limit += 64 << 10) {
		cr_assert(died == 1 || died == -SIGXFSZ);
		uint64_t now = applied_seq();
		cr_assert_geq(now, applied);
		stages += now > applied;
		applied = now;
		cr_assert_lt(++deaths, 200);
	}
	cr_expect_geq(stages, 3, "only %u of %u deaths were within the replay", stages, deaths);
	open_ok(&place);
	for (unsigned i = 0; i < MANY; i++)
		cr_assert(holds(i, 700), "row %u", i);
}

/* Tails ---------------------------------------------------------------------------------------------------
 */

Test(store, an_unacknowledged_torn_record_is_cut)
{
	open_ok(&place);
	save(1, 9000);
	save(2, 9000);
	place_copy(&place, &copy);
	store_close(&store);
	struct found torn = find_record(&copy, 3);
	file_write(&copy, torn.name, torn.at + 4096, filler(1, 4096));
	open_ok(&copy);
	cr_expect(report.cut_tail && report.replayed_records == 1 && report.seq == 3);
	cr_expect(holds(1, 9000) && is_missing(2));
	save(2, 50);
	store_close(&store);
	open_ok(&copy);
	cr_expect_not(report.cut_tail);
	cr_expect(holds(1, 9000) && holds(2, 50));
}

Test(store, a_flipped_byte_before_an_acknowledged_record_is_refused_and_nothing_changed)
{
	char where[64];
	open_ok(&place);
	for (unsigned i = 1; i <= 12; i++)
		save(i, i * 900);
	place_copy(&place, &copy);
	store_close(&store);
	for (unsigned seq = 2; seq <= 12; seq++) {
		struct found found = find_record(&copy, seq);
		size_t flips[] = {found.at, found.at + 50, found.at + 84, found.at + RECORD_HEAD,
		                  found.at + found.size - 1};
		for (unsigned i = 0; i < 5; i++) {
			file_flip(&copy, found.name, flips[i], 0x10);
			snprintf(where, sizeof where, "offset=%zu seq=%u", found.at, seq);
			expect_refused(&copy, false, ERR_DAMAGED, where);
			file_flip(&copy, found.name, flips[i], 0x10);
		}
	}
	open_ok(&copy);
	cr_expect_eq(report.replayed_records, 12);
}

Test(store, a_committed_record_that_the_journal_has_lost_is_refused)
{
	open_ok(&place);
	save(1, 100);
	save(2, 9000);
	store_close(&store);
	place_copy(&place, &copy);
	struct found last = find_record(&copy, 3);
	file_flip(&copy, last.name, last.at + 5000, 1);
	expect_refused(&copy, false, ERR_DAMAGED, "the journal lacks a record the tables hold");
}

/* Missing pieces ------------------------------------------------------------------------------------------
 */

/* Three segments, of which the tables hold the first's records only. */
static void make_three_segments(void)
{
	open_ok(&place);
	for (unsigned i = 0; i < 9; i++) {
		save(i, 60000);
		if (i == 1) cr_assert_eq(store_commit(store), OK);
	}
	while (store_counters(store).seq < 10 ||
	       faccessat(place.fd, "journal/00000000000000000004.seg", F_OK, 0))
		usleep(1000);
	place_copy(&place, &copy);
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
	} rows[] = {{"journal/00000000000000000001.seg", "the tables' journal segment is missing"},
	            {"journal/00000000000000000002.seg", "a journal segment is missing"},
	            {"journal/00000000000000000003.seg", "a journal segment is missing"}};
	make_three_segments();
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *kept;
		size_t size = file_read(&copy, rows[i].name, &kept);
		lose(rows[i].name);
		expect_refused(&copy, false, ERR_DAMAGED, rows[i].what);
		if (i == 0)
			expect_refused(&copy, true, ERR_DAMAGED, "the tables' journal segment is missing");
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

Test(store, lost_tables_are_made_anew_from_a_whole_journal)
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
	expect_refused(&copy, false, ERR_DAMAGED, "no tables");
	expect_refused(&copy, true, ERR_DAMAGED, "no tables");
}

Test(store, another_shard_s_or_lineage_s_store_is_refused)
{
	struct store_place at;
	open_ok(&place);
	save(1, 100);
	store_close(&store);
	for (unsigned i = 0; i < 2; i++) {
		at = shop_place(&place, false);
		at.shard = (uint16_t)(at.shard + (i == 0));
		at.lineage[9] = (uint8_t)(at.lineage[9] + (i == 1));
		cr_expect_eq(store_open(&at, (wall_us){1}, &store, &report), ERR_DAMAGED);
		cr_expect_null(store);
		cr_expect(report.what[0]);
	}
	open_ok(&place);
	cr_expect(holds(1, 100));
}

/* The tables' own bytes --------------------------------------------------------------------------------- */

Test(store, a_flipped_byte_in_the_tables_is_never_a_value)
{
	uint8_t *bytes;
	struct span got;
	unsigned copies = 0;
	open_ok(&place);
	save(1, 500);
	save(2, 500);
	store_close(&store);
	size_t size = file_read(&place, "db/data.mdb", &bytes);
	for (uint8_t *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), filler(1, 500).at, 500));
	     at++, copies++)
		file_flip(&place, "db/data.mdb", (size_t)(at - bytes) + 250, 1);
	free(bytes);
	cr_assert_gt(copies, 0);
	open_ok(&place);
	cr_expect_eq(shop_get(store, TABLE_BODY, key_of(1), &got), ERR_DAMAGED);
	cr_expect(holds(2, 500));
}

/* Steps ---------------------------------------------------------------------------------------------------
 */

Test(store, wants_a_commit_after_some_records_or_many_rows)
{
	open_ok(&place);
	cr_expect(store_is_committed(store) && !store_wants_commit(store));
	for (unsigned i = 0; i < COMMIT_RECORDS_MAX; i++) {
		cr_expect_not(store_wants_commit(store));
		save(i, 10);
	}
	cr_expect(store_wants_commit(store) && !store_is_committed(store));
	cr_assert_eq(store_commit(store), OK);
	cr_expect(!store_wants_commit(store) && store_is_committed(store));
	for (unsigned i = 0; i < COMMIT_WRITES_MAX; i++) {
		cr_expect_not(store_wants_commit(store));
		shop_put(store, TABLE_LEDGER, key_of(i), span_str("grows at its end: counts for nothing"));
		shop_put(store, TABLE_BODY, key_of(i), span_str("x"));
	}
	cr_expect(store_wants_commit(store));
	cr_expect_gt(store_open_bytes(store), 0);
	shop_submit(store, (wall_us){1});
	shop_settle(store);
	cr_assert_eq(store_commit(store), OK);
	cr_expect_eq(store_counters(store).commits, 3);
	cr_expect_eq(store_counters(store).syncs, COMMIT_RECORDS_MAX + 1);
}

Test(store, readers_see_commits_and_the_writer_its_own)
{
	struct arena arena = {0};
	struct view *reader;
	struct span got;
	open_ok(&place);
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
