/* Rows queued for background removal, and reference counts of images. */
#include "store/cleanup.h"

#include "schemas/sha256.h"
#include "store/image_use.h"
#include "store/keys.h"
#include "store/reward.h"
#include "store/rule.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(cleanup);
static const struct account_id account = {{'b'}}, other = {{'c'}};
static uint8_t                 bytes[IMAGE_PART_BYTES];

static bool is_left(struct cleanup row)
{
	enum err err = cleanup_get(s.view, &row);
	cr_assert(err == OK || err == ERR_NOT_FOUND);
	return err == OK;
}

/* Rows ------------------------------------------------------------------------------------------------------- */

Test(cleanup, rows_are_read_in_order_of_account_and_kind)
{
	struct cleanup put[] = {
	    cleanup_of_number(account, CLEANUP_PASS, 7), cleanup_of_number(account, CLEANUP_PASS, 256),
	    cleanup_of(account, CLEANUP_IMAGE, span_str("0123456789abcdef0123456789abcdef")),
	    cleanup_of_number(other, CLEANUP_REWARD, 1)};
	enum { COUNT = sizeof put / sizeof *put };
	put[1].from.v = -5;
	put[1].state_size = CLEANUP_STATE_MAX;
	memset(put[1].state, 0xab, CLEANUP_STATE_MAX);
	for (unsigned i = COUNT; i-- > 0;)
		cr_assert_eq(cleanup_put(s.view, &put[i]), OK);
	scratch_save(&s);
	struct cleanup row = {.account = {{0}}};
	enum err       err = cleanup_from(s.view, &row);
	for (unsigned i = 0; i < COUNT; i++, err = cleanup_next(s.view, &row)) {
		cr_assert_eq(err, OK);
		cr_expect(row.kind == put[i].kind && row.from.v == put[i].from.v, "row %u", i);
		cr_expect(row.subject_size == put[i].subject_size && row.state_size == put[i].state_size);
		cr_expect(!memcmp(row.subject, put[i].subject, row.subject_size));
		cr_expect(!memcmp(row.state, put[i].state, row.state_size));
	}
	cr_expect_eq(err, ERR_NOT_FOUND);
	cr_expect_eq(cleanup_number(&put[1]), 256);
	cr_expect_eq(cleanup_number(&put[2]), 0);
	cr_assert_eq(cleanup_del(s.view, &put[0]), OK);
	scratch_save(&s);
	cr_expect(!is_left(put[0]) && is_left(put[1]));
}

Test(cleanup, rows_of_another_form_are_damage)
{
	static const uint8_t value[9 + CLEANUP_STATE_MAX] = {0};
	struct row_key       key = key_u32(account, 0x01000000); /* kind 1, and three bytes */
	struct cleanup       row;
	cr_expect_eq(cleanup_read(key_span(&key), span_of(value, 8), &row), OK);
	cr_expect_eq(cleanup_read(key_span(&key), span_of(value, 7), &row), ERR_DAMAGED);
	cr_expect_eq(cleanup_read(key_span(&key), span_of(value, sizeof value), &row), ERR_DAMAGED);
	cr_expect_eq(cleanup_read(span_of(key.bytes, 11), span_of(value, 8), &row), ERR_DAMAGED);
	for (unsigned kind = 0; kind < 256; kind++) {
		key.bytes[10] = (uint8_t)kind;
		enum err want = kind && kind < CLEANUP_KINDS_END ? OK : ERR_DAMAGED;
		cr_expect_eq(cleanup_read(key_span(&key), span_of(value, 8), &row), want, "kind %u", kind);
	}
}

/* Images ------------------------------------------------------------------------------------------------------ */

static void hash_of(const char *url, uint8_t hash[IMAGE_HASH_BYTES])
{
	struct span text = span_str(url);
	sha256_of(&text, 1, hash);
}

static uint32_t uses(enum image_use what, const uint8_t hash[IMAGE_HASH_BYTES])
{
	uint32_t count;
	cr_assert_eq(image_use_count(s.view, account, what, hash, &count), OK);
	return count;
}

static void move(const char *before, const char *after)
{
	cr_assert_eq(image_uses_move(s.view, account, span_str(before), span_str(after)), OK);
	scratch_save(&s);
}

static struct cleanup left(enum cleanup_kind kind, const uint8_t hash[IMAGE_HASH_BYTES])
{
	return cleanup_of(account, kind, span_of(hash, IMAGE_HASH_BYTES));
}

