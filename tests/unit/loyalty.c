/* POST /v1/passes/{id}/loyalty: what is accepted at which balance; the pass and the ledger show the same change. */
#include "tests/unit/one_pass.h"

TestSuite(loyalty, .init = begin_pass, .fini = end_pass);

static void furnish_with(uint16_t template, uint8_t status, int64_t balance)
{
	furnish((struct hot){.status = status, .template = template, .balance = balance});
}

static enum err move(int64_t delta)
{
	msgpack_object args[ARGS_PASS_LOYALTY] = {{.type = MSGPACK_OBJECT_NIL}};
	args[ARG_PASS_LOYALTY_pass_id] = value_text("p");
	args[ARG_PASS_LOYALTY_balance_to_add] =
	    delta < 0 ? (msgpack_object){.type = MSGPACK_OBJECT_NEGATIVE_INTEGER, .via.i64 = delta}
	              : (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = (uint64_t)delta};
	return command(MSG_PASS_LOYALTY, args);
}

Test(loyalty, moves_the_balance_within_its_bounds)
{
	static const struct {
		int64_t  before, delta;
		enum err err;
	} rows[] = {
	    {0, 0, OK},
	    {0, 7, OK},
	    {40, -40, OK},
	    {0, LEAST_BALANCE, OK},
	    {0, LEAST_BALANCE - 1, ERR_INSUFFICIENT_BALANCE},
	    {-20, 3, OK}, /* a refund, though it stays below the least */
	    {BALANCE_MAX - 1, 1, OK},
	    {BALANCE_MAX, 1, ERR_INVALID_INPUT},
	    {-BALANCE_MAX, -1, ERR_INVALID_INPUT},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hot_at     at;
		struct ledger_row row;
		furnish_with(WITH_COUNTER, PASS_ACTIVE, rows[i].before);
		enum err err = move(rows[i].delta);
		cr_expect_eq(err, rows[i].err, "row %u: %s", i, err_code(err));
		if (rows[i].err) {
			cr_expect_eq(s.staged.count, 0, "row %u leaves a trace", i);
			continue;
		}
		int64_t after = rows[i].before + rows[i].delta;
		scratch_save(&s);
		cr_assert_eq(hot_get(s.view, account.id, NUMBER, &at), OK);
		cr_expect(at.now.balance == after && at.now.updated.v == NOW, "row %u", i);
		cr_assert_eq(ledger_get(s.view, account.id, at.now.ledger_head, &row), OK);
		cr_expect(row.number == NUMBER && row.what == LEDGER_LOYALTY && row.at.v == NOW, "row %u", i);
		cr_expect(row.delta == rows[i].delta && row.balance == after, "row %u", i);
		cr_assert_eq(hot_get(s.view, account.id, NUMBER - 1, &at), OK);
		cr_expect_eq(at.now.balance, rows[i].before, "row %u: another pass changed", i);
	}
}

Test(loyalty, is_refused_without_a_counter_and_when_the_pass_has_ended)
{
	furnish_with(WITHOUT_COUNTER, PASS_ACTIVE, 0);
	cr_expect_eq(move(1), ERR_NO_LOYALTY_PROGRAM);
	furnish_with(WITH_COUNTER, PASS_DEACTIVATED, 0);
	cr_expect_eq(move(1), ERR_RESOURCE_CONFLICT);
	cr_expect_eq(move(BALANCE_MAX), ERR_RESOURCE_CONFLICT);
	furnish_with(WITH_COUNTER, PASS_DEACTIVATED, 1);
	cr_expect_eq(move(BALANCE_MAX), ERR_INVALID_INPUT, "what is wrong with the amount comes first");
	cr_expect_eq(s.staged.count, 0);
}
