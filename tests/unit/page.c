/* The shard's part of a page and its images: the token alone selects the pass, and nothing else is shown. */
#include "actors/rt/token.h"
#include "actors/shard/account/parts.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/link.h"
#include "schemas/sha256.h"
#include "store/image.h"
#include "store/keys.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

static struct scratch     s;
static struct account     account = {.id = {{1, 2, 3}}};
static struct shard_facts facts = {.tokens = {.count = 1, .of = {{9, 9, 9}}}};
static struct buffer      payload;
static bool               altered; /* the pass has another token than a new pass would get */
static const char        *appearance = "";
static msgpack_unpacked   unpacked;

/* The only template; `more` is placed before its fields. */
static void put_template(const char *more)
{
	struct row_key key = key_u32(account.id, 1);
	char           text[300];
	snprintf(text, sizeof text, "{\"name\":\"n\",\"loyalty_type\":\"none\",%s\"fields\":[]}", more);
	cr_assert_eq(write_put(&s.staged, TABLE_TEMPLATE, key_span(&key), span_str(text)), OK);
	scratch_save(&s);
}

static void begin(void)
{
	scratch_open(&s);
	account.templates = account_templates_new(1);
	put_template("");
}

static void end(void)
{
	buffer_free(&payload);
	account_templates_free(&account.templates);
	scratch_close(&s);
}

TestSuite(page, .init = begin, .fini = end);

/* The only pass of an account, number 0. */
static void furnish_at(struct account_id at, uint8_t flags)
{
	struct hot     pass = {.status = PASS_ACTIVE, .flags = flags, .template = 1};
	struct body    body = {.pass_id = span_str("p"),
	                       .visible = span_str("{}"),
	                       .hidden = span_str("{\"secret\":1}"),
	                       .appearance = span_str(appearance)};
	struct row_key number = key_u32(at, 0);
	struct buffer  bytes = {0};
	token_make(&facts.tokens, at, 0, body.token);
	if (altered) body.token[15] ^= 1;
	body_pack(&body, &bytes);
	cr_assert_eq(hot_add(s.view, at, 0, &pass), OK);
	cr_assert_eq(write_put(&s.staged, TABLE_BODY, key_span(&number), buffer_span(&bytes)), OK);
	scratch_save(&s);
	buffer_free(&bytes);
}

static void furnish(uint8_t flags)
{
	furnish_at(account.id, flags);
}

