/* Frames: one ZeroMQ message each, written directly into a growing buffer and read through the msgpack library. The
 * head of CALLS and REPLIES is written with the first item, in encodings of fixed width, before epoch and count are
 * known; sealing patches the numbers in place, so that nothing is moved. Reading is item by item: a malformed one
 * spoils only itself, and its sender can be notified. */
#include "schemas/frame.h"
#include "schemas/bytes.h"
#include "schemas/fields.h"
#include "schemas/limits.h"
#include "schemas/msgpack_check.h"
#include "schemas/protocol.h"

/* First bytes of msgpack items in the heads. */
enum { MP_FIXARRAY = 0x90, MP_ARRAY32 = 0xdd, MP_UINT32 = 0xce, MP_UINT64 = 0xcf };

/* Heads: array, kind, epoch and taken as uint64, then for CALLS placement version and waiting as uint32, then an array32. */
enum {
	EPOCH_AT = 3,
	TAKEN_AT = EPOCH_AT + 8 + 1,
	PLACEMENT_AT = TAKEN_AT + 8 + 1,
	WAITING_AT = PLACEMENT_AT + 4 + 1,
	CALLS_COUNT_AT = WAITING_AT + 4 + 1,
	CALLS_HEAD_BYTES = CALLS_COUNT_AT + 4,
	REPLIES_COUNT_AT = TAKEN_AT + 8 + 1,
	REPLIES_HEAD_BYTES = REPLIES_COUNT_AT + 4,
};
enum {
	HELLO_ITEMS = 7,
	WELCOME_ITEMS = 7,
	CALLS_ITEMS = 6,
	REPLIES_ITEMS = 4,
	CALL_ITEMS = 7,  /* one more with idempotency */
	REPLY_ITEMS = 5, /* one more with a key id */
};

