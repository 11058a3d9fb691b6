/* Writing the journal: submitted records become durable in order, in consecutive segments, and a failed write
 * is final. Recovery's own scan reads them back. */
#include "tests/unit/support.h"

#include "store/sync_pace.h"
#include "store/journal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NO_SYNC_IS_QUICK = -1 };

static struct test_dir    test_dir;
static struct journal_dir dir;
static struct journal    *journal;
static struct position    at; /* where the journal was opened */

static void begin(void)
{
	test_dir_make(&test_dir);
	dir = (struct journal_dir){.fd = test_dir.fd,
	                           .shard = 3,
	                           .lineage = {1, 2, 3},
	                           .segment_bytes = SEGMENT_BYTES,
	                           .quick_sync_us = NO_SYNC_IS_QUICK};
	at = (struct position){0};
	cr_assert_eq(journal_open(&dir, &at, (wall_us){1000}, &journal), OK);
}

static void end(void)
{
	journal_close(&journal);
	test_dir_remove(&test_dir);
}

TestSuite(journal, .init = begin, .fini = end);

static enum err add(uint64_t tag, size_t size)
{
	struct write write = {
	    .kind = WRITE_PUT, .table = TABLE_BODY, .key = span_str("key"), .value = filler(tag, size)};
	return journal_add(journal, &write);
}

/* One turn of the writer's loop. Twenty seconds of turns count as a hang. */
static void turn(void)
{
	static unsigned turns;
	struct pollfd   news = {.fd = journal_fd(journal), .events = POLLIN};
	(void)poll(&news, 1, 1);
	cr_assert_eq(journal_settle(journal), OK);
	cr_assert_lt(++turns, 20000);
}

static void save(uint64_t tag, size_t size)
{
	cr_assert_eq(add(tag, size), OK);
	while (!journal_can_submit(journal))
		turn();
	journal_submit(journal, (wall_us){(int64_t)tag});
	while (journal_is_syncing(journal))
		turn();
}

/* Reads all records. Records of kind WRITES have filler(tag) with tag counting from 1, and its time. */
static unsigned read_back(void)
{
	struct scan     scan;
	struct position from = {0};
	struct record   record;
	struct arena    arena = {0};
	struct write    write;
	uint64_t        first, last, tag = 0;
	enum err        err;
	cr_assert_eq(segment_range(&dir, &first, &last), OK);
	scan_begin(&scan, &dir, last);
	while (!(err = scan_next(&scan, &from, &record))) {
		cr_assert_eq(record.durable_seq, record.seq - 1, "one record at a time");
		if (record.kind == RECORD_EPOCH) {
			cr_assert_eq(record.writes.size, 0);
			continue;
		}
		cr_assert_eq(record.now.v, (int64_t)++tag);
		struct span left = record.writes;
		while (!(err = record_next(&left, &arena, &write)))
			cr_assert(span_equal(write.value, filler(tag, write.value.size)), "record %zu",
			          (size_t)tag);
		cr_assert_eq(err, ERR_NOT_FOUND);
	}
	cr_assert_eq(err, ERR_NOT_FOUND);
	scan_end(&scan);
	arena_free(&arena);
	return (unsigned)tag;
}

static void begin_again(void)
{
	journal_close(&journal);
	cr_assert_null(journal);
	cr_assert_eq(journal_open(&dir, &at, (wall_us){1000}, &journal), OK);
}

Test(journal, begins_with_an_epoch)
{
	cr_expect(at.segment == 1 && at.offset == 2 * RECORD_ALIGN && at.seq == 1 && at.epoch == 1);
	cr_expect(journal_durable_seq(journal) == 1 && journal_decided_seq(journal) == 1);
	cr_expect(journal_open_bytes(journal) == 0 && !journal_can_submit(journal) &&
	          !journal_is_syncing(journal));
	for (unsigned life = 2; life < 5; life++) {
		begin_again();
		cr_expect(at.segment == 1 && at.offset == (life + 1) * RECORD_ALIGN && at.seq == life &&
		          at.epoch == life);
	}
}

Test(journal, a_start_leaves_a_segment_of_which_a_quarter_is_used)
{
	uint64_t tag = 1;
	while (journal_position(journal).offset < SEGMENT_BYTES / 4)
		save(tag++, 100);
	at = journal_position(journal);
	begin_again();
	cr_expect(at.segment == 2 && at.offset == 2 * RECORD_ALIGN);
	begin_again();
	cr_expect(at.segment == 2 && at.offset == 3 * RECORD_ALIGN);
	save(tag, 100);
	cr_expect_eq(read_back(), tag);
}

Test(journal, a_start_leaves_a_segment_with_something_behind_its_last_record)
{
	int      fd;
	uint64_t bytes;
	journal_close(&journal);
	cr_assert_eq(segment_open(&dir, 1, &fd, &bytes), OK);
	cr_assert_eq(pwrite(fd, "x", 1, (off_t)bytes - 1), 1);
	close(fd);
	cr_assert_eq(journal_open(&dir, &at, (wall_us){1000}, &journal), OK);
	cr_expect(at.segment == 2 && at.offset == 2 * RECORD_ALIGN);
}

