/* The audit of the indexes of passes: ids, names, texts, orders and statuses, each rule broken alone. */
#include "tests/unit/audit_look.h"

#include "store/chunk.h"
#include "store/text.h"

TestSuite(audit_index, .init = make_shop, .fini = end);

enum { AT_CREATED = 664 }; /* in a hot row */

/* The name in every body but one: twenty zeros. */
#define NAME span_str("00000000000000000000")
static void break_name_missing(void)
{
	del(TABLE_NAME, key_name(account, NAME, 9));
}
static void break_name_twice(void)
{
	put(TABLE_NAME, key_name(account, span_str("zoe"), 9), span_of(NULL, 0));
}
static void break_name_other(void)
{
	del(TABLE_NAME, key_name(account, NAME, 9));
	put(TABLE_NAME, key_name(account, span_str("zoe"), 9), span_of(NULL, 0));
}
static void break_name_stray(void)
{
	put(TABLE_NAME, key_name(account, NAME, PASSES), span_of(NULL, 0));
}
static void break_name_value(void)
{
	put(TABLE_NAME, key_name(account, NAME, 9), span_str("x"));
}
static void break_name_key(void)
{
	put(TABLE_NAME, key_u32(account, 1), span_of(NULL, 0));
}

/* Rewrites the first row of an order with members `one` and `two` exchanged and without the last `cut`
 * members. These go into a row of their own after `bound`, if there is one. */
static void break_order(enum table table, unsigned one, unsigned two, unsigned cut,
                        const struct row_key *bound)
{
	struct row_key first = key_account(account);
	struct chunk   chunk, rest;
	must(!chunk_at(s.view, table, &first, &chunk));
	uint32_t kept = chunk.numbers[one];
	chunk.numbers[one] = chunk.numbers[two];
	chunk.numbers[two] = kept;
	rest = chunk_part(&chunk, chunk.count - cut, bound ? bound : &first);
	must(!chunk_put(s.view, &chunk));
	if (bound) must(!chunk_put(s.view, &rest));
	scratch_save(&s);
}
static void break_id_order_place(void)
{
	break_order(TABLE_ID_ORDER, 3, 4, 0, NULL);
}
static void break_id_order_short(void)
{
	break_order(TABLE_ID_ORDER, 0, 0, 1, NULL);
}
static void break_id_order_missing(void)
{
	del(TABLE_ID_ORDER, key_account(account));
}
static void break_id_order_form(void)
{
	put(TABLE_ID_ORDER, key_account(account), span_str("abc"));
}
static void break_id_order_bound(void)
{
	struct row_key late = key_id_order(account, span_str("pass-9"),
	                                   9); /* that of the last member, not of the last two */
	break_order(TABLE_ID_ORDER, 0, 0, 2, &late);
}
static void break_id_order_early_bound(void)
{
	struct row_key early = key_id_order(account, span_str("pass-0"), 0);
	break_order(TABLE_ID_ORDER, 0, 0, 2, &early);
}
static void break_id_order_empty_row(void)
{
	put(TABLE_ID_ORDER, key_id_order(account, span_str("z"), 0), span_of(NULL, 0));
}
static void break_name_order_place(void)
{
	break_order(TABLE_NAME_ORDER, 40, 41, 0, NULL);
}
static void break_name_order_bound(void)
{
	struct row_key late = key_name(account, span_str("z"), 0);
	break_order(TABLE_NAME_ORDER, 0, 0, 2, &late);
}
static void break_text_other(void)
{
	must(!text_put(s.view, account, 33, span_str("something else")));
	scratch_save(&s);
}
static void break_text_missing(void)
{
	del(TABLE_TEXT, key_u32(account, 1));
}
static void break_text_stray(void)
{
	must(!text_put(s.view, account, PASSES, span_str("nobody's")));
	scratch_save(&s);
}
static void break_text_row_stray(void)
{
	must(!text_put(s.view, account, 500, span_str("nobody's")));
	scratch_save(&s);
}
static void break_text_place(void)
{
	static char long_text[1200];
	memset(long_text, 'a', sizeof long_text);
	must(!text_put(s.view, account, 33, span_of(long_text, sizeof long_text)));
	scratch_save(&s);
}
static void break_long_text_missing(void)
{
	del(TABLE_LONG_TEXT, key_u32(account, LARGE_PASS));
}
static void break_long_text_other(void)
{
	put(TABLE_LONG_TEXT, key_u32(account, LARGE_PASS), span_str("something else"));
}
static void break_long_text_stray(void)
{
	put(TABLE_LONG_TEXT, key_u32(account, 12), span_str("nobody's"));
}
static void break_text_form(void)
{
	put(TABLE_TEXT, key_u32(account, 0), span_str("short"));
}
static void break_status_byte(void)
{
	patch(TABLE_STATUS, key_u32(account, 0), 9, "\x03", 1);
}
static void break_status_nobody(void)
{
	patch(TABLE_STATUS, key_u32(account, 0), PASSES, "\x02", 1);
}
static void break_status_missing(void)
{
	del(TABLE_STATUS, key_u32(account, 0));
}
static void break_status_form(void)
{
	put(TABLE_STATUS, key_u32(account, 0), span_str("x"));
}
static void break_tally_width(void)
{
	struct tally tally = {
	    .made = PASSES, .counts = {[ISSUED] = PASSES - 1, [HOT_COUNT_DELETED] = 1}, .width = 1};
	must(!tally_put(s.view, account, &tally));
	scratch_save(&s);
}
static void break_hot_created(void)
{
	uint8_t bytes[8] = {1};
	patch(TABLE_HOT, key_u32(account, 0), AT_CREATED + 8 * 20, bytes, sizeof bytes);
}

