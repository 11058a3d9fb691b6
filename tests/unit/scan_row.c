/* Scans: in columns or recent, they read the same and are counted, a deletion moves a count, and a time selects a number. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

#include <criterion/criterion.h>

enum {
	MADE = 3 * SCAN_ROW_SCANS + 7,
	GATHERED = 3 * SCAN_ROW_SCANS,
	READERS = 3,
	AT_VERDICT = 8,
	AT_PASS = 72
};

static struct scratch          s;
static const struct account_id account = {{'b'}}, other = {{'c'}};
static struct account_ends     ends;

static void begin(void)
{
	scratch_open(&s);
	ends = (struct account_ends){0};
	for (uint32_t number = 1; number <= READERS; number++) {
		struct reader_row row = {.number = number, .id = span_of(&"abc"[number - 1], 1)};
		cr_assert_eq(reader_row_put(s.view, account, &row), OK);
	}
	scratch_save(&s);
}

static void end(void)
{
	scratch_close(&s);
}

TestSuite(scan_row, .init = begin, .fini = end);

/* Three scans a microsecond, whose ids are not in order. */
static struct scan_row some(uint32_t number)
{
	uint8_t random[10] = {[1] = (uint8_t)(3 - number % 3), [9] = (uint8_t)number};
	return (struct scan_row){.id = uuid_v7((wall_us){1000000 + number / 3}, random),
	                         .pass = number % 5 * 1000003,
	                         .reader = number % 4,
	                         .verdict = (uint8_t)(number % 7 < 3 ? number % 7 + 1 : SCAN_SUCCEEDED)};
}

static bool same(const struct scan_row *a, const struct scan_row *b)
{
	return uuid_same(a->id, b->id) && a->pass == b->pass && a->reader == b->reader &&
	       a->verdict == b->verdict && a->deleted == b->deleted;
}

static void make(uint32_t count)
{
	for (; count; count--) {
		struct scan_row row = some(ends.scans);
		cr_assert_eq(scan_row_add(s.view, account, &ends, &row), OK);
		scratch_save(&s);
	}
}

static void gather(void)
{
	cr_assert_eq(scan_gather(s.view, account, &ends), OK);
	scratch_save(&s);
}

/* A row of the ledger that is no scan. */
static void add_event(void)
{
	struct ledger_row row = {.what = LEDGER_LOYALTY};
	cr_assert_eq(scan_gather_if_due(s.view, account, &ends), OK);
	cr_assert_eq(ledger_put(s.view, account, ++ends.ledger, &row), OK);
	scratch_save(&s);
}

static void expect_tally(uint32_t gathered)
{
	struct scan_tally   tally, whole, want = {.made = 0};
	struct account_ends found;
	for (; want.made < ends.scans; want.made++)
		want.counts[some(want.made).verdict]++;
	cr_assert_eq(scan_tally_get(s.view, account, &tally), OK);
	cr_expect_eq(tally.made, gathered);
	cr_expect_eq(tally.recent_from == 0, gathered == ends.scans);
	cr_assert_eq(scan_tally_whole(s.view, account, &whole), OK);
	cr_expect_eq(whole.made, want.made);
	cr_expect_arr_eq(whole.counts, want.counts, sizeof want.counts);
	cr_assert_eq(account_ends_get(s.view, account, &found), OK);
	cr_expect(found.ledger == ends.ledger && found.scans == ends.scans &&
	          found.recent_from == ends.recent_from);
}

/* Of the scans below `gathered`. */
static void expect_readers(uint32_t gathered)
{
	for (uint32_t number = 1; number <= READERS; number++) {
		struct reader_row row;
		uint32_t          want = 0;
		for (uint32_t i = 0; i < gathered; i++)
			want += some(i).reader == number;
		cr_assert_eq(reader_row_get(s.view, account, number, &row), OK);
		cr_expect_eq(row.scans, want, "reader %u", number);
	}
}

static struct span stored(uint32_t number)
{
	struct span row;
	cr_assert_eq(scan_rows_get(s.view, account, number / SCAN_ROW_SCANS, &row), OK);
	return row;
}

