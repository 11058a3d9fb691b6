/* schemas/frame.h in both directions: any bytes from a peer are refused or read, and what was read has the
 * same meaning when it is written and read again. */
#include "tests/fuzz/fuzz.h"

#include "schemas/fields.h"
#include "schemas/frame.h"
#include "schemas/json.h"
#include "schemas/limits.h"
#include "schemas/msgpack_check.h"

static msgpack_zone *zone, *zone_again;
static struct buffer text, text_again, packed, packed_again, bytes_out;

/* Compares bytes, since msgpack's own comparison finds a NaN unequal to itself. */
static bool same_object(const msgpack_object *a, const msgpack_object *b)
{
	msgpack_packer packer = buffer_packer(&packed), packer_again = buffer_packer(&packed_again);
	buffer_clear(&packed);
	buffer_clear(&packed_again);
	msgpack_pack_object(&packer, *a);
	msgpack_pack_object(&packer_again, *b);
	return span_equal(buffer_span(&packed), buffer_span(&packed_again));
}

static void check_call(const msgpack_object *item)
{
	struct call      call, again;
	struct frame     frame;
	struct frame_out out = {.count = 0};
	unsigned         count;
	if (call_open(item, &call)) return;
	(void)message_fields(call.message, &count);
	frame_call(&out, &call);
	msgpack_packer packer = frame_out_packer(&out);
	msgpack_pack_array(&packer, count);
	for (unsigned i = 0; i < count; i++)
		msgpack_pack_object(&packer, call.args[i]);
	must(frame_open(frame_seal_calls(&out, 3, 1, 1), zone_again, &frame) == OK);
	must(frame.kind == FRAME_CALLS && frame.count == 1 && frame.epoch == 3 &&
	     frame.placement_version == 1);
	must(call_open(&frame.items[0], &again) == OK);
	must(call.id == again.id && call.message == again.message && call.deadline.v == again.deadline.v);
	must(call.has_account == again.has_account && call.has_key_hash == again.has_key_hash);
	must(span_equal(call.request_id, again.request_id));
	must(account_same(call.account, again.account));
	must(!memcmp(call.key_hash, again.key_hash, sizeof call.key_hash));
	for (unsigned i = 0; i < count; i++)
		must(same_object(&call.args[i], &again.args[i]));
	buffer_free(&out.bytes);
}

static void check_reply(const msgpack_object *item)
{
	struct reply     reply, again;
	struct frame     frame;
	struct frame_out out = {.count = 0};
	if (reply_open(item, &reply)) return;
	frame_reply(&out, reply.id, reply.err, reply.flags, reply.field);
	msgpack_packer packer = frame_out_packer(&out);
	msgpack_pack_object(&packer, *reply.payload);
	must(frame_open(frame_seal_replies(&out, 9), zone_again, &frame) == OK);
	must(frame.kind == FRAME_REPLIES && frame.count == 1 && frame.epoch == 9);
	must(reply_open(&frame.items[0], &again) == OK);
	must(reply.id == again.id && reply.err == again.err && reply.flags == again.flags);
	must(span_equal(reply.field, again.field) && same_object(reply.payload, again.payload));
	buffer_clear(&text);
	buffer_clear(&text_again);
	enum err err = json_render(reply.payload, &text);
	must(json_render(again.payload, &text_again) == err);
	must(span_equal(buffer_span(&text), buffer_span(&text_again)));
	buffer_free(&out.bytes);
}

static void check_head(const struct frame *frame)
{
	struct frame again;
	buffer_clear(&bytes_out);
	if (frame->kind == FRAME_HELLO) frame_hello(&bytes_out, frame);
	if (frame->kind == FRAME_WELCOME) frame_welcome(&bytes_out, frame);
	if (!bytes_out.size) return;
	must(frame_open(buffer_span(&bytes_out), zone_again, &again) == OK);
	must(again.kind == frame->kind && again.role == frame->role && again.index == frame->index);
	must(again.epoch == frame->epoch && again.credit_commands == frame->credit_commands);
	must(again.credit_bytes == frame->credit_bytes && again.begun.v == frame->begun.v);
	must(again.placement_version == frame->placement_version);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct frame frame;
	if (!zone) must((zone = msgpack_zone_new(8192)) && (zone_again = msgpack_zone_new(8192)));
	enum err err = frame_open(span_of(bytes, size), zone, &frame);
	must(err == OK || err == ERR_MALFORMED || err == ERR_UNSUPPORTED);
	if (!err) {
		must(msgpack_check(span_of(bytes, size), FRAME_DEPTH_MAX, FRAME_NODES_MAX) == OK);
		check_head(&frame);
		for (uint32_t i = 0; i < frame.count; i++) {
			check_call(&frame.items[i]);
			check_reply(&frame.items[i]);
			msgpack_zone_clear(zone_again);
		}
	}
	msgpack_zone_clear(zone);
	msgpack_zone_clear(zone_again);
	return 0;
}
