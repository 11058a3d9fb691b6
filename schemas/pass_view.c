/* The reply to PASS_PAGE, written and read by position. It comes from a peer: numbers used as indexes are
 * range-checked here, and its texts are escaped by the page. */
#include "schemas/pass_view.h"

#include "schemas/frame.h"

enum { SHOWN_ITEMS = 11 + 2 * PAGE_IMAGES, FIELD_ITEMS = 3, MAY_BE_PUT = WALLET_BITS_ALL + 1 };

const char *const page_image_names[PAGE_IMAGES] = {"logo", "banner"};

enum page_image page_image_of(struct span name)
{
	unsigned image = 0;
	while (image < PAGE_IMAGES && !span_is(name, page_image_names[image]))
		image++;
	return (enum page_image)image;
}

void pass_view_pack(const struct pass_view *shown, struct buffer *out)
{
	msgpack_packer pk = buffer_packer(out);
	msgpack_pack_array(&pk, SHOWN_ITEMS);
	msgpack_pack_unsigned_int(&pk, shown->status);
	msgpack_pack_int64(&pk, shown->balance);
	msgpack_pack_unsigned_int(&pk, shown->counter);
	pack_str(&pk, shown->name);
	pack_str(&pk, shown->title);
	pack_str(&pk, shown->background_color);
	pack_bin(&pk, shown->appearance);
	pack_bin(&pk, shown->visible);
	pack_str(&pk, shown->qr_value);
	for (unsigned i = 0; i < PAGE_IMAGES; i++) {
		msgpack_pack_uint32(&pk, shown->images[i].width);
		msgpack_pack_uint32(&pk, shown->images[i].height);
	}
	msgpack_pack_unsigned_int(&pk, shown->wallets | (shown->may_be_put ? MAY_BE_PUT : 0));
	msgpack_pack_array(&pk, shown->field_count);
	for (unsigned i = 0; i < shown->field_count; i++) {
		msgpack_pack_array(&pk, FIELD_ITEMS);
		pack_str(&pk, shown->fields[i].key);
		pack_str(&pk, shown->fields[i].label);
		msgpack_pack_unsigned_int(&pk, shown->fields[i].kind);
	}
}

/* The items of an array in order; one of the wrong type invalidates the whole. */
struct items {
	const msgpack_object *at;
	bool                  wrong;
};

static struct items items_of(const msgpack_object *array, unsigned count)
{
	bool right = array->type == MSGPACK_OBJECT_ARRAY && array->via.array.size == count;
	return (struct items){right ? array->via.array.ptr : NULL, !right};
}

static const msgpack_object *take(struct items *items, msgpack_object_type type)
{
	if (items->wrong) return NULL;
	const msgpack_object *item = items->at++;
	items->wrong = item->type != type;
	return items->wrong ? NULL : item;
}

static struct span take_text(struct items *items, msgpack_object_type type)
{
	const msgpack_object *item = take(items, type);
	return item ? arg_span(item) : span_of(NULL, 0);
}

static unsigned take_number(struct items *items, unsigned limit)
{
	const msgpack_object *item = take(items, MSGPACK_OBJECT_POSITIVE_INTEGER);
	if (!item) return 0;
	items->wrong = item->via.u64 >= limit;
	return items->wrong ? 0 : (unsigned)item->via.u64;
}

static int64_t take_balance(struct items *items)
{
	if (items->wrong) return 0;
	const msgpack_object *item = items->at++;
	bool                  positive = item->type == MSGPACK_OBJECT_POSITIVE_INTEGER;
	items->wrong = positive ? item->via.u64 > INT64_MAX : item->type != MSGPACK_OBJECT_NEGATIVE_INTEGER;
	return items->wrong ? 0 : arg_integer(item, 0);
}

static bool take_field(const msgpack_object *item, struct pass_view_field *field)
{
	struct items items = items_of(item, FIELD_ITEMS);
	field->key = take_text(&items, MSGPACK_OBJECT_STR);
	field->label = take_text(&items, MSGPACK_OBJECT_STR);
	field->kind = (enum field_kind)take_number(&items, FIELD_KINDS);
	return !items.wrong;
}

enum err pass_view_open(const msgpack_object *payload, struct pass_view *shown)
{
	struct items items = items_of(payload, SHOWN_ITEMS);
	shown->status = (enum pass_status)take_number(&items, PASS_STATUSES);
	shown->balance = take_balance(&items);
	shown->counter = take_number(&items, TEMPLATE_FIELDS_MAX + 1);
	shown->name = take_text(&items, MSGPACK_OBJECT_STR);
	shown->title = take_text(&items, MSGPACK_OBJECT_STR);
	shown->background_color = take_text(&items, MSGPACK_OBJECT_STR);
	shown->appearance = take_text(&items, MSGPACK_OBJECT_BIN);
	shown->visible = take_text(&items, MSGPACK_OBJECT_BIN);
	shown->qr_value = take_text(&items, MSGPACK_OBJECT_STR);
	for (unsigned i = 0; i < PAGE_IMAGES; i++) {
		shown->images[i].width = take_number(&items, UINT32_MAX);
		shown->images[i].height = take_number(&items, UINT32_MAX);
	}
	unsigned wallets = take_number(&items, 2 * MAY_BE_PUT);
	shown->wallets = wallets & WALLET_BITS_ALL;
	shown->may_be_put = wallets & MAY_BE_PUT;
	const msgpack_object *fields = take(&items, MSGPACK_OBJECT_ARRAY);
	if (!fields || fields->via.array.size > TEMPLATE_FIELDS_MAX) return ERR_MALFORMED;
	shown->field_count = fields->via.array.size;
	if (shown->counter > shown->field_count) return ERR_MALFORMED;
	for (unsigned i = 0; i < shown->field_count; i++)
		if (!take_field(&fields->via.array.ptr[i], &shown->fields[i])) return ERR_MALFORMED;
	return OK;
}
