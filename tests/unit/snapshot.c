/* Snapshots: made while the tables change, chosen at a start, two of them kept, and never trusted with a
 * wrong bit. */
#include "tests/unit/shop.h"
#include "tests/unit/patience.h"

#include "schemas/lines.h"
#include "store/file.h"
#include "store/snapshot.h"
#include "store/clean_mark.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(snapshot, .init = begin, .fini = end);

enum { ROWS = 60, SIZE = 3000 };

static struct shard_dir small(bool may_format)
{
	struct shard_dir at = shop_place(&test_dir, may_format);
	at.snapshot_after_bytes = UINT64_MAX; /* only on request */
	return at;
}

static void open_small(void)
{
	struct shard_dir at = small(true);
	cr_assert_eq(store_open(&at, (wall_us){1}, &store, &report), OK, "%s", report.what);
}

static struct snapshotter_state done(void)
{
	struct snapshotter_state state;
	for (int i = 0; i < patience_ms(20000); i++) {
		snapshotter_state(store_snapshotter(store), &state);
		if (!state.running) return state;
		usleep(1000);
	}
	cr_assert_fail("the snapshotter does not come to an end");
	return state;
}

static struct snapshotter_state make(enum snapshot_job what, const char *dir)
{
	uint64_t number;
	cr_assert_eq(snapshotter_ask(store_snapshotter(store), what, span_str(dir), &number), OK);
	return done();
}

static struct snapshot snap(void)
{
	struct snapshotter_state state = make(JOB_SNAPSHOT, "");
	cr_assert_eq(state.err, OK, "code %d: %s", state.err, state.faults.texts[0]);
	return state.made;
}

/* Writes one generation of all rows in its own records. */
static void save_all(unsigned generation)
{
	for (unsigned i = 0; i < ROWS; i++)
		shop_save(store, TABLE_BODY, key_of(i), filler(generation * 1000 + i, SIZE));
	cr_assert_eq(store_commit(store), OK);
}

static void expect_all(unsigned generation)
{
	struct span got;
	for (unsigned i = 0; i < ROWS; i++) {
		cr_assert_eq(shop_get(store, TABLE_BODY, key_of(i), &got), OK, "row %u", i);
		cr_expect(span_equal(got, filler(generation * 1000 + i, SIZE)), "row %u", i);
	}
}

static void close_and_distrust(void)
{
	store_close(&store);
	cr_assert_eq(unlinkat(test_dir.fd, "trust", 0), 0);
}

static void path_of(const struct snapshot *made, const char *file, char path[64])
{
	char name[SNAPSHOT_NAME];
	snapshot_name(made->at.seq, name);
	snprintf(path, 64, "snapshots/%s/%s", name, file);
}

Test(snapshot, replaces_the_journal_before_it)
{
	open_small();
	save_all(1);
	struct snapshot made = snap();
	save_all(2);
	close_and_distrust();
	open_small();
	cr_expect(report.rebuilt);
	cr_expect_eq(report.snapshot_seq, made.at.seq);
	cr_expect_eq(report.replayed_records, ROWS);
	expect_all(2);
}

Test(snapshot, two_are_kept_with_the_journal_since_the_older)
{
	struct snapshot made[4];
	open_small();
	for (unsigned i = 0; i < 4; i++) {
		save_all(i);
		made[i] = snap();
	}
	struct snapshotter_state state;
	for (int i = 0; i < patience_ms(5000); i++) {
		snapshotter_state(store_snapshotter(store), &state);
		if (state.snapshot_seq == made[3].at.seq) break;
		usleep(1000);
	}
	cr_expect_eq(state.snapshots, 2);
	cr_expect_eq(state.snapshot_seq, made[3].at.seq);
	cr_expect_eq(state.journal_first_segment, made[2].at.segment);
	cr_expect_gt(made[2].at.segment, 1);
	for (unsigned i = 0; i < 4; i++) {
		char path[64];
		path_of(&made[i], "", path);
		cr_expect_eq(faccessat(test_dir.fd, path, F_OK, 0) == 0, i >= 2, "snapshot %u", i);
	}
	save_all(4);
	close_and_distrust();
	open_small();
	cr_expect_eq(report.snapshot_seq, made[3].at.seq);
	expect_all(4);
}

