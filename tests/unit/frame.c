/* Frames: every kind reads as it was written, and an invalid item affects only itself. */
#include "schemas/frame.h"
#include "schemas/api/key.h"
#include "schemas/api/pass.h"
#include "schemas/api/subscription.h"
#include "schemas/api/system.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>

static msgpack_zone     zone;
static struct frame_out out;

static void begin(void)
{
	msgpack_zone_init(&zone, 8192);
}

static void end(void)
{
	msgpack_zone_destroy(&zone);
	buffer_free(&out.bytes);
}

TestSuite(frame, .init = begin, .fini = end);

static struct frame open_ok(struct span bytes)
{
	struct frame frame;
	cr_assert_eq(frame_open(bytes, &zone, &frame), OK);
	return frame;
}

static void add_loyalty(uint64_t id, int64_t amount)
{
	struct call head = {.id = id, .message = MSG_PASS_LOYALTY, .deadline = {-5}, .has_account = true};
	memset(head.account.b, 0xab, sizeof(head.account.b));
	frame_call(&out, &head);
	msgpack_packer packer = frame_out_packer(&out);
	msgpack_pack_array(&packer, ARGS_PASS_LOYALTY);
	pack_text(&packer, "p1");
	pack_int(&packer, amount);
	msgpack_pack_nil(&packer);
}

Test(frame, calls_read_as_they_were_written)
{
	struct call call;
	add_loyalty(UINT64_MAX, INT64_MIN);
	add_loyalty(7, BALANCE_MAX);
	struct frame frame = open_ok(frame_seal_calls(&out, UINT64_MAX - 1, UINT32_MAX, UINT32_MAX - 1));
	cr_assert_eq(frame.kind, FRAME_CALLS);
	cr_expect_eq(frame.epoch, UINT64_MAX - 1);
	cr_expect_eq(frame.placement_version, UINT32_MAX);
	cr_expect_eq(frame.waiting, UINT32_MAX - 1);
	cr_assert_eq(frame.count, 2);
	cr_assert_eq(call_open(&frame.items[0], &call), OK);
	cr_expect_eq(call.id, UINT64_MAX);
	cr_expect_eq(call.message, MSG_PASS_LOYALTY);
	cr_expect_eq(call.deadline.v, -5);
	cr_expect(call.has_account && call.account.b[9] == 0xab);
	cr_expect(!call.has_key_hash);
	cr_expect(span_is(arg_span(&call.args[ARG_PASS_LOYALTY_pass_id]), "p1"));
	cr_expect_eq(arg_integer(&call.args[ARG_PASS_LOYALTY_balance_to_add], 0), INT64_MIN);
	cr_expect(!arg_present(&call.args[ARG_PASS_LOYALTY_message]));
	cr_assert_eq(call_open(&frame.items[1], &call), OK);
	cr_expect_eq(arg_integer(&call.args[ARG_PASS_LOYALTY_balance_to_add], 0), BALANCE_MAX);
}

Test(frame, a_call_may_have_idempotency)
{
	struct idempotency idempotency;
	struct call        call, head = {.id = 3, .message = MSG_AUTH, .has_account = true};
	for (unsigned i = 0; i < sizeof idempotency; i++)
		((uint8_t *)&idempotency)[i] = (uint8_t)(i * 3);
	for (unsigned i = 0; i < 2; i++) {
		head.idempotency = i ? &idempotency : NULL;
		frame_call(&out, &head);
		msgpack_packer packer = frame_out_packer(&out);
		msgpack_pack_array(&packer, ARGS_AUTH);
		msgpack_pack_nil(&packer);
	}
	struct frame frame = open_ok(frame_seal_calls(&out, 1, 1, 1));
	cr_assert_eq(call_open(&frame.items[0], &call), OK);
	cr_expect_null(call.idempotency);
	cr_assert_eq(call_open(&frame.items[1], &call), OK);
	cr_assert_not_null(call.idempotency);
	cr_expect_arr_eq(call.idempotency, &idempotency, sizeof idempotency);
	cr_expect(call.id == 3 && call.has_account);
}

