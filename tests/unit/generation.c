/* The generation of a webhook subscription: it rises with every change that discards pending deliveries, and
 * with no other. The commands show it; no answer does. */
#include "actors/shard/subscription/subscription.h"
#include "schemas/api/account.h"
#include "schemas/api/subscription.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

static struct scratch     s;
static struct account    *account;
static struct shard_facts facts;
static struct random_pool randomness;
static struct buffer      payload;
static struct uuid        id;
static msgpack_object     args[ARGS_MAX];

static const struct account_id account_id = {{'b'}};

static msgpack_object json(const char *value)
{
	return value_bin(value, strlen(value));
}

/* Carries out one command with `args` like the engine. All arguments are absent afterwards. */
static enum err run(enum message message)
{
	struct call    call = {.message = message, .account = account_id, .args = args};
	struct outcome outcome = {.payload = &payload};
	struct request request = {.call = &call,
	                          .args = args,
	                          .view = s.view,
	                          .facts = &facts,
	                          .random = &randomness,
	                          .now = {1000}};
	buffer_clear(&payload);
	account_free(&account);
	cr_assert_eq(account_load(s.view, account_id, &account), OK);
	request.account = account;
	enum err err = handler_of(message)(&request, &outcome);
	if (err) arena_reset(&s.arena);
	scratch_save(&s);
	for (unsigned i = 0; i < ARGS_MAX; i++)
		args[i].type = MSGPACK_OBJECT_NIL;
	return err;
}

static enum err patch(void)
{
	static char of[UUID_TEXT];
	uuid_text(id, of);
	args[ARG_SUBSCRIPTION_PATCH_subscription_id] = value_text(of);
	return run(MSG_SUBSCRIPTION_PATCH);
}

static enum err set_active(bool active)
{
	args[ARG_SUBSCRIPTION_PATCH_active] = value_boolean(active);
	return patch();
}

static enum err switch_webhooks(bool on)
{
	args[ARG_ACCOUNT_SET_webhooks] = value_boolean(on);
	return run(MSG_ACCOUNT_SET);
}

static struct subscription stored(void)
{
	struct subscription row = {.active = false};
	cr_assert_eq(subscription_get(s.view, account_id, id, &row), OK);
	return row;
}

static void begin(void)
{
	struct account_row  row = {.webhooks = true, .name = span_str("Shop")};
	struct subscription made = {.active = false};
	scratch_open(&s);
	cr_assert_eq(account_row_put(s.view, account_id, &row), OK);
	scratch_save(&s);
	args[ARG_SUBSCRIPTION_CREATE_url] = value_text("https://a.example/");
	args[ARG_SUBSCRIPTION_CREATE_event_types] = json("[\"pass.created\"]");
	cr_assert_eq(run(MSG_SUBSCRIPTION_CREATE), OK);
	cr_assert_eq(subscription_next(s.view, account_id, &made), OK);
	id = made.id;
}

static void end(void)
{
	account_free(&account);
	scratch_close(&s);
}

TestSuite(generation, .init = begin, .fini = end);

Test(generation, rises_when_a_subscription_is_deactivated)
{
	cr_expect_eq(stored().generation, 1);
	cr_expect_eq(set_active(false), OK);
	cr_expect(stored().generation == 2 && !stored().active);
	cr_expect_eq(set_active(false), OK);
	cr_expect_eq(stored().generation, 2, "it was inactive");
	cr_expect_eq(set_active(true), OK);
	cr_expect(stored().generation == 2 && stored().active, "it neither restores nor discards deliveries");
	cr_expect_eq(set_active(false), OK);
	cr_expect_eq(stored().generation, 3);
}

Test(generation, stays_when_url_or_kinds_change)
{
	args[ARG_SUBSCRIPTION_PATCH_url] = value_text("https://b.example/");
	args[ARG_SUBSCRIPTION_PATCH_event_types] = json("[\"scan.created\"]");
	cr_expect_eq(patch(), OK);
	cr_expect(stored().generation == 1 && span_is(stored().url, "https://b.example/"));
	cr_expect_eq(patch(), OK);
	cr_expect_eq(stored().generation, 1);
}

Test(generation, rises_when_webhooks_are_switched_off)
{
	cr_expect_eq(switch_webhooks(true), OK);
	cr_expect_eq(stored().generation, 1, "they were on");
	cr_expect_eq(switch_webhooks(false), OK);
	cr_expect(stored().generation == 2 && stored().active && stored().updated.v == 1000);
	cr_expect_eq(switch_webhooks(false), OK);
	cr_expect_eq(run(MSG_ACCOUNT_SET), OK);
	cr_expect_eq(switch_webhooks(true), OK);
	cr_expect_eq(stored().generation, 2);
}

Test(generation, of_an_inactive_subscription_stays_when_webhooks_are_switched_off)
{
	cr_expect_eq(set_active(false), OK);
	cr_expect_eq(switch_webhooks(false), OK);
	cr_expect_eq(stored().generation, 2, "it has no pending deliveries");
}

Test(generation, is_deleted_with_the_subscription)
{
	struct subscription row;
	char                of[UUID_TEXT];
	uuid_text(id, of);
	args[ARG_SUBSCRIPTION_DELETE_subscription_id] = value_text(of);
	cr_expect_eq(run(MSG_SUBSCRIPTION_DELETE), OK);
	cr_expect_eq(subscription_get(s.view, account_id, id, &row), ERR_NOT_FOUND);
	cr_expect_eq(set_active(true), ERR_WEBHOOK_SUBSCRIPTION_NOT_FOUND);
}
