/* The audit: sound tables have no fault. Each rule is then broken alone in an otherwise sound shop, and must
 * be reported with table, account and number. The shop is made with the codecs of the handlers. */
#include "tests/unit/audit_look.h"

#include "store/db_inside.h"
#include "store/template_state.h"

enum { AT_STATUS = 24, AT_FLAGS = 64, AT_TEMPLATE = 104, AT_BALANCE = 344, AT_HEAD = 1624 };

TestSuite(audit, .init = make_shop, .fini = end);

Test(audit, finds_no_fault_in_a_sound_shop_and_counts_its_rows)
{
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
	cr_expect_eq(audit.accounts, 2);
	cr_expect_eq(audit.passes, PASSES - 1);
	cr_expect_eq(audit.ledger_rows, PASSES * (2 + DELTAS) + 1);
	/* Bodies, ids and names; two more parts of the large body; its long text in three; texts, orders, statuses; hot rows, tally, accounts, keys,
	 * templates and the use of one, META, idempotency. */
	cr_expect_eq(audit.rows,
	             audit.ledger_rows + 3 * PASSES + 2 + 3 + 2 + 2 + 1 + 2 + 1 + 2 + 2 + 2 + 1 + 2 + 8,
	             "%llu", (unsigned long long)audit.rows);
}

Test(audit, finds_no_fault_in_empty_tables)
{
	scratch_close(&s);
	scratch_open(&s);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
	cr_expect_eq(audit.accounts, 0);
}

Test(audit, can_be_stopped)
{
	struct view    *reader;
	struct arena    arena = {0};
	struct progress progress = {.stop = true};
	must(!db_reader_open(s.db, &arena, &reader));
	must(!db_reader_begin(reader));
	cr_expect_eq(audit_tables(reader, &audit, &faults, &progress), ERR_STOPPED);
	db_reader_end(reader);
	db_reader_close(&reader);
	arena_free(&arena);
}

/* Breaking ------------------------------------------------------------------------------------------------- */

static void patch_hot(uint32_t number, size_t column, size_t width, uint64_t value)
{
	uint8_t bytes[8];
	put_le64(bytes, value);
	patch(TABLE_HOT, key_u32(account, number / HOT_PASSES), column + width * (number % HOT_PASSES), bytes,
	      width);
}

static void break_hot_count(void)
{
	patch(TABLE_HOT, key_u32(account, 0), ISSUED, "\x07", 1);
}
static void break_hot_status(void)
{
	patch_hot(3, AT_STATUS, 1, 9);
}
static void break_hot_flags(void)
{
	patch_hot(3, AT_FLAGS, 1, 128);
}
static void break_hot_flags_of_ledger(void)
{
	patch_hot(3, AT_FLAGS, 1, HOT_REINSTALL_BLOCKED);
}
static void break_hot_deleted_status(void)
{
	patch_hot(DELETED_PASS, AT_STATUS, 1, ISSUED);
}
static void break_hot_template(void)
{
	patch_hot(44, AT_TEMPLATE, 2, 3);
}
static void break_hot_balance(void)
{
	patch_hot(41, AT_BALANCE, 8, 61);
}
static void break_hot_head(void)
{
	patch_hot(41, AT_HEAD, 8, 1);
}
static void break_hot_missing(void)
{
	del(TABLE_HOT, key_u32(account, 0));
}
static void break_hot_form(void)
{
	put(TABLE_HOT, key_u32(account, 2), span_str("no row"));
}
static void break_hot_key(void)
{
	put(TABLE_HOT, key_u64(account, 9), span_str("no row"));
}
static void break_tally_made(void)
{
	patch(TABLE_TALLY, key_account(account), 0, "\x2e", 1);
}
static void break_tally_count(void)
{
	patch(TABLE_TALLY, key_account(account), 4 + 4 * HOT_COUNT_DELETED, "\x02", 1);
}
static void break_tally_missing(void)
{
	del(TABLE_TALLY, key_account(account));
}
static void break_tally_form(void)
{
	put(TABLE_TALLY, key_account(account), span_str("x"));
}
static void break_tally_key(void)
{
	put(TABLE_TALLY, key_u32(account, 1), span_str("x"));
}
static void break_body_missing(void)
{
	del(TABLE_BODY, key_u32(account, 12));
}
static void break_body_form(void)
{
	put(TABLE_BODY, key_u32(account, 12), span_str("\x02 no body at all, and of another version"));
}
static void break_body_stray(void)
{
	put_body(PASSES + 3, "pass-48", 20);
}
static void break_body_id(void)
{
	struct body   body = {.pass_id = span_str("pass-999"),
	                      .visible = span_str("{\"x\":\"00000000000000000000\"}"),
	                      .hidden = span_str("{}")};
	struct buffer bytes = {0};
	body_pack(&body, &bytes);
	put(TABLE_BODY, key_u32(account, 12), buffer_span(&bytes));
	buffer_free(&bytes);
}
static void break_body_bad_id(void)
{
	put_body(12, "..", 20);
}

