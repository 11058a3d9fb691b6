/* What has become of templates: rows are read as they were put, and the deleted ones are counted. */
#include "tests/unit/support.h"

#include "store/hot.h"
#include "store/template_state.h"

#include <criterion/criterion.h>

static struct scratch          s;
static const struct account_id account = {{'b'}}, before = {{'a'}}, after = {{'c'}};

static void begin(void)
{
	scratch_open(&s);
}

static void end(void)
{
	scratch_close(&s);
}

TestSuite(template_state, .init = begin, .fini = end);

static void put(struct account_id of, uint32_t number, enum template_state state)
{
	cr_assert_eq(template_state_put(s.view, of, number, state), OK);
	scratch_save(&s);
}

static enum template_state state_of(uint32_t number)
{
	enum template_state state;
	cr_assert_eq(template_state_get(s.view, account, number, &state), OK);
	return state;
}

Test(template_state, deleted_ones_are_counted_by_account)
{
	uint32_t count;
	put(before, 1, TEMPLATE_DELETED);
	put(after, 1, TEMPLATE_DELETED);
	cr_expect(!template_count_deleted(s.view, account, &count) && count == 0);
	put(account, 1, TEMPLATE_USED);
	put(account, 2, TEMPLATE_DELETED);
	put(account, 300, TEMPLATE_DELETED);
	cr_expect(!template_count_deleted(s.view, account, &count) && count == 2);
	cr_expect(state_of(1) == TEMPLATE_USED && state_of(2) == TEMPLATE_DELETED &&
	          state_of(3) == TEMPLATE_UNUSED && state_of(300) == TEMPLATE_DELETED);
}

Test(template_state, the_first_pass_notes_that_its_template_is_used)
{
	struct hot pass = {.template = 2};
	cr_assert_eq(hot_add(s.view, account, 0, &pass), OK);
	scratch_save(&s);
	cr_expect(state_of(2) == TEMPLATE_USED && state_of(1) == TEMPLATE_UNUSED);
	cr_assert_eq(hot_add(s.view, account, 1, &pass), OK);
	cr_expect_eq(s.staged.count, 2, "the columns and the statuses, and nothing more");
	scratch_save(&s);
	pass.template = 3;
	put(account, 3, TEMPLATE_DELETED);
	cr_expect_eq(hot_add(s.view, account, 2, &pass), ERR_DAMAGED);
}

Test(template_state, knows_damage)
{
	enum template_state state;
	cr_expect_eq(template_state_read(span_of("\1", 1), &state), OK);
	for (uint8_t value = 0; value < 9; value++)
		cr_expect_eq(template_state_read(span_of(&value, 1), &state),
		             value == 1 || value == 2 ? OK : ERR_DAMAGED, "%u", value);
	cr_expect_eq(template_state_read(span_of("\1\1", 2), &state), ERR_DAMAGED);
	cr_expect_eq(template_state_read(span_of("", 0), &state), ERR_DAMAGED);
}
