/* An account in memory: its webhook subscriptions. */
#include "actors/shard/account/account.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

static struct scratch          s;
static struct account         *account;
static const struct account_id id = {{'b'}}, neighbour = {{'c'}};

static void put(struct account_id of, uint8_t tag, bool active, const char *url)
{
	struct subscription row = {.id = {{tag}},
	                           .active = active,
	                           .generation = tag + 10u,
	                           .kind_count = 1,
	                           .kinds = {(uint8_t)(tag % 3)},
	                           .url = span_str(url)};
	if (tag == 4) {
		row.kinds[1] = EVENT_SCAN_CREATED;
		row.kind_count = 2;
	}
	cr_assert_eq(subscription_put(s.view, of, &row), OK);
	scratch_save(&s);
}

static void begin(void)
{
	struct account_row row = {.name = span_str("Shop")};
	scratch_open(&s);
	cr_assert_eq(account_row_put(s.view, id, &row), OK);
	scratch_save(&s);
}

static void end(void)
{
	account_free(&account);
	scratch_close(&s);
}

TestSuite(account, .init = begin, .fini = end);

Test(account, knows_its_active_subscriptions_and_what_they_want)
{
	put(id, 1, true, "https://A.example");
	put(id, 2, false, "https://b.example/");
	put(id, 4, true, "https://c.example:443/x#y");
	put(neighbour, 5, true, "https://d.example/");
	cr_assert_eq(account_load(s.view, id, &account), OK);
	cr_expect(account->webhooks->count == 2 && account->webhooks->stored->count == 3);
	const struct account_webhook *first = account->webhooks->of[0], *second = account->webhooks->of[1];
	cr_expect(first->id.b[0] == 1 && first->generation == 11);
	cr_expect_eq(first->kinds, 1u << EVENT_PASS_BALANCE_UPDATE);
	cr_expect(span_is(first->url, "https://a.example/"));
	cr_expect(second->id.b[0] == 4 && second->generation == 14);
	cr_expect_eq(second->kinds, 1u << EVENT_PASS_BALANCE_UPDATE | 1u << EVENT_SCAN_CREATED);
	cr_expect(span_is(second->url, "https://c.example/x"));
}

Test(account, starts_empty_and_holds_no_more_than_the_limit)
{
	cr_assert_eq(account_load(s.view, id, &account), OK);
	cr_expect(account->webhooks->count == 0 && account->webhooks->stored->count == 0);
	account_free(&account);
	for (uint8_t tag = 1; tag <= WEBHOOKS_ACTIVE_MAX + 3; tag++)
		put(id, tag, true, "https://a.example/");
	cr_assert_eq(account_load(s.view, id, &account), OK);
	cr_expect(account->webhooks->count == WEBHOOKS_ACTIVE_MAX &&
	          account->webhooks->stored->count == WEBHOOKS_ACTIVE_MAX + 3);
}

Test(account, keeps_a_stored_url_that_is_no_longer_valid)
{
	put(id, 1, true, "ftp://a.example/");
	cr_assert_eq(account_load(s.view, id, &account), OK);
	cr_expect(account->webhooks->count == 1 &&
	          span_is(account->webhooks->of[0]->url, "ftp://a.example/"));
}