Test(snapshot, is_not_made_twice_of_the_same_state)
{
	open_small();
	save_all(1);
	struct snapshot first = snap(), second = snap();
	cr_expect_eq(first.at.seq, second.at.seq);
	cr_expect_eq(first.made.v, second.made.v);
}

/* The row's value as of a record, computed from the writes. */
enum { MANY = 250, LOG_MAX = 20000, TRIES_MAX = 20 };
static struct {
	uint64_t seq;
	unsigned row, tag;
} written[LOG_MAX];
static unsigned written_count;

static void write_some(uint64_t *state)
{
	unsigned row = chance_below(state, MANY);
	shop_save(store, TABLE_BODY, key_of(row), filler(written_count, SIZE));
	written[written_count].seq = store_durable_seq(store);
	written[written_count].row = row;
	written[written_count].tag = written_count;
	cr_assert_lt(++written_count, LOG_MAX);
	if (chance_below(state, 3) == 0) cr_assert_eq(store_commit(store), OK);
}

static void expect_as_of(struct view *view, uint64_t seq)
{
	struct span got;
	for (unsigned row = 0; row < MANY; row++) {
		unsigned tag = UINT_MAX;
		for (unsigned i = 0; i < written_count && written[i].seq <= seq; i++)
			if (written[i].row == row) tag = written[i].tag;
		enum err err = view_get(view, TABLE_BODY, key_of(row), &got);
		if (tag == UINT_MAX)
			cr_expect_eq(err, ERR_NOT_FOUND);
		else
			cr_expect(!err && span_equal(got, filler(tag, SIZE)), "row %u as of %zu", row,
			          (size_t)seq);
	}
}

Test(snapshot, of_changing_tables_is_the_state_of_one_record)
{
	uint64_t         number, state = chance_begin(), first;
	struct shard_dir at = small(true);
	struct db       *still;
	struct view     *view;
	struct arena     arena = {0};
	int              fd;
	at.snapshot_bytes_per_s = 6 << 20; /* slow: hundreds of records are written while it copies */
	cr_assert_eq(store_open(&at, (wall_us){1}, &store, &report), OK);
	for (unsigned i = 0; i < 2 * MANY; i++)
		write_some(&state);
	struct snapshotter_state job;
	unsigned                 tries = 0;
	do { /* repeats if the disk was too slow for many writes meanwhile */
		first = store_durable_seq(store);
		cr_assert_eq(snapshotter_ask(store_snapshotter(store), JOB_SNAPSHOT, span_str(""), &number),
		             OK);
		job = (struct snapshotter_state){.running = true};
		while (job.running) {
			write_some(&state);
			snapshotter_state(store_snapshotter(store), &job);
		}
		cr_assert_eq(job.err, OK);
	} while (job.made.at.seq <= first + 10 && ++tries < TRIES_MAX);
	cr_expect_gt(job.made.at.seq, first + 10, "nothing was written meanwhile");
	store_close(&store);
	cr_assert_eq(snapshot_open_dir(test_dir.fd, &job.made, &fd), OK);
	cr_assert_eq(db_open_still(fd, &still), OK);
	cr_assert_eq(db_reader_open(still, &arena, &view), OK);
	cr_assert_eq(db_reader_begin(view), OK);
	expect_as_of(view, job.made.at.seq);
	db_reader_end(view);
	db_reader_close(&view);
	db_close(&still);
	arena_free(&arena);
	close(fd);
}

