/* The audit of cards: each rule, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "store/card.h"

TestSuite(audit_cards, .init = make_shop, .fini = end);

#define ID "01000000-0000-0000-0000-000000000000"

static const struct uuid id = {{1}};

static struct card some(const char *code)
{
	return (struct card){
	    .id = id, .pass_number = 3, .linked = true, .created = {10}, .code = span_str(code)};
}

static void store(struct card card)
{
	must(!card_put(s.view, account, &card));
	scratch_save(&s);
}

static void break_form(void)
{
	store(some("a"));
	put(TABLE_CARD, key_card(account, 3, id), span_str("x"));
}
static void break_key(void)
{
	put(TABLE_CARD, key_u32(account, 3), span_str("x"));
}
static void break_pass(void)
{
	struct card card = some("a");
	card.pass_number = PASSES;
	store(card);
}
static void break_time(void)
{
	struct card card = some("a");
	card.created.v = -1;
	store(card);
}
static void break_id(void)
{
	store(some("a"));
	del(TABLE_CARD_ID, key_uuid(account, id));
}
static void break_other_id(void)
{
	store(some("a"));
	put(TABLE_CARD_ID, key_uuid(account, id), span_of("\5\0\0", 4));
}
static void break_code(void)
{
	store(some("a"));
	del(TABLE_CARD_CODE, key_card_code(account, span_str("a")));
}
static void break_unlinked(void)
{
	uint8_t     value[20] = {3, 0, 0, 0, 1};
	struct card card = some("a");
	card.linked = false;
	store(card);
	put(TABLE_CARD_CODE, key_card_code(account, span_str("a")), span_of(value, sizeof value));
}
static void break_nobodys_code(void)
{
	uint8_t value[20] = {3, 0, 0, 0, 9};
	put(TABLE_CARD_CODE, key_card_code(account, span_str("a")), span_of(value, sizeof value));
}
static void break_another_code(void)
{
	uint8_t value[20] = {3, 0, 0, 0, 1};
	store(some("a"));
	put(TABLE_CARD_CODE, key_card_code(account, span_str("b")), span_of(value, sizeof value));
}
static void break_empty_code(void)
{
	uint8_t value[20] = {3, 0, 0, 0, 1};
	store(some("a"));
	put(TABLE_CARD_CODE, key_account(account), span_of(value, sizeof value));
}
static void break_nobodys_id(void)
{
	put(TABLE_CARD_ID, key_uuid(account, id), span_of("\3\0\0", 4));
}
static void break_short_id(void)
{
	put(TABLE_CARD_ID, key_u32(account, 1), span_of("\3\0\0", 4));
}
static void break_account(void)
{
	put(TABLE_CARD_CODE, key_u32(nobody, 1), span_str("x"));
}

static const struct breakage breakages[] = {
    B(form, "table card, " ACCOUNT "a row of a wrong form"),
    B(key, "table card, " ACCOUNT "a row of a wrong form"),
    B(pass, ID " is of pass 45, which does not exist"),
    B(time, ID " has an impossible time"),
    B(id, ID " is not found by its id"),
    B(other_id, ID " is not found by its id"),
    B(code, ID " is not found by its code"),
    B(unlinked, "table card_code, " ACCOUNT "a code leads to " ID ", which is unlinked"),
    B(nobodys_code, "table card_code, " ACCOUNT "a code leads to no card of that code"),
    B(another_code, "table card_code, " ACCOUNT "a code leads to no card of that code"),
    B(empty_code, "table card_code, " ACCOUNT "a code leads to no card of that code"),
    B(nobodys_id, "table card_id, " ACCOUNT "an id leads to no card"),
    B(short_id, "table card_id, " ACCOUNT "an id leads to no card"),
    B(account, NOBODY "rows of an account that does not exist"),
};

Test(audit_cards, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_cards, finds_no_fault_in_sound_cards)
{
	for (uint8_t i = 1; i < 20; i++) {
		char        code[] = {(char)('a' + i / 2), 0};
		struct card card = some(code);
		card.id.b[0] = i;
		card.linked = i % 2;
		card.pass_number = i % 7;
		store(card);
	}
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