/* The disk is so quick that no thread needs to be woken: the record is durable when submit returns. */
Test(journal, a_quick_disk_is_synced_by_the_writer_itself)
{
	journal_close(&journal);
	dir.quick_sync_us = INT64_MAX;
	cr_assert_eq(journal_open(&dir, &at, (wall_us){1000}, &journal), OK);
	for (unsigned i = 0; i < 100; i++) {
		cr_assert_eq(add(1, 100), OK);
		while (!journal_can_submit(journal)) /* the next segment is created beside this one */
			turn();
		journal_submit(journal, (wall_us){1});
		cr_assert_eq(journal_settle(journal), OK);
		cr_assert_not(journal_is_syncing(journal));
		cr_assert_eq(journal_durable_seq(journal), at.seq + 1 + i);
	}
}

Test(journal, a_disk_that_stalled_once_is_not_slow_for_good)
{
	struct sync_pace pace = {0};
	sync_pace_add(&pace, 1000, 10000000, SYNC_LARGE_BYTES);
	cr_expect_eq(pace.byte_ps, SYNC_BYTE_PS_MAX / SYNC_LARGE_RECENT, "ten seconds count as a slow disk");
	sync_pace_add(&pace, 1000 + SYNC_LARGE_VALID_US, 100, 100);
	cr_expect_gt(pace.byte_ps, 0);
	sync_pace_add(&pace, 1001 + SYNC_LARGE_VALID_US, 100, 100);
	cr_expect_eq(pace.byte_ps, 0, "too long ago");
}

Test(journal, large_records_say_what_a_byte_takes)
{
	journal_close(&journal);
	test_dir_remove(&test_dir);
	test_dir_make(&test_dir);
	dir.fd = test_dir.fd;
	dir.segment_bytes = 4 << 20;
	at = (struct position){0};
	cr_assert_eq(journal_open(&dir, &at, (wall_us){1000}, &journal), OK);
	save(1, 60000);
	cr_expect_eq(journal_byte_ns(journal), 0, "it is not large");
	save(1, 300000);
	cr_expect_gt(journal_byte_ns(journal), 0);
}

Test(journal, a_record_is_open_then_syncing_then_durable)
{
	cr_assert_eq(add(1, 100), OK);
	cr_assert_eq(add(1, 100), OK);
	cr_expect_gt(journal_open_bytes(journal), RECORD_HEAD + 200);
	cr_expect(journal_decided_seq(journal) == 2 && journal_durable_seq(journal) == 1);
	cr_assert(journal_can_submit(journal));
	journal_submit(journal, (wall_us){1});
	cr_expect(journal_open_bytes(journal) == 0 && journal_decided_seq(journal) == 2);
	cr_expect(journal_is_syncing(journal) && journal_durable_seq(journal) == 1); /* not settled yet */
	cr_assert_eq(add(2, 100), OK);
	cr_expect_eq(journal_decided_seq(journal), 3);
	cr_expect_not(journal_can_submit(journal));
	while (journal_is_syncing(journal))
		turn();
	cr_expect(journal_durable_seq(journal) == 2 && journal_syncs(journal) == 1);
	cr_expect(journal_position(journal).seq == 2 && journal_position(journal).offset == 3 * RECORD_ALIGN);
	cr_assert(journal_can_submit(journal));
	journal_submit(journal, (wall_us){2});
	while (journal_is_syncing(journal))
		turn();
	cr_expect_eq(journal_durable_seq(journal), 3);
	cr_expect_eq(read_back(), 2);
}

Test(journal, records_of_all_sizes_roll_over_segments)
{
	uint64_t state = chance_begin();
	enum { RECORDS = 150, OVERHEAD = RECORD_HEAD + 4 + 3 + 4 };
	for (uint64_t i = 1; i <= RECORDS; i++) {
		size_t size = chance_below(&state, SEGMENT_BYTES / 4 - OVERHEAD);
		if (i % 10 == 0) size = SEGMENT_BYTES / 4 - OVERHEAD; /* the largest possible record */
		if (i % 10 == 5)
			size = RECORD_ALIGN - OVERHEAD + (i & 1); /* exactly one block, or just more */
		save(i, size);
	}
	cr_expect_gt(journal_position(journal).segment, RECORDS / 10);
	cr_expect_eq(journal_durable_seq(journal), RECORDS + 1);
	cr_expect_eq(journal_syncs(journal), RECORDS);
	cr_expect_eq(read_back(), RECORDS);
}

