/* Hot rows: columns that equal what was written, and a head with the right counts. */
#include "tests/unit/support.h"

#include "store/hot.h"
#include "store/keys.h"

#include <criterion/criterion.h>
#include <signal.h>

enum { PASSES = 2 * HOT_PASSES + 5 };

SCRATCH_SUITE(hot);
static const struct account_id account = {{'a'}}, neighbour = {{'b'}};
static struct hot              model[PASSES];
static unsigned                made;

static struct hot any_pass(uint64_t *state)
{
	return (struct hot){.status = (uint8_t)chance_below(state, HOT_COUNT_DELETED),
	                    .flags = (uint8_t)chance_below(state, 4),
	                    .template = (uint16_t)chance(state),
	                    .scan_count = (uint32_t)chance(state),
	                    .balance = (int64_t)chance(state),
	                    .created = {(int64_t)chance(state)},
	                    .updated = {(int64_t)chance(state)},
	                    .last_scan = {(int64_t)chance(state)},
	                    .ledger_head = chance(state)};
}

static void add(const struct hot *pass)
{
	cr_assert_eq(hot_add(s.view, account, made, pass), OK);
	model[made++] = *pass;
}

static void change(unsigned number, const struct hot *after)
{
	struct hot_at at;
	cr_assert_eq(hot_get(s.view, account, number, &at), OK);
	cr_assert_eq(hot_put(s.view, &at, after), OK);
	model[number] = *after;
}

/* Compares one row with the model: every pass, every count. */
static void expect_row(unsigned row)
{
	uint8_t        counts[HOT_COUNTS] = {0};
	struct row_key key = key_u32(account, row);
	struct span    got;
	cr_assert_eq(view_get(s.view, TABLE_HOT, key_span(&key), &got), OK);
	cr_assert(hot_row_is_whole(got));
	for (unsigned i = row * HOT_PASSES; i < made && i < (row + 1) * HOT_PASSES; i++) {
		struct hot pass = hot_row_pass(got, i % HOT_PASSES);
		cr_assert(same_hot(&pass, &model[i]), "pass %u", i);
		counts[hot_count(&pass)]++;
		counts[HOT_COUNT_USED]++;
	}
	cr_assert(!memcmp(hot_row_counts(got), counts, sizeof counts));
}

static void expect_all(void)
{
	struct hot_at at;
	for (unsigned row = 0; row * HOT_PASSES < made; row++)
		expect_row(row);
	for (unsigned i = 0; i < made; i++) {
		cr_assert_eq(hot_get(s.view, account, i, &at), OK);
		cr_assert(same_hot(&at.now, &model[i]) && at.number == i);
	}
	cr_assert_eq(hot_get(s.view, account, made, &at), ERR_NOT_FOUND);
	cr_assert_eq(hot_get(s.view, neighbour, 0, &at), ERR_NOT_FOUND);
}

Test(hot, passes_added_one_by_one_stand_in_rows_of_forty)
{
	uint64_t state = chance_begin();
	for (unsigned i = 0; i < PASSES; i++) {
		struct hot pass = any_pass(&state);
		add(&pass);
		if (i % 3 == 0) expect_row(i / HOT_PASSES); /* as staged */
		scratch_save(&s);
		expect_row(i / HOT_PASSES);
	}
	scratch_commit(&s);
	expect_all();
}

/* One command after another changes some fields of one pass, sometimes none, sometimes of the pass that is a
 * bound. */
static struct hot any_change(uint64_t *state, struct hot pass)
{
	unsigned   fields = (unsigned)chance(state);
	struct hot other = any_pass(state);
	if (fields & 1) pass.status = other.status;
	if (fields & 2) pass.flags = other.flags;
	if (fields & 4) pass.scan_count = other.scan_count;
	if (fields & 8) pass.balance = other.balance;
	if (fields & 16)
		pass.updated.v = chance_below(state, 50); /* often equal, often the oldest or newest */
	if (fields & 32) pass.last_scan = other.last_scan;
	if (fields & 64) pass.ledger_head = other.ledger_head;
	return pass;
}

Test(hot, changes_equal_a_model_of_plain_structs)
{
	uint64_t state = chance_begin();
	for (unsigned i = 0; i < HOT_PASSES; i++) {
		struct hot pass = any_pass(&state);
		pass.updated.v = i;
		add(&pass);
		scratch_save(&s);
	}
	for (unsigned i = 0; i < 4000; i++) {
		unsigned   number = chance_below(&state, HOT_PASSES);
		struct hot after = any_change(&state, model[number]);
		change(number, &after);
		if (i % 4 == 0) expect_row(0); /* as staged */
		scratch_save(&s);
		if (i % 16 == 0) expect_row(0);
		if (i % 100 == 0) scratch_commit(&s);
	}
	expect_all();
}

