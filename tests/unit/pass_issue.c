/* The end of an issuance, and transfer of images: the rows that PASS_ISSUE, IMAGE_PUT and IMAGE_NAME
 * write. */
#include "actors/shard/account/parts.h"
#include "actors/shard/pass/images.h"
#include "actors/shard/pass/pass.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include "schemas/api/image.h"
#include "schemas/api/issuing.h"
#include "schemas/api/pass.h"
#include "schemas/sha256.h"
#include "store/idempotency.h"
#include "store/image.h"
#include "store/keys.h"
#include "store/issuing.h"
#include "store/tally.h"

#include <criterion/criterion.h>

enum { NUMBER = 0 };
static struct scratch s;
static struct account account = {.id = {{'b'}}};
static const uint8_t  key[32] = {5};
static struct buffer  payload;
static struct request request;
static struct outcome outcome;

/* A pass created with an idempotency key, whose stored answer is 202 so far. */
static void begin(void)
{
	struct issuing row = {.begun = {1}, .has_key = true, .logo = span_str("https://a/")};
	struct body    body = {.pass_id = span_str("p"), .visible = span_str("{}"), .hidden = span_str("{}")};
	struct hot     hot = {.status = PASS_CREATING, .template = 1, .created = {1}, .updated = {1}};
	struct tally   tally = {.made = 1, .counts = {[PASS_CREATING] = 1}};
	struct idempotency_row kept = {.recipe = {.what = RECIPE_PASS, .flags = REPLY_ACCEPTED}, .order = 1};
	scratch_open(&s);
	request = (struct request){.view = s.view, .account = &account, .now = {9000000}};
	outcome = (struct outcome){.payload = &payload};
	memcpy(row.key, key, sizeof key);
	must(!hot_add(s.view, account.id, NUMBER, &hot));
	must(!tally_put(s.view, account.id, &tally));
	must(!pass_body_put(&request, account.id, NUMBER, &body));
	must(!issuing_put(s.view, account.id, NUMBER, &row));
	must(!idempotency_put(s.view, account.id, key, &kept));
	scratch_save(&s);
}

static void end(void)
{
	account_templates_free(&account.templates);
	scratch_close(&s);
}

TestSuite(pass_issue, .init = begin, .fini = end);

static enum err issue(bool in_time, const char *error)
{
	static msgpack_object args[ARGS_PASS_ISSUE];
	args[ARG_PASS_ISSUE_number] = value_integer(NUMBER);
	args[ARG_PASS_ISSUE_in_time] = value_boolean(in_time);
	args[ARG_PASS_ISSUE_error] = error ? value_text(error) : value_nil();
	request.args = args;
	enum err err = on_PASS_ISSUE(&request, &outcome);
	if (!err) scratch_save(&s);
	return err;
}

static void expect_status(enum pass_status status)
{
	struct hot_at  pass;
	struct tally   tally;
	struct issuing row;
	cr_assert_eq(hot_get(s.view, account.id, NUMBER, &pass), OK);
	cr_expect(pass.now.status == status && pass.now.updated.v == request.now.v);
	cr_assert_eq(tally_get(s.view, account.id, &tally), OK);
	cr_expect(tally.counts[PASS_CREATING] == 0 && tally.counts[status] == 1);
	cr_expect_eq(issuing_get(s.view, account.id, NUMBER, &row), ERR_NOT_FOUND);
}

static unsigned kept_flags(void)
{
	struct idempotency_row kept;
	cr_assert_eq(idempotency_get(s.view, account.id, key, &kept), OK);
	cr_expect(kept.recipe.what == RECIPE_PASS && kept.recipe.number == NUMBER && kept.order == 1);
	return kept.recipe.flags;
}

/* Looks up a logo fetched at `fetched` for a pass created at `begun`, both in seconds. Returns what the pass
 * still lacks. */
static const char *missing_at(int64_t fetched, int64_t begun, int64_t now)
{
	struct image   logo = {.size = 1, .width = 1, .height = 1, .fetched = {fetched * US_PER_SEC}};
	struct issuing row = {.begun = {begun * US_PER_SEC}, .logo = span_str("https://a/")};
	struct missing missing;
	must(!image_url_put(s.view, account.id, row.logo, &logo));
	must(!images_missing(s.view, account.id, &row, (wall_us){now * US_PER_SEC}, &missing));
	return missing.image;
}