static void put_be(uint8_t *to, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		to[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
}

void idempotency_of_row(const uint8_t import[IMPORT_ID_BYTES], uint32_t slot, uint64_t number,
                        struct idempotency *idempotency)
{
	*idempotency = (struct idempotency){.key = {0}};
	memcpy(idempotency->key, import, IMPORT_ID_BYTES);
	put_be32(idempotency->key + IMPORT_ID_BYTES, slot);
	put_be64(idempotency->request, number);
}

uint64_t idempotency_row_number(const uint8_t request[32])
{
	return get_be64(request);
}

/* ---- writing ---- */

void frame_begin_calls(struct frame_out *out)
{
	uint8_t head[CALLS_HEAD_BYTES] = {MP_FIXARRAY | CALLS_ITEMS, FRAME_CALLS, MP_UINT64};
	head[TAKEN_AT - 1] = MP_UINT64;
	head[PLACEMENT_AT - 1] = head[WAITING_AT - 1] = MP_UINT32;
	head[CALLS_COUNT_AT - 1] = MP_ARRAY32;
	if (out->bytes.size == 0) buffer_append(&out->bytes, head, sizeof(head));
}

void frame_begin_replies(struct frame_out *out)
{
	uint8_t head[REPLIES_HEAD_BYTES] = {MP_FIXARRAY | REPLIES_ITEMS, FRAME_REPLIES, MP_UINT64};
	head[TAKEN_AT - 1] = MP_UINT64;
	head[REPLIES_COUNT_AT - 1] = MP_ARRAY32;
	if (out->bytes.size == 0) buffer_append(&out->bytes, head, sizeof(head));
}

void frame_call(struct frame_out *out, const struct call *head)
{
	frame_begin_calls(out);
	msgpack_packer packer = frame_out_packer(out);
	msgpack_pack_array(&packer, head->idempotency ? CALL_ITEMS + 1 : CALL_ITEMS);
	msgpack_pack_uint64(&packer, head->id);
	msgpack_pack_uint32(&packer, (uint32_t)head->message);
	msgpack_pack_int64(&packer, head->deadline.v);
	if (head->has_account)
		pack_bin(&packer, span_of(head->account.b, sizeof(head->account.b)));
	else
		msgpack_pack_nil(&packer);
	if (head->has_key_hash)
		pack_bin(&packer, span_of(head->key_hash, sizeof(head->key_hash)));
	else
		msgpack_pack_nil(&packer);
	if (head->request_id.size)
		pack_str(&packer, head->request_id);
	else
		msgpack_pack_nil(&packer);
	if (head->idempotency) pack_bin(&packer, span_of(head->idempotency, sizeof(*head->idempotency)));
	out->count++;
}

void frame_reply_of(struct frame_out *out, const struct reply *head)
{
	frame_begin_replies(out);
	msgpack_packer packer = frame_out_packer(out);
	msgpack_pack_array(&packer, head->key_id ? REPLY_ITEMS + 1 : REPLY_ITEMS);
	msgpack_pack_uint64(&packer, head->id);
	msgpack_pack_uint32(&packer, (uint32_t)head->err);
	msgpack_pack_uint32(&packer, head->flags);
	if (head->field.size > 0)
		pack_str(&packer, head->field);
	else
		msgpack_pack_nil(&packer);
	if (head->key_id) pack_bin(&packer, span_of(head->key_id->b, sizeof(head->key_id->b)));
	out->count++;
}

void frame_reply(struct frame_out *out, uint64_t id, enum err err, unsigned flags, struct span field)
{
	const struct reply head = {.id = id, .err = err, .flags = flags, .field = field};
	frame_reply_of(out, &head);
}

msgpack_packer frame_out_packer(struct frame_out *out)
{
	return buffer_packer(&out->bytes);
}

struct frame_mark frame_mark(const struct frame_out *out)
{
	return (struct frame_mark){out->bytes.size, out->count, out->bytes.failed};
}

void frame_drop(struct frame_out *out, struct frame_mark mark)
{
	must(mark.size <= out->bytes.size && mark.count <= out->count);
	/* A failed append adds nothing: the bytes before the mark are intact. */
	out->bytes.size = mark.size;
	out->bytes.failed = mark.failed;
	out->count = mark.count;
}

struct span frame_seal_calls(struct frame_out *out, uint64_t epoch, uint32_t placement_version,
                             uint32_t waiting)
{
	frame_begin_calls(out);
	if (out->bytes.failed) return span_of(NULL, 0);
	must(out->bytes.at[1] == FRAME_CALLS);
	put_be(out->bytes.at + EPOCH_AT, epoch, 8);
	put_be(out->bytes.at + PLACEMENT_AT, placement_version, 4);
	put_be(out->bytes.at + WAITING_AT, waiting, 4);
	put_be(out->bytes.at + CALLS_COUNT_AT, out->count, 4);
	return buffer_span(&out->bytes);
}

struct span frame_seal_replies(struct frame_out *out, uint64_t epoch)
{
	frame_begin_replies(out);
	if (out->bytes.failed) return span_of(NULL, 0);
	must(out->bytes.at[1] == FRAME_REPLIES);
	put_be(out->bytes.at + EPOCH_AT, epoch, 8);
	put_be(out->bytes.at + REPLIES_COUNT_AT, out->count, 4);
	return buffer_span(&out->bytes);
}

void frame_clear(struct frame_out *out)
{
	buffer_clear(&out->bytes);
	out->count = 0;
}

void frame_set_taken(struct buffer *sealed, uint64_t taken)
{
	put_be(sealed->at + TAKEN_AT, taken, 8);
}

void frame_hello(struct buffer *out, const struct frame *frame)
{
	msgpack_packer packer = buffer_packer(out);
	msgpack_pack_array(&packer, HELLO_ITEMS);
	msgpack_pack_uint32(&packer, FRAME_HELLO);
	msgpack_pack_uint32(&packer, PROTOCOL);
	msgpack_pack_uint32(&packer, (uint32_t)frame->role);
	msgpack_pack_uint32(&packer, frame->index);
	msgpack_pack_uint32(&packer, frame->wants);
	msgpack_pack_int64(&packer, frame->begun.v);
	msgpack_pack_uint32(&packer, frame->credit_bytes);
}

void frame_welcome(struct buffer *out, const struct frame *frame)
{
	msgpack_packer packer = buffer_packer(out);
	msgpack_pack_array(&packer, WELCOME_ITEMS);
	msgpack_pack_uint32(&packer, FRAME_WELCOME);
	msgpack_pack_uint32(&packer, PROTOCOL);
	msgpack_pack_uint64(&packer, frame->epoch);
	msgpack_pack_int64(&packer, frame->begun.v);
	msgpack_pack_uint32(&packer, frame->credit_commands);
	msgpack_pack_uint32(&packer, frame->credit_bytes);
	msgpack_pack_uint32(&packer, frame->placement_version);
}

uint32_t frame_protocol(void)
{
	return PROTOCOL;
}

void pack_int(msgpack_packer *packer, int64_t value)
{
	msgpack_pack_int64(packer, value);
}

/* ---- reading ---- */

static bool take_u64(const msgpack_object *item, uint64_t max, uint64_t *value)
{
	if (item->type != MSGPACK_OBJECT_POSITIVE_INTEGER || item->via.u64 > max) return false;
	*value = item->via.u64;
	return true;
}

static bool take_u32(const msgpack_object *item, uint32_t max, uint32_t *value)
{
	uint64_t wide;
	if (!take_u64(item, max, &wide)) return false;
	*value = (uint32_t)wide;
	return true;
}

static bool is_int64(const msgpack_object *item)
{
	return item->type == MSGPACK_OBJECT_NEGATIVE_INTEGER ||
	       (item->type == MSGPACK_OBJECT_POSITIVE_INTEGER && item->via.u64 <= INT64_MAX);
}

static bool take_mono(const msgpack_object *item, mono_us *value)
{
	if (!is_int64(item)) return false;
	value->v = item->via.i64;
	return true;
}

/* nil, or a bin of exactly `size` bytes, which is copied. */
static bool take_bytes_or_nil(const msgpack_object *item, void *to, size_t size, bool *present)
{
	*present = item->type != MSGPACK_OBJECT_NIL;
	if (!*present) return true;
	if (item->type != MSGPACK_OBJECT_BIN || item->via.bin.size != size) return false;
	memcpy(to, item->via.bin.ptr, size);
	return true;
}

static bool take_items(const msgpack_object *item, struct frame *frame)
{
	if (item->type != MSGPACK_OBJECT_ARRAY) return false;
	frame->items = item->via.array.ptr;
	frame->count = item->via.array.size;
	return true;
}

static bool hello_open(const msgpack_object *items, struct frame *frame)
{
	uint32_t role;
	if (!take_u32(&items[2], ROLE_COUNT - 1, &role)) return false;
	frame->role = (enum role)role;
	return take_u32(&items[3], UINT32_MAX, &frame->index) &&
	       take_u32(&items[4], WANTS_KEY_IDS, &frame->wants) && take_mono(&items[5], &frame->begun) &&
	       take_u32(&items[6], UINT32_MAX, &frame->credit_bytes);
}

static bool welcome_open(const msgpack_object *items, struct frame *frame)
{
	return take_u64(&items[2], UINT64_MAX, &frame->epoch) && take_mono(&items[3], &frame->begun) &&
	       take_u32(&items[4], UINT32_MAX, &frame->credit_commands) &&
	       take_u32(&items[5], UINT32_MAX, &frame->credit_bytes) &&
	       take_u32(&items[6], UINT32_MAX, &frame->placement_version);
}

static bool calls_open(const msgpack_object *items, struct frame *frame)
{
	return take_u64(&items[1], UINT64_MAX, &frame->epoch) &&
	       take_u64(&items[2], UINT64_MAX, &frame->taken) &&
	       take_u32(&items[3], UINT32_MAX, &frame->placement_version) &&
	       take_u32(&items[4], UINT32_MAX, &frame->waiting) && take_items(&items[5], frame);
}

static bool replies_open(const msgpack_object *items, struct frame *frame)
{
	return take_u64(&items[1], UINT64_MAX, &frame->epoch) &&
	       take_u64(&items[2], UINT64_MAX, &frame->taken) && take_items(&items[3], frame);
}

/* A HELLO or WELCOME of another version has this in common with ours, and maybe nothing else. */
static bool is_other_protocol(const msgpack_object *root, enum frame_kind kind)
{
	uint64_t protocol;
	return kind <= FRAME_WELCOME && root->via.array.size > 1 &&
	       take_u64(&root->via.array.ptr[1], UINT64_MAX, &protocol) && protocol != PROTOCOL;
}

static enum err head_open(const msgpack_object *root, struct frame *frame)
{
	static const struct {
		uint32_t item_count;
		bool (*open)(const msgpack_object *items, struct frame *frame);
	} kinds[] = {
	    [FRAME_HELLO] = {HELLO_ITEMS, hello_open},
	    [FRAME_WELCOME] = {WELCOME_ITEMS, welcome_open},
	    [FRAME_CALLS] = {CALLS_ITEMS, calls_open},
	    [FRAME_REPLIES] = {REPLIES_ITEMS, replies_open},
	};
	uint32_t kind;
	if (root->type != MSGPACK_OBJECT_ARRAY || root->via.array.size < 1) return ERR_MALFORMED;
	if (!take_u32(&root->via.array.ptr[0], FRAME_REPLIES, &kind) || kind < FRAME_HELLO)
		return ERR_MALFORMED;
	if (is_other_protocol(root, kind)) return ERR_UNSUPPORTED;
	if (root->via.array.size != kinds[kind].item_count) return ERR_MALFORMED;
	frame->kind = (enum frame_kind)kind;
	return kinds[kind].open(root->via.array.ptr, frame) ? OK : ERR_MALFORMED;
}

enum err frame_open(struct span bytes, msgpack_zone *zone, struct frame *frame)
{
	msgpack_object root;
	enum err       err;
	*frame = (struct frame){0};
	if ((err = msgpack_check(bytes, FRAME_DEPTH_MAX, FRAME_NODES_MAX))) return err;
	int result = msgpack_unpack((const char *)bytes.at, bytes.size, NULL, zone, &root);
	if (result == MSGPACK_UNPACK_NOMEM_ERROR) return ERR_NO_MEMORY;
	if (result != MSGPACK_UNPACK_SUCCESS) return ERR_MALFORMED;
	return head_open(&root, frame);
}

static bool is_object(const msgpack_object *arg)
{
	if (arg->type != MSGPACK_OBJECT_MAP) return false;
	for (uint32_t i = 0; i < arg->via.map.size; i++) {
		const msgpack_object_kv *member = &arg->via.map.ptr[i];
		if (member->key.type != MSGPACK_OBJECT_STR) return false;
		if (member->val.type != MSGPACK_OBJECT_STR && member->val.type != MSGPACK_OBJECT_BIN &&
		    member->val.type != MSGPACK_OBJECT_NIL)
			return false;
	}
	return true;
}

static bool is_strings(const msgpack_object *arg)
{
	if (arg->type != MSGPACK_OBJECT_ARRAY) return false;
	for (uint32_t i = 0; i < arg->via.array.size; i++)
		if (arg->via.array.ptr[i].type != MSGPACK_OBJECT_STR) return false;
	return true;
}

static bool arg_fits(const msgpack_object *arg, const struct field *field)
{
	if (arg->type == MSGPACK_OBJECT_NIL) return field->need == NEED_OPTIONAL || field->type == TYPE_VALUE;
	switch (field->type) {
	case TYPE_STRING:
	case TYPE_UUID:
	case TYPE_PLATFORM: return arg->type == MSGPACK_OBJECT_STR;
	case TYPE_VALUE: return arg->type == MSGPACK_OBJECT_STR || arg->type == MSGPACK_OBJECT_BIN;
	case TYPE_INTEGER:
	case TYPE_TIME: return is_int64(arg);
	case TYPE_BOOLEAN: return arg->type == MSGPACK_OBJECT_BOOLEAN;
	case TYPE_OBJECT: return is_object(arg);
	case TYPE_NULLABLE:
		return is_object(arg) || (arg->type == MSGPACK_OBJECT_BIN && arg->via.bin.size == 0);
	case TYPE_BYTES: return arg->type == MSGPACK_OBJECT_BIN;
	case TYPE_STRINGS: return is_strings(arg);
	}
	return false;
}

static bool args_open(const msgpack_object *item, struct call *call)
{
	unsigned            count;
	const struct field *fields = message_fields(call->message, &count);
	if (item->type != MSGPACK_OBJECT_ARRAY || item->via.array.size != count) return false;
	for (unsigned i = 0; i < count; i++)
		if (!arg_fits(&item->via.array.ptr[i], &fields[i])) return false;
	call->args = item->via.array.ptr;
	return true;
}

/* Not copied: bytes need no alignment. */
static bool take_idempotency(const msgpack_object *item, struct call *call)
{
	if (item->type != MSGPACK_OBJECT_BIN || item->via.bin.size != sizeof(*call->idempotency))
		return false;
	call->idempotency = (const struct idempotency *)item->via.bin.ptr;
	return true;
}

/* Checked as the frontend does: visible ASCII, so that it can stand in any log. */
static bool take_request_id(const msgpack_object *item, struct call *call)
{
	if (item->type == MSGPACK_OBJECT_NIL) return true;
	if (item->type != MSGPACK_OBJECT_STR) return false;
	call->request_id = arg_span(item);
	return request_id_is_valid(call->request_id);
}

enum err call_open(const msgpack_object *item, struct call *call)
{
	uint32_t message;
	*call = (struct call){0};
	if (item->type != MSGPACK_OBJECT_ARRAY || item->via.array.size < 1) return ERR_MALFORMED;
	const msgpack_object *parts = item->via.array.ptr;
	if (!take_u64(&parts[0], UINT64_MAX, &call->id)) return ERR_MALFORMED;
	const msgpack_object *args = &parts[item->via.array.size - 1];
	if (item->via.array.size < CALL_ITEMS || item->via.array.size > CALL_ITEMS + 1) return ERR_MALFORMED;
	if (!take_u32(&parts[1], MSG_COUNT - 1, &message) || !is_int64(&parts[2])) return ERR_MALFORMED;
	call->message = (enum message)message;
	call->deadline.v = parts[2].via.i64;
	if (!take_bytes_or_nil(&parts[3], call->account.b, sizeof(call->account.b), &call->has_account) ||
	    !take_bytes_or_nil(&parts[4], call->key_hash, sizeof(call->key_hash), &call->has_key_hash))
		return ERR_MALFORMED;
	if (!take_request_id(&parts[5], call)) return ERR_MALFORMED;
	if (item->via.array.size > CALL_ITEMS && !take_idempotency(&parts[6], call)) return ERR_MALFORMED;
	return args_open(args, call) ? OK : ERR_MALFORMED;
}

static bool take_key_id(const msgpack_object *item, struct reply *reply)
{
	if (item->type != MSGPACK_OBJECT_BIN || item->via.bin.size != sizeof(reply->key_id->b)) return false;
	reply->key_id = (const struct uuid *)item->via.bin.ptr;
	return true;
}

enum err reply_open(const msgpack_object *item, struct reply *reply)
{
	uint32_t err, flags;
	*reply = (struct reply){0};
	if (item->type != MSGPACK_OBJECT_ARRAY) return ERR_MALFORMED;
	uint32_t              count = item->via.array.size;
	const msgpack_object *parts = item->via.array.ptr;
	if (count < REPLY_ITEMS || count > REPLY_ITEMS + 1) return ERR_MALFORMED;
	if (!take_u64(&parts[0], UINT64_MAX, &reply->id)) return ERR_MALFORMED;
	if (!take_u32(&parts[1], ERR_COUNT - 1, &err)) return ERR_MALFORMED;
	if (!take_u32(&parts[2], REPLY_MORE | REPLY_ACCEPTED | REPLY_REPLAYED, &flags)) return ERR_MALFORMED;
	if (parts[3].type != MSGPACK_OBJECT_NIL && parts[3].type != MSGPACK_OBJECT_STR) return ERR_MALFORMED;
	reply->err = (enum err)err;
	reply->flags = flags;
	reply->field = arg_span(&parts[3]);
	if (count > REPLY_ITEMS && !take_key_id(&parts[4], reply)) return ERR_MALFORMED;
	reply->payload = &parts[count - 1];
	return OK;
}

bool request_id_is_valid(struct span id)
{
	for (size_t i = 0; i < id.size; i++)
		if (id.at[i] <= ' ' || id.at[i] >= 0x7f) return false;
	return id.size > 0 && id.size <= REQUEST_ID_BYTES_MAX;
}

bool arg_present(const msgpack_object *arg)
{
	return arg->type != MSGPACK_OBJECT_NIL;
}

struct span arg_span(const msgpack_object *arg)
{
	if (arg->type == MSGPACK_OBJECT_STR) return span_of(arg->via.str.ptr, arg->via.str.size);
	if (arg->type == MSGPACK_OBJECT_BIN) return span_of(arg->via.bin.ptr, arg->via.bin.size);
	return span_of(NULL, 0);
}

int64_t arg_integer(const msgpack_object *arg, int64_t fallback)
{
	return is_int64(arg) ? arg->via.i64 : fallback;
}

bool arg_boolean(const msgpack_object *arg, bool fallback)
{
	return arg->type == MSGPACK_OBJECT_BOOLEAN ? arg->via.boolean : fallback;
}

enum err arg_uuid(const msgpack_object *arg, struct uuid *id)
{
	return uuid_read(arg_span(arg), id) ? OK : ERR_NOT_FOUND;
}
