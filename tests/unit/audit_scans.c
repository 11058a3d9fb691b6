/* The audit of scans and readers: each rule, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "store/delivery.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

enum { SCANS = SCAN_ROW_SCANS + 6, AT_PASS = 72, AT_READER = 328, AT_ID = 584 };
enum { SCANS_OF_FIRST = 22, SCANS_OF_SECOND = 23, DELETED = 4 }; /* a scan of the first reader is deleted */

static struct scan_tally   tally;
static struct account_ends ends;

static void put_reader(uint32_t number, const char *id, const char *name)
{
	struct reader_row row = {.number = number,
	                         .named = *name,
	                         .named_at = {*name ? 5 : 0},
	                         .id = span_str(id),
	                         .name = span_str(name)};
	must(!reader_row_put(s.view, account, &row));
	scratch_save(&s);
	tally.readers++;
	tally.readers_named += *name != 0;
}

/* Scans the passes in turn; every third scan succeeds. */
static void put_scan(uint32_t number)
{
	static const uint8_t random[10] = {0};
	struct hot_at        pass;
	struct scan_row      row = {.id = uuid_v7((wall_us){5000 + number}, random),
	                            .pass = number % 7,
	                            .reader = number % 3,
	                            .verdict = number % 3 ? SCAN_DOUBLE_SCAN : SCAN_SUCCEEDED};
	must(!scan_row_add(s.view, account, &ends, &row));
	scratch_save(&s);
	if (row.verdict != SCAN_SUCCEEDED) return;
	must(!hot_get(s.view, account, row.pass, &pass));
	struct hot hot = pass.now;
	hot.scan_count++;
	hot.last_scan = uuid_time(row.id);
	must(!hot_put(s.view, &pass, &hot));
	scratch_save(&s);
}

static void put_row(uint32_t number, const char *id, uint32_t scans, const char *name)
{
	struct reader_row row = {
	    .number = number, .scans = scans, .named = *name, .id = span_str(id), .name = span_str(name)};
	must(!reader_row_put(s.view, account, &row));
	scratch_save(&s);
}

static void fill(void)
{
	tally = (struct scan_tally){.made = 0};
	put_reader(1, "door", "");
	put_reader(2, "till", "Till");
	must(!scan_tally_put(s.view, account, &tally));
	scratch_save(&s);
	must(!account_ends_get(s.view, account, &ends));
	for (uint32_t number = 0; number < SCANS; number++)
		put_scan(number);
	must(!scan_gather(s.view, account, &ends));
	scratch_save(&s);
	must(!scan_row_delete(s.view, account, DELETED));
	scratch_save(&s);
	put_row(1, "door", SCANS_OF_FIRST, "");
	must(!scan_tally_get(s.view, account, &tally));
}

static void begin(void)
{
	make_shop();
	fill();
}

TestSuite(audit_scans, .init = begin, .fini = end);

static void patch_scans(size_t offset, uint8_t byte)
{
	patch(TABLE_SCAN, key_u32(account, 0), offset, &byte, 1);
}
static void patch_tally(size_t offset, uint8_t byte)
{
	patch(TABLE_SCAN_TALLY, key_account(account), offset, &byte, 1);
}

