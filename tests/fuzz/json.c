/* schemas/json.h: accepted JSON has the same meaning after writing and reading it again, to the digit, and
 * msgpack is converted back to the same text. */
#include "tests/fuzz/fuzz.h"

#include "schemas/json.h"
#include "schemas/limits.h"
#include "schemas/msgpack_check.h"

static struct arena  arena;
static struct buffer once, twice, packed, scratch;

static void check_tree(const struct json *value, unsigned depth)
{
	size_t count = 0;
	must(depth <= JSON_DEPTH_MAX);
	must(utf8_is_valid(value->text) && utf8_is_valid(value->key));
	for (const struct json *member = value->child; member; member = member->next, count++)
		check_tree(member, depth + 1);
	must(count == value->count);
	must(!count || value->kind == JSON_ARRAY || value->kind == JSON_OBJECT);
}

/* An object's members as a message carries them, written as JSON again. */
static void check_packed(const struct json *object)
{
	msgpack_unpacked unpacked;
	msgpack_packer   packer = buffer_packer(&packed);
	buffer_clear(&packed);
	json_pack_object(object, &packer, &scratch);
	must(msgpack_check(buffer_span(&packed), 2, 1 << 20) == OK);
	msgpack_unpacked_init(&unpacked);
	must(msgpack_unpack_next(&unpacked, (const char *)packed.at, packed.size, NULL) ==
	     MSGPACK_UNPACK_SUCCESS);
	buffer_clear(&twice);
	must(json_render(&unpacked.data, &twice) == OK);
	must(span_equal(buffer_span(&once), buffer_span(&twice)));
	msgpack_unpacked_destroy(&unpacked);
}

static void check_integer(const struct json *value)
{
	int64_t integer;
	if (!json_integer(value, &integer)) return;
	buffer_clear(&twice);
	json_number(integer, &twice);
	must(span_equal(buffer_span(&twice), value->text) || span_is(value->text, "-0"));
}

/* Refused text has a reason, accepted text has none. */
static void check_reason(struct span text, enum err err)
{
	struct json   *value;
	struct refusal refusal = {.message = ""};
	struct reason  reason = {.cause = CAUSE_NONE};
	must(json_parse_told(text, &arena, &value, "The body", &refusal) == err);
	must(!*refusal.message == !err && utf8_is_valid(span_str(refusal.message)));
	json_explain(text, &reason);
	must(err || !reason.cause);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct json *value, *again;
	enum err     err = json_parse(span_of(bytes, size), &arena, &value);
	must(err == OK || err == ERR_INVALID_REQUEST);
	check_reason(span_of(bytes, size), err);
	if (!err) {
		check_tree(value, 0);
		check_integer(value);
		buffer_clear(&once);
		json_text(value, &once);
		must(json_parse(buffer_span(&once), &arena, &again) == OK);
		must(again->kind == value->kind && again->count == value->count);
		buffer_clear(&twice);
		json_text(again, &twice);
		must(span_equal(buffer_span(&once), buffer_span(&twice)));
		if (value->kind == JSON_OBJECT) check_packed(value);
	}
	arena_reset(&arena);
	return 0;
}
