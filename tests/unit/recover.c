/* Recovery after a crash: durable records are present, others are gone, and damage is refused. A crash is
 * made in two ways: the directory is copied while the store is open, or the process ends without closing
 * it. */
#include "tests/unit/shop.h"

#include "schemas/bytes.h"
#include "store/db_inside.h"
#include "store/recover.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

TestSuite(recover, .init = begin, .fini = end);

/* Crashes ------------------------------------------------------------------------------------------------- */

Test(recover, durable_records_are_replayed_though_never_committed)
{
	open_ok(&test_dir);
	for (unsigned i = 0; i < 30; i++)
		save(i, i * 300);
	shop_put(store, TABLE_BODY, key_of(100), span_str("never submitted"));
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	open_ok(&copy);
	cr_expect_eq(report.replayed_records, 30);
	cr_expect(report.epoch == 2 && report.seq == 32 && !report.cut_tail);
	for (unsigned i = 0; i < 30; i++)
		cr_expect(holds(i, i * 300), "row %u", i);
	cr_expect(is_missing(100));
}

/* The records are durable, some are also committed; then the process ends. */
static int die_after_thirty(void *user)
{
	unsigned committed = *(unsigned *)user;
	must(!shop_open(&test_dir, true, &store, &report));
	for (unsigned i = 0; i < 30; i++) {
		save(i, 2500);
		if (i + 1 == committed) must(!store_commit(store));
	}
	_exit(33);
}

Test(recover, survives_a_crash_between_journal_and_commit)
{
	static const unsigned committed[] = {0, 1, 17, 30};
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(in_child(die_after_thirty, (void *)(uintptr_t)&committed[i]), 33);
		open_ok(&test_dir);
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
	must(!shop_open(&test_dir, true, &store, &report));
	for (unsigned i = 0; i < MANY; i++)
		save(i, 700);
	_exit(0);
}

static int open_and_stop(void *user)
{
	struct rlimit limit = {*(rlim_t *)user, RLIM_INFINITY};
	must(!setrlimit(RLIMIT_FSIZE,
	                &limit)); /* the write that reaches it is short; one beyond it kills the process */
	enum err err = shop_open(&test_dir, false, &store, &report);
	_exit(err == ERR_IO ? 1 : err ? 2 : 0);
}

