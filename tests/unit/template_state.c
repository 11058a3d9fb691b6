/* store/template_state.h: rows are read as they were put; passes and deleted templates are counted. */
#include "tests/unit/support.h"

#include "schemas/states.h"
#include "store/hot.h"
#include "store/keys.h"
#include "store/template_state.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(template_state);
static const struct account_id account = {{'b'}}, before = {{'a'}}, after = {{'c'}};

static void put(struct account_id of, uint32_t number, enum template_state state)
{
	cr_assert_eq(template_use_put(s.view, of, number, &(struct template_use){.state = state}), OK);
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

static enum err count_deletion(uint16_t number)
{
	const struct hot pass = {.template = number}, deleted = {.template = number, .flags = HOT_DELETED};
	return template_count_pass(s.view, account, &pass, &deleted);
}

Test(template_state, no_pass_is_made_of_a_deleted_template)
{
	static const enum template_state states[] = {TEMPLATE_DELETED, TEMPLATE_RETIRED};
	for (unsigned i = 0; i < 2; i++) {
		put(account, 3, states[i]);
		cr_expect_eq(template_count_pass(s.view, account, NULL, &(struct hot){.template = 3}),
		             ERR_DAMAGED);
		cr_expect_eq(count_deletion(3), ERR_DAMAGED);
	}
	cr_expect_eq(count_deletion(4), ERR_DAMAGED, "it has no pass");
}

static void move_pass(uint32_t number, enum pass_status status)
{
	struct hot_at at;
	cr_assert_eq(hot_get(s.view, account, number, &at), OK);
	struct hot moved = at.now;
	moved.status = (uint8_t)status;
	cr_assert_eq(hot_put(s.view, &at, &moved), OK);
	scratch_save(&s);
}

Test(template_state, counts_installed_passes)
{
	struct hot pass = {.template = 2, .status = PASS_ISSUED};
	for (uint32_t number = 0; number < 3; number++) {
		cr_assert_eq(hot_add(s.view, account, number, &pass), OK);
		scratch_save(&s);
	}
	cr_expect_eq(use_of(2).installed, 0);
	move_pass(0, PASS_ACTIVE);
	move_pass(2, PASS_ACTIVE);
	cr_expect(use_of(2).installed == 2 && use_of(2).passes == 3);
	move_pass(2, PASS_REMOVED);
	cr_expect_eq(use_of(2).installed, 1);
	delete_pass(0);
	cr_expect(use_of(2).installed == 0 && use_of(2).passes == 2);
}

/* Such a row does not become wrong by guessing: it counts passes only, until there are none. */
Test(template_state, a_row_from_before_wallets_has_no_count_of_installed_passes)
{
	struct hot     pass = {.template = 2, .status = PASS_ACTIVE};
	struct row_key key = key_u32(account, 2);
	cr_assert_eq(hot_add(s.view, account, 0, &pass), OK);
	scratch_save(&s);
	cr_assert_eq(
	    write_put(view_writes(s.view), TABLE_TEMPLATE_STATE, key_span(&key), span_of("\1\1\0\0\0", 5)),
	    OK);
	scratch_save(&s);
	cr_expect(use_of(2).is_from_before && use_of(2).passes == 1);
	move_pass(0, PASS_REMOVED);
	cr_assert_eq(hot_add(s.view, account, 1, &pass), OK);
	scratch_save(&s);
	cr_expect(use_of(2).is_from_before && use_of(2).passes == 2 && use_of(2).installed == 0);
	delete_pass(0);
	delete_pass(1);
	cr_expect(!use_of(2).is_from_before && use_of(2).passes == 0);
	cr_assert_eq(hot_add(s.view, account, 2, &pass), OK);
	scratch_save(&s);
	cr_expect(use_of(2).installed == 1 && use_of(2).passes == 1);
}

Test(template_state, reports_damage)
{
	struct template_use use;
	cr_expect_eq(template_use_read(span_of("\1\7\0\0\0\3\0\0\0", 9), &use), OK);
	cr_expect(use.passes == 7 && use.installed == 3 && !use.is_from_before);
	cr_expect_eq(template_use_read(span_of("\1\7\0\0\0", 5), &use), OK);
	cr_expect(use.passes == 7 && use.is_from_before);
	cr_expect_eq(template_use_read(span_of("\1\7\0\0\0\10\0\0\0", 9), &use), ERR_DAMAGED,
	             "more than passes");
	for (uint8_t state = 0; state < 9; state++) {
		uint8_t value[] = {state, 0, 0, 0, 0, 0, 0, 0, 0};
		cr_expect_eq(template_use_read(span_of(value, sizeof value), &use),
		             state >= 1 && state <= 3 ? OK : ERR_DAMAGED, "%u", state);
	}
	cr_expect_eq(template_use_read(span_of("\2\1\0\0\0", 5), &use), ERR_DAMAGED, "deleted, with a pass");
	cr_expect_eq(template_use_read(span_of("\3\1\0\0\0", 5), &use), ERR_DAMAGED, "retired, with a pass");
	cr_expect_eq(template_use_read(span_of("\1\0\0\0\0\0", 6), &use), ERR_DAMAGED);
	cr_expect_eq(template_use_read(span_of("\1\0\0\0", 4), &use), ERR_DAMAGED);
}