Test(pass_issue, accepts_recent_images_and_those_of_its_own_time)
{
	cr_expect_null(missing_at(1000, 1000, 1000 + IMAGE_FRESH_S - 1));
	cr_expect_null(missing_at(1000, 1000, 100000), "fetched since the creation, however long ago");
	cr_expect_null(missing_at(1000, 999, 100000));
	cr_expect_null(missing_at(1000, 1001, 1000 + IMAGE_FRESH_S - 1), "fetched for another");
	cr_expect_str_eq(missing_at(1000, 1001, 1000 + IMAGE_FRESH_S), "logo");
	cr_expect_str_eq(missing_at(1000, 1000 + IMAGE_FRESH_S, 1000 + IMAGE_FRESH_S), "logo");
}

Test(pass_issue, in_time_updates_the_keys_answer)
{
	cr_assert_eq(issue(true, NULL), OK);
	expect_status(PASS_ISSUED);
	cr_expect_eq(kept_flags(), 0);
}

Test(pass_issue, when_late_keeps_the_keys_first_answer)
{
	cr_assert_eq(issue(false, NULL), OK);
	expect_status(PASS_ISSUED);
	cr_expect_eq(kept_flags(), REPLY_ACCEPTED);
}

Test(pass_issue, does_not_change_a_reused_key)
{
	struct idempotency_row kept = {.recipe = {.what = RECIPE_PASS, .flags = REPLY_ACCEPTED, .number = 7},
	                               .order = 2};
	must(!idempotency_put(s.view, account.id, key, &kept));
	scratch_save(&s);
	cr_assert_eq(issue(true, NULL), OK);
	must(!idempotency_get(s.view, account.id, key, &kept));
	cr_expect(kept.recipe.flags == REPLY_ACCEPTED && kept.recipe.number == 7);
}

Test(pass_issue, succeeds_without_an_evicted_key)
{
	struct idempotency_order order = {.order = 1};
	memcpy(order.key, key, sizeof key);
	must(!idempotency_del(s.view, account.id, &order));
	scratch_save(&s);
	cr_expect_eq(issue(true, NULL), OK);
	expect_status(PASS_ISSUED);
}

Test(pass_issue, that_fails_stores_the_reason)
{
	struct hot_at pass = {.account = account.id, .number = NUMBER};
	struct body   body;
	cr_assert_eq(issue(true, "logo: it is not a PNG"), OK);
	expect_status(PASS_CREATION_FAILED);
	cr_assert_eq(pass_body(&request, &pass, &body), OK);
	cr_expect(span_is(body.creation_error, "logo: it is not a PNG"));
	cr_expect_eq(kept_flags(), REPLY_ACCEPTED);
}

Test(pass_issue, that_fails_cuts_the_reason_to_the_size_limit)
{
	struct hot_at  pass = {.account = account.id, .number = NUMBER};
	static uint8_t large[PASS_STORED_BYTES_MAX];
	struct body    body = {.pass_id = span_str("p"), .visible = span_str("{}")};
	memset(large, 'x', sizeof large);
	body.hidden = span_of(large, PASS_STORED_BYTES_MAX - body_size(&body) - 5);
	must(!pass_body_put(&request, account.id, NUMBER, &body));
	scratch_save(&s);
	cr_assert_eq(issue(true, "logo: it is not a PNG"), OK);
	cr_assert_eq(pass_body(&request, &pass, &body), OK);
	cr_expect(span_is(body.creation_error, "logo:"));
}

Test(pass_issue, applies_only_to_passes_being_created)
{
	cr_assert_eq(issue(true, NULL), OK);
	cr_expect_eq(issue(true, NULL), ERR_RESOURCE_CONFLICT);
	cr_expect_eq(issue(true, "why"), ERR_RESOURCE_CONFLICT);
}

/* Images -------------------------------------------------------------------------------------------------- */

static enum err put(const uint8_t hash[32], unsigned part, struct span bytes)
{
	const msgpack_object args[ARGS_IMAGE_PUT] = {value_bin(hash, 32), value_integer(part),
	                                             value_bin(bytes.at, bytes.size)};
	request.args = args;
	enum err err = on_IMAGE_PUT(&request, &outcome);
	if (!err) scratch_save(&s);
	return err;
}

