/* Shapes of images: what is wanted, made and walked over; removal with the image. */
#include "store/image_shape.h"
#include "tests/unit/support.h"

#include "schemas/sha256.h"
#include "store/account_row.h"
#include "store/cleanup.h"
#include "store/image_use.h"

#include <criterion/criterion.h>
#include <stdlib.h>

SCRATCH_SUITE(image_shape);
static const struct account_id mine = {{'b'}}, other = {{'c'}}, everyone;

static struct image image_of(unsigned tag)
{
	uint8_t      byte = (uint8_t)tag;
	struct image image = {.size = 1, .width = 1, .height = 1, .fetched = {1}};
	struct span  whole = span_of(&byte, 1);
	sha256_of(&whole, 1, image.hash);
	return image;
}

static void url_of(unsigned tag, char url[32])
{
	snprintf(url, 32, "https://a.example/%u", tag);
}

/* An image of one byte at a URL that some pass names as its logo. */
static struct image store_image(struct account_id account, unsigned tag)
{
	char         url[32], appearance[64];
	uint8_t      byte = (uint8_t)tag;
	struct image image = image_of(tag);
	url_of(tag, url);
	snprintf(appearance, sizeof appearance, "{\"logo\":\"%s\"}", url);
	cr_assert_eq(image_uses_move(s.view, account, span_of(NULL, 0), span_str(appearance)), OK);
	cr_assert_eq(image_keep(s.view, account, image.hash, (wall_us){1}), OK);
	cr_assert_eq(image_part_put(s.view, account, image.hash, 0, span_of(&byte, 1)), OK);
	cr_assert_eq(image_url_put(s.view, account, span_str(url), &image), OK);
	scratch_save(&s);
	return image;
}

static void store_account(struct account_id account, unsigned wallets_off)
{
	struct account_row row = {.name = span_str("a"), .wallets_off = (uint8_t)wallets_off};
	cr_assert_eq(account_row_put(s.view, account, &row), OK);
	scratch_save(&s);
}

static void want(struct account_id account, const struct image *image, unsigned roles)
{
	cr_assert_eq(shapes_want(s.view, account, image, roles), OK);
	scratch_save(&s);
}

static void put_and_end(struct account_id account, const struct image *image, unsigned made,
                        enum shape_fault fault)
{
	const struct shape_verdict verdict = {fault, made};
	for (unsigned shape = 1; !fault && shape < SHAPE_END; shape++)
		if (made & SHAPE_BIT(shape))
			cr_assert_eq(
			    image_shape_put(s.view, account, image->hash, (enum shape)shape, span_str("PNG")),
			    OK);
	cr_assert_eq(shapes_end(s.view, account, image->hash, &verdict), OK);
	scratch_save(&s);
}

static unsigned wanted_of(struct account_id account, const struct image *image)
{
	struct shape_due due;
	enum err         err = shape_due_get(s.view, account, image->hash, &due);
	cr_assert(!err || err == ERR_NOT_FOUND);
	return err ? 0 : due.wanted;
}

Test(image_shape, is_wanted_until_it_is_made)
{
	struct image         image = store_image(mine, 1);
	struct shape_verdict verdict;
	struct span          png;
	want(mine, &image, SHAPE_OF_ICON);
	cr_expect_eq(wanted_of(mine, &image), 0x0e);
	want(mine, &image, SHAPE_OF_LOGO | SHAPE_OF_BANNER);
	cr_expect_eq(wanted_of(mine, &image), 0x1fe);
	put_and_end(mine, &image, 0x0e, SHAPE_GOOD);
	cr_expect_eq(wanted_of(mine, &image), 0x1f0);
	want(mine, &image, SHAPE_OF_ICON);
	cr_expect_eq(wanted_of(mine, &image), 0x1f0, "what is made is not wanted again");
	put_and_end(mine, &image, 0x1f0, SHAPE_GOOD);
	cr_expect_eq(wanted_of(mine, &image), 0);
	cr_assert_eq(image_shape_get(s.view, mine, image.hash, SHAPE_STRIP_2X, &png), OK);
	cr_expect(span_is(png, "PNG"));
	cr_expect_eq(image_shape_get(s.view, other, image.hash, SHAPE_STRIP_2X, &png), ERR_NOT_FOUND);
	cr_assert_eq(shape_verdict_get(s.view, mine, image.hash, &verdict), OK);
	cr_expect(verdict.made == 0x1fe && verdict.fault == SHAPE_GOOD);
	cr_expect_eq(shapes_end(s.view, mine, image.hash, &verdict), ERR_NOT_FOUND, "it is wanted no more");
}

