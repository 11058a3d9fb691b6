/* Commands on one pass without the shard: an account with two templates, four passes, of which ours is the last, and a request.
 * Criterion runs each test in its own process, so these can be static. */
#pragma once
#include "actors/shard/account/parts.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/pass.h"
#include "store/keys.h"
#include "store/tally.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { NUMBER = 3, NOW = 7000, LEDGER_BEFORE = 40 };
/* Templates. */
enum { WITHOUT_COUNTER = 1, WITH_COUNTER, LEAST_BALANCE = -5 };

static struct scratch     s;
static struct account     account = {.id = {{1, 2, 3}}};
static struct shard_facts facts = {.public_url = "https://example"};
static msgpack_zone       zone;
static struct buffer      payload;
static struct outcome     outcome;

static inline void put_template(uint32_t number, const char *text)
{
	struct row_key key = key_u32(account.id, number);
	cr_assert_eq(write_put(&s.staged, TABLE_TEMPLATE, key_span(&key), span_str(text)), OK);
}

static inline void begin_pass(void)
{
	scratch_open(&s);
	cr_assert(msgpack_zone_init(&zone, 8192));
	account.templates = account_templates_new(2);
	put_template(WITHOUT_COUNTER, "{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}");
	put_template(WITH_COUNTER, "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"min_balance\":-5,"
	                           "\"fields\":[{\"key\":\"p\",\"type\":\"number\",\"locked\":true}]}");
	scratch_save(&s);
}

static inline void end_pass(void)
{
	msgpack_zone_destroy(&zone);
	buffer_free(&payload);
	account_templates_free(&account.templates);
	scratch_close(&s);
}

/* All four are like this one. All tables of the account are complete. */
static inline void furnish(struct hot pass)
{
	struct body    body = {.pass_id = span_str("p"), .visible = span_str("{}"), .hidden = span_str("{}")};
	struct row_key id = key_pass_id(account.id, body.pass_id, NUMBER),
	               number = key_u32(account.id, NUMBER);
	struct row_key first = key_u32(account.id, 0);
	struct tally   tally = {.made = NUMBER + 1};
	struct buffer  bytes = {0};
	pass.updated.v = 5;
	pass.ledger_head = LEDGER_BEFORE;
	tally.counts[hot_count(&pass)] = NUMBER + 1;
	body_pack(&body, &bytes);
	cr_assert_eq(write_del(&s.staged, TABLE_HOT, key_span(&first)), OK);
	scratch_save(&s);
	for (uint32_t i = 0; i <= NUMBER; i++)
		cr_assert_eq(hot_add(s.view, account.id, i, &pass), OK);
	cr_assert_eq(write_put(&s.staged, TABLE_PASS_ID, key_span(&id), span_of(NULL, 0)), OK);
	cr_assert_eq(write_put(&s.staged, TABLE_BODY, key_span(&number), buffer_span(&bytes)), OK);
	cr_assert_eq(tally_put(s.view, account.id, &tally), OK);
	scratch_save(&s);
	buffer_free(&bytes);
}

/* Carries out a command on our pass; its writes are staged. */
static inline enum err command(enum message message, msgpack_object *args)
{
	struct call    call = {.message = message, .args = args};
	struct request request = {.call = &call,
	                          .args = args,
	                          .view = s.view,
	                          .account = &account,
	                          .now = {NOW},
	                          .facts = &facts,
	                          .zone = &zone,
	                          .ends.ledger = LEDGER_BEFORE + 2};
	buffer_clear(&payload);
	outcome = (struct outcome){.payload = &payload};
	enum err err = handler_of(message)(&request, &outcome);
	msgpack_zone_clear(&zone);
	return err;
}