static struct applied applied_of(const struct test_dir *at)
{
	struct applied applied;
	struct db     *db;
	int            fd = openat(at->fd, "db", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(db_open(fd, MAP_BYTES, shop_lineage, &db), OK);
	cr_assert_eq(db_begin(db), OK);
	cr_assert_eq(db_applied(db_view(db, NULL, NULL), &applied), OK);
	db_close(&db);
	close(fd);
	return applied;
}

/* The file size limit rises step by step. Replay fails at ever later commits, and each attempt continues from
 * the previous one. */
Test(recover, interrupted_replay_continues)
{
	unsigned deaths = 0, stages = 0;
	uint64_t applied = 1;
	rlim_t   limit = 600 << 10;
	cr_assert_eq(in_child(leave_much_to_replay, NULL), 0);
	for (int died; (died = in_child(open_and_stop, &limit)); limit += 64 << 10) {
		cr_assert(died == 1 || died == -SIGXFSZ);
		uint64_t now = applied_of(&test_dir).seq;
		cr_assert_geq(now, applied);
		stages += now > applied;
		applied = now;
		cr_assert_lt(++deaths, 200);
	}
	cr_expect_geq(stages, 3, "only %u of %u deaths were within the replay", stages, deaths);
	open_ok(&test_dir);
	for (unsigned i = 0; i < MANY; i++)
		cr_assert(holds(i, 700), "row %u", i);
}

/* Tails --------------------------------------------------------------------------------------------------- */

Test(recover, an_unacknowledged_torn_record_is_cut)
{
	open_ok(&test_dir);
	save(1, 9000);
	save(2, 9000);
	test_dir_copy(&test_dir, &copy);
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

/* An incomplete record at the beginning of a segment: the segment is removed with it, and the next record is
 * in a blank one. */
Test(recover, a_torn_record_at_a_segments_beginning_removes_the_segment)
{
	uint8_t *bytes;
	open_ok(&test_dir);
	for (unsigned i = 1; i <= 5; i++)
		save(i, 60000); /* the fifth begins the second segment */
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	struct found torn = find_record(&copy, 6);
	cr_assert_str_eq(torn.name, "journal/00000000000000000002.seg");
	cr_assert_eq(torn.at, RECORD_ALIGN);
	file_flip(&copy, torn.name, torn.at + 30000, 1);
	open_ok(&copy);
	cr_expect(report.cut_tail && report.seq == 6);
	cr_expect(holds(4, 60000) && is_missing(5));
	save(5, 10);
	size_t size = file_read(&copy, torn.name, &bytes);
	for (size_t at = 3 * RECORD_ALIGN; at < size; at++) /* after the epoch and the new fifth */
		cr_assert_eq(bytes[at], 0, "byte %zu", at);
	free(bytes);
}

Test(recover, a_flipped_byte_before_an_acknowledged_record_is_refused_and_nothing_changed)
{
	char where[64];
	open_ok(&test_dir);
	for (unsigned i = 1; i <= 12; i++)
		save(i, i * 900);
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	for (unsigned seq = 2; seq <= 12; seq++) {
		struct found found = find_record(&copy, seq);
		size_t       flips[] = {found.at, found.at + 50, found.at + 32, found.at + RECORD_HEAD,
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

Test(recover, a_committed_record_that_the_journal_has_lost_is_refused)
{
	open_ok(&test_dir);
	save(1, 100);
	save(2, 9000);
	store_close(&store);
	test_dir_copy(&test_dir, &copy);
	struct found last = find_record(&copy, 3);
	file_flip(&copy, last.name, last.at + 5000, 1);
	expect_refused(&copy, false, ERR_DAMAGED, "the journal lacks a record the tables hold");
}

/* A position far ahead, with the right checksum. */
static struct span position_row(uint8_t       row[7 + APPLIED_BYTES + CRC_BYTES],
                                const uint8_t lineage[LINEAGE_BYTES])
{
	uint8_t *value = row + 7;
	memcpy(row, "applied", 7);
	memset(value, 'A', APPLIED_BYTES);
	memcpy(value + 4, lineage, LINEAGE_BYTES);
	put_le32(value + APPLIED_BYTES, row_crc(TABLE_META, span_of(row, 7), value, APPLIED_BYTES));
	return span_of(row, 7 + APPLIED_BYTES + CRC_BYTES);
}

/* A client can store such bytes, but does not know the lineage. */
Test(recover, a_client_s_text_is_no_proof_of_acknowledged_records)
{
	static const uint8_t guess[LINEAGE_BYTES] = "AAAAAAAAAAAAAAA";
	uint8_t              row[7 + APPLIED_BYTES + CRC_BYTES];
	for (unsigned is_known = 0; is_known < 2; is_known++) {
		open_ok(&test_dir);
		shop_save(store, TABLE_AUDIENCE, span_str("text"),
		          position_row(row, is_known ? shop_lineage : guess));
		cr_assert_eq(store_commit(store), OK);
		store_close(&store);
		cr_assert_eq(unlinkat(test_dir.fd, "trust", 0), 0); /* as after a power cut */
		if (!is_known) {
			open_ok(&test_dir);
			store_close(&store);
		} else { /* which shows that the row has the right form */
			expect_refused(&test_dir, false, ERR_DAMAGED, "its newest segments are missing");
		}
	}
}

/* Tables brought up along a journal ------------------------------------------------------------------------ */

Test(recover, catching_up_ends_at_its_target_and_can_be_stopped)
{
	struct progress progress = {.stop = true};
	struct db      *db;
	open_ok(&test_dir);
	save(1, 100);
	store_close(&store);
	test_dir_copy(&test_dir, &copy);
	open_ok(&test_dir);
	for (unsigned i = 2; i < 12; i++)
		save(i, 100);
	store_close(&store);
	struct applied     from = applied_of(&copy), to = applied_of(&test_dir);
	struct shard_dir   at = shop_place(&test_dir, false);
	struct journal_dir dir = {.fd = openat(test_dir.fd, "journal", O_RDONLY | O_DIRECTORY),
	                          .shard = at.shard,
	                          .segment_bytes = at.segment_bytes};
	int                fd = openat(copy.fd, "db", O_RDONLY | O_DIRECTORY);
	memcpy(dir.lineage, at.lineage, sizeof dir.lineage);
	cr_assert_eq(db_open(fd, MAP_BYTES, shop_lineage, &db), OK);
	cr_assert_eq(db_begin(db), OK);
	cr_expect_eq(recover_catch_up(&dir, db, &from, &to, &progress), ERR_STOPPED);
	cr_expect_gt(progress.done, 0);
	cr_expect_eq(recover_catch_up(&dir, db, &from, &to, NULL), OK,
	             "the rows have the expected values again");
	cr_expect_eq(db_commit(db, &to), OK);
	db_close(&db);
	close(fd);
	close(dir.fd);
}