Test(scan_row, reads_as_it_was_added)
{
	struct scan_row got;
	struct span     row;
	make(MADE);
	for (uint32_t number = 0; number < MADE; number++) {
		struct scan_row want = some(number);
		cr_assert_eq(scan_row_get(s.view, account, number, &got), OK);
		cr_expect(same(&got, &want), "%u", number);
		cr_expect_eq(scan_rows_pass(stored(number), number % SCAN_ROW_SCANS), want.pass);
		cr_expect_eq(scan_rows_reader(stored(number), number % SCAN_ROW_SCANS), want.reader);
	}
	cr_expect_eq(scan_row_get(s.view, account, MADE, &got), ERR_NOT_FOUND);
	cr_expect_eq(scan_row_get(s.view, account, MADE + SCAN_ROW_SCANS, &got), ERR_NOT_FOUND);
	cr_expect_eq(scan_row_get(s.view, other, 0, &got), ERR_NOT_FOUND);
	cr_expect_eq(scan_rows_get(s.view, account, MADE / SCAN_ROW_SCANS + 1, &row), ERR_NOT_FOUND);
	cr_expect_eq(scan_rows_get(s.view, other, 0, &row), ERR_NOT_FOUND);
	expect_tally(GATHERED);
	expect_readers(GATHERED);
	gather();
	expect_tally(MADE);
	expect_readers(MADE);
	gather(); /* nothing */
	expect_tally(MADE);
	make(SCAN_ROW_SCANS);
	expect_tally(GATHERED + SCAN_ROW_SCANS);
	for (uint32_t number = 0; number < MADE + SCAN_ROW_SCANS; number++) {
		struct scan_row want = some(number);
		cr_assert_eq(scan_row_get(s.view, account, number, &got), OK);
		cr_expect(same(&got, &want), "%u", number);
	}
}

/* They are gathered in time, however few they are among events, and are found until then. */
Test(scan_row, stays_within_reach_among_events)
{
	struct scan_row got;
	for (uint32_t number = 0; number < 70; number++) {
		struct scan_row want = some(number);
		make(1);
		for (uint32_t i = number * 5; i; i--) {
			add_event();
			cr_assert_eq(scan_row_get(s.view, account, number, &got), OK);
			cr_assert(same(&got, &want));
		}
		struct account_ends found;
		cr_assert_eq(account_ends_get(s.view, account, &found), OK);
		cr_expect_eq(found.scans, number + 1);
		cr_assert(!ends.recent_from || ends.ledger - ends.recent_from < SCAN_RECENT_LEDGER);
	}
	cr_assert(!ends.recent_from);
	expect_tally(70);
	expect_readers(70);
	add_event();
	make(2);
	expect_tally(70);
}

Test(scan_row, sees_its_own_staged_writes)
{
	struct scan_row got, want = some(0), next = some(1);
	cr_assert_eq(scan_row_add(s.view, account, &ends, &want), OK);
	cr_assert_eq(scan_row_get(s.view, account, 0, &got), OK);
	cr_expect(same(&got, &want));
	cr_assert_eq(scan_row_add(s.view, account, &ends, &next), OK);
	cr_assert_eq(scan_row_get(s.view, account, 1, &got), OK);
	cr_expect(same(&got, &next));
	cr_assert_eq(scan_gather(s.view, account, &ends), OK);
	cr_assert_eq(scan_row_get(s.view, account, 1, &got), OK);
	cr_expect(same(&got, &next));
	scratch_save(&s);
	expect_tally(2);
}

Test(scan_row, is_found_by_its_id_and_by_time)
{
	uint32_t        number;
	struct scan_row got, never = some(MADE);
	make(MADE);
	for (uint32_t i = 0; i < MADE; i++) {
		struct scan_row want = some(i);
		cr_assert_eq(scan_row_find(s.view, account, want.id, &number, &got), OK);
		cr_expect_eq(number, i);
		want.id.b[15] ^= 0x40;
		cr_expect_eq(scan_row_find(s.view, account, want.id, &number, &got), ERR_NOT_FOUND);
		cr_assert_eq(scan_row_first(s.view, account, MADE, uuid_time(want.id), &number), OK);
		cr_expect_eq(number, i / 3 * 3);
	}
	never.id.b[0] = 0xff;
	cr_expect_eq(scan_row_find(s.view, account, never.id, &number, &got), ERR_NOT_FOUND);
	cr_expect_eq(scan_row_find(s.view, other, some(0).id, &number, &got), ERR_NOT_FOUND);
	cr_assert_eq(scan_row_first(s.view, account, MADE, (wall_us){INT64_MIN}, &number), OK);
	cr_expect_eq(number, 0);
	cr_assert_eq(scan_row_first(s.view, account, MADE, (wall_us){INT64_MAX}, &number), OK);
	cr_expect_eq(number, MADE);
}