Test(cleanup, urls_count_the_passes_that_name_them)
{
	static const char both[] = "{\"logo\":\"a\",\"banner\":\"b\",\"title\":\"c\"}",
	                  logo[] = "{\"logo\":\"a\"}";
	uint8_t a[IMAGE_HASH_BYTES], b[IMAGE_HASH_BYTES];
	hash_of("a", a);
	hash_of("b", b);
	move("", both);
	move("", logo);
	cr_expect(uses(IMAGE_USE_URL, a) == 2 && uses(IMAGE_USE_URL, b) == 1);
	move(both, "{\"logo\":\"b\",\"banner\":\"b\"}");
	cr_expect(uses(IMAGE_USE_URL, a) == 1 && uses(IMAGE_USE_URL, b) == 2);
	cr_expect(!is_left(left(CLEANUP_IMAGE_URL, a)));
	move("{\"logo\":\"b\",\"banner\":\"b\"}", "{\"logo\":\"b\",\"title\":\"c\"}");
	cr_expect(uses(IMAGE_USE_URL, b) == 1 && !is_left(left(CLEANUP_IMAGE_URL, b)));
	move(logo, "");
	cr_expect(uses(IMAGE_USE_URL, a) == 0 && is_left(left(CLEANUP_IMAGE_URL, a)));
	move("{\"logo\":\"b\",\"title\":\"c\"}", "");
	cr_expect(is_left(left(CLEANUP_IMAGE_URL, b)));
	move("{\"logo\":\"never counted\"}", ""); /* of a directory older than reference counts */
}

Test(cleanup, urls_keep_what_they_are_named_for)
{
	const struct span icon[IMAGE_USES] = {[2] = {(const uint8_t *)"a", 1}};
	uint8_t           a[IMAGE_HASH_BYTES];
	unsigned          roles;
	hash_of("a", a);
	cr_assert_eq(image_use_roles(s.view, account, a, &roles), OK);
	cr_expect_eq(roles, 0);
	move("", "{\"banner\":\"a\"}");
	cr_assert_eq(image_use_roles(s.view, account, a, &roles), OK);
	cr_expect_eq(roles, SHAPE_OF_BANNER);
	cr_assert_eq(image_urls_move(s.view, account, NULL, icon), OK);
	scratch_save(&s);
	move("{\"banner\":\"a\"}", "");
	cr_assert_eq(image_use_roles(s.view, account, a, &roles), OK);
	cr_expect(roles == (SHAPE_OF_BANNER | SHAPE_OF_ICON) && uses(IMAGE_USE_URL, a) == 1);
	cr_assert_eq(image_urls_move(s.view, account, icon, NULL), OK);
	scratch_save(&s);
	cr_assert_eq(image_use_roles(s.view, account, a, &roles), OK);
	cr_expect(roles == 0 && is_left(left(CLEANUP_IMAGE_URL, a)));
}

static void store_image(const char *url, uint8_t tag, struct image *image)
{
	memset(bytes, tag, sizeof bytes);
	struct span part = span_of(bytes, 100);
	*image = (struct image){.size = 100, .width = 1, .height = 1, .fetched = {1}};
	sha256_of(&part, 1, image->hash);
	cr_assert_eq(image_keep(s.view, account, image->hash, (wall_us){1000}), OK);
	cr_assert_eq(image_part_put(s.view, account, image->hash, 0, part), OK);
	cr_assert_eq(image_url_put(s.view, account, span_str(url), image), OK);
	scratch_save(&s);
}

static bool clean(enum err (*step)(struct view *, struct cleanup *, bool *), struct cleanup row)
{
	bool     done = false;
	unsigned steps = 0;
	cr_assert_eq(cleanup_get(s.view, &row), OK);
	while (!done) {
		cr_assert(steps++ < 64);
		cr_assert_eq(step(s.view, &row, &done), OK);
		cr_assert(s.staged.count <= BULK_WRITES_MAX);
		scratch_save(&s);
	}
	cr_assert_eq(cleanup_del(s.view, &row), OK);
	scratch_save(&s);
	return steps > 1;
}

Test(cleanup, an_image_is_removed_with_its_last_url)
{
	struct image  image, found;
	struct buffer out = {0};
	uint8_t       a[IMAGE_HASH_BYTES], b[IMAGE_HASH_BYTES];
	hash_of("a", a);
	hash_of("b", b);
	move("", "{\"logo\":\"a\",\"banner\":\"b\"}");
	store_image("a", 1, &image);
	store_image("b", 1, &image);
	cr_expect(uses(IMAGE_USE_BYTES, image.hash) == 2 && !is_left(left(CLEANUP_IMAGE_URL, a)));
	move("{\"logo\":\"a\",\"banner\":\"b\"}", "{\"banner\":\"b\"}");
	clean(image_url_clean, left(CLEANUP_IMAGE_URL, a));
	cr_expect_eq(image_of_url(s.view, account, span_str("a"), &found), ERR_NOT_FOUND);
	cr_expect_eq(uses(IMAGE_USE_BYTES, image.hash), 1);
	clean(image_clean, left(CLEANUP_IMAGE, image.hash)); /* that of the fetch: it is shown */
	cr_expect_eq(image_bytes(s.view, account, &image, &out), OK);
	move("{\"banner\":\"b\"}", "");
	move("", "{\"logo\":\"b\"}"); /* before its step has run */
	clean(image_url_clean, left(CLEANUP_IMAGE_URL, b));
	cr_expect_eq(image_of_url(s.view, account, span_str("b"), &found), OK);
	move("{\"logo\":\"b\"}", "");
	clean(image_url_clean, left(CLEANUP_IMAGE_URL, b));
	cr_expect_eq(uses(IMAGE_USE_BYTES, image.hash), 0);
	cr_expect(clean(image_clean, left(CLEANUP_IMAGE, image.hash)), "in steps");
	cr_expect_eq(image_bytes(s.view, account, &image, &out), ERR_NOT_FOUND);
	buffer_free(&out);
}

