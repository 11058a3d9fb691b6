/* Rows of webhook subscriptions: they read as they were written, and rows that the program does not write are
 * damage. Also the shared parts of their commands: event types, the rules for active ones, secrets. */
#include "actors/shard/subscription/subscription.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include "store/keys.h"

#include <criterion/criterion.h>

static struct scratch     s;
static struct account     account, before = {.id = {{'a'}}}, after = {.id = {{'c'}}};
static struct shard_facts facts;
static struct random_pool randomness;
static struct request     request;
static struct outcome     outcome;
static struct buffer      payload;

static void begin(void)
{
	scratch_open(&s);
	account.id = (struct account_id){{'b'}};
	memset(facts.webhook_key, 7, sizeof facts.webhook_key);
	outcome = (struct outcome){.payload = &payload};
	request = (struct request){.view = s.view,
	                           .account = &account,
	                           .facts = &facts,
	                           .random = &randomness,
	                           .now = {1700000000123456}};
}

static void end(void)
{
	scratch_close(&s);
}

TestSuite(subscription, .init = begin, .fini = end);

static struct subscription some(uint8_t tag)
{
	struct subscription row = {.id = {{tag}},
	                           .active = tag & 1,
	                           .generation = tag * 1000u + 1,
	                           .created = {tag},
	                           .updated = {tag + 5},
	                           .kind_count = 2,
	                           .kinds = {EVENT_SCAN_CREATED, EVENT_PASS_CREATED},
	                           .url = filler(tag, 20)};
	memset(row.secret, tag, sizeof row.secret);
	return row;
}

static void expect_same(const struct subscription *a, const struct subscription *b)
{
	cr_expect(uuid_same(a->id, b->id) && a->active == b->active);
	cr_expect(a->generation == b->generation && a->created.v == b->created.v &&
	          a->updated.v == b->updated.v);
	cr_expect(!memcmp(a->secret, b->secret, sizeof a->secret) && span_equal(a->url, b->url));
	cr_expect(a->kind_count == b->kind_count && !memcmp(a->kinds, b->kinds, a->kind_count));
}

/* Rows --------------------------------------------------------------------------------------------------- */

Test(subscription, rows_read_as_they_were_put)
{
	struct subscription got, row = some(5);
	row.url = filler(3, URL_BYTES_MAX);
	cr_assert_eq(subscription_put(s.view, account.id, &row), OK);
	scratch_save(&s);
	cr_assert_eq(subscription_get(s.view, account.id, row.id, &got), OK);
	expect_same(&got, &row);
	cr_expect_eq(subscription_get(s.view, before.id, row.id, &got), ERR_NOT_FOUND);
	cr_assert_eq(subscription_del(s.view, account.id, row.id), OK);
	scratch_save(&s);
	cr_expect_eq(subscription_get(s.view, account.id, row.id, &got), ERR_NOT_FOUND);
}

Test(subscription, rows_are_listed_in_order_and_by_account)
{
	struct subscription got = {.active = false};
	for (unsigned i = 0; i < 5; i++) {
		struct subscription row = some((uint8_t)(9 - 2 * i));
		cr_assert_eq(subscription_put(s.view, account.id, &row), OK);
		cr_assert_eq(subscription_put(s.view, before.id, &row), OK);
		cr_assert_eq(subscription_put(s.view, after.id, &row), OK);
		scratch_save(&s);
	}
	for (uint8_t tag = 1; tag <= 9; tag += 2) {
		struct subscription row = some(tag);
		cr_assert_eq(subscription_next(s.view, account.id, &got), OK);
		expect_same(&got, &row);
	}
	cr_expect_eq(subscription_next(s.view, account.id, &got), ERR_NOT_FOUND);
	cr_expect_eq(subscription_next(s.view, (struct account_id){{'z'}}, &got), ERR_NOT_FOUND);
}

Test(subscription, invalid_rows_are_damage)
{
	static const struct {
		size_t  at;
		uint8_t byte;
	} rows[] = {{0, 0},
	            {0, 2},
	            {1, 2},
	            {82, 0},
	            {82, EVENT_KINDS + 1},
	            {82, 255},
	            {83, EVENT_KINDS},
	            {83, 255},
	            {84, EVENT_SCAN_CREATED}};
	uint8_t             value[SUBSCRIPTION_BYTES_MAX + 1];
	struct subscription row = some(1), got;
	size_t              size = subscription_write(&row, value);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t kept = value[rows[i].at];
		value[rows[i].at] = rows[i].byte;
		cr_expect_eq(subscription_read(span_of(value, size), &got), ERR_DAMAGED, "row %zu", i);
		value[rows[i].at] = kept;
	}
	cr_expect_eq(subscription_read(span_of(value, size), &got), OK);
	for (size_t cut = 0; cut <= 85; cut++)
		cr_expect_eq(subscription_read(span_of(value, cut), &got), ERR_DAMAGED, "%zu bytes", cut);
	memset(value + 85, 'u', sizeof value - 85);
	cr_expect_eq(subscription_read(span_of(value, 85 + URL_BYTES_MAX), &got), OK);
	cr_expect_eq(subscription_read(span_of(value, 85 + URL_BYTES_MAX + 1), &got), ERR_DAMAGED);
}

