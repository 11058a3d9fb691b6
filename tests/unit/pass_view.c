/* The message with a pass for its page: it reads as it was written, and every other form is refused. */
#include "schemas/pass_view.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct buffer    out;
static msgpack_unpacked unpacked;

static enum err reopen(struct pass_view *got)
{
	msgpack_unpacked_destroy(&unpacked); /* the previous value */
	msgpack_unpacked_init(&unpacked);
	cr_assert_eq(msgpack_unpack_next(&unpacked, (const char *)out.at, out.size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	return pass_view_open(&unpacked.data, got);
}

static struct pass_view sample(void)
{
	return (struct pass_view){.status = PASS_REMOVED,
	                          .balance = -5,
	                          .counter = 1,
	                          .name = span_str("n"),
	                          .title = span_str("t"),
	                          .background_color = span_str("#112233"),
	                          .visible = span_str("{\"a\":1}"),
	                          .qr_value = span_str("q"),
	                          .images = {{4096, 1}},
	                          .field_count = 2,
	                          .fields = {{span_str("a"), span_str("A"), FIELD_NUMBER},
	                                     {span_str("b"), span_str("B"), FIELD_BOOLEAN}}};
}

Test(pass_view, is_read_as_it_was_written)
{
	static const int64_t balances[] = {
	    0, 1, -1, INT64_C(9007199254740991), INT64_C(-9007199254740991), INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < sizeof balances / sizeof *balances; i++) {
		struct pass_view want = sample(), got;
		want.balance = balances[i];
		buffer_clear(&out);
		pass_view_pack(&want, &out);
		cr_assert_eq(reopen(&got), OK);
		cr_expect(got.status == want.status && got.balance == want.balance && got.counter == 1);
		cr_expect(span_is(got.name, "n") && span_is(got.title, "t") && span_is(got.qr_value, "q"));
		cr_expect(span_is(got.background_color, "#112233") && span_is(got.visible, "{\"a\":1}"));
		cr_expect_eq(got.appearance.size, 0);
		cr_expect(got.images[PAGE_IMAGE_LOGO].width == 4096 &&
		          got.images[PAGE_IMAGE_LOGO].height == 1);
		cr_expect(got.images[PAGE_IMAGE_BANNER].width == 0 &&
		          got.images[PAGE_IMAGE_BANNER].height == 0);
		cr_assert_eq(got.field_count, 2);
		cr_expect(span_is(got.fields[0].key, "a") && span_is(got.fields[0].label, "A"));
		cr_expect(got.fields[0].kind == FIELD_NUMBER && got.fields[1].kind == FIELD_BOOLEAN);
		cr_expect(span_is(got.fields[1].key, "b") && span_is(got.fields[1].label, "B"));
	}
}

Test(pass_view, has_the_wallets)
{
	for (unsigned wallets = 0; wallets <= WALLET_BITS_ALL; wallets++)
		for (unsigned may = 0; may < 2; may++) {
			struct pass_view want = sample(), got;
			want.wallets = wallets;
			want.may_be_put = may;
			buffer_clear(&out);
			pass_view_pack(&want, &out);
			cr_assert_eq(reopen(&got), OK);
			cr_expect(got.wallets == wallets && got.may_be_put == (bool)may);
		}
}

Test(pass_view, numbers_beyond_their_range_are_refused)
{
	struct pass_view got, wrong[] = {sample(), sample(), sample()};
	wrong[0].status = PASS_STATUSES;
	wrong[1].counter = 3; /* 2 is "none" */
	wrong[2].fields[1].kind = FIELD_KINDS;
	for (unsigned i = 0; i < 3; i++) {
		buffer_clear(&out);
		pass_view_pack(&wrong[i], &out);
		cr_expect_eq(reopen(&got), ERR_MALFORMED, "%u", i);
	}
}

enum { SHOWN_ITEMS = 15 };

/* One item after the other is replaced by a map, or left out. */
Test(pass_view, another_form_is_refused)
{
	struct pass_view want = sample(), got;
	msgpack_object   map = {.type = MSGPACK_OBJECT_MAP}, items[SHOWN_ITEMS];
	pass_view_pack(&want, &out);
	cr_assert_eq(reopen(&got), OK);
	cr_assert_eq(unpacked.data.via.array.size, SHOWN_ITEMS);
	memcpy(items, unpacked.data.via.array.ptr, sizeof items);
	for (unsigned i = 0; i < SHOWN_ITEMS; i++) {
		msgpack_object changed[SHOWN_ITEMS],
		    payload = {.type = MSGPACK_OBJECT_ARRAY, .via.array = {SHOWN_ITEMS, changed}};
		memcpy(changed, items, sizeof items);
		changed[i] = map;
		cr_expect_eq(pass_view_open(&payload, &got), ERR_MALFORMED, "%u", i);
		payload.via.array.size = i;
		cr_expect_eq(pass_view_open(&payload, &got), ERR_MALFORMED, "%u", i);
	}
	cr_expect_eq(pass_view_open(&map, &got), ERR_MALFORMED);
	msgpack_object *fields = &items[SHOWN_ITEMS - 1], many[TEMPLATE_FIELDS_MAX + 1],
	               payload = {.type = MSGPACK_OBJECT_ARRAY, .via.array = {SHOWN_ITEMS, items}};
	for (unsigned i = 0; i <= TEMPLATE_FIELDS_MAX; i++)
		many[i] = fields->via.array.ptr[0];
	fields->via.array.ptr = many;
	fields->via.array.size = TEMPLATE_FIELDS_MAX;
	cr_expect_eq(pass_view_open(&payload, &got), OK);
	fields->via.array.size++;
	cr_expect_eq(pass_view_open(&payload, &got), ERR_MALFORMED);
}

Test(pass_view, images_have_names)
{
	cr_expect_eq(page_image_of(span_str("logo")), PAGE_IMAGE_LOGO);
	cr_expect_eq(page_image_of(span_str("banner")), PAGE_IMAGE_BANNER);
	static const char *const others[] = {"",     "log", "logos", "LOGO", "title", "background_color",
	                                     "logo/"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_eq(page_image_of(span_str(others[i])), PAGE_IMAGES, "%s", others[i]);
}
