/* Idempotency keys in the shard: rows read as they were written, a repeated request gets the first answer, a
 * different request is refused, and old or surplus rows are removed a few at a time. */
#include "actors/shard/engine/idempotency.h"
#include "tests/unit/support.h"

#include "store/keys.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { KEYS = 5 };
static const int64_t day_us = (int64_t)IDEMPOTENCY_KEPT_HOURS * 3600 * US_PER_SEC;

static struct scratch     s;
static struct account     account, before = {.id = {{'a'}}}, after = {.id = {{'c'}}};
static struct shard_facts facts;
static struct idempotency asked;
static struct call        call;
static struct request     request;
static struct outcome     outcome;
static struct buffer      payload;
static struct idempotent  idem;

static void begin(void)
{
	scratch_open(&s);
	account.id = (struct account_id){{'b'}};
	facts.idempotency_keys = KEYS;
	call.idempotency = &asked;
	request = (struct request){
	    .call = &call, .view = s.view, .account = &account, .facts = &facts, .now = {1000}};
}

static void end(void)
{
	scratch_close(&s);
}

TestSuite(idempotency, .init = begin, .fini = end);

static void rpc(unsigned key, uint8_t body)
{
	memset(asked.key, 0, sizeof asked.key);
	put_be32(asked.key, key);
	memset(asked.request, body, sizeof asked.request);
	outcome = (struct outcome){.payload = &payload};
}

/* A command with that key: returns the stored answer, or carries the command out if there is none. */
static enum err run(unsigned key, uint8_t body)
{
	rpc(key, body);
	enum err err = idempotent_begin(&request, &outcome, &idem);
	if (err || idem.replayed) return err;
	cr_assert_eq(idempotent_end(&request, &outcome, &idem), OK);
	scratch_save(&s);
	return OK;
}

static bool is_replayed(unsigned key, uint8_t body)
{
	return run(key, body) == OK && idem.replayed;
}

static bool is_run(unsigned key, uint8_t body)
{
	return run(key, body) == OK && !idem.replayed;
}

/* The number of the account's rows. Both tables must agree. */
static unsigned count_rows(void)
{
	struct idempotency_order found = {.order = 0};
	struct idempotency_row   row;
	struct row_key           begin = key_account(account.id);
	struct view_row          any;
	unsigned                 count = 0, keys = 0;
	while (!idempotency_after(s.view, account.id, found.order, &found)) {
		cr_expect_eq(idempotency_get(s.view, account.id, found.key, &row), OK);
		cr_expect(row.order == found.order && row.at.v == found.at.v);
		count++;
	}
	enum err err = view_from(s.view, TABLE_IDEMPOTENCY, key_span(&begin), &any);
	for (; !err && key_has_prefix(any.key, key_span(&begin));
	     err = view_next(s.view, TABLE_IDEMPOTENCY, &any))
		keys++;
	cr_expect_eq(keys, count);
	return count;
}

Test(idempotency, rows_read_as_they_were_put)
{
	struct idempotency_row row = {.recipe = {RECIPE_PASS, REPLY_ACCEPTED, UINT32_MAX},
	                              .at = {INT64_MAX},
	                              .order = UINT64_MAX - 1},
	                       got;
	struct idempotency_order test_dir = {.order = 0};
	rpc(7, 9);
	memcpy(row.request, asked.request, sizeof row.request);
	cr_assert_eq(idempotency_put(s.view, account.id, asked.key, &row), OK);
	scratch_save(&s);
	cr_assert_eq(idempotency_get(s.view, account.id, asked.key, &got), OK);
	cr_expect(got.recipe.what == RECIPE_PASS && got.recipe.flags == REPLY_ACCEPTED);
	cr_expect(got.recipe.number == UINT32_MAX && got.at.v == INT64_MAX && got.order == row.order);
	cr_expect_arr_eq(got.request, row.request, sizeof row.request);
	cr_assert_eq(idempotency_after(s.view, account.id, 0, &test_dir), OK);
	cr_expect(test_dir.order == row.order && test_dir.at.v == INT64_MAX);
	cr_expect_arr_eq(test_dir.key, asked.key, sizeof asked.key);
	cr_expect_eq(idempotency_after(s.view, account.id, test_dir.order, &test_dir), ERR_NOT_FOUND);
	cr_assert_eq(idempotency_del(s.view, account.id, &test_dir), OK);
	scratch_save(&s);
	cr_expect_eq(idempotency_get(s.view, account.id, asked.key, &got), ERR_NOT_FOUND);
	cr_expect_eq(count_rows(), 0);
	cr_expect_eq(idempotency_row_read(span_str("x"), &got), ERR_DAMAGED);
	cr_expect_eq(idempotency_order_read(span_str("x"), &test_dir), ERR_DAMAGED);
}