/* One part of a body as it is stored. */
static void put_part(uint32_t number, uint16_t part, const void *bytes, size_t size)
{
	struct row_key key = key_u32(account, number);
	put_be16(key.bytes + key.size, part);
	key.size += 2;
	must(!row_put(s.db, TABLE_BODY, key_span(&key), span_of(NULL, 0), span_of(bytes, size)));
}

static void break_part_key(void)
{
	struct row_key key = key_account(account);
	must(!row_put(s.db, TABLE_TEMPLATE, key_span(&key), span_of(NULL, 0), span_str("x")));
}
static void break_part_empty(void)
{
	put_part(LARGE_PASS, 1, NULL, 0);
}
static void break_part_long(void)
{
	put_part(LARGE_PASS, 2, filler(1, 1900).at, 1900);
}
static void break_part_stray(void)
{
	put_part(12, 5, "x", 1);
}
static void break_part_size(void)
{
	put_part(12, 0, "\xff\xff\xff\xff", 4);
}
static void break_part_short(void)
{
	put_part(12, 0, "\x04", 1);
}
static void break_part_next(void)
{
	put_part(12, 0, "\xff\x00\x00\x00 more was announced than there is", 38);
}

static void break_id_missing(void)
{
	del(TABLE_PASS_ID, key_pass_id(account, span_str("pass-9"), 9));
}
static void break_id_twice(void)
{
	put(TABLE_PASS_ID, key_pass_id(account, span_str("another"), 9), span_of(NULL, 0));
}
static void break_id_stray(void)
{
	put(TABLE_PASS_ID, key_pass_id(account, span_str("pass-9"), PASSES), span_of(NULL, 0));
}
static void break_id_value(void)
{
	put(TABLE_PASS_ID, key_pass_id(account, span_str("pass-9"), 9), span_str("x"));
}
static void break_id_key(void)
{
	put(TABLE_PASS_ID, key_u32(account, 1), span_of(NULL, 0));
}
static void break_id_live_twice(void)
{
	del(TABLE_PASS_ID, key_pass_id(account, span_str("pass-9"), 9));
	put(TABLE_PASS_ID, key_pass_id(account, span_str("pass-8"), 9), span_of(NULL, 0));
	put_body(9, "pass-8", 20);
}
static void break_ledger_gap(void)
{
	del(TABLE_LEDGER, key_u64(account, 7));
}
static void break_ledger_first(void)
{
	del(TABLE_LEDGER, key_u64(account, 1));
}
static void break_ledger_previous(void)
{
	patch(TABLE_LEDGER, key_u64(account, 8), 16, "\x06", 1);
}
static void break_ledger_balance(void)
{
	patch(TABLE_LEDGER, key_u64(account, 3), 32, "\x0b", 1);
}
static void break_ledger_delta(void)
{
	patch(TABLE_LEDGER, key_u64(account, 5), 24, "\x1f", 1);
}
static void break_ledger_number(void)
{
	patch(TABLE_LEDGER, key_u64(account, 3), 0, "\xff", 1);
}
static void break_ledger_status(void)
{
	patch(TABLE_LEDGER, key_u64(account, 5), 5, "\x03", 1);
}
static void break_ledger_unknown_status(void)
{
	patch(TABLE_LEDGER, key_u64(account, 5), 5, "\x09", 1);
}
static void break_ledger_what(void)
{
	patch(TABLE_LEDGER, key_u64(account, 2), 4, "\x63", 1);
}
static void break_ledger_size(void)
{
	patch(TABLE_LEDGER, key_u64(account, 2), 4, "\x09", 1);
}
static void break_ledger_creation(void)
{
	patch(TABLE_LEDGER, key_u64(account, 1), 4, "\x02", 1);
}
static void break_ledger_key(void)
{
	put(TABLE_LEDGER, key_u32(account, 1), span_str("x"));
}
static void break_template_missing(void)
{
	del(TABLE_TEMPLATE, key_u32(account, 1));
}
static void break_template_last(void)
{
	del(TABLE_TEMPLATE, key_u32(account, 2));
}
static void break_template_more(void)
{
	put(TABLE_TEMPLATE, key_u32(account, 3), span_str(template_text));
}
static void break_template_text(void)
{
	put(TABLE_TEMPLATE, key_u32(account, 2), span_str("{\"name\":1}"));
}
static void put_state(uint32_t number, enum template_state state, uint32_t passes)
{
	must(!template_use_put(s.view, account, number,
	                       &(struct template_use){.state = state, .passes = passes}));
	scratch_save(&s);
}
static void break_template_deleted(void)
{
	put_state(2, TEMPLATE_DELETED, 0);
}
static void break_template_of_passes(void)
{
	put_state(1, TEMPLATE_DELETED, 0);
	del(TABLE_TEMPLATE, key_u32(account, 1));
}
static void break_template_used(void)
{
	del(TABLE_TEMPLATE_STATE, key_u32(account, 1));
}
static void break_template_unused(void)
{
	put_state(2, TEMPLATE_USED, 0);
}
static void break_template_passes(void)
{
	put_state(1, TEMPLATE_USED, 1);
}
static void break_template_installed(void)
{
	struct template_use use;
	must(!template_use_get(s.view, account, 1, &use));
	use.installed++;
	must(!template_use_put(s.view, account, 1, &use));
	scratch_save(&s);
}
static void break_template_retired(void)
{
	put_state(1, TEMPLATE_RETIRED, 0);
}
static void break_template_state(void)
{
	put(TABLE_TEMPLATE_STATE, key_u32(account, 2), span_str("\3"));
}
static void break_template_state_more(void)
{
	put_state(3, TEMPLATE_DELETED, 0);
}
static void break_template_count(void)
{
	put_account(other, TEMPLATES_MADE_MAX + 1);
}
static void break_key_size(void)
{
	put(TABLE_KEY, key_uuid(account, (struct uuid){{1}}), span_str("x"));
}
static void break_key_time(void)
{
	uint8_t value[48] = {[39] = 0x80};
	put(TABLE_KEY, key_uuid(account, (struct uuid){{1}}), span_of(value, sizeof value));
}
static void break_key_key(void)
{
	put(TABLE_KEY, key_u32(account, 1), span_str("x"));
}
static void break_account_missing(void)
{
	del(TABLE_ACCOUNT, key_account(account));
}
static void break_account_form(void)
{
	put(TABLE_ACCOUNT, key_account(account), span_str("x"));
}
static void break_account_switch(void)
{
	patch(TABLE_ACCOUNT, key_account(account), 0, "\x80", 1);
}
static void break_account_key(void)
{
	put(TABLE_ACCOUNT, key_u32(account, 1), span_str("x"));
}
static void break_stray_rows(void)
{
	put(TABLE_LEDGER, key_u64(nobody, 1), span_str("x"));
}
static void break_short_key(void)
{
	struct row_key key = {.bytes = {'z'}, .size = 1};
	put(TABLE_LEDGER, key, span_str("x"));
}
static void break_meta_name(void)
{
	must(!write_put(&s.staged, TABLE_META, span_str("surprise"), span_str("x")));
	scratch_save(&s);
}
static void break_meta_size(void)
{
	must(!write_put(&s.staged, TABLE_META, span_str("issuer_paused"), span_str("xx")));
	scratch_save(&s);
}

