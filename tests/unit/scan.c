/* The walk over a journal: the chain of records, and whether a break is an unfinished tail or damage. The
 * test builds journals record by record, in segments of 16 blocks. */
#include "tests/unit/support.h"

#include "store/scan.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { BLOCKS = 16, SEGMENT = BLOCKS * RECORD_ALIGN };

static struct test_dir    test_dir;
static struct journal_dir dir;
static struct scan        scan;
static struct record      next; /* the next record, as a correct writer would write it */
static struct buffer      bytes;

static void begin(void)
{
	test_dir_make(&test_dir);
	dir = (struct journal_dir){
	    .fd = test_dir.fd, .shard = 3, .lineage = {1, 2, 3}, .segment_bytes = SEGMENT};
	next = (struct record){.kind = RECORD_WRITES,
	                       .shard = 3,
	                       .lineage = {1, 2, 3},
	                       .segment = 1,
	                       .offset = RECORD_ALIGN,
	                       .epoch = 1,
	                       .seq = 1};
}

static void end(void)
{
	scan_end(&scan);
	buffer_free(&bytes);
	test_dir_remove(&test_dir);
}

TestSuite(scan, .init = begin, .fini = end);

static void segments(uint64_t count)
{
	for (uint64_t number = 1; number <= count; number++)
		cr_assert_eq(segment_create(&dir, number, NULL), OK);
	scan_begin(&scan, &dir, count);
}

static const char *name_of(uint64_t number)
{
	static char name[SEGMENT_NAME];
	segment_name(number, name);
	return name;
}

/* Writes `next` with a payload, using `blocks` blocks in total, and sets `next` to its successor. */
static struct record add(unsigned blocks)
{
	struct record record = next;
	record_begin(&bytes);
	size_t size = (size_t)blocks * RECORD_ALIGN - RECORD_HEAD - 5;
	buffer_append(&bytes, filler(record.seq, size).at, size);
	record_seal(&bytes, &record);
	file_write(&test_dir, name_of(record.segment), record.offset, buffer_span(&bytes));
	next.offset += record_room(size);
	next.durable_seq = next.seq++;
	next.chain_before = record.chain;
	return record;
}

static void next_segment(void)
{
	next.segment++;
	next.offset = RECORD_ALIGN;
}

/* Walks from `at`. Returns the number of records. */
static unsigned walk(struct position *at, enum err *err)
{
	struct record record;
	unsigned      count = 0;
	while (!(*err = scan_next(&scan, at, &record))) {
		cr_expect_eq(record.seq, at->seq);
		cr_expect(span_equal(record.writes, filler(record.seq, record.writes.size)), "seq %zu",
		          (size_t)record.seq);
		count++;
	}
	return count;
}

static void expect_walk(unsigned want, enum err want_tail, bool want_blank)
{
	struct position at = {0};
	enum err        err;
	bool            blank;
	cr_expect_eq(walk(&at, &err), want);
	cr_expect_eq(err, ERR_NOT_FOUND);
	cr_expect_eq(scan_tail(&scan, &at, &blank), want_tail);
	if (!want_tail) cr_expect_eq(blank, want_blank);
}

/* Clears what is loaded, like a new process. */
static void reload(uint64_t last)
{
	scan_end(&scan);
	scan_begin(&scan, &dir, last);
}

Test(scan, an_empty_journal_has_no_records)
{
	segments(2);
	expect_walk(0, OK, true);
	reload(0);
	expect_walk(0, OK, true);
}

Test(scan, follows_the_chain_over_segments)
{
	struct position at = {0};
	enum err        err;
	segments(5);
	add(1);
	add(14); /* up to the segment's last byte */
	next_segment();
	add(7);
	next_segment(); /* the next record would not have fitted */
	add(15);
	next_segment();
	struct record last = add(2);
	cr_assert_eq(walk(&at, &err), 5);
	cr_expect(at.segment == 4 && at.offset == 3 * RECORD_ALIGN);
	cr_expect(at.seq == 5 && at.epoch == 1 && at.chain == last.chain);
	reload(5);
	expect_walk(5, OK, true);
}

Test(scan, continues_from_a_position)
{
	struct position at = {0}, from;
	struct record   record;
	enum err        err;
	segments(3);
	for (unsigned i = 0; i < 20; i++) {
		if (i % 7 == 6) next_segment();
		add(2);
	}
	for (unsigned i = 0; i < 20; i++) {
		from = at;
		reload(3);
		cr_assert_eq(walk(&from, &err), 20 - i);
		cr_assert_eq(scan_next(&scan, &at, &record), OK);
	}
}