Test(frame, a_row_of_an_import_is_named_by_import_slot_and_number)
{
	const uint8_t      import[IMPORT_ID_BYTES] = {1, 2, 3};
	struct idempotency row, same, other_slot, later;
	idempotency_of_row(import, 5, UINT64_MAX - 1, &row);
	idempotency_of_row(import, 5, UINT64_MAX - 1, &same);
	idempotency_of_row(import, 5 << 24, UINT64_MAX - 1, &other_slot);
	idempotency_of_row(import, 5, UINT64_MAX, &later);
	cr_expect_arr_eq(&row, &same, sizeof row);
	cr_expect_arr_eq(row.key, later.key, sizeof row.key);
	cr_expect_neq(memcmp(row.key, other_slot.key, sizeof row.key), 0);
	cr_expect_arr_eq(row.request, other_slot.request, sizeof row.request);
	cr_expect_eq(idempotency_row_number(row.request), UINT64_MAX - 1);
	cr_expect_eq(idempotency_row_number(later.request), UINT64_MAX);
}

Test(frame, a_call_may_have_a_request_id)
{
	static char              longest[REQUEST_ID_BYTES_MAX + 1];
	static const char *const good[] = {"!", "0123456789abcdef", "\"=~\\", longest};
	struct call              call, head = {.id = 3, .message = MSG_AUTH};
	memset(longest, 'x', sizeof longest - 1);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		frame_clear(&out);
		head.request_id = span_str(good[i]);
		frame_call(&out, &head);
		msgpack_packer packer = frame_out_packer(&out);
		msgpack_pack_array(&packer, ARGS_AUTH);
		msgpack_pack_nil(&packer);
		struct frame frame = open_ok(frame_seal_calls(&out, 1, 1, 1));
		cr_assert_eq(call_open(&frame.items[0], &call), OK);
		cr_expect(span_is(call.request_id, good[i]));
	}
	head.request_id = span_str("one byte more than may be: ");
	cr_expect_not(request_id_is_valid(span_of(longest, REQUEST_ID_BYTES_MAX + 1)));
	cr_expect_not(request_id_is_valid(span_of("", 0)));
	cr_expect_not(request_id_is_valid(head.request_id));
}

Test(frame, a_reply_may_have_the_id_of_the_calls_key)
{
	struct uuid  key = {.b = {1, [15] = 0xff}};
	struct reply reply, head = {.id = 4, .err = ERR_RATE_LIMITED, .key_id = &key};
	frame_reply_of(&out, &head);
	msgpack_packer packer = frame_out_packer(&out);
	pack_text(&packer, "payload");
	struct frame frame = open_ok(frame_seal_replies(&out, 1));
	cr_assert_eq(reply_open(&frame.items[0], &reply), OK);
	cr_assert(reply.key_id && reply.id == 4 && reply.err == ERR_RATE_LIMITED);
	cr_expect_arr_eq(reply.key_id->b, key.b, sizeof key.b);
	cr_expect(span_is(arg_span(reply.payload), "payload"));
	frame_clear(&out);
	head.key_id = NULL;
	frame_reply_of(&out, &head);
	packer = frame_out_packer(&out);
	msgpack_pack_nil(&packer);
	frame = open_ok(frame_seal_replies(&out, 1));
	cr_assert_eq(reply_open(&frame.items[0], &reply), OK);
	cr_expect_null(reply.key_id);
}

Test(frame, refuses_a_reply_with_an_invalid_key_id)
{
	static const struct {
		const char *bytes;
		size_t      size;
	} rows[] = {
	    {"\x94\x01\x00\x00\xc0", 5},
	    {"\x96\x01\x00\x00\xc0\xc0\xc0", 7},
	    {"\x96\x01\x00\x00\xc0\xc4\x02xy\xc0", 10},
	    {"\x97\x01\x00\x00\xc0\xc0\xc0\xc0", 8},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct reply   reply;
		msgpack_object item;
		cr_assert_eq(msgpack_unpack(rows[i].bytes, rows[i].size, NULL, &zone, &item),
		             MSGPACK_UNPACK_SUCCESS);
		cr_expect_eq(reply_open(&item, &reply), ERR_MALFORMED, "row %zu", i);
	}
}