Test(image_shape, of_a_faulty_image_is_not_wanted_again)
{
	struct image         image = store_image(mine, 1);
	struct shape_verdict verdict;
	want(mine, &image, SHAPE_OF_LOGO);
	put_and_end(mine, &image, 0x7e, SHAPE_INTERLACED);
	want(mine, &image, SHAPE_OF_LOGO);
	cr_expect_eq(wanted_of(mine, &image), 0);
	cr_assert_eq(shape_verdict_get(s.view, mine, image.hash, &verdict), OK);
	cr_expect_eq(verdict.fault, SHAPE_INTERLACED);
}

Test(image_shape, may_not_be_of_any_size)
{
	struct image image = image_of(1);
	uint8_t     *bytes = calloc(1, SHAPE_BYTES_MAX + 1);
	cr_expect_eq(image_shape_put(s.view, mine, image.hash, SHAPE_LOGO, span_of(NULL, 0)), ERR_TOO_LARGE);
	cr_expect_eq(
	    image_shape_put(s.view, mine, image.hash, SHAPE_LOGO, span_of(bytes, SHAPE_BYTES_MAX + 1)),
	    ERR_TOO_LARGE);
	cr_expect_eq(image_shape_put(s.view, mine, image.hash, SHAPE_LOGO, span_of(bytes, SHAPE_BYTES_MAX)),
	             OK);
	free(bytes);
}

/* Walks until nothing but images is due; returns their number. */
static unsigned walk_all(unsigned *steps)
{
	struct shape_due due, before;
	unsigned         count = 0;
	*steps = 0;
	for (enum err err = shape_due_after(s.view, NULL, &due); !err;
	     before = due, err = shape_due_after(s.view, &before, &due)) {
		if (due.is_walk) {
			cr_assert_eq(shapes_walk(s.view, &due), OK);
			cr_assert_leq(s.staged.count, BULK_WRITES_MAX);
			scratch_save(&s);
			++*steps;
			due = (struct shape_due){.is_walk = false}; /* from the beginning */
			count = 0;
			continue;
		}
		count++;
	}
	return count;
}

Test(image_shape, of_images_fetched_earlier_is_found_in_steps)
{
	enum { IMAGES = 150 };
	unsigned steps;
	store_account(mine, 0);
	store_account(other, 0);
	for (unsigned i = 0; i < IMAGES; i++)
		store_image(mine, i);
	store_image(other, 7);
	cr_assert_eq(shapes_want_all(s.view, mine), OK);
	scratch_save(&s);
	cr_expect_eq(walk_all(&steps), IMAGES);
	cr_expect_eq(steps, IMAGES / 32 + 1);
	struct image image = image_of(7);
	cr_expect_eq(wanted_of(mine, &image), 0x7e);
	cr_expect_eq(wanted_of(other, &image), 0);
}

Test(image_shape, of_all_accounts_is_found_by_the_operators_walk)
{
	unsigned     steps;
	struct image image = image_of(7);
	store_account(mine, WALLET_BIT(WALLET_APPLE));
	store_account(other, WALLET_BIT(WALLET_GOOGLE));
	store_image(mine, 7);
	store_image(other, 7);
	cr_assert_eq(shapes_want_all(s.view, everyone), OK);
	scratch_save(&s);
	cr_expect_eq(walk_all(&steps), 1);
	cr_expect_eq(wanted_of(other, &image), 0x7e);
	cr_expect_eq(wanted_of(mine, &image), 0, "its wallet is off");
}

Test(image_shape, goes_with_its_image)
{
	struct image     image = store_image(mine, 1);
	struct shape_due due;
	struct span      png;
	struct cleanup   row = cleanup_of(mine, CLEANUP_IMAGE, span_of(image.hash, sizeof image.hash));
	struct cleanup   url_row;
	uint8_t          hash[SHA256_BYTES];
	char             url[32];
	bool             done = false;
	want(mine, &image, SHAPE_OF_LOGO);
	put_and_end(mine, &image, SHAPE_BIT(SHAPE_ICON), SHAPE_GOOD);
	url_of(1, url);
	struct span text = span_str(url);
	sha256_of(&text, 1, hash);
	url_row = cleanup_of(mine, CLEANUP_IMAGE_URL, span_of(hash, sizeof hash));
	cr_assert_eq(
	    image_uses_move(s.view, mine, span_str("{\"logo\":\"https://a.example/1\"}"), span_of(NULL, 0)),
	    OK);
	scratch_save(&s);
	cr_assert_eq(image_url_clean(s.view, &url_row, &done), OK);
	scratch_save(&s);
	for (done = false; !done; scratch_save(&s)) {
		cr_assert_eq(image_clean(s.view, &row, &done), OK);
		cr_assert_leq(s.staged.count, BULK_WRITES_MAX);
	}
	cr_expect_eq(shape_due_after(s.view, NULL, &due), ERR_NOT_FOUND);
	cr_expect_eq(image_shape_get(s.view, mine, image.hash, SHAPE_ICON, &png), ERR_NOT_FOUND);
	cr_assert_eq(shape_verdict_get(s.view, mine, image.hash, &(struct shape_verdict){0}), OK);
}