/* The position that the tables store must follow a record that still exists. */
Test(scan, detects_whether_the_record_of_a_position_exists)
{
	struct position at = {0}, other;
	enum err        err;
	segments(2);
	cr_expect_eq(scan_check(&scan, &at), OK);
	add(1);
	add(3);
	next_segment();
	struct record last = add(2);
	cr_assert_eq(walk(&at, &err), 3);
	cr_expect_eq(scan_check(&scan, &at), OK);
	other = at;
	other.chain++;
	cr_expect_eq(scan_check(&scan, &other), ERR_DAMAGED);
	other = at;
	other.seq--;
	cr_expect_eq(scan_check(&scan, &other), ERR_DAMAGED);
	file_flip(&test_dir, name_of(2), last.offset + 5000, 1);
	reload(2);
	cr_expect_eq(scan_check(&scan, &at), ERR_DAMAGED);
	cr_assert_eq(segment_delete(&dir, 2), OK);
	reload(2);
	cr_expect_eq(scan_check(&scan, &at), ERR_DAMAGED);
}

Test(scan, does_not_follow_a_record_that_breaks_the_chain)
{
	static const char *const whats[] = {"seq", "chain", "epoch", "offset", "segment", "shard", "lineage"};
	for (unsigned what = 0; what < sizeof whats / sizeof *whats; what++) {
		end();
		begin();
		segments(1);
		next.epoch = 5;
		add(1);
		next.seq += what == 0;
		next.chain_before += what == 1;
		next.epoch -= what == 2;
		next.shard = (uint16_t)(next.shard + (what == 5));
		next.lineage[0] = (uint8_t)(next.lineage[0] + (what == 6));
		struct record record = next;
		record.offset += what == 3 ? RECORD_ALIGN : 0;
		record.segment += what == 4;
		record.durable_seq = 0;
		record_begin(&bytes);
		record_seal(&bytes, &record);
		file_write(&test_dir, name_of(1), next.offset, buffer_span(&bytes));
		struct position at = {0};
		enum err        err;
		bool            blank;
		cr_expect_eq(walk(&at, &err), 1, "%s", whats[what]);
		cr_expect_eq(scan_tail(&scan, &at, &blank), OK, "%s", whats[what]);
		cr_expect_not(blank);
	}
}

Test(scan, an_epoch_may_stay_or_rise)
{
	segments(1);
	add(1);
	next.epoch = 9;
	add(1);
	add(1);
	expect_walk(3, OK, true);
}

Test(scan, a_record_of_another_version_is_an_error)
{
	struct position at = {0};
	enum err        err;
	segments(1);
	add(1);
	next.kind = (enum record_kind)9;
	add(1);
	cr_expect_eq(walk(&at, &err), 1);
	cr_expect_eq(err, ERR_UNSUPPORTED);
	char why[VERSION_TEXT];
	scan_refusal(&scan, why);
	cr_expect_str_eq(
	    why, "a record in journal/00000000000000000001.seg is of a kind that this program does not know: "
	         "use the program that wrote it");
}

Test(scan, a_missing_segment_is_damage)
{
	struct position at = {0};
	enum err        err;
	segments(3);
	add(1);
	next_segment();
	add(1);
	cr_assert_eq(segment_delete(&dir, 2), OK);
	cr_expect_eq(walk(&at, &err), 1);
	cr_expect_eq(err, ERR_DAMAGED);
}

/* The last record is broken in each of its blocks; no record says that it was acknowledged. */
Test(scan, a_torn_last_record_is_a_tail)
{
	segments(2);
	add(1);
	struct record torn = add(4);
	for (unsigned block = 0; block < 4; block++) {
		uint8_t zeros[RECORD_ALIGN] = {0}, *kept;
		(void)file_read(&test_dir, name_of(1), &kept);
		file_write(&test_dir, name_of(1), torn.offset + block * RECORD_ALIGN,
		           span_of(zeros, sizeof zeros));
		reload(2);
		expect_walk(1, OK, false);
		file_write(&test_dir, name_of(1), 0, span_of(kept, SEGMENT));
		free(kept);
	}
	reload(2);
	expect_walk(2, OK, true);
}