Test(idempotency, the_last_number_is_per_account)
{
	uint64_t last = 77;
	cr_expect(idempotency_last(s.view, account.id, 0, &last) == OK && last == 0);
	request.account = &before;
	cr_expect(is_run(1, 1) && is_run(2, 1));
	request.account = &after;
	cr_expect(is_run(1, 1));
	cr_expect(idempotency_last(s.view, account.id, 0, &last) == OK && last == 0);
	request.account = &account;
	cr_expect(is_run(1, 1) && is_run(2, 1) && is_run(3, 1));
	cr_expect(idempotency_last(s.view, account.id, 0, &last) == OK && last == 3);
	cr_expect(idempotency_last(s.view, before.id, 0, &last) == OK && last == 2);
}

Test(idempotency, the_same_request_is_answered_again_and_another_refused)
{
	cr_expect(is_run(1, 1));
	cr_expect(is_replayed(1, 1));
	cr_expect_eq(outcome.flags, (unsigned)REPLY_REPLAYED);
	cr_expect_eq(run(1, 2), ERR_IDEMPOTENCY_KEY_REUSED);
	cr_expect(is_run(2, 2));
	cr_expect(is_replayed(1, 1));
	cr_expect_eq(count_rows(), 2);
}

Test(idempotency, a_creation_in_progress_is_answered_as_such)
{
	rpc(1, 1);
	cr_assert_eq(idempotent_begin(&request, &outcome, &idem), OK);
	outcome.flags = REPLY_ACCEPTED;
	cr_assert_eq(idempotent_end(&request, &outcome, &idem), OK);
	scratch_save(&s);
	cr_expect(is_replayed(1, 1));
	cr_expect_eq(outcome.flags, (unsigned)(REPLY_ACCEPTED | REPLY_REPLAYED));
}

Test(idempotency, a_handler_that_fails_leaves_no_key)
{
	rpc(1, 1);
	cr_assert_eq(idempotent_begin(&request, &outcome, &idem), OK);
	cr_expect_eq(s.staged.count, 0); /* rows are only staged at the end */
	cr_expect(is_run(1, 2));
}

Test(idempotency, a_missing_pass_is_damage)
{
	rpc(1, 1);
	cr_assert_eq(idempotent_begin(&request, &outcome, &idem), OK);
	outcome.recipe = (struct recipe){.what = RECIPE_PASS, .number = 5};
	cr_assert_eq(idempotent_end(&request, &outcome, &idem), OK);
	scratch_save(&s);
	cr_expect_eq(run(1, 1), ERR_DAMAGED);
}

