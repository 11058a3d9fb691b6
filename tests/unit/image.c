/* Images by URL and by content: a stored image is found, and an incomplete one is not shown. */
#include "store/image.h"
#include "tests/unit/support.h"

#include "schemas/sha256.h"
#include "store/keys.h"

#include <criterion/criterion.h>
#include <stdlib.h>

SCRATCH_SUITE(image);
static const struct account_id account = {{'b'}}, other = {{'c'}};
static const struct span       url = {(const uint8_t *)"https://a.example/l.png", 23};

/* The bytes of an image, and its hash. */
static uint8_t *some(size_t size, struct image *image)
{
	uint8_t *bytes = malloc(size);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	*image = (struct image){.size = (uint32_t)size, .width = 3, .height = 4, .fetched = {1234}};
	struct span whole = span_of(bytes, size);
	sha256_of(&whole, 1, image->hash);
	return bytes;
}

static void put_part(const struct image *image, const uint8_t *bytes, unsigned part)
{
	size_t at = (size_t)part * IMAGE_PART_BYTES, left = image->size - at;
	size_t size = left < IMAGE_PART_BYTES ? left : IMAGE_PART_BYTES;
	cr_assert_eq(image_part_put(s.view, account, image->hash, part, span_of(bytes + at, size)), OK);
	scratch_save(&s);
}

static void put_all(const struct image *image, const uint8_t *bytes)
{
	for (unsigned part = 0; part < image_parts(image); part++)
		put_part(image, bytes, part);
	cr_assert_eq(image_url_put(s.view, account, url, image), OK);
	scratch_save(&s);
}

static enum err read_back(const struct image *image, const uint8_t *bytes)
{
	struct buffer out = {0};
	buffer_text(&out, "before");
	enum err err = image_bytes(s.view, account, image, &out);
	if (!err) cr_expect(out.size == image->size + 6 && !memcmp(out.at + 6, bytes, image->size));
	buffer_free(&out);
	return err;
}

Test(image, of_any_size_is_read_back)
{
	static const size_t sizes[] = {1, IMAGE_PART_BYTES - 1, IMAGE_PART_BYTES, IMAGE_PART_BYTES + 1,
	                               IMAGE_BYTES_MAX};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct image want, got;
		uint8_t     *bytes = some(sizes[i], &want);
		put_all(&want, bytes);
		cr_assert_eq(image_of_url(s.view, account, url, &got), OK);
		cr_expect(!memcmp(got.hash, want.hash, sizeof got.hash) && got.size == want.size);
		cr_expect(got.width == 3 && got.height == 4 && got.fetched.v == 1234);
		cr_expect_eq(read_back(&got, bytes), OK, "%zu bytes", sizes[i]);
		free(bytes);
	}
}

Test(image, belongs_to_its_account)
{
	struct image image, got;
	uint8_t     *bytes = some(10, &image);
	put_all(&image, bytes);
	cr_expect_eq(image_of_url(s.view, other, url, &got), ERR_NOT_FOUND);
	cr_expect_eq(image_of_url(s.view, account, span_of(url.at, url.size - 1), &got), ERR_NOT_FOUND);
	free(bytes);
}

Test(image, is_absent_while_a_part_is_missing_or_wrong)
{
	struct image image;
	uint8_t     *bytes = some(IMAGE_PART_BYTES + 10, &image);
	cr_expect_eq(read_back(&image, bytes), ERR_NOT_FOUND);
	put_part(&image, bytes, 1);
	cr_expect_eq(read_back(&image, bytes), ERR_NOT_FOUND);
	bytes[5] ^= 1;
	put_part(&image, bytes, 0);
	cr_expect_eq(read_back(&image, bytes), ERR_NOT_FOUND);
	bytes[5] ^= 1;
	put_part(&image, bytes, 0);
	cr_expect_eq(read_back(&image, bytes), OK);
	cr_assert_eq(image_part_put(s.view, account, image.hash, 1, span_of(bytes, 9)), OK);
	scratch_save(&s);
	cr_expect_eq(read_back(&image, bytes), ERR_NOT_FOUND);
	free(bytes);
}

Test(image, existing_part_is_not_written_again)
{
	struct image image;
	uint8_t     *bytes = some(100, &image);
	put_part(&image, bytes, 0);
	cr_assert_eq(image_part_put(s.view, account, image.hash, 0, span_of(bytes, 100)), OK);
	cr_expect_eq(s.staged.count, 0);
	free(bytes);
}

Test(image, part_beyond_the_bounds_is_refused)
{
	static uint8_t bytes[IMAGE_PART_BYTES + 1];
	const uint8_t  hash[IMAGE_HASH_BYTES] = {1};
	cr_expect_eq(image_part_put(s.view, account, hash, IMAGE_PARTS_MAX, span_of(bytes, 1)),
	             ERR_TOO_LARGE);
	cr_expect_eq(image_part_put(s.view, account, hash, 0, span_of(bytes, 0)), ERR_TOO_LARGE);
	cr_expect_eq(image_part_put(s.view, account, hash, 0, span_of(bytes, sizeof bytes)), ERR_TOO_LARGE);
}

Test(image, row_of_another_form_is_damage)
{
	struct image image;
	uint8_t     *bytes = some(10, &image), row[64] = {1};
	put_all(&image, bytes);
	free(bytes);
	cr_expect_eq(image_read(span_of(row, 53), &image), ERR_DAMAGED, "no size");
	row[33] = row[37] = row[41] = 1;
	cr_expect_eq(image_read(span_of(row, 53), &image), OK);
	cr_expect_eq(image_read(span_of(row, 54), &image), ERR_DAMAGED);
	cr_expect_eq(image_read(span_of(row, 52), &image), ERR_DAMAGED);
	row[36] = 1;
	cr_expect_eq(image_read(span_of(row, 53), &image), ERR_DAMAGED, "too large");
	row[36] = 0;
	row[0] = 2;
	cr_expect_eq(image_read(span_of(row, 53), &image), ERR_DAMAGED, "of another version");
}
