/* Verification of a whole directory: sound ones of every kind have no fault, each damaged part is reported by
 * name, and nothing is changed. */
#include "tests/unit/shop.h"

#include "schemas/crc32c.h"
#include "store/keys.h"
#include "store/verify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 900, RECORDS_A_SEGMENT = 63 };

static struct verify_report seen;
static unsigned             accounts;

TestSuite(verify, .init = begin, .fini = end);

/* Making -------------------------------------------------------------------------------------------------- */

static void open_here(void)
{
	struct shard_dir at = shop_place(&test_dir, true);
	at.snapshot_after_bytes = UINT64_MAX; /* only on request */
	cr_assert_eq(store_open(&at, (wall_us){1}, &store, &report), OK, "%s", report.what);
}

static void stop(void)
{
	store_close(&store);
}

/* One more account, in its own record, with the longest possible row. */
static void save_account(void)
{
	uint8_t           value[21 + NAME_BYTES] = {0};
	struct account_id id = {.b = {1}};
	put_be32(id.b + 4, ++accounts);
	memset(value + 21, 'x', NAME_BYTES);
	struct row_key key = key_account(id);
	shop_save(store, TABLE_ACCOUNT, key_span(&key), span_of(value, sizeof value));
}

static void save_accounts(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		save_account();
	cr_assert_eq(store_commit(store), OK);
}

static struct snapshotter_state keep(enum snapshot_job what)
{
	struct snapshotter_state state;
	uint64_t                 number;
	cr_assert_eq(snapshotter_ask(store_snapshotter(store), what, span_of(NULL, 0), &number), OK);
	for (snapshotter_state(store_snapshotter(store), &state); state.running;
	     snapshotter_state(store_snapshotter(store), &state))
		usleep(1000);
	cr_assert_eq(state.err, OK, "%s", err_code(state.err));
	return state;
}

static struct snapshot snap(void)
{
	return keep(JOB_SNAPSHOT).made;
}

/* Two snapshots, and only the journal after the older one. */
static void make_pruned(void)
{
	open_here();
	save_accounts(3 * RECORDS_A_SEGMENT);
	snap();
	save_accounts(RECORDS_A_SEGMENT);
	snap();
	save_accounts(RECORDS_A_SEGMENT);
}

/* Looking ------------------------------------------------------------------------------------------------- */

static enum err look_at(const struct shard_dir *at, bool served, uint64_t durable_seq)
{
	struct progress     progress = {.done = 0};
	struct verify_order order = {
	    .shard_dir = at, .served = served, .durable_seq = durable_seq, .progress = &progress};
	return verify_shard(&order, &seen);
}

static void look(const struct test_dir *there)
{
	struct shard_dir at = shop_place(there, false);
	struct test_dir  before;
	test_dir_copy(there, &before);
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect(test_dir_same(there, &before), "the verification changed a file");
	test_dir_remove(&before);
}

static void expect_sound(const struct test_dir *there)
{
	look(there);
	cr_expect_eq(seen.faults.count, 0, "%s", seen.faults.texts[0]);
}

static bool is_told(const char *want)
{
	for (uint64_t i = 0; i < seen.faults.count && i < FAULTS_KEPT; i++)
		if (strstr(seen.faults.texts[i], want)) return true;
	return false;
}

static void expect_fault(const struct test_dir *there, const char *want)
{
	look(there);
	cr_expect(is_told(want), "no \"%s\" among %" PRIu64 " faults, the first: %s", want, seen.faults.count,
	          seen.faults.count ? seen.faults.texts[0] : "none");
}

/* Sound --------------------------------------------------------------------------------------------------- */

Test(verify, finds_no_fault_in_a_new_directory)
{
	open_here();
	stop();
	expect_sound(&test_dir);
	cr_expect(seen.seq == 1 && seen.records == 1 && seen.tables && seen.snapshots == 0);
}

Test(verify, finds_no_fault_after_a_stop_a_kill_and_many_starts)
{
	for (unsigned i = 0; i < 4; i++) {
		open_here();
		save_accounts(20);
		if (i == 2) test_dir_copy(&test_dir, &copy);
		stop();
	}
	expect_sound(&copy);
	cr_expect_eq(seen.audit.accounts, 60);
	expect_sound(&test_dir);
	cr_expect_eq(seen.audit.accounts, 80);
	cr_expect_eq(seen.records, 84);
	cr_expect_eq(seen.seq, 84);
	cr_expect(seen.tables);
}