Test(snapshot, that_is_damaged_is_skipped)
{
	char path[64];
	open_small();
	save_all(1);
	struct snapshot older = snap();
	save_all(2);
	struct snapshot newer = snap();
	close_and_distrust();
	path_of(&newer, "data.mdb", path);
	file_flip(&test_dir, path, 4096 * 5 + 77, 4);
	open_small();
	cr_expect_eq(report.snapshot_seq, older.at.seq);
	cr_expect_eq(report.snapshots_refused, 1);
	expect_all(2);
	close_and_distrust();
	path_of(&older, "manifest", path);
	file_flip(&test_dir, path, 30, 1); /* now only the journal, which is still complete */
	open_small();
	cr_expect_eq(report.snapshot_seq, 0);
	expect_all(2);
}

Test(snapshot, that_is_damaged_and_the_only_source_refuses_the_start)
{
	struct snapshot made[3];
	char            path[64];
	open_small();
	for (unsigned i = 0; i < 3; i++) {
		save_all(i);
		made[i] = snap();
	}
	close_and_distrust();
	for (unsigned i = 1; i < 3; i++) {
		path_of(&made[i], "data.mdb", path);
		file_flip(&test_dir, path, 8192, 1);
	}
	expect_refused(&test_dir, false, ERR_DAMAGED, "snapshots are damaged");
}

Test(snapshot, whose_manifest_has_a_flipped_bit_is_ignored)
{
	char            path[64];
	struct snapshot list[2];
	unsigned        count, broken;
	uint8_t        *text;
	open_small();
	save_all(1);
	struct snapshot made = snap();
	store_close(&store);
	struct shard_dir   at = small(false);
	struct journal_dir dir = {.fd = -1, .shard = at.shard, .segment_bytes = at.segment_bytes};
	memcpy(dir.lineage, at.lineage, sizeof dir.lineage);
	path_of(&made, "manifest", path);
	size_t size = file_read(&test_dir, path, &text);
	free(text);
	for (size_t i = 0; i < size * 8; i++) {
		file_flip(&test_dir, path, i / 8, (uint8_t)(1 << i % 8));
		count = 2;
		cr_assert_eq(snapshot_list(test_dir.fd, &dir, list, &count, &broken), OK);
		cr_expect(count == 0 && broken == 1, "bit %zu", i);
		file_flip(&test_dir, path, i / 8, (uint8_t)(1 << i % 8));
	}
	count = 2;
	cr_assert_eq(snapshot_list(test_dir.fd, &dir, list, &count, &broken), OK);
	cr_expect(count == 1 && broken == 0);
	cr_expect(list[0].at.seq == made.at.seq && !memcmp(list[0].sha256, made.sha256, 32));
}

Test(snapshot, whose_manifest_is_of_another_version_is_refused_by_its_number)
{
	static const char why[] =
	    "/manifest has format version 2, this program knows 1: use the program that wrote it";
	char          path[64];
	struct buffer text = {0};
	open_small();
	save_all(1);
	struct snapshot made = snap();
	store_close(&store);
	path_of(&made, "manifest", path);
	snapshot_manifest_write(&made, &text);
	text.size -= strlen("crc=00000000\n");
	*(uint8_t *)memchr(text.at, '1', text.size) = '2';
	lines_end(&text);
	file_write(&test_dir, path, 0, buffer_span(&text));
	expect_refused(&test_dir, false, ERR_UNSUPPORTED, why);
	close_and_distrust();
	expect_refused(&test_dir, false, ERR_UNSUPPORTED, why);
	buffer_free(&text);
}