/* The answer of a subscription is stored in the key's row, since the subscription may have been deleted. */
static void keep_subscription(enum recipe_what what)
{
	static uint8_t      detail[RECIPE_DETAIL_BYTES_MAX];
	struct subscription row = {
	    .active = true, .generation = 1, .kind_count = 1, .url = span_str("https://a/")};
	uint8_t context[26] = {'b'}, nonce[SECRET_NONCE_BYTES] = {1}, secret[WEBHOOK_KEY_BYTES] = {0};
	cr_assert_eq(secret_seal(facts.webhook_key, nonce, span_of(context, sizeof context),
	                         span_of(secret, sizeof secret), row.secret),
	             OK);
	rpc(1, 1);
	cr_assert_eq(idempotent_begin(&request, &outcome, &idem), OK);
	outcome.recipe = (struct recipe){.what = (uint8_t)what, .detail = recipe_detail(&row, detail)};
	cr_assert_eq(idempotent_end(&request, &outcome, &idem), OK);
	scratch_save(&s);
	buffer_clear(&payload);
}

static bool answer_has(const char *text)
{
	return memmem(payload.at, payload.size, text, strlen(text)) != NULL;
}

Test(idempotency, a_subscription_is_answered_again_from_the_key_alone)
{
	keep_subscription(RECIPE_SUBSCRIPTION);
	cr_expect(is_replayed(1, 1));
	cr_expect(answer_has("https://a/") && !answer_has("secret") && !answer_has("whsec_"));
}

Test(idempotency, a_new_subscription_is_answered_again_with_its_secret)
{
	keep_subscription(RECIPE_SUBSCRIPTION_AND_SECRET);
	cr_expect(is_replayed(1, 1));
	cr_expect(answer_has("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="));
	buffer_clear(&payload);
	facts.webhook_key[0] ^= 1; /* another master key: the tables are not damaged */
	cr_expect_eq(run(1, 1), ERR_SEALED);
	cr_expect_not(answer_has("whsec_"));
}

Test(idempotency, a_subscription_cut_short_is_damage)
{
	rpc(1, 1);
	cr_assert_eq(idempotent_begin(&request, &outcome, &idem), OK);
	outcome.recipe = (struct recipe){.what = RECIPE_SUBSCRIPTION,
	                                 .detail = span_str("0123456789abcdef0")};
	cr_assert_eq(idempotent_end(&request, &outcome, &idem), OK);
	scratch_save(&s);
	cr_expect_eq(run(1, 1), ERR_DAMAGED);
}

Test(idempotency, an_answer_of_an_unknown_kind_is_damage)
{
	rpc(1, 1);
	cr_assert_eq(idempotent_begin(&request, &outcome, &idem), OK);
	outcome.recipe.what = 200;
	cr_assert_eq(idempotent_end(&request, &outcome, &idem), OK);
	scratch_save(&s);
	cr_expect_eq(run(1, 1), ERR_DAMAGED);
}

Test(idempotency, a_key_is_valid_for_a_day_to_the_microsecond)
{
	cr_expect(is_run(1, 1));
	request.now.v += day_us - 1;
	cr_expect(is_replayed(1, 1));
	cr_expect_eq(run(1, 2), ERR_IDEMPOTENCY_KEY_REUSED);
	request.now.v += 1;
	cr_expect(is_run(1, 2));
	cr_expect(is_replayed(1, 2));
	cr_expect_eq(count_rows(), 1);
}

Test(idempotency, the_oldest_are_evicted_at_the_limit)
{
	for (unsigned key = 1; key <= KEYS; key++)
		cr_expect(is_run(key, 1));
	cr_expect(is_replayed(1, 1));
	for (unsigned key = KEYS + 1; key <= 40; key++) {
		cr_expect(is_run(key, 1));
		cr_expect_eq(count_rows(), KEYS);
		for (unsigned kept = key - KEYS + 1; kept <= key; kept++)
			cr_expect(is_replayed(kept, 1));
	}
	cr_expect(is_run(40 - KEYS, 1));
}

Test(idempotency, the_lowest_limit_is_one_key)
{
	facts.idempotency_keys = 1;
	for (unsigned key = 1; key <= 10; key++) {
		cr_expect(is_run(key, 1));
		cr_expect(is_replayed(key, 1));
		cr_expect_eq(count_rows(), 1);
	}
}