Test(verify, finds_no_fault_in_a_journal_that_begins_after_snapshots)
{
	make_pruned();
	test_dir_copy(&test_dir, &copy);
	stop();
	expect_sound(&copy);
	expect_sound(&test_dir);
	cr_expect_eq(seen.snapshots, 2);
	cr_expect_eq(seen.seq, 5 * RECORDS_A_SEGMENT + 1);
	cr_expect_lt(seen.records, seen.seq);
	cr_expect_eq(seen.audit.accounts, 5 * RECORDS_A_SEGMENT);
}

Test(verify, accepts_an_unfinished_tail)
{
	open_here();
	save_accounts(10);
	test_dir_copy(&test_dir, &copy);
	stop();
	struct found last = find_record(&copy, 11);
	file_write(&copy, last.name, last.at + 3 * RECORD_ALIGN, filler(1, 500));
	expect_sound(&copy);
}

Test(verify, checks_the_sources_of_untrusted_tables)
{
	make_pruned();
	test_dir_copy(&test_dir, &copy);
	stop();
	cr_assert_eq(unlinkat(copy.fd, "trust", 0), 0);
	file_flip(&copy, "db/data.mdb", 3 * 4096 + 20, 1);
	struct shard_dir at = shop_place(&copy, false);
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect_eq(seen.faults.count, 0, "%s", seen.faults.texts[0]);
	cr_expect_not(seen.tables);
	cr_expect_eq(seen.audit.accounts, 4 * RECORDS_A_SEGMENT, "of the newest snapshot");
}

Test(verify, reads_a_served_directory_up_to_its_durable_end)
{
	make_pruned();
	struct shard_dir at = shop_place(&test_dir, false);
	uint64_t         seq = store_durable_seq(store);
	cr_assert_eq(look_at(&at, true, seq - 7), OK);
	cr_expect_eq(seen.faults.count, 0, "%s", seen.faults.texts[0]);
	cr_expect_eq(seen.seq, seq - 7);
	cr_assert_eq(look_at(&at, true, seq + 1), OK);
	cr_expect(is_told("is damaged or missing"), "%s", seen.faults.texts[0]);
}

Test(verify, can_be_stopped)
{
	make_pruned();
	stop();
	struct progress     progress = {.stop = true};
	struct shard_dir    at = shop_place(&test_dir, false);
	struct verify_order order = {.shard_dir = &at, .progress = &progress};
	cr_expect_eq(verify_shard(&order, &seen), ERR_STOPPED);
}

Test(verify, reports_progress_up_to_the_announced_total)
{
	make_pruned();
	stop();
	struct progress     progress = {.done = 5};
	struct shard_dir    at = shop_place(&test_dir, false);
	struct verify_order order = {.shard_dir = &at, .progress = &progress};
	cr_assert_eq(verify_shard(&order, &seen), OK);
	uint64_t total = atomic_load(&progress.total), done = atomic_load(&progress.done);
	cr_expect_gt(done, total / 2);
	cr_expect_leq(done, total);
}

/* Damage -------------------------------------------------------------------------------------------------- */

Test(verify, names_the_place_of_any_damaged_record_but_an_unfinished_last_one)
{
	open_here();
	save_accounts(2 * RECORDS_A_SEGMENT + 5);
	test_dir_copy(&test_dir, &copy);
	stop();
	for (uint64_t seq = 1; seq < 2 * RECORDS_A_SEGMENT + 5; seq += 7) {
		struct found at = find_record(&copy, seq);
		char         want[96];
		snprintf(want, sizeof want, "record %" PRIu64 " is damaged or missing", seq);
		file_flip(&copy, at.name, at.at + seq % at.size, 4);
		expect_fault(&copy, want);
		file_flip(&copy, at.name, at.at + seq % at.size, 4);
	}
	expect_sound(&copy);
}

Test(verify, reports_a_damaged_beginning_after_snapshots)
{
	make_pruned();
	stop();
	char name[SEGMENT_NAME], path[64];
	segment_name(4, name);
	snprintf(path, sizeof path, "journal/%s", name);
	file_flip(&test_dir, path, RECORD_ALIGN + 60, 1);
	expect_fault(&test_dir, "journal segment 4: its first record is damaged");
}

/* The last record, rewritten by `change` with a valid checksum. */
static void change_last_record(void (*change)(uint8_t *head))
{
	struct found last = find_record(&test_dir, 11);
	uint8_t     *bytes;
	file_read(&test_dir, last.name, &bytes);
	uint8_t *head = bytes + last.at;
	change(head);
	put_le32(head + 32, crc32c(crc32c(0, head + RECORD_OUTER, last.size - RECORD_OUTER), head, 32));
	file_write(&test_dir, last.name, last.at, span_of(head, last.size));
	free(bytes);
}