Test(journal, a_record_beyond_a_quarter_segment_is_refused)
{
	cr_expect_eq(add(1, SEGMENT_BYTES / 4), ERR_TOO_LARGE);
	end();
	begin();
	cr_assert_eq(add(1, SEGMENT_BYTES / 8), OK);
	cr_expect_eq(add(1, SEGMENT_BYTES / 8), ERR_TOO_LARGE);
}

Test(journal, keeps_the_size_of_segments_that_exist)
{
	journal_close(&journal);
	dir.segment_bytes = 4 * SEGMENT_BYTES; /* the next segment was created with the old size */
	cr_assert_eq(journal_open(&dir, &at, (wall_us){1000}, &journal), OK);
	for (uint64_t i = 1; i <= 60; i++)
		save(i, SEGMENT_BYTES / 5);
	cr_expect_eq(read_back(), 60);
}

Test(journal, closing_waits_for_what_was_submitted)
{
	cr_assert_eq(add(1, 5000), OK);
	journal_submit(journal, (wall_us){1});
	cr_assert_eq(add(2, 5000), OK); /* never submitted, so it never happened */
	journal_close(&journal);
	cr_expect_eq(read_back(), 1);
}

/* The next segment cannot be created, or belongs to another directory: no room. Once this is repaired there
 * is room. */
Test(journal, has_no_room_without_a_next_segment)
{
	char     name[SEGMENT_NAME];
	uint64_t tag = 1;
	segment_name(4, name);
	file_write(&test_dir, name, 0, span_str("not a segment"));
	while (journal_room(journal) != DISK_FOR_ALL)
		turn();
	while (journal_position(journal).segment < 3)
		save(tag++, SEGMENT_BYTES / 5);
	while (journal_room(journal) == DISK_FOR_ALL)
		turn();
	for (unsigned i = 0; i < 4;
	     i++) /* four more fit into the present segment, apart from the epoch's block */
		if (journal_position(journal).offset + SEGMENT_BYTES / 5 + RECORD_ALIGN <= SEGMENT_BYTES)
			save(tag++, SEGMENT_BYTES / 5);
	cr_assert_eq(add(tag, SEGMENT_BYTES / 5), OK);
	cr_expect_not(journal_can_submit(journal));
	cr_assert_eq(unlinkat(test_dir.fd, name, 0), 0);
	while (!journal_can_submit(journal))
		turn();
	cr_expect_eq(journal_room(journal), DISK_FOR_ALL);
	journal_submit(journal, (wall_us){(int64_t)tag});
	while (journal_is_syncing(journal))
		turn();
	cr_expect_eq(journal_position(journal).segment, 4);
	cr_expect_eq(read_back(), tag);
}

Test(journal, a_failed_write_is_never_retried)
{
	save(1, 100);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {3 * RECORD_ALIGN, RLIM_INFINITY}; /* after the second record: EFBIG */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(add(2, 100), OK);
	journal_submit(journal, (wall_us){2});
	enum err err = OK;
	for (unsigned turn = 0; !err && turn < 20000; turn++) {
		(void)poll(&(struct pollfd){journal_fd(journal), POLLIN, 0}, 1, 1);
		err = journal_settle(journal);
	}
	cr_expect_eq(err, ERR_IO);
	limit.rlim_cur = RLIM_INFINITY; /* too late: it is unknown what reached the disk */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_eq(journal_settle(journal), ERR_IO);
	cr_expect(journal_is_syncing(journal) && !journal_can_submit(journal));
	cr_expect_eq(journal_durable_seq(journal), 2);
}

Test(journal, does_not_open_without_a_segment)
{
	struct position before;
	journal_close(&journal);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {RECORD_ALIGN, RLIM_INFINITY};
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	at.segment += 10; /* a number that does not exist yet */
	before = at;
	cr_expect_eq(journal_open(&dir, &at, (wall_us){1000}, &journal), ERR_IO);
	cr_expect_null(journal);
	cr_expect(at.segment == before.segment && at.seq == before.seq && at.epoch == before.epoch);
}

/* The failed sync of a name is not repeated: a later successful sync would prove nothing. */
Test(journal, a_failed_sync_of_a_segments_name_is_final)
{
	char link[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", test_dir.fd);
	int blind = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC), kept = dup(test_dir.fd);
	cr_assert(blind >= 0 && kept >= 0);
	cr_assert_eq(dup2(blind, test_dir.fd), test_dir.fd); /* names can be created in it but not synced */
	enum err      err = OK;
	struct pollfd news = {.fd = journal_fd(journal), .events = POLLIN};
	for (unsigned tag = 1; !err && tag < 1000; tag++) {
		cr_assert_eq(add(tag, SEGMENT_BYTES / 16), OK);
		while (!(err = journal_settle(journal)) && !journal_can_submit(journal))
			(void)poll(&news, 1, 1);
		if (!err) journal_submit(journal, (wall_us){(int64_t)tag});
	}
	cr_expect_eq(err, ERR_IO);
	cr_assert_eq(dup2(kept, test_dir.fd), test_dir.fd);
	close(blind);
	close(kept);
}