static void break_form(void)
{
	put(TABLE_SCAN, key_u32(account, 0), span_str("x"));
}
static void break_gap(void)
{
	put(TABLE_SCAN, key_u32(account, 3), span_of(filler(1, 1608).at, 1608));
}
static void break_key(void)
{
	put(TABLE_SCAN, key_u64(account, 2), span_str("x"));
}
static void break_count(void)
{
	patch_scans(0, 9);
}
static void break_deleted(void)
{
	patch_scans(8 + DELETED, SCAN_DOUBLE_SCAN);
}
static void break_verdict(void)
{
	patch_scans(8 + 1, 7);
}
static void break_pass(void)
{
	patch_scans(AT_PASS + 4 * 1, 200);
}
static void break_reader(void)
{
	patch_scans(AT_READER + 4 * 1, 3);
}
static void break_reader_of_deleted(void)
{
	patch_scans(AT_READER + 4 * DELETED, 1);
}
static void break_time(void)
{
	patch_scans(AT_ID + 16 * 9, 1);
}
static void break_tail(void)
{
	uint8_t byte = 1;
	patch(TABLE_SCAN, key_u32(account, 1), AT_ID + 16 * 63, &byte, 1);
}
static void break_made(void)
{
	patch_tally(0, SCANS - 1);
}
static void break_sum(void)
{
	patch_tally(4, 9);
}
static void break_sum_deleted(void)
{
	patch_tally(4 + 4 * 6, 2);
}
static void break_sum_readers(void)
{
	patch_tally(32, 1);
}
static void break_sum_named(void)
{
	patch_tally(36, 0);
}
static void break_tally_form(void)
{
	put(TABLE_SCAN_TALLY, key_account(account), span_str("x"));
}
static void break_tally_key(void)
{
	put(TABLE_SCAN_TALLY, key_u32(account, 1), span_str("x"));
}
static void change_pass(uint32_t more, int64_t later)
{
	struct hot_at pass;
	must(!hot_get(s.view, account, 6, &pass));
	struct hot hot = pass.now;
	hot.scan_count += more;
	hot.last_scan.v += later;
	must(!hot_put(s.view, &pass, &hot));
	scratch_save(&s);
}
static void break_scan_count(void)
{
	change_pass(1, 0);
}
static void break_last_scan(void)
{
	change_pass(0, 1);
}
static void break_number(void)
{
	del(TABLE_READER_NUMBER, key_u32(account, 1));
}
static void break_number_key(void)
{
	put(TABLE_READER_NUMBER, key_u32(account, 0), span_str("x"));
}
static void break_number_form(void)
{
	put(TABLE_READER_NUMBER, key_u32(account, 2), span_str("\x01"));
}
static void break_number_of_another(void)
{
	put(TABLE_READER_NUMBER, key_u32(account, 2), span_str("door"));
}
static void break_name(void)
{
	put_row(2, "till", SCANS_OF_SECOND, "\x01");
}
static void break_scans(void)
{
	put_row(1, "door", SCANS_OF_FIRST + 1, "");
}
static void break_unused(void)
{
	put_row(3, "x", 0, "");
	tally.readers = 3;
	must(!scan_tally_put(s.view, account, &tally));
	scratch_save(&s);
}
static struct row_key key_of(struct account_id of, const char *id)
{
	struct row_key key = key_account(of);
	memcpy(key.bytes + key.size, id, strlen(id));
	key.size += strlen(id);
	return key;
}
static void break_id(void)
{
	del(TABLE_READER, key_of(account, "door"));
}
static void break_id_of_another(void)
{
	put(TABLE_READER, key_of(account, "door"), span_of("\2\0\0\0\26\0\0\0", 8));
}
static void break_id_of_nobody(void)
{
	put(TABLE_READER, key_of(account, "door"), span_of("\3\0\0\0\26\0\0\0", 8));
}
static void break_name_of_nobody(void)
{
	put(TABLE_READER_NAME, key_of(account, "x"), span_of("\3\0\0\0\0\0\0\0\0\0\0\0X", 13));
}
static void break_name_of_another(void)
{
	put(TABLE_READER_NAME, key_of(account, "till"), span_of("\1\0\0\0\0\0\0\0\0\0\0\0X", 13));
}
static void break_named_at(void)
{
	uint8_t byte = 0x80;
	patch(TABLE_READER_NAME, key_of(account, "till"), 11, &byte, 1);
}
static void break_id_form(void)
{
	put(TABLE_READER, key_of(account, "door"), span_str("x"));
}
static void break_account(void)
{
	put(TABLE_SCAN, key_u32(nobody, 0), span_str("x"));
}
static void break_recent_of_nothing(void)
{
	tally.recent_from = ends.ledger + 1;
	must(!scan_tally_put(s.view, account, &tally));
	scratch_save(&s);
}
static void patch_ledger(uint64_t seq, size_t offset, uint8_t byte)
{
	patch(TABLE_LEDGER, key_u64(account, seq), offset, &byte, 1);
}
static void break_recent_number(void)
{
	put_scan(SCANS);
	patch_ledger(ends.ledger, 16, SCANS + 1);
}
static void break_recent_pass(void)
{
	put_scan(SCANS);
	patch_ledger(ends.ledger, 0, 200);
}
static void break_recent_verdict(void)
{
	put_scan(SCANS);
	patch_ledger(ends.ledger, 7, SCAN_VERDICTS);
}
static void break_recent_reader(void)
{
	put_scan(SCANS);
	patch_ledger(ends.ledger, 20, 9);
}
static void break_recent_behind(void)
{
	put_scan(SCANS); /* the first recent one is not where the tally says */
	put_scan(SCANS + 1);
	must(!scan_tally_get(s.view, account, &tally));
	tally.recent_from++;
	must(!scan_tally_put(s.view, account, &tally));
	scratch_save(&s);
}
static void break_ledger_number(void)
{
	patch_ledger(ends.ledger - 3, 16, 1);
}
static void break_ledger_end(void)
{
	patch_ledger(ends.ledger, 16, SCANS);
}
static void break_ledger_verdict(void)
{
	patch_ledger(ends.ledger - 3, 7, SCAN_VERDICTS - 1);
}
static void break_recent_too_early(void)
{
	put_scan(SCANS);
	must(!scan_tally_get(s.view, account, &tally));
	tally.recent_from -= 5;
	must(!scan_tally_put(s.view, account, &tally));
	scratch_save(&s);
}
static void put_delivery(uint32_t subject)
{
	struct delivery row = {.account = account,
	                       .zone = ZONE_WAITING,
	                       .kind = EVENT_SCAN_CREATED,
	                       .generation = 1,
	                       .subject = subject};
	must(!delivery_put(s.view, &row));
	scratch_save(&s);
}
static void break_event(void)
{
	put_delivery(SCANS);
}
static void put_key(uint32_t pass)
{
	uint8_t                detail[RECIPE_SCAN_BYTES], key[32] = {9};
	struct scan_row        scan = {.verdict = SCAN_SUCCEEDED};
	struct idempotency_row row = {
	    .recipe = {.what = RECIPE_SCAN, .number = pass, .detail = recipe_scan_detail(&scan, detail)},
	    .order = 9,
	    .at = {90}};
	must(!idempotency_put(s.view, account, key, &row));
	scratch_save(&s);
}
static void break_replay(void)
{
	put_key(PASSES);
}