static void count_more(uint8_t *head)
{
	put_le32(head + 84, get_le32(head + 84) + 1);
}

static void raise_version(uint8_t *head)
{
	head[4] = RECORD_VERSION + 1;
}

Test(verify, reports_a_record_with_invalid_operations)
{
	open_here();
	save_accounts(10);
	stop();
	change_last_record(count_more);
	expect_fault(&test_dir, "record 11 holds operations of a wrong form");
}

Test(verify, reports_a_record_of_another_version)
{
	open_here();
	save_accounts(10);
	stop();
	change_last_record(raise_version);
	expect_fault(&test_dir, "a record in journal/00000000000000000001.seg has format version 3");
}

Test(verify, tells_bytes_behind_a_record_that_are_not_zeros)
{
	open_here();
	save_accounts(10);
	stop();
	struct found one = find_record(&test_dir, 5);
	file_flip(&test_dir, one.name, one.at + RECORD_ALIGN - 1, 0x80);
	expect_fault(&test_dir, "the bytes behind record 5 are not zeros");
}

Test(verify, reports_a_missing_last_record_that_the_tables_have)
{
	open_here();
	save_accounts(10);
	stop();
	struct found last = find_record(&test_dir, 11);
	file_flip(&test_dir, last.name, last.at, 1);
	expect_fault(&test_dir, "tables: stands at record 11, which the journal does not hold");
}

Test(verify, reports_damaged_and_missing_segments)
{
	make_pruned();
	stop();
	char name[SEGMENT_NAME], path[64], want[96];
	segment_name(5, name);
	snprintf(path, sizeof path, "journal/%s", name);
	file_flip(&test_dir, path, 30, 1);
	snprintf(want, sizeof want, "journal segment 5: its head or size is damaged");
	expect_fault(&test_dir, want);
	cr_expect(is_told("cannot be read on behind record"));
	file_flip(&test_dir, path, 30, 1);
	expect_sound(&test_dir);
	cr_assert_eq(renameat(test_dir.fd, path, test_dir.fd, "aside"), 0);
	expect_fault(&test_dir, "journal: 1 segments are missing between 4 and ");
	cr_assert_eq(renameat(test_dir.fd, "aside", test_dir.fd, path), 0);
	expect_sound(&test_dir);
}

static void path_of(const struct snapshot *snapshot, const char *file, char path[64])
{
	char name[SNAPSHOT_NAME];
	snapshot_name(snapshot->at.seq, name);
	snprintf(path, 64, "snapshots/%s/%s", name, file);
}

Test(verify, reports_damaged_snapshots)
{
	char path[64], want[96];
	make_pruned();
	struct snapshot made = snap();
	stop();
	path_of(&made, "data.mdb", path);
	file_flip(&test_dir, path, 5000, 1);
	snprintf(want, sizeof want, "snapshot %" PRIu64 ": data.mdb is missing, or not the bytes",
	         made.at.seq);
	expect_fault(&test_dir, want);
	file_flip(&test_dir, path, 5000, 1);
	expect_sound(&test_dir);
	path_of(&made, "manifest", path);
	file_flip(&test_dir, path, 50, 1);
	expect_fault(&test_dir, "snapshots: 1 without a manifest that can be read");
}

Test(verify, reports_a_snapshot_whose_position_contradicts_its_manifest)
{
	struct buffer text = {0};
	char          path[64];
	open_here();
	save_accounts(5);
	struct snapshot made = snap();
	stop();
	made.at.epoch += 8;
	snapshot_manifest_write(&made, &text);
	path_of(&made, "manifest", path);
	file_write(&test_dir, path, 0, buffer_span(&text));
	buffer_free(&text);
	expect_fault(&test_dir, "snapshot 6: its tables stand at record 6");
}

Test(verify, reports_damaged_tables_of_a_killed_shard)
{
	open_here();
	save_accounts(10);
	test_dir_copy(&test_dir, &copy);
	stop();
	uint8_t *bytes;
	size_t   size = file_read(&copy, "db/data.mdb", &bytes);
	for (size_t at = 0; at + 8 < size; at++) /* every page's copy of it */
		if (!memcmp(bytes + at, "applied", 7)) file_flip(&copy, "db/data.mdb", at + 7 + 16, 1);
	free(bytes);
	expect_fault(&copy, "tables: its position cannot be read");
	cr_expect(is_told("tables: table meta: "));
	file_write(&copy, "db/data.mdb", 0, filler(1, 8192));
	expect_fault(&copy, "tables: data.mdb cannot be opened");
	cr_expect_not(seen.tables);
}