Test(scan_row, is_counted_and_selected_by_its_verdict)
{
	make(MADE);
	cr_expect_eq(scan_row_delete(s.view, account, MADE - 1), ERR_DAMAGED, "it is recent");
	cr_assert_eq(scan_row_delete(s.view, account, 3), OK);
	scratch_save(&s);
	for (uint32_t first = 0; first < MADE; first += SCAN_ROW_SCANS) {
		struct span row = stored(first);
		uint8_t     want[SCAN_COUNTS] = {0};
		for (uint32_t i = 0; i < SCAN_ROW_SCANS && first + i < MADE; i++) {
			want[first + i == 3 ? (unsigned)SCAN_COUNT_DELETED : some(first + i).verdict]++;
			want[SCAN_COUNT_USED]++;
		}
		cr_expect_arr_eq(scan_rows_counts(row), want, sizeof want);
		for (unsigned verdicts = 0; verdicts < 1u << SCAN_VERDICTS; verdicts++) {
			uint64_t mask = 0;
			for (uint32_t i = 0; i < want[SCAN_COUNT_USED]; i++)
				if (first + i != 3 && verdicts >> some(first + i).verdict & 1)
					mask |= UINT64_C(1) << i;
			cr_expect_eq(scan_rows_mask(row, verdicts), mask, "row %u, verdicts %u", first,
			             verdicts);
		}
	}
}

Test(scan_row, is_deleted_once)
{
	struct scan_row   got, want = some(70);
	struct scan_tally before, after;
	make(MADE);
	cr_assert_eq(scan_tally_get(s.view, account, &before), OK);
	cr_assert_eq(scan_row_delete(s.view, account, 70), OK);
	scratch_save(&s);
	cr_assert_eq(scan_row_get(s.view, account, 70, &got), OK);
	want.deleted = true;
	cr_assert_neq(want.reader, 0);
	want.reader = 0;
	cr_expect(same(&got, &want), "its fields stay, except the reader");
	cr_assert_eq(scan_tally_get(s.view, account, &after), OK);
	cr_expect_eq(after.made, before.made);
	cr_expect_eq(after.counts[want.verdict], before.counts[want.verdict] - 1);
	cr_expect_eq(after.counts[SCAN_COUNT_DELETED], 1);
	cr_expect_eq(scan_row_delete(s.view, account, 70), ERR_DAMAGED);
	make(1); /* the next number, although one is deleted */
	cr_assert_eq(scan_row_get(s.view, account, MADE, &got), OK);
}

/* Tables of version 3: a tally without recent_from, a row that is not full, no ledger rows of scans. */
Test(scan_row, goes_on_with_what_an_older_program_left)
{
	enum { LEFT = 5, TALLY_BYTES = 40, AT_READERS = 32 };
	struct row_key  of_row = key_u32(account, 0), of_tally = key_account(account);
	uint8_t         row[SCAN_ROW_BYTES] = {0}, tally[TALLY_BYTES] = {LEFT, [AT_READERS] = READERS};
	struct scan_row got;
	for (uint32_t i = 0; i < LEFT; i++) {
		struct scan_row scan = some(i);
		scan_rows_append(row, &scan);
		tally[4 + 4 * scan.verdict]++;
	}
	must(!write_put(&s.staged, TABLE_SCAN, key_span(&of_row), span_of(row, sizeof row)));
	must(!write_put(&s.staged, TABLE_SCAN_TALLY, key_span(&of_tally), span_of(tally, sizeof tally)));
	scratch_save(&s);
	cr_assert_eq(account_ends_get(s.view, account, &ends), OK);
	cr_expect(ends.scans == LEFT && !ends.recent_from && !ends.ledger);
	expect_tally(LEFT);
	make(3);
	expect_tally(LEFT);
	gather();
	expect_tally(LEFT + 3);
	for (uint32_t number = 0; number < LEFT + 3; number++) {
		struct scan_row want = some(number);
		cr_assert_eq(scan_row_get(s.view, account, number, &got), OK);
		cr_expect(same(&got, &want), "%u", number);
	}
}

