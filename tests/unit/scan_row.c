/* Columns of scans: appended rows read the same, their heads count them, a deletion moves a count, and a time
 * selects a number. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/keys.h"
#include "store/scan_row.h"

#include <criterion/criterion.h>

enum { MADE = 3 * SCAN_ROW_SCANS + 7, ROW_BYTES = 1608, AT_VERDICT = 8, AT_PASS = 72 };

static struct scratch          s;
static const struct account_id account = {{'b'}}, other = {{'c'}};
static struct scan_tally       tally;

static void begin(void)
{
	scratch_open(&s);
	tally = (struct scan_tally){.made = 0};
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
	return !memcmp(a->id.b, b->id.b, sizeof a->id) && a->pass == b->pass && a->reader == b->reader &&
	       a->verdict == b->verdict && a->deleted == b->deleted;
}

static void make(uint32_t count)
{
	for (uint32_t number = 0; number < count; number++) {
		struct scan_row row = some(number);
		cr_assert_eq(scan_row_add(s.view, account, &tally, &row), OK);
		scratch_save(&s);
	}
}

static struct span stored(uint32_t number)
{
	struct row_key key = key_u32(account, number / SCAN_ROW_SCANS);
	struct span    value;
	cr_assert_eq(view_get(s.view, TABLE_SCAN, key_span(&key), &value), OK);
	return value;
}

Test(scan_row, reads_as_it_was_added)
{
	struct scan_row   got;
	struct scan_tally found;
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
	cr_assert_eq(scan_tally_get(s.view, account, &found), OK);
	cr_expect_eq(memcmp(&found, &tally, sizeof tally), 0);
	cr_expect_eq(found.made, MADE);
	cr_assert_eq(scan_tally_get(s.view, other, &found), OK);
	cr_expect_eq(found.made, 0);
}

Test(scan_row, sees_its_own_staged_writes)
{
	struct scan_row got, want = some(0), next = some(1);
	cr_assert_eq(scan_row_add(s.view, account, &tally, &want), OK);
	cr_assert_eq(scan_row_get(s.view, account, 0, &got), OK);
	cr_expect(same(&got, &want));
	cr_assert_eq(scan_row_add(s.view, account, &tally, &next), OK);
	cr_assert_eq(scan_row_get(s.view, account, 1, &got), OK);
	cr_expect(same(&got, &next));
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
	struct scan_tally after;
	make(MADE);
	cr_assert_eq(scan_row_delete(s.view, account, 70), OK);
	scratch_save(&s);
	cr_assert_eq(scan_row_get(s.view, account, 70, &got), OK);
	want.deleted = true;
	cr_assert_neq(want.reader, 0);
	want.reader = 0;
	cr_expect(same(&got, &want), "its fields stay, except the reader");
	cr_assert_eq(scan_tally_get(s.view, account, &after), OK);
	cr_expect_eq(after.made, tally.made);
	cr_expect_eq(after.counts[want.verdict], tally.counts[want.verdict] - 1);
	cr_expect_eq(after.counts[SCAN_COUNT_DELETED], 1);
	cr_expect_eq(scan_tally_live(&after), MADE - 1);
	cr_expect_eq(scan_row_delete(s.view, account, 70), ERR_DAMAGED);
	make(1); /* the next number, although one is deleted */
	cr_expect_eq(tally.made, MADE + 1);
}

Test(scan_row, reports_damage)
{
	uint8_t         bytes[ROW_BYTES], none = SCAN_ROW_SCANS + 1, unknown = SCAN_VERDICTS, zero = 0;
	struct row_key  key = key_u32(account, 0), of_tally = key_account(account);
	struct scan_row row = some(1);
	make(5);
	cr_expect(scan_rows_end_blank(stored(0)));
	memcpy(bytes, stored(0).at, sizeof bytes);
	for (size_t size = 0; size < sizeof bytes; size += 201) {
		must(!write_put(&s.staged, TABLE_SCAN, key_span(&key), span_of(bytes, size)));
		cr_expect_eq(scan_row_get(s.view, account, 1, &row), ERR_DAMAGED);
		cr_expect_eq(scan_row_add(s.view, account, &tally, &row), ERR_DAMAGED);
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
	tally.made = 7; /* numbers have no gaps */
	row = some(2);
	cr_expect_eq(scan_row_add(s.view, account, &tally, &row), ERR_DAMAGED);
	must(!write_put(&s.staged, TABLE_SCAN_TALLY, key_span(&of_tally), span_of(&zero, 1)));
	cr_expect_eq(scan_tally_get(s.view, account, &tally), ERR_DAMAGED);
}
