/* Rows of cards: they read as they were written and are found by id and by code; rows that the program does
 * not write are damage. Their bytes are in row_bytes.c. */
#include "tests/unit/support.h"

#include "store/card.h"
#include "store/keys.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(cards);
static const struct account_id account = {{'b'}}, before = {{'a'}}, after = {{'c'}};

static struct card some(uint8_t tag, uint32_t pass_number, const char *code)
{
	return (struct card){.id = {{tag}},
	                     .pass_number = pass_number,
	                     .linked = true,
	                     .created = {tag},
	                     .code = span_str(code)};
}

static void store(struct account_id of, struct card card)
{
	cr_assert_eq(card_put(s.view, of, &card), OK);
	scratch_save(&s);
}

static bool is(const struct card *got, const struct card *want)
{
	return uuid_same(got->id, want->id) && got->pass_number == want->pass_number &&
	       got->linked == want->linked && got->created.v == want->created.v &&
	       span_equal(got->code, want->code);
}

Test(cards, are_found_by_id_and_by_code)
{
	struct card want = some(5, 7, "abc"), got;
	store(account, want);
	store(after, some(6, 8, "abcd"));
	cr_assert_eq(card_get(s.view, account, want.id, &got), OK);
	cr_expect(is(&got, &want));
	cr_assert_eq(card_of_code(s.view, account, span_str("abc"), &got), OK);
	cr_expect(is(&got, &want));
	cr_expect_eq(card_get(s.view, before, want.id, &got), ERR_NOT_FOUND);
	static const char *const others[] = {"ab", "abcd", "ABC", "abc "};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_eq(card_of_code(s.view, account, span_str(others[i]), &got), ERR_NOT_FOUND);
	cr_expect_eq(card_of_code(s.view, account, filler(1, CARD_CODE_BYTES_MAX + 1), &got), ERR_NOT_FOUND);
}

Test(cards, an_unlinked_card_has_no_code)
{
	struct card card = some(5, 7, "abc"), got;
	store(account, card);
	card.linked = false;
	store(account, card);
	cr_expect_eq(card_of_code(s.view, account, card.code, &got), ERR_NOT_FOUND);
	cr_assert_eq(card_get(s.view, account, card.id, &got), OK);
	cr_expect(is(&got, &card));
}

/* In one command, as when a code moves to another pass. */
Test(cards, a_code_moves_to_another_pass)
{
	struct card old = some(5, 7, "abc"), new = some(6, 8, "abc"), got;
	store(account, old);
	old.linked = false;
	cr_assert_eq(card_put(s.view, account, &old), OK);
	store(account, new);
	cr_assert_eq(card_of_code(s.view, account, new.code, &got), OK);
	cr_expect(is(&got, &new));
}

Test(cards, are_listed_newest_first_and_by_pass)
{
	struct card got;
	char        codes[][2] = {"a", "b", "c", "d", "e"};
	cr_expect_eq(card_newest(s.view, account, 7, &got), ERR_NOT_FOUND);
	for (uint8_t i = 0; i < 5; i++)
		store(account, some((uint8_t)(0xff - i), 6 + i % 3, codes[i]));
	store(before, some(3, 7, "x"));
	store(after, some(4, 7, "y"));
	cr_assert_eq(card_newest(s.view, account, 7, &got), OK);
	cr_expect_eq(got.id.b[0], 0xfe);
	cr_assert_eq(card_older(s.view, account, &got), OK);
	cr_expect_eq(got.id.b[0], 0xfb);
	cr_expect_eq(card_older(s.view, account, &got), ERR_NOT_FOUND);
	cr_expect_eq(card_newest(s.view, account, 9, &got), ERR_NOT_FOUND);
	cr_expect_eq(card_newest(s.view, account, UINT32_MAX, &got), ERR_NOT_FOUND);
}

Test(cards, invalid_rows_are_damage)
{
	static const struct {
		size_t  at;
		uint8_t byte;
	} rows[] = {{0, 0}, {0, 2}, {1, 2}, {10, '\n'}, {12, 0x80}};
	uint8_t     value[CARD_BYTES_MAX + 1];
	struct card card = some(1, 2, "code"), got;
	size_t      whole = card_write(&card, value);
	cr_assert_eq(card_read(span_of(value, whole), &got), OK);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t kept = value[rows[i].at];
		value[rows[i].at] = rows[i].byte;
		cr_expect_eq(card_read(span_of(value, whole), &got), ERR_DAMAGED, "row %zu", i);
		value[rows[i].at] = kept;
	}
	for (size_t size = 0; size <= 10; size++)
		cr_expect_eq(card_read(span_of(value, size), &got), ERR_DAMAGED, "%zu bytes", size);
	memset(value + 10, 'u', sizeof value - 10);
	cr_expect_eq(card_read(span_of(value, CARD_BYTES_MAX), &got), OK);
	cr_expect_eq(card_read(span_of(value, CARD_BYTES_MAX + 1), &got), ERR_DAMAGED);
	for (size_t size = 0; size < 30; size++)
		cr_expect_eq(card_code_read(span_of(value, size), &got), size == 20 ? OK : ERR_DAMAGED);
}