static enum err add_another(void)
{
	struct scan_row row = some(ends.scans);
	return scan_row_add(s.view, account, &ends, &row);
}

Test(scan_row, reports_recent_scans_that_do_not_fit)
{
	struct row_key      key;
	struct account_ends found;
	ends.scans = 3; /* nobody has made them */
	cr_expect_eq(add_another(), ERR_DAMAGED);
	ends = (struct account_ends){0};
	make(5);
	ends.scans++;
	cr_expect_eq(scan_gather(s.view, account, &ends), ERR_DAMAGED);
	ends.scans--;
	key = key_u64(account, ends.ledger - 1);
	must(!write_del(&s.staged, TABLE_LEDGER, key_span(&key)));
	scratch_save(&s);
	cr_expect_eq(scan_gather(s.view, account, &ends), ERR_DAMAGED, "one is missing");
	for (uint64_t seq = 1; seq <= ends.ledger; seq++) {
		key = key_u64(account, seq);
		must(!write_put(&s.staged, TABLE_LEDGER, key_span(&key), filler(1, LEDGER_EVENT_BYTES)));
	}
	scratch_save(&s);
	cr_expect_eq(scan_gather(s.view, account, &ends), ERR_DAMAGED, "there are none");
	cr_expect_eq(account_ends_get(s.view, account, &found), ERR_DAMAGED);
}

Test(scan_row, reports_damage)
{
	uint8_t           bytes[SCAN_ROW_BYTES], none = SCAN_ROW_SCANS + 1, unknown = SCAN_VERDICTS, zero = 0;
	struct row_key    key = key_u32(account, 0), of_tally = key_account(account);
	struct scan_row   row = some(1);
	struct scan_tally tally;
	make(5);
	gather();
	make(1);
	cr_expect(scan_rows_end_blank(stored(0)));
	memcpy(bytes, stored(0).at, sizeof bytes);
	for (size_t size = 0; size < sizeof bytes; size += 201) {
		must(!write_put(&s.staged, TABLE_SCAN, key_span(&key), span_of(bytes, size)));
		cr_expect_eq(scan_row_get(s.view, account, 1, &row), ERR_DAMAGED);
		cr_expect_eq(scan_gather(s.view, account, &ends), ERR_DAMAGED);
	}
	bytes[SCAN_COUNT_USED] = none;
	must(!write_put(&s.staged, TABLE_SCAN, key_span(&key), span_of(bytes, sizeof bytes)));
	cr_expect_eq(scan_row_get(s.view, account, 1, &row), ERR_DAMAGED);
	bytes[SCAN_COUNT_USED] = 5;
	bytes[AT_VERDICT + 1] = unknown;
	bytes[AT_PASS + 4 * 63 + 3] = 1;
	must(!write_put(&s.staged, TABLE_SCAN, key_span(&key), span_of(bytes, sizeof bytes)));
	cr_expect_eq(scan_row_get(s.view, account, 1, &row), ERR_DAMAGED);
	cr_expect_eq(scan_row_delete(s.view, account, 1), ERR_DAMAGED);
	cr_expect(!scan_rows_end_blank(stored(0)));
	bytes[SCAN_COUNT_USED] = 4; /* numbers have no gaps */
	must(!write_put(&s.staged, TABLE_SCAN, key_span(&key), span_of(bytes, sizeof bytes)));
	cr_expect_eq(scan_gather(s.view, account, &ends), ERR_DAMAGED);
	must(!write_put(&s.staged, TABLE_SCAN_TALLY, key_span(&of_tally), span_of(&zero, 1)));
	cr_expect_eq(scan_tally_get(s.view, account, &tally), ERR_DAMAGED);
}
