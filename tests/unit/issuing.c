/* Rows of passes being issued: they read as they were written; rows that the program does not write are
 * damage. */
#include "store/issuing.h"
#include "tests/unit/support.h"

#include "store/keys.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(issuing);
static const struct account_id account = {{'b'}};

static struct issuing put(struct span logo, struct span banner)
{
	struct issuing row = {.begun = {77}, .has_key = true, .logo = logo, .banner = banner}, got = {0};
	memset(row.key, 9, sizeof row.key);
	cr_assert_eq(issuing_put(s.view, account, 5, &row), OK);
	scratch_save(&s);
	cr_assert_eq(issuing_get(s.view, account, 5, &got), OK);
	cr_expect(got.begun.v == 77 && got.has_key && !memcmp(got.key, row.key, sizeof got.key));
	return got;
}

Test(issuing, reads_as_it_was_put)
{
	struct span    urls[] = {span_of(NULL, 0), span_str("https://a/"), filler(1, URL_BYTES_MAX)};
	const unsigned count = sizeof urls / sizeof *urls;
	for (unsigned i = 1; i < count * count; i++) {
		struct issuing got = put(urls[i % count], urls[i / count]);
		cr_expect(span_equal(got.logo, urls[i % count]) && span_equal(got.banner, urls[i / count]));
	}
}

Test(issuing, of_a_template_may_have_an_icon)
{
	struct issuing row = {.begun = {77}, .icon = span_str("https://i/")}, got;
	for (unsigned i = 0; i < 2; i++) {
		if (i) row.banner = span_str("https://b/");
		cr_assert_eq(template_images_put(s.view, account, 5, &row), OK);
		scratch_save(&s);
		cr_assert_eq(template_images_get(s.view, account, 5, &got), OK);
		cr_expect(span_equal(got.icon, row.icon) && span_equal(got.banner, row.banner));
		cr_expect_eq(got.logo.size, 0);
	}
}

Test(issuing, cuts_a_too_long_url_but_leaves_it_too_long)
{
	struct issuing got = put(filler(2, 100000), filler(3, URL_BYTES_MAX + 1));
	cr_expect_eq(got.logo.size, URL_BYTES_MAX + 1);
	cr_expect_eq(got.banner.size, URL_BYTES_MAX + 1);
}

Test(issuing, is_absent_after_deletion)
{
	struct issuing row;
	put(span_str("https://a/"), span_of(NULL, 0));
	cr_assert_eq(issuing_del(s.view, account, 5), OK);
	scratch_save(&s);
	cr_expect_eq(issuing_get(s.view, account, 5, &row), ERR_NOT_FOUND);
}

Test(issuing, row_of_another_form_is_damage)
{
	uint8_t        bytes[60] = {1};
	struct issuing row;
	bytes[4] = 3;
	cr_expect_eq(issuing_read(span_of(bytes, 51), &row), OK);
	cr_expect_eq(issuing_read(span_of(bytes, 50), &row), ERR_DAMAGED);
	cr_expect_eq(issuing_read(span_of(bytes, 52), &row), ERR_DAMAGED);
	cr_expect_eq(issuing_read(span_of(bytes, 47), &row), ERR_DAMAGED);
	bytes[1] = 2;
	cr_expect_eq(issuing_read(span_of(bytes, 51), &row), ERR_DAMAGED);
	bytes[1] = 0;
	bytes[15] = 0x80;
	cr_expect_eq(issuing_read(span_of(bytes, 51), &row), ERR_DAMAGED, "a negative time");
	bytes[15] = 0;
	bytes[4] = 0;
	cr_expect_eq(issuing_read(span_of(bytes, 48), &row), ERR_DAMAGED, "nothing to fetch");
	bytes[0] = 2;
	cr_expect_eq(issuing_read(span_of(bytes, 51), &row), ERR_DAMAGED, "of another version");
}

Test(issuing, key_is_read_back)
{
	struct row_key    key = key_u32(account, 0x01020304);
	struct account_id id;
	uint32_t          number;
	cr_assert(issuing_key_read(key_span(&key), &id, &number));
	cr_expect(account_same(id, account) && number == 0x01020304);
	cr_expect_not(issuing_key_read(span_of(key.bytes, key.size - 1), &id, &number));
}