Test(frame, replies_read_as_they_were_written)
{
	struct reply reply;
	frame_reply(&out, 9, ERR_INVALID_INPUT, 0, span_str("visible.name"));
	msgpack_packer packer = frame_out_packer(&out);
	pack_text(&packer, "No.");
	frame_reply(&out, 10, OK, REPLY_MORE | REPLY_ACCEPTED | REPLY_REPLAYED, span_of(NULL, 0));
	packer = frame_out_packer(&out);
	msgpack_pack_nil(&packer);
	struct frame frame = open_ok(frame_seal_replies(&out, 3));
	cr_assert_eq(frame.kind, FRAME_REPLIES);
	cr_expect_eq(frame.epoch, 3);
	cr_assert_eq(frame.count, 2);
	cr_assert_eq(reply_open(&frame.items[0], &reply), OK);
	cr_expect_eq(reply.id, 9);
	cr_expect_eq(reply.err, ERR_INVALID_INPUT);
	cr_expect(span_is(reply.field, "visible.name"));
	cr_expect(span_is(arg_span(reply.payload), "No."));
	cr_assert_eq(reply_open(&frame.items[1], &reply), OK);
	cr_expect_eq(reply.flags, (unsigned)(REPLY_MORE | REPLY_ACCEPTED | REPLY_REPLAYED));
	cr_expect_eq(reply.field.size, 0);
	cr_expect(!arg_present(reply.payload));
}

Test(frame, hello_and_welcome_read_as_they_were_written)
{
	struct buffer bytes = {0};
	struct frame  said = {.role = ROLE_CLI,
	                      .index = 77,
	                      .wants = WANTS_KEY_IDS,
	                      .begun = {1 << 20},
	                      .epoch = 5,
	                      .credit_commands = 2048,
	                      .credit_bytes = 1 << 23,
	                      .placement_version = 1};
	frame_hello(&bytes, &said);
	struct frame frame = open_ok(buffer_span(&bytes));
	cr_expect(frame.kind == FRAME_HELLO && frame.role == ROLE_CLI && frame.index == 77 &&
	          frame.wants == WANTS_KEY_IDS);
	cr_expect(frame.begun.v == 1 << 20 && frame.credit_bytes == 1 << 23);
	buffer_clear(&bytes);
	frame_welcome(&bytes, &said);
	frame = open_ok(buffer_span(&bytes));
	cr_expect(frame.kind == FRAME_WELCOME && frame.epoch == 5 && frame.placement_version == 1);
	cr_expect(frame.credit_commands == 2048 && frame.credit_bytes == 1 << 23);
	cr_expect_eq(frame.begun.v, 1 << 20);
	buffer_free(&bytes);
}

Test(frame, carries_receipts)
{
	add_loyalty(1, 1);
	(void)frame_seal_calls(&out, 1, 2, 3);
	frame_set_taken(&out.bytes, UINT64_MAX - 5);
	struct frame frame = open_ok(buffer_span(&out.bytes));
	cr_expect(frame.taken == UINT64_MAX - 5 && frame.epoch == 1 && frame.placement_version == 2 &&
	          frame.waiting == 3);
	frame_clear(&out);
	(void)frame_seal_replies(&out, 4);
	frame_set_taken(&out.bytes, 6);
	frame = open_ok(buffer_span(&out.bytes));
	cr_expect(frame.taken == 6 && frame.epoch == 4 && frame.count == 0);
}

Test(frame, may_be_sealed_empty_or_twice)
{
	cr_expect_eq(open_ok(frame_seal_replies(&out, 1)).count, 0);
	frame_clear(&out);
	add_loyalty(1, 1);
	(void)frame_seal_calls(&out, 1, 1, 1);
	add_loyalty(2, 1);
	struct frame frame = open_ok(frame_seal_calls(&out, 2, 1, 1));
	cr_expect(frame.epoch == 2 && frame.count == 2);
}

Test(frame, drops_items_after_the_mark)
{
	add_loyalty(1, 1);
	struct frame_mark mark = frame_mark(&out);
	add_loyalty(2, 1);
	out.bytes.failed = true; /* as if memory had run out during the second item */
	frame_drop(&out, mark);
	struct frame frame = open_ok(frame_seal_calls(&out, 1, 1, 1));
	cr_expect_eq(frame.count, 1);
	out.bytes.failed = true;
	cr_expect_eq(frame_seal_calls(&out, 1, 1, 1).size, 0);
}

