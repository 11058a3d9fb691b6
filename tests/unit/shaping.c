/* The shard's side of shapes: which image the timer is given next, what it may put, and what a package then has. */
#include "actors/shard/wallet/pictures.h"
#include "schemas/api/image.h"
#include "schemas/sha256.h"
#include "schemas/wallet/icon.h"
#include "store/image_shape.h"
#include "store/image_use.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(shaping);
static struct shape_place places[SHAPE_PLACES];
static struct account     account = {.id = {{1, 2, 3}}};
static struct buffer      payload;
static msgpack_unpacked   unpacked;
static struct shard_facts facts;

static enum err ask(enum message message, const msgpack_object *args)
{
	struct call    call = {.message = message, .args = args};
	struct request request = {.call = &call,
	                          .args = args,
	                          .view = s.view,
	                          .account = &account,
	                          .facts = &facts,
	                          .shape_places = places};
	struct outcome outcome = {.payload = &payload};
	buffer_clear(&payload);
	enum err err = handler_of(message)(&request, &outcome);
	if (err)
		s.staged = writes_none(&s.arena);
	else
		scratch_save(&s);
	return err;
}

/* The hash of the next image after this one, of size 0: the first; NULL: none. */
static const uint8_t *next(struct span after, bool *again)
{
	const msgpack_object args[ARGS_SHAPE_NEXT] = {after.size ? value_bin(after.at, after.size)
	                                                         : value_nil()};
	cr_assert_eq(ask(MSG_SHAPE_NEXT, args), OK);
	*again = false;
	if (!payload.size) return NULL;
	msgpack_unpacked_destroy(&unpacked); /* of the answer before */
	msgpack_unpacked_init(&unpacked);
	cr_assert_eq(msgpack_unpack_next(&unpacked, (const char *)payload.at, payload.size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	*again = unpacked.data.type == MSGPACK_OBJECT_BOOLEAN;
	if (*again) return NULL;
	cr_assert_eq(unpacked.data.via.array.size, SHAPE_NEXT_ITEMS);
	return arg_span(&unpacked.data.via.array.ptr[1]).at;
}

static struct image store_image(const char *url)
{
	struct image image = {.size = 1, .width = 1, .height = 1, .fetched = {1}};
	char         appearance[64];
	struct span  whole = span_of(url, 1);
	sha256_of(&whole, 1, image.hash);
	snprintf(appearance, sizeof appearance, "{\"logo\":\"%s\",\"banner\":\"%s\"}", url, url);
	cr_assert_eq(image_uses_move(s.view, account.id, span_of(NULL, 0), span_str(appearance)), OK);
	cr_assert_eq(image_part_put(s.view, account.id, image.hash, 0, whole), OK);
	cr_assert_eq(image_url_put(s.view, account.id, span_str(url), &image), OK);
	scratch_save(&s);
	return image;
}

static enum err put(const struct image *image, enum shape shape, const char *png)
{
	const msgpack_object args[ARGS_SHAPE_PUT] = {value_bin(image->hash, 32), value_integer(shape),
	                                             value_bin(png, strlen(png))};
	return ask(MSG_SHAPE_PUT, args);
}

static enum err ended(const struct image *image, unsigned made, enum shape_fault fault)
{
	const msgpack_object args[ARGS_SHAPE_ENDED] = {value_bin(image->hash, 32), value_integer(made),
	                                               value_integer(fault)};
	return ask(MSG_SHAPE_ENDED, args);
}

static void want(const struct image *image, unsigned roles)
{
	cr_assert_eq(shapes_want(s.view, account.id, image, roles), OK);
	scratch_save(&s);
}

Test(shaping, goes_round)
{
	bool         again;
	uint8_t      after[SHAPE_AFTER_BYTES], first[IMAGE_HASH_BYTES];
	struct image images[3] = {store_image("a"), store_image("b"), store_image("c")};
	cr_expect_null(next(span_of(NULL, 0), &again));
	for (unsigned i = 0; i < 3; i++)
		want(&images[i], SHAPE_OF_LOGO);
	const uint8_t *hash = next(span_of(NULL, 0), &again);
	memcpy(first, hash, sizeof first);
	memcpy(after, account.id.b, sizeof account.id);
	for (unsigned i = 0; i < 3; i++) {
		memcpy(after + sizeof account.id, hash, IMAGE_HASH_BYTES);
		hash = next(span_of(after, sizeof after), &again);
		cr_assert_not_null(hash);
		cr_expect_eq(memcmp(hash, first, sizeof first) == 0, i == 2, "after image %u", i);
	}
}

/* Each image of one account is followed by one of the other, as long as both have some. */
Test(shaping, accounts_take_turns)
{
	static const char *const urls[] = {"a", "b", "c", "d"};
	const struct account_id  many = account.id;
	uint8_t                  hashes[4][IMAGE_HASH_BYTES];
	uint8_t                  after[SHAPE_AFTER_BYTES];
	bool                     again;
	for (unsigned i = 0; i < 4; i++) {
		if (i == 3) account.id.b[sizeof account.id - 1] ^= 1;
		struct image image = store_image(urls[i]);
		want(&image, SHAPE_OF_LOGO);
		memcpy(hashes[i], image.hash, sizeof hashes[i]);
	}
	cr_assert_not_null(next(span_of(NULL, 0), &again));
	unsigned seen = 0; /* a bit for each image, although none is ever done */
	for (unsigned i = 0; i < 6; i++) {
		const msgpack_object *items = unpacked.data.via.array.ptr;
		for (unsigned j = 0; j < 4; j++)
			if (!memcmp(arg_span(&items[1]).at, hashes[j], IMAGE_HASH_BYTES)) seen |= 1u << j;
		bool was_of_many = !memcmp(arg_span(&items[0]).at, &many, sizeof many);
		memcpy(after, arg_span(&items[0]).at, sizeof many);
		memcpy(after + sizeof many, arg_span(&items[1]).at, IMAGE_HASH_BYTES);
		cr_assert_not_null(next(span_of(after, sizeof after), &again));
		items = unpacked.data.via.array.ptr;
		cr_expect_eq(!memcmp(arg_span(&items[0]).at, &many, sizeof many), !was_of_many,
		             "after image %u", i);
	}
	cr_expect_eq(seen, 15);
}

Test(shaping, of_what_was_wanted_is_taken)
{
	struct image image = store_image("a"), other = store_image("b");
	bool         again;
	want(&image, SHAPE_OF_LOGO);
	cr_expect_eq(put(&image, SHAPE_STRIP_2X, "PNG"), ERR_NOT_FOUND, "nobody wants it");
	cr_expect_eq(put(&other, SHAPE_LOGO, "PNG"), ERR_NOT_FOUND);
	cr_expect_eq(ended(&other, SHAPE_BIT(SHAPE_LOGO), SHAPE_GOOD), ERR_NOT_FOUND);
	cr_expect_eq(ended(&image, 1, SHAPE_GOOD), ERR_MALFORMED, "that is no shape");
	cr_expect_eq(put(&image, SHAPE_LOGO, "PNG"), OK);
	cr_expect_eq(ended(&image, shapes_of_roles(SHAPE_OF_LOGO), SHAPE_GOOD), OK);
	cr_expect_null(next(span_of(NULL, 0), &again));
	cr_expect_not(again);
}

/* The names in order, "strip@2x.png" cut to what stands before the first dot or @. */
static void expect_pictures(const struct picture_urls *urls, enum shape strip, const char *want)
{
	struct pictures pictures;
	char            got[128] = "";
	cr_assert_eq(pictures_of(s.view, account.id, urls, strip, &pictures), OK);
	for (unsigned i = 0; i < pictures.count; i++) {
		if (pictures.of[i].png.size > 1)
			cr_expect(span_equal(pictures.of[i].png, wallet_icons[i].png));
		if (pictures.of[i].png.size > 1) pictures.of[i].png = span_str("own");
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s=%.*s ", pictures.of[i].file,
		         (int)pictures.of[i].png.size, (const char *)pictures.of[i].png.at);
	}
	cr_expect_str_eq(got, want);
}

static void make_all(const struct image *image, const char *png)
{
	want(image, SHAPE_ROLES_ALL);
	for (unsigned shape = 1; shape < SHAPE_END; shape++)
		cr_assert_eq(put(image, (enum shape)shape, png), OK);
	cr_assert_eq(ended(image, shapes_of_roles(SHAPE_ROLES_ALL), SHAPE_GOOD), OK);
}

Test(shaping, gives_a_package_its_pictures)
{
	struct image        a = store_image("a"), b = store_image("b"), c = store_image("c");
	struct picture_urls urls = {.logo = span_str("a"), .banner = span_str("b")};
	const char         *fault;
	expect_pictures(&urls, SHAPE_STRIP_2X, "icon.png=own icon@2x.png=own icon@3x.png=own ");
	make_all(&a, "A");
	expect_pictures(&urls, SHAPE_STRIP_2X,
	                "icon.png=A icon@2x.png=A icon@3x.png=A logo.png=A logo@2x.png=A logo@3x.png=A ");
	make_all(&b, "B");
	make_all(&c, "C");
	urls.icon = span_str("c");
	expect_pictures(&urls, SHAPE_EVENT_STRIP_2X,
	                "icon.png=C icon@2x.png=C icon@3x.png=C logo.png=A logo@2x.png=A logo@3x.png=A "
	                "strip@2x.png=B ");
	urls.logo = span_str("nowhere");
	expect_pictures(&urls, (enum shape)0, "icon.png=C icon@2x.png=C icon@3x.png=C ");
	cr_assert_eq(picture_fault(s.view, account.id, urls.logo, &fault), OK);
	cr_expect_str_eq(fault, "it could not be fetched yet");
	cr_assert_eq(picture_fault(s.view, account.id, urls.icon, &fault), OK);
	cr_expect_null(fault);
}

Test(shaping, reports_why_an_image_has_no_shapes)
{
	struct image a = store_image("a");
	const char  *fault;
	want(&a, SHAPE_OF_LOGO);
	cr_assert_eq(ended(&a, shapes_of_roles(SHAPE_OF_LOGO), SHAPE_DAMAGED), OK);
	cr_assert_eq(picture_fault(s.view, account.id, span_str("a"), &fault), OK);
	cr_expect_str_eq(fault, "its pixels are damaged");
}