Test(verify, reports_damage_after_a_clean_shutdown)
{
	open_here();
	save_accounts(10);
	stop();
	struct shard_dir at = shop_place(&test_dir, false);
	file_flip(&test_dir, "db/data.mdb", 5000, 1);
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect(is_told("tables: db/data.mdb is not what a clean stop has left"));
	file_flip(&test_dir, "db/data.mdb", 5000, 1);
	file_flip(&test_dir, "trust", 40, 1);
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect(is_told("trust: the mark is damaged"));
	file_flip(&test_dir, "trust", 40, 1);
	expect_sound(&test_dir);
}

Test(verify, reports_the_missing_journal_of_a_snapshot)
{
	make_pruned();
	struct snapshot newest = snap();
	stop();
	char     name[SEGMENT_NAME], path[64];
	uint64_t first = newest.at.segment;
	for (uint64_t number = 1; number < first; number++) {
		segment_name(number, name);
		snprintf(path, sizeof path, "journal/%s", name);
		(void)unlinkat(test_dir.fd, path, 0);
	}
	expect_fault(&test_dir, "which the journal does not hold");
}

Test(verify, reports_the_missing_snapshots_of_a_journal)
{
	make_pruned();
	stop();
	struct journal_dir dir = {.shard = 7, .lineage = {9, 8, 7, 6, 5, 4, 3, 2, 1}};
	cr_assert_eq(snapshot_prune(test_dir.fd, &dir, 0, NULL), OK);
	expect_fault(&test_dir, ", and there is no snapshot of what was before");
}

Test(verify, reports_a_missing_journal_only_where_one_is_required)
{
	struct shard_dir at = shop_place(&test_dir, true);
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect_eq(seen.faults.count, 0, "a directory that may become a store: %s", seen.faults.texts[0]);
	at.may_format = false;
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect(is_told("journal and snapshots: missing"), "%s", seen.faults.texts[0]);
}

/* As a restore creates it: only the snapshot; its journal would begin after it. */
Test(verify, accepts_a_restored_directory_that_was_never_served)
{
	open_here();
	save_accounts(30);
	struct snapshot made = snap();
	test_dir_copy(&test_dir, &copy);
	stop();
	char          name[SNAPSHOT_NAME], path[64];
	struct buffer text = {0};
	snapshot_name(made.at.seq, name);
	snprintf(path, sizeof path, "snapshots/%s/manifest", name);
	made.at.segment = made.at.offset = made.at.record_offset = 0;
	snapshot_manifest_write(&made, &text);
	int fd = openat(copy.fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	cr_assert(fd >= 0 && write(fd, text.at, text.size) == (ssize_t)text.size);
	close(fd);
	buffer_free(&text);
	for (uint64_t number = 1; number < 3; number++) {
		char segment[SEGMENT_NAME];
		segment_name(number, segment);
		snprintf(path, sizeof path, "journal/%s", segment);
		(void)unlinkat(copy.fd, path, 0);
	}
	cr_assert_eq(unlinkat(copy.fd, "trust", 0), 0);
	struct shard_dir at = shop_place(&copy, false);
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect(is_told("journal: missing"), "%s", seen.faults.texts[0]);
	at.restored = true;
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect_eq(seen.faults.count, 0, "%s", seen.faults.texts[0]);
	cr_expect_eq(seen.seq, made.at.seq);

	cr_assert_eq(store_open(&at, (wall_us){1}, &store, &report), OK, "%s", report.what);
	save_accounts(5);
	stop();
	at.restored = false;
	cr_assert_eq(look_at(&at, false, 0), OK);
	cr_expect_eq(seen.faults.count, 0, "%s", seen.faults.texts[0]);
	cr_expect_eq(seen.audit.accounts, 35);
}

/* A later start would use it, and the journal with the right data would be gone. */
Test(verify, keeps_no_faulty_snapshot)
{
	struct row_key key = key_u32((struct account_id){{'n'}}, 0);
	int            fd = -1;
	make_pruned();
	struct snapshot sound = snap();
	shop_save(store, TABLE_STATUS, key_span(&key), span_str("of no account"));
	cr_assert_eq(store_commit(store), OK);
	struct snapshotter_state state = keep(JOB_VERIFY);
	cr_expect_gt(state.faults.count, 0);
	cr_expect_gt(state.made.at.seq, sound.at.seq);
	cr_expect_neq(snapshot_open_dir(test_dir.fd, &state.made, &fd), OK);
	cr_assert_eq(snapshot_open_dir(test_dir.fd, &sound, &fd), OK);
	close(fd);
}