Test(frame, refuses_invalid_heads)
{
	static const struct {
		const char *bytes;
		size_t      size;
	} rows[] = {
	    {"", 0},
	    {"\x01", 1},
	    {"\x90", 1},
	    {"\x91\x01", 2},
	    {"\x97\x00\x03\x01\x01\x00\x01\x01", 8}, /* unknown kind */
	    {"\x97\x05\x03\x01\x01\x00\x01\x01", 8},
	    {"\x97\xff\x03\x01\x01\x00\x01\x01", 8},
	    {"\x96\x03\x01\x01\x01\x01\x01", 7}, /* CALLS without a list */
	    {"\x96\x03\xa1x\x01\x01\x01\x90", 8},
	    {"\x96\x03\x01\xff\x01\x01\x90", 7},
	    {"\x96\x03\x01\x01\x01\xff\x90", 7},
	    {"\x94\x04\x01\x01\x80", 5},     /* REPLIES with a map */
	    {"\x94\x04\x01\xff\x90", 5},     /* with a negative receipt */
	    {"\x94\x04\x01\x01\x90\x00", 6}, /* with bytes after it */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame frame;
		cr_expect_eq(frame_open(span_of(rows[i].bytes, rows[i].size), &zone, &frame), ERR_MALFORMED,
		             "row %zu", i);
	}
	cr_expect_eq(open_ok(span_of("\x94\x04\x01\x01\x90", 5)).count, 0);
}

/* A head of which the first two items are written here: its size, its kind, and this program's protocol or the one beside it. */
static struct span greeting(uint8_t first, uint8_t kind, uint32_t protocol, struct span rest)
{
	static struct buffer bytes;
	const uint8_t        head[] = {first,
	                               kind,
	                               0xce,
	                               (uint8_t)(protocol >> 24),
	                               (uint8_t)(protocol >> 16),
	                               (uint8_t)(protocol >> 8),
	                               (uint8_t)protocol};
	buffer_clear(&bytes);
	buffer_append(&bytes, head, sizeof head);
	buffer_append(&bytes, rest.at, rest.size);
	return buffer_span(&bytes);
}

Test(frame, refuses_invalid_greetings)
{
	static const struct {
		uint8_t     first, kind;
		const char *rest;
		size_t      size;
	} rows[] = {
	    {0x97, 1, "\x7f\x01\x00\x01\x01", 5},     /* HELLO of an unknown role */
	    {0x97, 1, "\x01\xff\x00\x01\x01", 5},     /* of a negative index */
	    {0x97, 1, "\x01\x01\x02\x01\x01", 5},     /* requests an unknown feature */
	    {0x97, 1, "\x01\x01\x00\xc0\x01", 5},     /* without a start time */
	    {0x97, 1, "\x01\x01\x00\x01\xff", 5},     /* with a negative credit */
	    {0x98, 1, "\x01\x01\x00\x01\x01\x01", 6}, /* with a member too many */
	    {0x97, 2, "\xff\x01\x01\x01\x01", 5},     /* WELCOME of a negative epoch */
	    {0x97, 2, "\x01\xc0\x01\x01\x01", 5},
	};
	struct frame frame;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span rest = span_of(rows[i].rest, rows[i].size);
		cr_expect_eq(
		    frame_open(greeting(rows[i].first, rows[i].kind, frame_protocol(), rest), &zone, &frame),
		    ERR_MALFORMED, "row %zu", i);
		cr_expect_eq(frame_open(greeting(rows[i].first, rows[i].kind, frame_protocol() ^ 1, rest),
		                        &zone, &frame),
		             ERR_UNSUPPORTED, "row %zu of another protocol", i);
	}
	cr_expect_eq(frame_open(span_of("\x97\x01\x04\x01\x01\x00\x01\x01", 8), &zone, &frame),
	             ERR_UNSUPPORTED);
	struct span right = span_of("\x01\x01\x00\x01\x01", 5);
	cr_expect_eq(open_ok(greeting(0x97, 1, frame_protocol(), right)).index, 1);
	cr_expect_eq(open_ok(greeting(0x97, 2, frame_protocol(), right)).epoch, 1);
}

/* Items as bytes: "\x97" id, message, deadline, account, key hash, request id, arguments. */
static enum err open_call(const void *bytes, size_t size, struct call *call)
{
	msgpack_object item;
	cr_assert_eq(msgpack_unpack(bytes, size, NULL, &zone, &item), MSGPACK_UNPACK_SUCCESS);
	return call_open(&item, call);
}