static const msgpack_object *answered(void)
{
	msgpack_unpacked_destroy(&unpacked); /* a test may call it several times */
	msgpack_unpacked_init(&unpacked);
	cr_assert_eq(msgpack_unpack_next(&unpacked, (const char *)payload.at, payload.size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	return &unpacked.data;
}

static enum err rpc(const char *text)
{
	msgpack_object args[ARGS_PASS_PAGE] = {value_text(text)};
	struct call    call = {.message = MSG_PASS_PAGE, .args = args};
	struct request request = {
	    .call = &call, .args = args, .view = s.view, .account = &account, .facts = &facts};
	struct outcome outcome = {.payload = &payload};
	buffer_clear(&payload);
	return on_PASS_PAGE(&request, &outcome);
}

static enum err ask_for(struct account_id of, uint32_t number)
{
	uint8_t token[TOKEN_BYTES];
	char    text[TOKEN_TEXT];
	token_make(&facts.tokens, of, number, token);
	token_text(token, text);
	return rpc(text);
}

Test(page, is_selected_by_the_token)
{
	furnish(0);
	cr_assert_eq(ask_for(account.id, 0), OK);
	struct pass_view shown;
	cr_assert_eq(pass_view_open(answered(), &shown), OK);
	cr_expect(shown.status == PASS_ACTIVE && span_is(shown.name, "n") && span_is(shown.visible, "{}"));
	cr_expect_eq(shown.qr_value.size, 0);
	cr_expect_null(memmem(payload.at, payload.size, "secret", 6));
	msgpack_unpacked_destroy(&unpacked);
}

Test(page, another_account_s_token_opens_nothing_here)
{
	furnish(0);
	struct account_id other = {{1, 2, 4}};
	furnish_at(other, 0);
	cr_expect_eq(ask_for(other, 0), ERR_RESOURCE_NOT_FOUND);
	cr_expect_eq(payload.size, 0);
}

Test(page, an_invalid_or_unknown_token_is_not_found)
{
	furnish(0);
	cr_expect_eq(rpc(""), ERR_RESOURCE_NOT_FOUND);
	cr_expect_eq(rpc("p"), ERR_RESOURCE_NOT_FOUND);
	cr_expect_eq(rpc("AAAAAAAAAAAAAAAAAAAAAA"), ERR_RESOURCE_NOT_FOUND);
	cr_expect_eq(ask_for(account.id, 1), ERR_RESOURCE_NOT_FOUND);
	cr_expect_eq(ask_for(account.id, HOT_PASSES), ERR_RESOURCE_NOT_FOUND);
	cr_expect_eq(ask_for(account.id, UINT32_MAX), ERR_RESOURCE_NOT_FOUND);
}

Test(page, of_a_deleted_pass_is_gone)
{
	furnish(HOT_DELETED);
	cr_expect_eq(ask_for(account.id, 0), ERR_PASS_DELETED);
	cr_expect_eq(payload.size, 0);
}

Test(page, another_token_of_the_pass_opens_nothing)
{
	altered = true;
	furnish(0);
	cr_expect_eq(ask_for(account.id, 0), ERR_RESOURCE_NOT_FOUND);
}

/* Images */

#define OWN  "https://own.example/l.png"
#define OURS "https://template.example/l.png"

static uint8_t pixels[IMAGE_PART_BYTES + 9];

/* An image at a URL, of `width`, of which `parts` of two are stored. Its bytes begin with `width`. */
static void put_image(const char *url, uint8_t width, unsigned parts)
{
	struct span  whole = span_of(pixels, sizeof pixels);
	struct image image = {.size = sizeof pixels, .width = width, .height = 1};
	pixels[0] = width;
	sha256_of(&whole, 1, image.hash);
	for (unsigned i = 0; i < parts; i++) {
		struct span part = span_of(pixels + i * IMAGE_PART_BYTES, i ? 9 : IMAGE_PART_BYTES);
		cr_assert_eq(image_part_put(s.view, account.id, image.hash, i, part), OK);
	}
	cr_assert_eq(image_url_put(s.view, account.id, span_str(url), &image), OK);
	scratch_save(&s);
}

static enum err ask_image(const char *name, struct span known)
{
	uint8_t token[TOKEN_BYTES];
	char    text[TOKEN_TEXT];
	token_make(&facts.tokens, account.id, 0, token);
	token_text(token, text);
	msgpack_object args[ARGS_PASS_IMAGE] = {value_text(text), value_text(name),
	                                        value_bin(known.at, known.size)};
	struct call    call = {.message = MSG_PASS_IMAGE, .args = args};
	struct request request = {
	    .call = &call, .args = args, .view = s.view, .account = &account, .facts = &facts};
	struct outcome outcome = {.payload = &payload};
	buffer_clear(&payload);
	return on_PASS_IMAGE(&request, &outcome);
}

/* The number of the image; 0: none. */
static unsigned image_shown(const char *name)
{
	enum err err = ask_image(name, span_of(NULL, 0));
	if (err == ERR_NOT_FOUND) return 0;
	cr_assert_eq(err, OK);
	const msgpack_object *items = answered()->via.array.ptr;
	struct span           bytes = arg_span(&items[1]);
	cr_assert_eq(bytes.size, sizeof pixels);
	cr_expect(!memcmp(bytes.at + 1, pixels + 1, sizeof pixels - 1));
	return bytes.at[0];
}

static unsigned width_on_page(enum page_image image)
{
	struct pass_view shown;
	cr_assert_eq(ask_for(account.id, 0), OK);
	cr_assert_eq(pass_view_open(answered(), &shown), OK);
	return shown.images[image].width;
}

Test(page, shows_the_passs_own_image_or_the_templates)
{
	put_template("\"appearance\":{\"logo\":\"" OURS "\"},");
	furnish(0);
	cr_expect(image_shown("logo") == 0 && width_on_page(PAGE_IMAGE_LOGO) == 0, "never fetched");
	put_image(OURS, 7, 2);
	cr_expect(image_shown("logo") == 7 && width_on_page(PAGE_IMAGE_LOGO) == 7);
	cr_expect(image_shown("banner") == 0 && width_on_page(PAGE_IMAGE_BANNER) == 0);
	cr_expect(image_shown("title") == 0 && image_shown("") == 0);
}

Test(page, shows_no_other_image_instead_of_an_unfetched_one)
{
	appearance = "{\"title\":\"t\",\"logo\":\"" OWN "\"}";
	put_template("\"appearance\":{\"logo\":\"" OURS "\",\"banner\":\"" OURS "\"},");
	furnish(0);
	put_image(OURS, 7, 2);
	cr_expect(image_shown("logo") == 0 && width_on_page(PAGE_IMAGE_LOGO) == 0);
	cr_expect(image_shown("banner") == 7 && width_on_page(PAGE_IMAGE_BANNER) == 7);
	put_image(OWN, 8, 2);
	cr_expect(image_shown("logo") == 8 && width_on_page(PAGE_IMAGE_LOGO) == 8);
}

Test(page, an_incomplete_image_is_not_shown)
{
	put_template("\"appearance\":{\"logo\":\"" OURS "\"},");
	furnish(0);
	put_image(OURS, 7, 1);
	cr_expect_eq(image_shown("logo"), 0);
}

Test(page, a_cached_image_is_not_sent_again)
{
	uint8_t hash[SHA256_BYTES];
	put_template("\"appearance\":{\"logo\":\"" OURS "\"},");
	furnish(0);
	put_image(OURS, 7, 2);
	cr_assert_eq(image_shown("logo"), 7);
	memcpy(hash, unpacked.data.via.array.ptr[0].via.bin.ptr, sizeof hash);
	cr_assert_eq(ask_image("logo", span_of(hash, sizeof hash)), OK);
	cr_expect_eq(answered()->via.array.ptr[1].type, MSGPACK_OBJECT_NIL);
	cr_expect(!memcmp(hash, unpacked.data.via.array.ptr[0].via.bin.ptr, sizeof hash));
	hash[31] ^= 1;
	cr_assert_eq(ask_image("logo", span_of(hash, sizeof hash)), OK);
	cr_expect_eq(answered()->via.array.ptr[1].type, MSGPACK_OBJECT_BIN);
}

Test(page, images_are_selected_by_the_token)
{
	put_template("\"appearance\":{\"logo\":\"" OURS "\"},");
	altered = true;
	furnish(0);
	put_image(OURS, 7, 2);
	cr_expect_eq(ask_image("logo", span_of(NULL, 0)), ERR_RESOURCE_NOT_FOUND);
}

Test(page, of_a_deleted_pass_has_no_images)
{
	put_template("\"appearance\":{\"logo\":\"" OURS "\"},");
	furnish(HOT_DELETED);
	put_image(OURS, 7, 2);
	cr_expect_eq(ask_image("logo", span_of(NULL, 0)), ERR_PASS_DELETED);
}
