/* store/template_row.h: a template's file and look, to the byte; and a row from before looks. */
#include "tests/unit/support.h"

#include "store/keys.h"
#include "store/template_row.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(template_row);
static const struct account_id account = {{'a'}};

Test(template_row, is_a_head_and_the_text)
{
	static const char   want[] = "\1\1\2\3\4\6\0\0\0\0\0\0\0{\"name\":\"n\"}";
	struct row_key      key = key_u32(account, 7);
	struct template_row row = {span_str("{\"name\":\"n\"}"), 0x04030201, {6}};
	struct span         value;
	cr_assert_eq(template_row_put(s.view, account, 7, &row), OK);
	scratch_save(&s);
	cr_assert_eq(view_get(s.view, TABLE_TEMPLATE, key_span(&key), &value), OK);
	cr_expect(span_equal(value, span_of(want, sizeof want - 1)));
	cr_assert_eq(template_row_get(s.view, account, 7, &row), OK);
	cr_expect(span_is(row.text, "{\"name\":\"n\"}") && row.look == 0x04030201 && row.changed.v == 6);
	cr_expect_eq(template_row_get(s.view, account, 8, &row), ERR_NOT_FOUND);
}

Test(template_row, a_text_alone_has_no_look)
{
	struct template_row row;
	cr_assert_eq(template_row_read(span_str("{}"), &row), OK);
	cr_expect(span_is(row.text, "{}") && !row.look && !row.changed.v);
}

Test(template_row, other_forms_are_damaged)
{
	static const struct span bad[] = {{NULL, 0},
	                                  {(const uint8_t *)"{", 1},
	                                  {(const uint8_t *)"\1\0\0\0\0\0\0\0\0\0\0\0\0{", 14},
	                                  {(const uint8_t *)"\2\1\0\0\0{}", 7}};
	struct template_row      row;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_eq(template_row_read(bad[i], &row), ERR_DAMAGED, "%u", i);
}