Test(frame, an_invalid_call_still_has_its_id)
{
	static const struct {
		const char *bytes;
		size_t      size;
		uint64_t    want_id;
	} rows[] = {
	    {"\x01", 1, 0},
	    {"\x90", 1, 0},
	    {"\x97\xff\x00\x00\xc0\xc0\xc0\x91\xc0", 9, 0},
	    {"\x96\x08\x00\x00\xc0\xc0\xc0", 7, 8},
	    {"\x97\x08\x7f\x00\xc0\xc0\xc0\x91\xc0", 9, 8},            /* unknown message */
	    {"\x97\x08\x00\xc0\xc0\xc0\xc0\x91\xc0", 9, 8},            /* no deadline */
	    {"\x97\x08\x00\x00\xc4\x01x\xc0\xc0\x91\xc0", 11, 8},      /* account of one byte */
	    {"\x97\x08\x00\x00\xc0\xc4\x00\xc0\x91\xc0", 10, 8},       /* empty key hash */
	    {"\x97\x08\x00\x00\xc0\xc0\xc0\xc0", 8, 8},                /* no arguments */
	    {"\x97\x08\x00\x00\xc0\xc0\xa0\x91\xc0", 9, 8},            /* an empty request id */
	    {"\x97\x08\x00\x00\xc0\xc0\xa1 \x91\xc0", 10, 8},          /* a space in the request id */
	    {"\x97\x08\x00\x00\xc0\xc0\xa1\n\x91\xc0", 10, 8},         /* a newline */
	    {"\x97\x08\x00\x00\xc0\xc0\xa1\x80\x91\xc0", 10, 8},       /* not ASCII */
	    {"\x97\x08\x00\x00\xc0\xc0\xc4\x01x\x91\xc0", 11, 8},      /* binary instead of string */
	    {"\x97\x08\x00\x00\xc0\xc0\xc0\x92\xc0\xc0", 10, 8},       /* too many arguments */
	    {"\x98\x08\x00\x00\xc0\xc0\xc0\xc0\x91\xc0", 10, 8},       /* empty idempotency */
	    {"\x98\x08\x00\x00\xc0\xc0\xc0\xc4\x02xy\x91\xc0", 13, 8}, /* of two bytes */
	    {"\x99\x08\x00\x00\xc0\xc0\xc0\xc0\x91\xc0\xc0", 11, 8},
	};
	struct call call;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(open_call(rows[i].bytes, rows[i].size, &call), ERR_MALFORMED, "row %zu", i);
		cr_expect_eq(call.id, rows[i].want_id, "row %zu", i);
	}
	cr_expect_eq(open_call("\x97\x08\x00\x00\xc0\xc0\xc0\x91\xc0", 9, &call), OK);
}

/* True if `message` accepts one value as its first argument, with nil for all others. */
static bool fits(enum message message, unsigned position, const char *value, size_t size)
{
	struct call         call, head = {.id = 1, .message = message};
	unsigned            count;
	const struct field *fields = message_fields(message, &count);
	frame_clear(&out);
	frame_call(&out, &head);
	msgpack_packer packer = frame_out_packer(&out);
	msgpack_pack_array(&packer, count);
	for (unsigned i = 0; i < count; i++) {
		if (i == position)
			buffer_append(&out.bytes, value, size);
		else if (fields[i].need == NEED_REQUIRED)
			pack_text(&packer,
			          "x"); /* every other required argument of these messages is a string */
		else
			msgpack_pack_nil(&packer);
	}
	struct frame frame = open_ok(frame_seal_calls(&out, 1, 1, 1));
	return call_open(&frame.items[0], &call) == OK;
}

