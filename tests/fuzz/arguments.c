/* From a request to a command: path, query and body are checked against the fields of a message, and the
 * result passes through the codec of frames into the stored body of a pass. The first byte selects the
 * message; the rest is `param \n query \n body`. The receiver must accept everything that the sender accepts,
 * and objects must be returned as they were written. */
#include "tests/fuzz/fuzz.h"

#include "schemas/arguments.h"
#include "schemas/body.h"
#include "schemas/fields.h"
#include "schemas/frame.h"

static const enum message messages[] = {MSG_PASS_CREATE,        MSG_PASS_PATCH,      MSG_PASS_LOYALTY,
                                        MSG_PASS_GET,           MSG_PASS_LIST,       MSG_PASS_DELETE,
                                        MSG_TEMPLATE_FIELDS,    MSG_ACCOUNT_SET,     MSG_SUBSCRIPTION_CREATE,
                                        MSG_SUBSCRIPTION_PATCH, MSG_SUBSCRIPTION_GET};

static struct arguments_memory memory;
static struct buffer           packed, text, stored;
static struct frame_out        out;
static msgpack_zone           *zone;

static struct span take_line(struct supply *supply)
{
	const uint8_t *end = supply->left.size ? memchr(supply->left.at, '\n', supply->left.size) : NULL;
	struct span line = end ? supply_bytes(supply, (size_t)(end - supply->left.at)) : supply_rest(supply);
	(void)supply_byte(supply);
	return line;
}

/* The object to be stored, as the pass's body stores it. */
static void check_stored(const msgpack_object *map, struct span want)
{
	struct body    body = {.pass_id = span_str("p"), .visible = span_str("{}")}, read;
	msgpack_object again, merged;
	struct span    shown;
	must(object_text_of(map, &memory.arena, &body.hidden) == OK);
	must(span_equal(body.hidden, want));
	buffer_clear(&stored);
	body_pack(&body, &stored);
	must(body_open(buffer_span(&stored), &read) == OK && span_equal(read.hidden, want));
	must(object_open(read.hidden, &memory.arena, zone, &again) == OK);
	must(object_text_of(&again, &memory.arena, &shown) == OK && span_equal(shown, want));
	/* Merged with itself nothing changes, unless it contains nulls, which remove members. */
	must(map_merge(&again, map, true, zone, &merged) == OK);
	must(object_text_of(&merged, &memory.arena, &shown) == OK && span_equal(shown, want));
	must(map_merge(&again, map, false, zone, &merged) == OK);
	for (uint32_t i = 0; i < merged.via.map.size; i++)
		must(merged.via.map.ptr[i].val.type != MSGPACK_OBJECT_NIL);
}

static void check_member(const struct field *field, const msgpack_object *arg, const struct json *member)
{
	int64_t integer;
	must(member != NULL);
	switch (field->type) {
	case TYPE_STRING:
	case TYPE_PLATFORM: must(span_equal(arg_span(arg), member->text)); return;
	case TYPE_INTEGER:
		must(json_integer(member, &integer) && integer == arg_integer(arg, integer - 1));
		must(integer >= field->min && integer <= field->max);
		return;
	case TYPE_BOOLEAN: must(arg_boolean(arg, false) == (member->kind == JSON_TRUE)); return;
	case TYPE_NULLABLE:
	case TYPE_OBJECT:
		if (arg->type != MSGPACK_OBJECT_MAP) {
			must(member->kind == JSON_NULL);
			return;
		}
		buffer_clear(&text);
		json_text(member, &text);
		check_stored(arg, buffer_span(&text));
		return;
	case TYPE_VALUE:
		if (arg->type == MSGPACK_OBJECT_STR) {
			must(span_equal(arg_span(arg), member->text));
			return;
		}
		buffer_clear(&text);
		json_text(member, &text);
		must(arg_span(arg).size == 0 || span_equal(arg_span(arg), buffer_span(&text)));
		return;
	case TYPE_UUID:
	case TYPE_STRINGS:
	case TYPE_TIME:
	case TYPE_BYTES: must(field->source != FROM_BODY);
	}
}

/* As the shard reads it. */
static void check_received(enum message message, struct span body)
{
	struct call         head = {.id = 7, .message = message, .deadline = {1}}, call;
	struct frame        frame;
	struct json        *tree = NULL;
	unsigned            count;
	const struct field *fields = message_fields(message, &count);
	frame_clear(&out);
	frame_call(&out, &head);
	buffer_append(&out.bytes, packed.at, packed.size);
	must(frame_open(frame_seal_calls(&out, 1, 1, 1), zone, &frame) == OK && frame.count == 1);
	must(call_open(&frame.items[0], &call) == OK && call.message == message);
	if (arguments_have_body(message) && body.size)
		must(json_parse(body, &memory.arena, &tree) == OK && tree->kind == JSON_OBJECT);
	for (unsigned i = 0; i < count; i++)
		if (fields[i].source == FROM_BODY && arg_present(&call.args[i]))
			check_member(&fields[i], &call.args[i], json_member(tree, fields[i].name));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply  supply = {span_of(bytes, size)};
	enum message   message = messages[supply_byte(&supply) % (sizeof messages / sizeof *messages)];
	struct span    params[1] = {take_line(&supply)}, query = take_line(&supply);
	struct refusal refusal;
	struct arguments_source source = {params, query, supply_rest(&supply)};
	if (!zone) must((zone = msgpack_zone_new(8192)));
	buffer_clear(&packed);
	enum err err = arguments_pack(message, &source, &memory, &packed, &refusal);
	must(err == OK || err == ERR_INVALID_REQUEST || err == ERR_INVALID_INPUT);
	if (err == ERR_INVALID_INPUT) must(utf8_is_valid(refusal.field) && *refusal.message);
	must(utf8_is_valid(span_str(refusal.message)));
	if (!err) check_received(message, source.body);
	arena_reset(&memory.arena);
	msgpack_zone_clear(zone);
	return 0;
}