Test(snapshot, leaves_nothing_when_it_is_stopped)
{
	uint64_t         number;
	struct shard_dir at = small(true);
	at.snapshot_bytes_per_s = 100 << 10;
	cr_assert_eq(store_open(&at, (wall_us){1}, &store, &report), OK);
	save_all(1);
	cr_assert_eq(snapshotter_ask(store_snapshotter(store), JOB_SNAPSHOT, span_str(""), &number), OK);
	cr_expect_eq(snapshotter_ask(store_snapshotter(store), JOB_SNAPSHOT, span_str(""), &number),
	             ERR_RESOURCE_CONFLICT);
	store_close(&store);
	cr_expect_neq(faccessat(test_dir.fd, "snapshots/new", F_OK, 0), 0);
	open_small();
	cr_expect_not(report.rebuilt);
	expect_all(1);
}

Test(snapshot, as_a_backup_is_a_copy_elsewhere)
{
	struct test_dir elsewhere;
	char            dir[PATH_MAX];
	uint8_t        *bytes;
	test_dir_make(&elsewhere);
	cr_assert_not_null(realpath(elsewhere.path, dir));
	open_small();
	save_all(1);
	uint64_t number;
	cr_expect_eq(snapshotter_ask(store_snapshotter(store), JOB_BACKUP, span_str("relative"), &number),
	             ERR_INVALID_INPUT);
	struct snapshotter_state state = make(JOB_BACKUP, dir);
	cr_assert_eq(state.err, OK, "code %d", state.err);
	size_t size = file_read(&elsewhere, "data.mdb", &bytes);
	cr_expect_eq(size, state.made.bytes);
	free(bytes);
	cr_expect_eq(
	    snapshotter_ask(store_snapshotter(store), JOB_BACKUP, span_str("/nowhere/at/all"), &number),
	    ERR_INVALID_INPUT);
	test_dir_remove(&elsewhere);
}

/* Files of a killed process do not disturb the next one, and foreign files stay. */
Test(snapshot, left_unfinished_is_removed_and_foreign_files_stay)
{
	open_small();
	save_all(1);
	snap();
	store_close(&store);
	cr_assert_eq(mkdirat(test_dir.fd, "snapshots/new", 0700), 0);
	file_write(&test_dir, "snapshots/new/data.mdb", 0, filler(1, 5000));
	file_write(&test_dir, "snapshots/README", 0, span_str("ours"));
	cr_assert_eq(mkdirat(test_dir.fd, "snapshots/kept", 0700), 0);
	file_write(&test_dir, "snapshots/kept/data.mdb", 0, filler(1, 5000));
	open_small();
	for (unsigned i = 2; i < 5; i++) {
		save_all(i);
		snap();
	}
	cr_expect_neq(faccessat(test_dir.fd, "snapshots/new", F_OK, 0), 0);
	cr_expect_eq(faccessat(test_dir.fd, "snapshots/README", F_OK, 0), 0);
	cr_expect_eq(faccessat(test_dir.fd, "snapshots/kept/data.mdb", F_OK, 0), 0);
	struct snapshotter_state state = make(JOB_VERIFY, "");
	cr_expect_eq(state.snapshots, 2);
}

/* An operator's own repair: older tables replace trusted ones. */
/* Its manifest cannot be read: a link to itself has its name. */
Test(snapshot, that_cannot_be_read_is_not_removed)
{
	char path[64], aside[80];
	open_small();
	save_all(1);
	struct snapshot made = snap();
	close_and_distrust();
	path_of(&made, "manifest", path);
	snprintf(aside, sizeof aside, "%s.aside", path);
	cr_assert_eq(renameat(test_dir.fd, path, test_dir.fd, aside), 0);
	cr_assert_eq(symlinkat("manifest", test_dir.fd, path), 0);
	struct journal_dir dir = {.shard = small(false).shard};
	memcpy(dir.lineage, small(false).lineage, sizeof dir.lineage);
	cr_expect_eq(snapshot_prune(test_dir.fd, &dir, SNAPSHOTS_KEPT, NULL), OK);
	cr_expect_eq(faccessat(test_dir.fd, aside, F_OK, 0), 0);
	cr_assert_eq(unlinkat(test_dir.fd, path, 0), 0);
	cr_assert_eq(renameat(test_dir.fd, aside, test_dir.fd, path), 0);
	open_small();
	cr_expect_eq(report.snapshot_seq, made.at.seq);
	expect_all(1);
}

