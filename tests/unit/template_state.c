/* store/template_state.h: rows are read as they were put; passes and deleted templates are counted. */
#include "tests/unit/support.h"

#include "store/hot.h"
#include "store/template_state.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(template_state);
static const struct account_id account = {{'b'}}, before = {{'a'}}, after = {{'c'}};

static void put(struct account_id of, uint32_t number, enum template_state state)
{
	cr_assert_eq(template_use_put(s.view, of, number, &(struct template_use){state, 0}), OK);
	scratch_save(&s);
}

static struct template_use use_of(uint32_t number)
{
	struct template_use use;
	cr_assert_eq(template_use_get(s.view, account, number, &use), OK);
	return use;
}

Test(template_state, deleted_ones_are_counted_by_account)
{
	uint32_t count;
	put(before, 1, TEMPLATE_DELETED);
	put(after, 1, TEMPLATE_DELETED);
	cr_expect(!template_count_deleted(s.view, account, &count) && count == 0);
	put(account, 1, TEMPLATE_USED);
	put(account, 2, TEMPLATE_DELETED);
	put(account, 5, TEMPLATE_RETIRED);
	put(account, 300, TEMPLATE_DELETED);
	cr_expect(!template_count_deleted(s.view, account, &count) && count == 3);
	cr_expect(use_of(1).state == TEMPLATE_USED && use_of(2).state == TEMPLATE_DELETED &&
	          use_of(3).state == TEMPLATE_UNUSED && use_of(5).state == TEMPLATE_RETIRED &&
	          use_of(300).state == TEMPLATE_DELETED);
}

static void delete_pass(uint32_t number)
{
	struct hot_at at;
	cr_assert_eq(hot_get(s.view, account, number, &at), OK);
	struct hot deleted = at.now;
	deleted.flags |= HOT_DELETED;
	cr_assert_eq(hot_put(s.view, &at, &deleted), OK);
	scratch_save(&s);
}

Test(template_state, counts_passes_that_are_not_deleted)
{
	struct hot pass = {.template = 2};
	for (uint32_t number = 0; number < 3; number++) {
		cr_assert_eq(hot_add(s.view, account, number, &pass), OK);
		scratch_save(&s);
		cr_expect_eq(use_of(2).passes, number + 1);
	}
	cr_expect(use_of(2).state == TEMPLATE_USED && use_of(1).state == TEMPLATE_UNUSED);
	delete_pass(1);
	cr_expect_eq(use_of(2).passes, 2);
	delete_pass(0);
	delete_pass(2);
	cr_expect(use_of(2).state == TEMPLATE_USED && use_of(2).passes == 0);
}

Test(template_state, no_pass_is_made_of_a_deleted_template)
{
	static const enum template_state states[] = {TEMPLATE_DELETED, TEMPLATE_RETIRED};
	for (unsigned i = 0; i < 2; i++) {
		put(account, 3, states[i]);
		cr_expect_eq(template_add_pass(s.view, account, 3), ERR_DAMAGED);
		cr_expect_eq(template_remove_pass(s.view, account, 3), ERR_DAMAGED);
	}
	cr_expect_eq(template_remove_pass(s.view, account, 4), ERR_DAMAGED, "it has no pass");
}

Test(template_state, reports_damage)
{
	struct template_use use;
	cr_expect_eq(template_use_read(span_of("\1\7\0\0\0", 5), &use), OK);
	cr_expect_eq(use.passes, 7);
	for (uint8_t state = 0; state < 9; state++) {
		uint8_t value[] = {state, 0, 0, 0, 0};
		cr_expect_eq(template_use_read(span_of(value, 5), &use),
		             state >= 1 && state <= 3 ? OK : ERR_DAMAGED, "%u", state);
	}
	cr_expect_eq(template_use_read(span_of("\2\1\0\0\0", 5), &use), ERR_DAMAGED, "deleted, with a pass");
	cr_expect_eq(template_use_read(span_of("\3\1\0\0\0", 5), &use), ERR_DAMAGED, "retired, with a pass");
	cr_expect_eq(template_use_read(span_of("\1\0\0\0\0\0", 6), &use), ERR_DAMAGED);
	cr_expect_eq(template_use_read(span_of("\1\0\0\0", 4), &use), ERR_DAMAGED);
}