Test(hot, a_pass_may_change_twice_in_one_command)
{
	uint64_t   state = chance_begin();
	struct hot pass = any_pass(&state);
	add(&pass);
	add(&pass);
	scratch_save(&s);
	for (unsigned i = 0; i < 20; i++) {
		struct hot after = any_change(&state, model[1]);
		change(1, &after);
		expect_row(0);
	}
	cr_expect_leq(s.staged.count, 4); /* its row, the account's counts, its status */
	scratch_save(&s);
	expect_all();
}

Test(hot, a_change_to_equal_values_writes_nothing)
{
	struct hot pass = {.status = 2, .updated = {5}};
	add(&pass);
	scratch_save(&s);
	change(0, &pass);
	cr_expect_eq(s.staged.count, 0);
}

Test(hot, a_delta_writes_little)
{
	size_t     size = 0;
	struct hot pass = {.status = 2, .updated = {5}, .balance = 10, .ledger_head = 1};
	for (unsigned i = 0; i < HOT_PASSES; i++)
		add(&pass);
	scratch_save(&s);
	pass.balance = 11;
	pass.ledger_head = 41;
	pass.updated.v = 6;
	change(17, &pass);
	cr_assert_eq(s.staged.rows[0].kind, WRITE_PATCH);
	for (unsigned i = 0; i < s.staged.rows[0].patch_count; i++)
		size += s.staged.rows[0].patches[i].size;
	cr_expect_eq(size, 3 * 8); /* balance, updated, ledger head */
}

Test(hot, numbers_are_dense)
{
	struct hot pass = {.status = 2};
	cr_expect_eq(hot_add(s.view, account, 1, &pass), ERR_DAMAGED);
	cr_expect_eq(hot_add(s.view, account, HOT_PASSES + 1, &pass), ERR_DAMAGED);
	add(&pass);
	cr_expect_eq(hot_add(s.view, account, 0, &pass), ERR_DAMAGED);
	cr_expect_eq(hot_add(s.view, account, 2, &pass), ERR_DAMAGED);
}

Test(hot, rows_of_another_form_are_damage)
{
	static const uint8_t zeros[1945];
	struct row_key       key = key_u32(account, 0);
	struct hot_at        at;
	struct hot           pass = {.status = 2};
	for (size_t size = 1943; size <= 1945; size += 2) {
		cr_assert_eq(write_put(&s.staged, TABLE_HOT, key_span(&key), span_of(zeros, size)), OK);
		cr_expect_eq(hot_get(s.view, account, 0, &at), ERR_DAMAGED);
		cr_expect_eq(hot_add(s.view, account, 0, &pass), ERR_DAMAGED);
	}
	s.staged = writes_none(&s.arena);
	add(&pass);
	cr_assert_eq(write_patch(&s.staged, TABLE_HOT, key_span(&key), 7, span_of("\x29", 1)),
	             OK); /* 41 of 40 */
	cr_expect_eq(hot_get(s.view, account, 0, &at), ERR_DAMAGED);
	cr_assert_eq(write_patch(&s.staged, TABLE_HOT, key_span(&key), 7, span_of("\x01", 1)), OK);
	cr_assert_eq(write_patch(&s.staged, TABLE_HOT, key_span(&key), 24, span_of("\x06", 1)),
	             OK); /* no status */
	cr_expect_eq(hot_get(s.view, account, 0, &at), ERR_DAMAGED);
}

/* Runs in a child, so that this process can clean up after the abort. */
static int change_template(void *user)
{
	struct hot_at at;
	struct hot    after = *(struct hot *)user;
	after.template += 1;
	must(!hot_get(s.view, account, 0, &at));
	return hot_put(s.view, &at, &after) ? 1 : 0;
}

Test(hot, fields_of_the_creation_stay)
{
	struct hot pass = {.status = 2};
	add(&pass);
	cr_expect_eq(in_child(change_template, &pass), -SIGABRT);
}

/* A patch gives its row a new checksum, which would make earlier damage valid. */
Test(hot, patches_no_status_in_a_damaged_row)
{
	struct hot     pass = {.status = 2, .template = 1, .updated = {5}}, after = pass;
	struct row_key key = key_u32(account, 0);
	struct hot_at  at;
	struct raw_row raw;
	add(&pass);
	add(&pass);
	scratch_save(&s);
	cr_assert_eq(view_raw_from(s.view, TABLE_STATUS, key_span(&key), &raw), OK);
	*(uint8_t *)(uintptr_t)raw.stored.at ^= 1; /* in the open transaction's own copy of the page */
	after.status = 3;
	cr_assert_eq(hot_get(s.view, account, 1, &at), OK);
	cr_expect_eq(hot_put(s.view, &at, &after), ERR_DAMAGED);
	cr_expect_eq(hot_add(s.view, account, made, &pass), ERR_DAMAGED);
}