Test(cleanup, a_new_image_at_a_url_replaces_the_previous_one)
{
	struct image first, second;
	move("", "{\"logo\":\"a\"}");
	store_image("a", 1, &first);
	clean(image_clean, left(CLEANUP_IMAGE, first.hash));
	store_image("a", 1, &first);
	clean(image_clean, left(CLEANUP_IMAGE, first.hash));
	cr_expect_eq(uses(IMAGE_USE_BYTES, first.hash), 1);
	store_image("a", 2, &second);
	cr_expect(uses(IMAGE_USE_BYTES, first.hash) == 0 && uses(IMAGE_USE_BYTES, second.hash) == 1);
	cr_expect(is_left(left(CLEANUP_IMAGE, first.hash)));
}

Test(cleanup, a_fetch_without_waiting_passes_is_abandoned)
{
	struct image   image;
	uint8_t        a[IMAGE_HASH_BYTES];
	struct cleanup kept;
	hash_of("a", a);
	store_image("a", 1, &image);
	cr_expect(is_left(left(CLEANUP_IMAGE_URL, a)));
	clean(image_url_clean, left(CLEANUP_IMAGE_URL, a));
	kept = left(CLEANUP_IMAGE, image.hash);
	cr_assert_eq(cleanup_get(s.view, &kept), OK);
	cr_expect_eq(kept.from.v, 1000, "as long as the fetch reported");
}

/* Others ------------------------------------------------------------------------------------------------------ */

Test(cleanup, firing_records_of_one_rule_are_removed_in_steps)
{
	struct uuid ids[] = {{{1}}, {{2}}, {{3}}};
	bool        fired;
	for (uint32_t number = 0; number < 150; number++)
		for (unsigned i = 0; i < 3; i++) {
			cr_assert_eq(rule_fired_put(s.view, account, ids[i], number), OK);
			scratch_save(&s);
		}
	struct cleanup row = cleanup_of(account, CLEANUP_RULE, span_of(ids[1].b, sizeof ids[1]));
	cr_assert_eq(cleanup_put(s.view, &row), OK);
	scratch_save(&s);
	cr_expect(clean(rule_fired_clean, row), "in steps");
	for (uint32_t number = 0; number < 150; number++)
		for (unsigned i = 0; i < 3; i++)
			cr_expect(!rule_fired_get(s.view, account, ids[i], number, &fired) &&
			          fired == (i != 1));
}

/* Unassigned versions were removed before. */
static bool is_missing(uint32_t version)
{
	return version > 50 && version < 850;
}

Test(cleanup, versions_of_one_reward_are_removed_in_steps)
{
	struct reward_version row = {.redemption_allowance = 1, .slug = span_str("a"), .name = span_str("A")},
	                      got;
	for (row.version = 1; row.version <= 900; row.version++)
		for (row.family = 1; row.family <= 3; row.family++) {
			if (is_missing(row.version)) continue;
			cr_assert_eq(reward_version_put(s.view, account, &row), OK);
			scratch_save(&s);
		}
	struct cleanup second = reward_left_over(account, &(struct reward){.family = 2, .version = 900});
	cr_assert_eq(cleanup_put(s.view, &second), OK);
	scratch_save(&s);
	cr_expect(clean(reward_versions_clean, second), "in steps");
	for (uint32_t family = 1; family <= 3; family++)
		for (uint32_t version = 1; version <= 900; version++)
			cr_expect_eq(reward_version_get(s.view, account, family, version, &got),
			             family == 2 || is_missing(version) ? ERR_NOT_FOUND : OK);
}

Test(cleanup, one_version_is_removed)
{
	struct reward_version row = {.family = 1,
	                             .redemption_allowance = 1,
	                             .slug = span_str("a"),
	                             .name = span_str("A")},
	                      got;
	for (row.version = 1; row.version <= 3; row.version++) {
		cr_assert_eq(reward_version_put(s.view, account, &row), OK);
		scratch_save(&s);
	}
	struct cleanup second = reward_version_left_over(account, 1, 2);
	for (unsigned i = 0; i < 2; i++) { /* again: it is already removed */
		cr_assert_eq(reward_version_clean(s.view, &second), OK);
		scratch_save(&s);
	}
	for (uint32_t version = 1; version <= 3; version++)
		cr_expect_eq(reward_version_get(s.view, account, 1, version, &got),
		             version == 2 ? ERR_NOT_FOUND : OK);
}