/* The same, but a later record says that it was durable: in the same segment, and in the next. */
Test(scan, a_broken_record_with_a_later_one_is_damage)
{
	for (unsigned far = 0; far < 2; far++) {
		end();
		begin();
		segments(3);
		add(1);
		struct record broken = add(3);
		if (far) next_segment();
		add(1);
		for (unsigned block = 0; block < 3; block++) {
			size_t at = broken.offset + block * RECORD_ALIGN + 60;
			file_flip(&test_dir, name_of(1), at, 4);
			reload(3);
			expect_walk(1, ERR_DAMAGED, false);
			file_flip(&test_dir, name_of(1), at, 4);
		}
		reload(3);
		expect_walk(3, OK, true);
	}
}

/* A later record that does not know that the broken one was durable proves nothing. */
Test(scan, durable_seq_decides)
{
	for (unsigned durable = 0; durable <= 2; durable++) {
		end();
		begin();
		segments(1);
		add(1);
		struct record broken = add(1);
		next.durable_seq = durable;
		add(1);
		file_flip(&test_dir, name_of(1), broken.offset + 100, 1);
		expect_walk(1, durable >= 2 ? ERR_DAMAGED : OK, false);
	}
}

Test(scan, the_first_record_may_be_torn_or_damaged_too)
{
	segments(1);
	struct record first = add(1);
	file_flip(&test_dir, name_of(1), first.offset + 100, 1);
	expect_walk(0, OK, false);
	add(1);
	reload(1);
	expect_walk(0, ERR_DAMAGED, false);
}

/* Records of another directory or another position prove nothing either, nor do any other bytes. */
Test(scan, other_bytes_after_the_end_are_a_tail)
{
	uint64_t state = chance_begin();
	segments(3);
	add(2);
	for (unsigned i = 0; i < 40; i++) {
		struct record foreign = next;
		foreign.seq = 40 + i;
		foreign.durable_seq = 39 + i;
		foreign.segment = 2 + i % 2;
		foreign.offset = (1 + chance_below(&state, BLOCKS - 1)) * (uint64_t)RECORD_ALIGN;
		size_t there = foreign.offset;
		if (i % 4 == 0) foreign.lineage[3]++;
		if (i % 4 == 1) foreign.shard++;
		if (i % 4 == 2) foreign.offset += RECORD_ALIGN;
		if (i % 4 == 3) foreign.segment++;
		record_begin(&bytes);
		record_seal(&bytes, &foreign);
		file_write(&test_dir, name_of(2 + i % 2), there, buffer_span(&bytes));
		file_write(&test_dir, name_of(1), next.offset + i * 1000, filler(chance(&state), 700));
	}
	expect_walk(1, OK, false);
}

Test(scan, a_cut_removes_every_trace_of_the_tail)
{
	struct position at = {0}, again = {0};
	enum err        err;
	bool            blank;
	uint64_t        first, last;
	segments(4);
	add(1);
	struct record torn = add(3);
	next.durable_seq = 1;
	next_segment();
	add(1);
	file_flip(&test_dir, name_of(1), torn.offset + 5000, 1);
	cr_assert_eq(walk(&at, &err), 1);
	cr_assert_eq(scan_tail(&scan, &at, &blank), OK);
	cr_assert_eq(scan_cut(&scan, &at), OK);
	cr_assert_eq(segment_range(&dir, &first, &last), OK);
	cr_expect(first == 1 && last == 1);
	uint8_t *left;
	(void)file_read(&test_dir, name_of(1), &left);
	for (size_t i = 0; i < RECORD_ALIGN; i++)
		cr_assert_eq(left[torn.offset + i], 0);
	free(left);
	cr_expect_eq(walk(&again, &err), 1);
	next = torn;
	next.segment = 2; /* new records are written to a fresh segment and continue the chain */
	next.offset = RECORD_ALIGN;
	cr_assert_eq(segment_create(&dir, 2, NULL), OK);
	add(1);
	reload(2);
	again = (struct position){0};
	cr_expect_eq(walk(&again, &err), 2);
}

Test(scan, a_cut_before_the_first_record_leaves_no_segment)
{
	struct position at = {0};
	uint64_t        first, last;
	bool            blank;
	segments(2);
	struct record torn = add(1);
	file_flip(&test_dir, name_of(1), torn.offset + 200, 1);
	cr_assert_eq(scan_tail(&scan, &at, &blank), OK);
	cr_assert_eq(scan_cut(&scan, &at), OK);
	cr_assert_eq(segment_range(&dir, &first, &last), OK);
	cr_expect_eq(last, 0);
}