static enum err name(const uint8_t hash[32], size_t size)
{
	const msgpack_object args[ARGS_IMAGE_NAME] = {value_text("https://a/"), value_bin(hash, 32),
	                                              value_integer(size), value_integer(3),
	                                              value_integer(4)};
	request.args = args;
	enum err err = on_IMAGE_NAME(&request, &outcome);
	if (!err) scratch_save(&s);
	return err;
}

Test(pass_issue, image_is_named_only_when_complete)
{
	struct span  bytes = filler(1, IMAGE_PART_BYTES + 9), parts[] = {bytes, bytes};
	struct image image;
	uint8_t      hash[32];
	parts[0].size = IMAGE_PART_BYTES;
	parts[1] = span_of(bytes.at + IMAGE_PART_BYTES, 9);
	sha256_of(parts, 2, hash);
	cr_expect_eq(name(hash, bytes.size), ERR_NOT_FOUND);
	cr_assert_eq(put(hash, 0, parts[0]), OK);
	cr_expect_eq(name(hash, bytes.size), ERR_NOT_FOUND);
	cr_assert_eq(put(hash, 1, parts[1]), OK);
	cr_expect_eq(name(hash, bytes.size - 1), ERR_NOT_FOUND);
	cr_expect_eq(image_of_url(s.view, account.id, span_str("https://a/"), &image), ERR_NOT_FOUND);
	cr_assert_eq(name(hash, bytes.size), OK);
	cr_assert_eq(image_of_url(s.view, account.id, span_str("https://a/"), &image), OK);
	cr_expect(image.size == bytes.size && image.width == 3 && image.height == 4);
	cr_expect_eq(image.fetched.v, request.now.v);
}

/* Creations ------------------------------------------------------------------------------------------------ */

/* A creation with a logo that is not stored. */
static enum err create_with_logo(unsigned creating, unsigned issuing)
{
	static struct shard_facts facts = {.public_url = "", .tokens = {.count = 1, .of = {{9}}}};
	msgpack_object_kv         logo = {value_text("logo"), value_text("https://b/")};
	static const struct call  call = {.message = MSG_PASS_CREATE};
	static msgpack_object     args[ARGS_PASS_CREATE];
	struct tally              tally = {.made = 1, .counts = {[PASS_CREATING] = creating}};
	struct row_key template = key_u32(account.id, 1);
	for (unsigned i = 0; i < ARGS_PASS_CREATE; i++)
		args[i] = value_nil();
	args[ARG_PASS_CREATE_pass_id] = value_text("new");
	args[ARG_PASS_CREATE_appearance] = (msgpack_object){.type = MSGPACK_OBJECT_MAP,
	                                                    .via.map = {1, &logo}};
	must(!tally_put(s.view, account.id, &tally));
	must(!write_put(&s.staged, TABLE_TEMPLATE, key_span(&template),
	                span_str("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}")));
	scratch_save(&s);
	if (!account.templates) account.templates = account_templates_new(1);
	atomic_store(&facts.issuing, issuing);
	request.args = args;
	request.call = &call;
	request.facts = &facts;
	request.can_issue = true;
	request.zone = msgpack_zone_new(1024);
	enum err err = on_PASS_CREATE(&request, &outcome);
	msgpack_zone_free(request.zone);
	s.staged = writes_none(&s.arena); /* removes unsaved rows */
	return err;
}

Test(pass_issue, creation_is_overloaded_at_the_accounts_limit)
{
	cr_expect_eq(create_with_logo(ISSUING_ACCOUNT_MAX, 0), ERR_OVERLOADED);
	cr_expect_neq(create_with_logo(ISSUING_ACCOUNT_MAX - 1, 0), ERR_OVERLOADED);
	cr_expect(outcome.began);
}

Test(pass_issue, creation_is_overloaded_at_the_shards_limit)
{
	cr_expect_eq(create_with_logo(1, ISSUING_MAX), ERR_OVERLOADED);
	cr_expect_eq(create_with_logo(1, ISSUING_MAX - 1), OK);
	cr_expect(outcome.began);
}