static const struct breakage breakages[] = {
    B(hot_count, "table hot, " ACCOUNT "passes from 0: count 2 is 7, there are 39"),
    B(hot_status, "table hot, " ACCOUNT "pass 3: unknown status 9"),
    B(hot_flags, "table hot, " ACCOUNT "pass 3: unknown flags 128"),
    B(hot_flags_of_ledger, "table hot, " ACCOUNT "pass 3: status 2 and flags 2, the ledger's 2 and 0"),
    B(hot_deleted_status, "table hot, " ACCOUNT "pass 4: deleted, but of status 2"),
    B(hot_template, "table hot, " ACCOUNT "pass 44: template 3 does not exist"),
    B(hot_balance, "table hot, " ACCOUNT "pass 41: its balance is 61, the ledger's sum 60"),
    B(hot_head, "table hot, " ACCOUNT "pass 41: its last event is 1, the ledger's 210"),
    B(hot_missing, "table hot, " ACCOUNT "passes from 0 to 40 are missing"),
    B(hot_form, "table hot, " ACCOUNT "a row of a wrong form, behind pass 45"),
    B(hot_key, "table hot, " ACCOUNT "a row of a wrong form"),
    B(tally_made, "table tally, " ACCOUNT "46 passes made, but there are 45"),
    B(tally_count, "table tally, " ACCOUNT "count 6 is 2, there are 1"),
    B(tally_missing, "table tally, " ACCOUNT "0 passes made, but there are 45"),
    B(tally_form, "table tally, " ACCOUNT "its row cannot be read"),
    B(tally_key, "table tally, " ACCOUNT "a key of 14 bytes"),
    B(body_missing, "table body, " ACCOUNT "pass 12 has none"),
    B(body_form, "table body, " ACCOUNT "pass 12: its body cannot be read"),
    B(body_stray, "table body, " ACCOUNT "pass 48 does not exist"),
    B(body_id, "table pass_id, " ACCOUNT "pass 12: another id than in its body"),
    B(body_bad_id, "table body, " ACCOUNT "pass 12: its body cannot be read"),
    B(part_key, "table template, " ACCOUNT "a key of 10 bytes"),
    B(part_empty, "table body, " ACCOUNT "number 7: part 1 is missing or wrong"),
    B(part_long, "table body, " ACCOUNT "number 7: part 2 is missing or wrong"),
    B(part_stray, "table body, " ACCOUNT "number 12: part 5 without the one before"),
    B(part_size, "table body, " ACCOUNT "number 12: its size is wrong"),
    B(part_short, "table body, " ACCOUNT "number 12: its size is wrong"),
    B(part_next, "table body, " ACCOUNT "number 12: part 1 is missing or wrong"),
    B(id_missing, "table pass_id, " ACCOUNT "pass 9 has none"),
    B(id_twice, "table pass_id, " ACCOUNT "pass 9 has two ids"),
    B(id_stray, "table pass_id, " ACCOUNT "pass 45 does not exist"),
    B(id_value, "table pass_id, " ACCOUNT "pass 9: a row of a wrong form"),
    B(id_key, "table pass_id, " ACCOUNT "a key of 14 bytes"),
    B(id_live_twice, "table pass_id, " ACCOUNT "two live passes of one id: pass 8 is one"),
    B(ledger_gap, "table ledger, " ACCOUNT "rows from 7 to 7 are missing"),
    B(ledger_first, "table ledger, " ACCOUNT "rows from 1 to 1 are missing"),
    B(ledger_previous, "table ledger, " ACCOUNT "row 8: the one before is 7, not 6"),
    B(ledger_balance, "table ledger, " ACCOUNT "row 3: balance 11, the sum is 10"),
    B(ledger_delta, "table ledger, " ACCOUNT "row 5: balance 60, the sum is 61"),
    B(ledger_number, "table ledger, " ACCOUNT "row 3: pass 255 does not exist"),
    B(ledger_status, "table hot, " ACCOUNT "pass 0: status 2 and flags 0, the ledger's 3 and 0"),
    B(ledger_unknown_status, "table ledger, " ACCOUNT "row 5: unknown status or flags"),
    B(ledger_what, "table ledger, " ACCOUNT "row 2: of a wrong form"),
    B(ledger_size, "table ledger, " ACCOUNT "row 2: of a wrong form"),
    B(ledger_creation, "table ledger, " ACCOUNT "row 1: pass 0 begins without its creation"),
    B(ledger_key, "table ledger, " ACCOUNT "a key of 14 bytes"),
    B(template_missing, "table template, " ACCOUNT "template 1 is missing"),
    B(template_last, "table template, " ACCOUNT "template 2 is missing"),
    B(template_more, "table template, " ACCOUNT "template 3, but the account has 2"),
    B(template_text, "table template, " ACCOUNT "template 2 cannot be read"),
    B(template_deleted, "table template, " ACCOUNT "template 2 was deleted, and is there"),
    B(template_of_passes, "table hot, " ACCOUNT "pass 0: template 1 does not exist"),
    B(template_used, "table template_state, " ACCOUNT "template 1 has passes, and is not used"),
    B(template_unused, "table template_state, " ACCOUNT "template 2 is used by no pass"),
    B(template_passes, "table template_state, " ACCOUNT "template 1 has 44 passes, counted as 1"),
    B(template_installed, "table template_state, " ACCOUNT "template 1 has 0 installed passes, counted as 1"),
    B(template_retired, "table template_state, " ACCOUNT "template 1 has 44 passes, counted as 0"),
    B(template_state, "table template_state, " ACCOUNT "a row of a wrong form, or of no template"),
    B(template_state_more, "table template_state, " ACCOUNT "a row of a wrong form, or of no template"),
    B(template_count, "more templates than it may have made"),
    B(key_size, "table key, " ACCOUNT "a row of a wrong size"),
    B(key_time, "table key, " ACCOUNT "a key with an impossible time"),
    B(key_key, "table key, " ACCOUNT "a row of a wrong size"),
    B(account_missing, "table hot, " ACCOUNT "rows of an account that does not exist"),
    B(account_form, "table account, " ACCOUNT "its row cannot be read"),
    B(account_switch, "table account, " ACCOUNT "an unknown switch"),
    B(account_key, "table account, " ACCOUNT "a key of 14 bytes"),
    B(stray_rows, "table ledger, " NOBODY "rows of an account that does not exist"),
    B(short_key, "a key of 1 bytes"),
    B(meta_name, "table meta: an unknown row, or one of a wrong size"),
    B(meta_size, "table meta: an unknown row, or one of a wrong size"),
};

Test(audit, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit, accepts_a_large_body_of_fewer_parts)
{
	put_body(LARGE_PASS, id_of(LARGE_PASS), 1700);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}

Test(audit, keeps_a_bounded_list_of_faults_but_counts_all)
{
	for (uint32_t number = 0; number < PASSES; number++)
		patch_hot(number, AT_BALANCE, 8, 1000 + number);
	look();
	cr_expect_eq(faults.count, PASSES + 1); /* a length greater than any that was written */
	cr_expect_gt(faults.count, FAULTS_KEPT);
	cr_expect(is_told("pass 0: its balance is 1000"));
	cr_expect_not(is_told("pass 44: "));
}