Test(snapshot, replaces_tables_that_do_not_match_the_journal)
{
	uint8_t *bytes;
	open_small();
	save_all(1);
	store_close(&store);
	size_t size = file_read(&test_dir, "db/data.mdb", &bytes);
	for (unsigned i = 2; i < 6; i++) {
		open_small();
		save_all(i);
		snap();
		store_close(&store);
	}
	file_write(&test_dir, "db/data.mdb", 0, span_of(bytes, size));
	free(bytes);
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK); /* as a killed process leaves it */
	open_small();
	cr_expect(report.rebuilt);
	expect_all(5);
}

/* Erasures ---------------------------------------------------------------------------------------------------- */

/* Writes a record at that time. */
static void save_at(int64_t now, struct span name, int64_t value)
{
	uint8_t bytes[8];
	put_le64(bytes, (uint64_t)value);
	shop_put(store, TABLE_META, name, span_of(bytes, sizeof bytes));
	shop_submit(store, (wall_us){now});
	shop_settle(store);
	cr_assert_eq(store_commit(store), OK);
}

static bool is_wanted(void)
{
	for (unsigned i = 0; i < 5000 && !snapshotter_wants_segment(store_snapshotter(store)); i++)
		usleep(1000);
	return snapshotter_wants_segment(store_snapshotter(store));
}

static struct snapshotter_state await_snapshots(unsigned count, uint64_t after_seq)
{
	struct snapshotter_state state;
	for (unsigned i = 0; i < 10000; i++) {
		snapshotter_state(store_snapshotter(store), &state);
		if (state.snapshots == count && state.snapshot_seq > after_seq) return state;
		usleep(1000);
	}
	cr_assert_fail("%u snapshots, the last of %llu", state.snapshots,
	               (unsigned long long)state.snapshot_seq);
	return state;
}

/* Two snapshots after the erasure and no journal before them, with or without other writes. */
Test(snapshot, erased_data_disappears_from_snapshots_and_journal)
{
	struct shard_dir at = small(true);
	at.forget_after_s = -1;
	cr_assert_eq(store_open(&at, (wall_us){1}, &store, &report), OK, "%s", report.what);
	save_all(1);
	uint64_t before = store_counters(store).seq;
	usleep(1500000); /* the snapshotter has checked */
	cr_expect(!snapshotter_wants_segment(store_snapshotter(store)), "nothing was erased");
	save_at(1000, span_str("erased"), 1000);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert(is_wanted());
		store_begin_segment(store);
		save_at(1001 + i, span_str("segment_begun"), 1001 + i);
		struct snapshotter_state state = await_snapshots(i + 1, before);
		before = state.snapshot_seq;
	}
	struct snapshotter_state state = await_snapshots(2, before - 1);
	for (unsigned i = 0; i < 5000 && state.journal_first_segment < 2; i++) {
		usleep(1000);
		snapshotter_state(store_snapshotter(store), &state);
	}
	cr_expect_geq(state.journal_first_segment, 2);
	save_at(2000, span_str("segment_begun"), 2000);
	usleep(1500000);
	cr_expect(!snapshotter_wants_segment(store_snapshotter(store)), "the data has disappeared");
	snapshotter_state(store_snapshotter(store), &state);
	cr_expect_eq(state.snapshot_seq, before);
	expect_all(1);
}

Test(snapshot, an_erasure_waits_its_time)
{
	open_small();
	save_all(1);
	uint64_t seq = snap().at.seq;
	save_at(1000, span_str("erased"), 1000);
	usleep(1500000);
	struct snapshotter_state state;
	snapshotter_state(store_snapshotter(store), &state);
	cr_expect(!snapshotter_wants_segment(store_snapshotter(store)) && state.snapshot_seq == seq);
}