Test(frame, arguments_are_checked_against_their_fields)
{
	static const struct {
		enum message message;
		unsigned     position;
		const char  *value;
		size_t       size;
		bool         want;
	} rows[] = {
	    {MSG_PASS_GET, ARG_PASS_GET_pass_id, "\xa1x", 2, true},
	    {MSG_PASS_GET, ARG_PASS_GET_pass_id, "\xc0", 1, false}, /* required */
	    {MSG_PASS_GET, ARG_PASS_GET_pass_id, "\xc4\x01x", 3, false},
	    {MSG_PASS_GET, ARG_PASS_GET_include_deleted, "\xc3", 1, true},
	    {MSG_PASS_GET, ARG_PASS_GET_include_deleted, "\x01", 1, false},
	    {MSG_PASS_LIST, ARG_PASS_LIST_limit, "\x05", 1, true},
	    {MSG_PASS_LIST, ARG_PASS_LIST_limit, "\xff", 1, true}, /* the handler checks ranges */
	    {MSG_PASS_LIST, ARG_PASS_LIST_limit, "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff", 9, true},
	    {MSG_PASS_LIST, ARG_PASS_LIST_limit, "\xcf\x80\x00\x00\x00\x00\x00\x00\x00", 9, false},
	    {MSG_PASS_LIST, ARG_PASS_LIST_limit, "\xcb\x00\x00\x00\x00\x00\x00\x00\x00", 9, false},
	    {MSG_PASS_PATCH, ARG_PASS_PATCH_visible, "\x83\xa1k\xa1v\xa1l\xc4\x01\x31\xa1m\xc0", 13, true},
	    {MSG_PASS_PATCH, ARG_PASS_PATCH_visible, "\x81\xa1k\x01", 4, false},
	    {MSG_PASS_PATCH, ARG_PASS_PATCH_visible, "\x81\x01\xa1v", 4, false},
	    {MSG_PASS_PATCH, ARG_PASS_PATCH_visible, "\xc4\x00", 2, false},
	    {MSG_PASS_PATCH, ARG_PASS_PATCH_appearance, "\xc4\x00", 2, true},
	    {MSG_PASS_PATCH, ARG_PASS_PATCH_appearance, "\xc4\x01x", 3, false},
	    {MSG_PASS_PATCH, ARG_PASS_PATCH_appearance, "\x80", 1, true},
	    {MSG_PASS_CREATE, ARG_PASS_CREATE_initial_platform, "\xa3ios", 4, true},
	    {MSG_PASS_CREATE, ARG_PASS_CREATE_initial_platform, "\x01", 1, false},
	    {MSG_KEY_CREATE, ARG_KEY_CREATE_key_hash, "\xc4\x01x", 3, true},
	    {MSG_KEY_CREATE, ARG_KEY_CREATE_key_hash, "\xa1x", 2, false},
	    {MSG_ISSUER_SET, ARG_ISSUER_SET_paused, "\xc0", 1, false},
	    {MSG_SUBSCRIPTION_CREATE, ARG_SUBSCRIPTION_CREATE_url, "\xa1x", 2, true},
	    {MSG_SUBSCRIPTION_CREATE, ARG_SUBSCRIPTION_CREATE_url, "\xc4\x00", 2, true},
	    {MSG_SUBSCRIPTION_CREATE, ARG_SUBSCRIPTION_CREATE_url, "\xc0", 1,
	     true}, /* the handler checks it */
	    {MSG_SUBSCRIPTION_CREATE, ARG_SUBSCRIPTION_CREATE_url, "\x01", 1, false},
	    {MSG_SUBSCRIPTION_CREATE, ARG_SUBSCRIPTION_CREATE_url, "\x90", 1, false},
	    {MSG_SUBSCRIPTION_GET, ARG_SUBSCRIPTION_GET_subscription_id, "\xa0", 1, true},
	    {MSG_SUBSCRIPTION_GET, ARG_SUBSCRIPTION_GET_subscription_id, "\xc0", 1, false},
	    {MSG_SUBSCRIPTION_GET, ARG_SUBSCRIPTION_GET_subscription_id, "\xc4\x01x", 3, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(fits(rows[i].message, rows[i].position, rows[i].value, rows[i].size),
		             rows[i].want, "row %zu", i);
}

Test(frame, absent_arguments_give_the_fallback)
{
	const msgpack_object nil = {.type = MSGPACK_OBJECT_NIL};
	cr_expect_eq(arg_integer(&nil, 25), 25);
	cr_expect(arg_boolean(&nil, true));
	cr_expect(!arg_boolean(&nil, false));
	cr_expect_eq(arg_span(&nil).size, 0);
}

Test(frame, an_id_is_read_from_its_text_or_names_nothing)
{
	const char           text[] = "0123e4567-e89b-42d3-a456-426614174000";
	struct uuid          id, want;
	const msgpack_object whole = {.type = MSGPACK_OBJECT_STR, .via.str = {36, text + 1}};
	const msgpack_object cut = {.type = MSGPACK_OBJECT_STR, .via.str = {35, text + 1}};
	const msgpack_object nil = {.type = MSGPACK_OBJECT_NIL};
	cr_assert(uuid_read(span_of(text + 1, 36), &want));
	cr_assert_eq(arg_uuid(&whole, &id), OK);
	cr_expect_arr_eq(&id, &want, sizeof id);
	cr_expect_eq(arg_uuid(&cut, &id), ERR_NOT_FOUND);
	cr_expect_eq(arg_uuid(&nil, &id), ERR_NOT_FOUND);
}

Test(frame, warm_buffers_are_not_allocated_again)
{
	for (int i = 0; i < 64; i++)
		add_loyalty((uint64_t)i, i);
	const uint8_t *warm = out.bytes.at;
	for (int round = 0; round < 10; round++) {
		frame_clear(&out);
		for (int i = 0; i < 64; i++)
			add_loyalty((uint64_t)i, i);
	}
	cr_expect_eq(out.bytes.at, warm);
}