static const struct breakage breakages[] = {
    B(form, "table scan, " ACCOUNT "the row of scans from 0 is missing or wrong"),
    B(gap, "table scan, " ACCOUNT "the row of scans from 70 is missing or wrong"),
    B(key, "table scan, " ACCOUNT "the row of scans from 64 is missing or wrong"),
    B(count, "scans from 0: count 0 is 9, there are 22"),
    B(deleted, "scans from 0: count 6 is 1, there are 0"),
    B(verdict, "scan 1: unknown verdict 7"),
    B(pass, "scan 1: pass 200 does not exist"),
    B(reader, "scan 1: reader 3 does not exist"),
    B(reader_of_deleted, "scan 4 is deleted, and refers to reader 1"),
    B(time, "scan 10 was made before the one before it"),
    B(tail, "scans from 64: something stands behind the last"),
    B(made, "table scan_tally, " ACCOUNT "69 scans made, but there are 70"),
    B(sum, "count 0 is 9, there are 24"),
    B(sum_deleted, "count 6 is 2, there are 1"),
    B(sum_readers, "1 readers numbered, but there is number 2"),
    B(sum_named, "0 readers with a name, but there are 1"),
    B(tally_form, "table scan_tally, " ACCOUNT "its row cannot be read"),
    B(tally_key, "table scan_tally, " ACCOUNT "a key of 14 bytes"),
    B(scan_count, "table hot, " ACCOUNT "pass 6: 5 scans, there are 4"),
    B(last_scan, "pass 6: the time of its last scan is wrong"),
    B(number, "table reader, " ACCOUNT "an id leads to reader 1, which has another id"),
    B(number_key, "table reader_number, " ACCOUNT "reader 0 has an impossible id or number"),
    B(number_form, "reader 2 has an impossible id or number"),
    B(number_of_another, "an id leads to reader 2, which has another id"),
    B(name, "table reader_name, " ACCOUNT "a name of a wrong form, or of an unknown reader"),
    B(name_of_nobody, "table reader_name, " ACCOUNT "a name of a wrong form, or of an unknown reader"),
    B(name_of_another, "table reader_name, " ACCOUNT "a name of a wrong form, or of an unknown reader"),
    B(named_at, "table reader_name, " ACCOUNT "a name of a wrong form, or of an unknown reader"),
    B(scans, "table reader, " ACCOUNT "reader 1: 23 scans, there are 22"),
    B(unused, "table reader, " ACCOUNT "reader 3 has neither a scan nor a name"),
    B(id, "table reader, " ACCOUNT "1 ids, but 2 readers"),
    B(id_of_another, "an id leads to reader 2, which has another id"),
    B(id_of_nobody, "an id leads to reader 3, which has another id"),
    B(id_form, "an id with a row of a wrong form"),
    B(account, "table scan, " NOBODY "rows of an account that does not exist"),
    B(recent_of_nothing, "no recent scan from row 297 of the ledger on"),
    B(recent_number, "recent scan 71, not 70"),
    B(recent_pass, "pass 200 does not exist"),
    B(recent_verdict, "of a wrong form"),
    B(recent_reader, "scan 70: reader 9 does not exist"),
    B(recent_behind, "recent scan 71, not 70"),
    B(recent_too_early, "recent scan 65, not 70"),
    B(ledger_number, "scan 1, not 66"),
    B(ledger_end, "71 scans, but there are 70"),
    B(ledger_verdict, "a scan is not as the ledger has it"),
    B(event, "is of a scan that was never made"),
    B(replay, "key 9: pass 45 does not exist"),
};

Test(audit_scans, reports_each_broken_rule)
{
	for (size_t i = 0; i < sizeof breakages / sizeof *breakages; i++) {
		scratch_close(&s);
		begin();
		breakages[i].work();
		expect_fault(breakages[i].name, breakages[i].want);
	}
}

Test(audit_scans, finds_no_fault_in_sound_scans)
{
	put_scan(SCANS);
	put_scan(SCANS + 1);
	put_delivery(SCANS + 1);
	put_key(PASSES - 1);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