static const struct breakage breakages[] = {
    B(name_missing, "table name, " ACCOUNT "pass 9 has none"),
    B(name_twice, "table name, " ACCOUNT "pass 9 has two names"),
    B(name_other, "table name, " ACCOUNT "pass 9: another name than in its body"),
    B(name_stray, "table name, " ACCOUNT "pass 45 does not exist"),
    B(name_value, "table name, " ACCOUNT "pass 9: a row of a wrong form"),
    B(name_key, "table name, " ACCOUNT "a key of 14 bytes"),
    B(id_order_place, "table id_order, " ACCOUNT "place 3 is wrong"),
    B(id_order_short, "table id_order, " ACCOUNT "44 passes, there are 45"),
    B(id_order_missing, "table id_order, " ACCOUNT "0 passes, there are 45"),
    B(id_order_form, "table id_order, " ACCOUNT "a row of a wrong form, from place 0 on"),
    B(id_order_bound, "table id_order, " ACCOUNT "the row from place 43 on has a wrong bound"),
    B(id_order_early_bound, "table id_order, " ACCOUNT "the row from place 43 on has a wrong bound"),
    B(id_order_empty_row, "table id_order, " ACCOUNT "a row of a wrong form, from place 45 on"),
    B(name_order_place, "table name_order, " ACCOUNT "place 40 is wrong"),
    B(name_order_bound, "table name_order, " ACCOUNT "the row from place 43 on has a wrong bound"),
    B(text_other, "table text, " ACCOUNT "pass 33: another text than its body's"),
    B(text_missing, "table text, " ACCOUNT "1 rows, there must be 2"),
    B(text_stray, "table text, " ACCOUNT "pass 45 does not exist"),
    B(text_row_stray, "table text, " ACCOUNT "row 15: there is no such pass"),
    B(text_place, "table text, " ACCOUNT "pass 33: kept in the wrong place"),
    B(long_text_missing, "table long_text, " ACCOUNT "pass 7 has none"),
    B(long_text_other, "table long_text, " ACCOUNT "pass 7: another text than its body's"),
    B(long_text_stray, "table long_text, " ACCOUNT "pass 12: another text than its body's"),
    B(text_form, "table text, " ACCOUNT "row 0: of a wrong form"),
    B(status_byte, "table status, " ACCOUNT "pass 9: 3, its hot row says 2"),
    B(status_nobody, "table status, " ACCOUNT "pass 45: 2, its hot row says 255"),
    B(status_missing, "table status, " ACCOUNT "0 rows, there must be 1"),
    B(status_form, "table status, " ACCOUNT "the row of passes from 0 is missing or wrong"),
    B(tally_width, "table tally, " ACCOUNT "pass 0: a counter of more than 1 characters"),
    B(hot_created, "table hot, " ACCOUNT "pass 20 was created before the one before it"),
};

Test(audit_index, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}
