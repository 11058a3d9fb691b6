/* POST /v1/passes/{id}/loyalty: what is accepted at which balance; the pass and the ledger show the same change. */
#include "actors/shard/account/parts.h"
#include "actors/shard/pass/pass.h"

#include "schemas/api/pass.h"
#include "store/keys.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { NUMBER = 3, NOW = 7000, LEDGER_BEFORE = 40, LEAST = -5 };

static struct scratch     s;
static struct account     account = {.id = {{1, 2, 3}}};
static struct shard_facts facts = {.public_url = "https://example"};
static msgpack_zone       zone;
static struct buffer      payload;
static struct outcome     outcome;

static void put_template(uint32_t number, const char *text)
{
	struct row_key key = key_u32(account.id, number);
	cr_assert_eq(write_put(&s.staged, TABLE_TEMPLATE, key_span(&key), span_str(text)), OK);
}

static void begin(void)
{
	scratch_open(&s);
	cr_assert(msgpack_zone_init(&zone, 8192));
	account.templates = account_templates_new(2);
	put_template(1, "{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}");
	put_template(2, "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"min_balance\":-5,"
	                "\"fields\":[{\"key\":\"p\",\"type\":\"number\",\"locked\":true}]}");
	scratch_save(&s);
}

static void end(void)
{
	msgpack_zone_destroy(&zone);
	buffer_free(&payload);
	account_templates_free(&account.templates);
	scratch_close(&s);
}

TestSuite(loyalty, .init = begin, .fini = end);

/* The pass with this balance. */
static void furnish(uint16_t template, uint8_t status, int64_t balance)
{
	struct hot     pass = {.status = status,
	                       .template = template,
	                       .updated = {5},
	                       .balance = balance,
	                       .ledger_head = LEDGER_BEFORE};
	struct row_key id = key_pass_id(account.id, span_str("p"), NUMBER), first = key_u32(account.id, 0);
	cr_assert_eq(write_del(&s.staged, TABLE_HOT, key_span(&first)), OK);
	scratch_save(&s);
	for (uint32_t i = 0; i <= NUMBER; i++)
		cr_assert_eq(hot_add(s.view, account.id, i, &pass), OK);
	cr_assert_eq(write_put(&s.staged, TABLE_PASS_ID, key_span(&id), span_of(NULL, 0)), OK);
	scratch_save(&s);
}

static enum err move(int64_t delta)
{
	msgpack_object args[ARGS_PASS_LOYALTY] = {{.type = MSGPACK_OBJECT_NIL}};
	struct call    call = {.message = MSG_PASS_LOYALTY, .args = args};
	struct request request = {.call = &call,
	                          .args = args,
	                          .view = s.view,
	                          .account = &account,
	                          .now = {NOW},
	                          .facts = &facts,
	                          .zone = &zone,
	                          .ends.ledger = LEDGER_BEFORE + 2};
	args[ARG_PASS_LOYALTY_pass_id] = value_text("p");
	args[ARG_PASS_LOYALTY_balance_to_add] =
	    delta < 0 ? (msgpack_object){.type = MSGPACK_OBJECT_NEGATIVE_INTEGER, .via.i64 = delta}
	              : (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = (uint64_t)delta};
	buffer_clear(&payload);
	outcome = (struct outcome){.payload = &payload};
	enum err err = handler_of(MSG_PASS_LOYALTY)(&request, &outcome);
	msgpack_zone_clear(&zone);
	return err;
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
	    {0, LEAST, OK},
	    {0, LEAST - 1, ERR_INSUFFICIENT_BALANCE},
	    {-20, 3, OK}, /* a refund, though it stays below the least */
	    {BALANCE_MAX - 1, 1, OK},
	    {BALANCE_MAX, 1, ERR_INVALID_INPUT},
	    {-BALANCE_MAX, -1, ERR_INVALID_INPUT},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hot_at     at;
		struct ledger_row row;
		furnish(2, PASS_ACTIVE, rows[i].before);
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
	furnish(1, PASS_ACTIVE, 0);
	cr_expect_eq(move(1), ERR_NO_LOYALTY_PROGRAM);
	furnish(2, PASS_DEACTIVATED, 0);
	cr_expect_eq(move(1), ERR_RESOURCE_CONFLICT);
	cr_expect_eq(move(BALANCE_MAX), ERR_RESOURCE_CONFLICT);
	furnish(2, PASS_DEACTIVATED, 1);
	cr_expect_eq(move(BALANCE_MAX), ERR_INVALID_INPUT, "what is wrong with the amount comes first");
	cr_expect_eq(s.staged.count, 0);
}