Test(idempotency, expired_keys_are_removed_a_few_at_a_time)
{
	facts.idempotency_keys = 100;
	for (unsigned key = 1; key <= 20; key++)
		cr_expect(is_run(key, 1));
	request.now.v += day_us;
	for (unsigned added = 1; added <= 5; added++) {
		cr_expect(is_run(100 + added, 1));
		cr_expect_eq(count_rows(), 20 - IDEMPOTENCY_FORGOTTEN_MAX * added + added);
	}
	cr_expect(is_run(200, 1));
	cr_expect_eq(count_rows(), 6);
}

Test(idempotency, a_reduced_limit_is_reached)
{
	facts.idempotency_keys = 100;
	for (unsigned key = 1; key <= 30; key++)
		cr_expect(is_run(key, 1));
	facts.idempotency_keys = KEYS;
	for (unsigned key = 31; key <= 39; key++)
		cr_expect(is_run(key, 1));
	cr_expect_eq(count_rows(), KEYS);
}

Test(idempotency, a_reused_old_key_does_not_evict_younger_ones)
{
	for (unsigned key = 1; key <= KEYS; key++)
		cr_expect(is_run(key, 1));
	request.now.v += day_us;
	cr_expect(is_run(
	    KEYS, 1)); /* the last key: the gap that it leaves is not in the part that is removed next */
	cr_expect_eq(count_rows(), 1);
	for (unsigned key = 11; key < 10 + KEYS; key++)
		cr_expect(is_run(key, 1));
	for (unsigned key = 11; key < 10 + KEYS; key++)
		cr_expect(is_replayed(key, 1));
	cr_expect(is_replayed(KEYS, 1));
	cr_expect_eq(count_rows(), KEYS);
}

/* Compared with the simplest model: a list of keys by time. */
struct list_cache {
	unsigned key;
	uint8_t  body;
	int64_t  at;
};
static struct list_cache model[4096];
static unsigned          model_count;

static struct list_cache *model_find(unsigned key)
{
	unsigned from = model_count > KEYS ? model_count - KEYS : 0;
	for (unsigned i = from; i < model_count; i++)
		if (model[i].key == key && request.now.v - model[i].at < day_us) return &model[i];
	return NULL;
}

Test(idempotency, random_operations_equal_a_model)
{
	uint64_t seed = chance_begin();
	for (unsigned i = 0; i < 4000; i++) {
		unsigned           key = chance_below(&seed, 9);
		uint8_t            body = (uint8_t)chance_below(&seed, 2);
		struct list_cache *kept;
		if (chance_below(&seed, 4) == 0) request.now.v += day_us / (1 + chance_below(&seed, 8));
		kept = model_find(key);
		enum err err = run(key, body);
		cr_assert_eq(err, kept && kept->body != body ? ERR_IDEMPOTENCY_KEY_REUSED : OK, "step %u", i);
		cr_assert_eq(idem.replayed, kept && kept->body == body, "step %u", i);
		if (!kept) model[model_count++] = (struct list_cache){key, body, request.now.v};
		if (i % 50 == 0) cr_expect_leq(count_rows(), KEYS);
	}
}

/* Rows of imports ----------------------------------------------------------------------------------------- */

/* Row `number` of an import with `slots` slots: returns the stored answer, or carries the row out if there is
 * none. */
static enum err run_row(uint8_t import, uint64_t number, uint32_t slots)
{
	const uint8_t id[IMPORT_ID_BYTES] = {import};
	idempotency_of_row(id, (uint32_t)(number % slots), number, &asked);
	outcome = (struct outcome){.payload = &payload};
	request.of_import = true;
	enum err err = idempotent_begin(&request, &outcome, &idem);
	if (!err && !idem.replayed) {
		cr_assert_eq(idempotent_end(&request, &outcome, &idem), OK);
		scratch_save(&s);
	}
	request.of_import = false;
	return err;
}

static bool is_made(uint8_t import, uint64_t number, uint32_t slots)
{
	return run_row(import, number, slots) == OK && !idem.replayed;
}