Test(subscription, a_stored_answer_is_complete)
{
	uint8_t             detail[RECIPE_DETAIL_BYTES_MAX];
	struct subscription row = some(3), got;
	struct recipe       recipe = {.what = RECIPE_SUBSCRIPTION, .detail = recipe_detail(&row, detail)};
	cr_assert_eq(recipe_subscription(&recipe, &got), OK);
	expect_same(&got, &row);
	for (size_t size = 0; size < recipe.detail.size; size++) {
		struct recipe cut = {.detail = span_of(detail, size)};
		if (size <= 16 + 85) cr_expect_eq(recipe_subscription(&cut, &got), ERR_DAMAGED, "%zu", size);
	}
}

/* What the commands share -------------------------------------------------------------------------------- */

static enum err take_kinds(const char *text, struct subscription *row)
{
	msgpack_object kinds = value_bin(text, strlen(text));
	outcome.field = span_of(NULL, 0);
	return subscription_take_kinds(&request, &outcome, &kinds, row);
}

Test(subscription, event_types_are_kept_in_order_without_duplicates)
{
	struct subscription row;
	cr_assert_eq(take_kinds("[\"scan.created\",\"pass.created\",\"scan.created\"]", &row), OK);
	cr_expect(row.kind_count == 2 && row.kinds[0] == EVENT_SCAN_CREATED &&
	          row.kinds[1] == EVENT_PASS_CREATED);
	cr_expect(take_kinds("[]", &row) == OK && row.kind_count == 0);
	msgpack_object nil = value_nil();
	cr_expect(subscription_take_kinds(&request, &outcome, &nil, &row) == OK && row.kind_count == 0);
	static const char *const wrong[] = {"",
	                                    "1",
	                                    "{}",
	                                    "[1]",
	                                    "[null]",
	                                    "[\"x\"]",
	                                    "[[]]",
	                                    "[\"pass.created\",\"\"]",
	                                    "[",
	                                    "true",
	                                    "\"pass.created\""};
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cr_expect_eq(take_kinds(wrong[i], &row), ERR_INVALID_WEBHOOK_EVENT_TYPE, "%s", wrong[i]);
		cr_expect(span_is(outcome.field, "event_types"));
	}
}

Test(subscription, a_secret_opens_only_for_its_row_and_account)
{
	struct subscription row = {.active = true}, other;
	uint8_t             secret[WEBHOOK_KEY_BYTES], again[WEBHOOK_KEY_BYTES];
	cr_assert_eq(subscription_draw(&request, &row), OK);
	cr_assert_eq(subscription_draw(&request, &other), OK);
	cr_assert_eq(subscription_secret(&request, &row, secret), OK);
	cr_assert_eq(subscription_secret(&request, &other, again), OK);
	cr_expect(memcmp(secret, again, sizeof secret) && !uuid_same(row.id, other.id));
	memcpy(other.secret, row.secret, sizeof row.secret);
	cr_expect_eq(subscription_secret(&request, &other, again), ERR_SEALED);
	request.account = &before;
	cr_expect_eq(subscription_secret(&request, &row, again), ERR_SEALED);
	request.account = &account;
	cr_expect_eq(subscription_secret(&request, &row, again), OK);
	cr_expect_arr_eq(again, secret, sizeof secret);
	facts.webhook_key[31] ^= 1;
	cr_expect_eq(subscription_secret(&request, &row, again), ERR_SEALED);
}

Test(subscription, ids_sort_by_creation_time_to_the_microsecond)
{
	struct subscription row, last = {.active = false};
	for (unsigned i = 0; i < 3000; i++) {
		cr_assert_eq(subscription_draw(&request, &row), OK);
		cr_assert_lt(memcmp(last.id.b, row.id.b, sizeof row.id.b), 0, "at %u", i);
		cr_assert(row.id.b[6] >> 4 == 7 && row.id.b[8] >> 6 == 2);
		last = row;
		request.now.v++;
	}
}

Test(subscription, five_may_be_active_and_one_for_a_url)
{
	static struct account_webhooks webhooks;
	static struct account_webhook  some[WEBHOOKS_ACTIVE_MAX];
	struct subscription            row = {.id = {{99}}, .url = span_str("https://a.example")};
	account.webhooks = &webhooks;
	for (uint8_t i = 0; i < WEBHOOKS_ACTIVE_MAX; i++) {
		cr_expect_eq(subscription_check_active(&account, &outcome, &row), OK, "%u", i);
		some[i].id = (struct uuid){{i}};
		some[i].url = span_str("https://b.example/");
		webhooks.of[webhooks.count++] = &some[i];
	}
	cr_expect_eq(subscription_check_active(&account, &outcome, &row),
	             ERR_WEBHOOK_SUBSCRIPTION_LIMIT_REACHED);
	some[4].url = span_str("https://a.example/");
	cr_expect_eq(subscription_check_active(&account, &outcome, &row),
	             ERR_WEBHOOK_SUBSCRIPTION_DUPLICATE_URL);
	row.id.b[0] = 4;
	cr_expect_eq(subscription_check_active(&account, &outcome, &row), OK,
	             "it does not conflict with itself");
}