static bool is_known(uint8_t import, uint64_t number, uint32_t slots)
{
	return run_row(import, number, slots) == OK && idem.replayed && outcome.flags == REPLY_REPLAYED;
}

Test(idempotency, a_row_of_an_import_is_stored_until_its_slot_is_reused)
{
	enum { SLOTS = 8, ROWS = 50 };
	for (uint64_t number = 0; number < ROWS; number++) {
		cr_expect(is_made(1, number, SLOTS));
		for (uint64_t kept = number < SLOTS ? 0 : number - SLOTS + 1; kept <= number; kept++)
			cr_expect(is_known(1, kept, SLOTS));
	}
	cr_expect_eq(count_rows(), SLOTS);
	cr_expect_eq(run_row(1, ROWS - SLOTS - 1, SLOTS), ERR_IDEMPOTENCY_KEY_REUSED);
	cr_expect(is_made(2, 0, SLOTS), "another import has slots of its own");
	cr_expect_eq(count_rows(), SLOTS + 1);
}

Test(idempotency, a_refused_row_of_an_import_keeps_the_earlier_one)
{
	const uint8_t id[IMPORT_ID_BYTES] = {1};
	cr_expect(is_made(1, 0, 1));
	request.of_import = true;
	idempotency_of_row(id, 0, 1, &asked);
	cr_assert_eq(idempotent_begin(&request, &outcome, &idem), OK);
	cr_expect_eq(s.staged.count, 0);
	cr_expect(is_known(1, 0, 1));
}

Test(idempotency, rows_of_imports_and_keys_of_clients_do_not_evict_each_other)
{
	enum { SLOTS = 64 };
	for (unsigned key = 1; key <= KEYS; key++)
		cr_expect(is_run(key, 1));
	for (uint64_t number = 0; number < 10 * SLOTS; number++)
		cr_expect(is_made(1, number, SLOTS));
	for (unsigned key = 1; key <= KEYS; key++)
		cr_expect(is_replayed(key, 1));
	for (unsigned key = 11; key <= 10 + 4 * KEYS; key++)
		cr_expect(is_run(key, 1));
	cr_expect_eq(count_rows(), SLOTS + KEYS);
	for (uint64_t number = 9 * SLOTS; number < 10 * SLOTS; number++)
		cr_expect(is_known(1, number, SLOTS));
}

Test(idempotency, first_keys_of_clients_evict_no_rows_of_imports)
{
	for (uint64_t number = 0; number < 20; number++)
		cr_expect(is_made(1, number, 20));
	for (unsigned key = 1; key <= KEYS; key++)
		cr_expect(is_run(key, 1));
	cr_expect_eq(count_rows(), 20 + KEYS);
}

Test(idempotency, a_row_of_an_import_is_stored_for_half_a_day_to_a_day)
{
	cr_expect(is_made(1, 0, 1));
	request.now.v += day_us / 2 - 1;
	cr_expect(is_made(1, 1, 1)); /* has the time of row 0 */
	request.now.v += day_us / 2;
	cr_expect(is_known(1, 1, 1));
	request.now.v += 1;
	cr_expect(is_made(1, 1, 1));
	request.now.v += day_us / 2;
	cr_expect(is_made(1, 2, 1)); /* has its own time */
	request.now.v += day_us - 1;
	cr_expect(is_known(1, 2, 1));
	cr_expect_eq(count_rows(), 1);
}

Test(idempotency, old_rows_of_imports_are_removed_by_another_import)
{
	for (uint64_t number = 0; number < 20; number++)
		cr_expect(is_made(1, number, 20));
	request.now.v += day_us;
	for (uint64_t number = 0; number < 5; number++)
		cr_expect(is_made(2, number, 20));
	cr_expect_eq(count_rows(), 20 - 5 * IDEMPOTENCY_FORGOTTEN_MAX + 5);
	cr_expect(is_run(1, 1));
}
