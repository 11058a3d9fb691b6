/* schemas/arguments.h: a request is checked against its message's fields. */
#include "schemas/arguments.h"
#include "schemas/api/pass.h"
#include "schemas/api/subscription.h"
#include "schemas/api/template.h"
#include "schemas/frame.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arguments_memory memory;
static struct buffer           packed;
static struct refusal          refusal;
static msgpack_unpacked        unpacked;

static enum err pack(enum message message, const char *param, const char *query, const char *body)
{
	struct span             params[1] = {span_str(param)};
	struct arguments_source source = {.params = params, .query = span_str(query), .body = span_str(body)};
	buffer_clear(&packed);
	arena_reset(&memory.arena);
	return arguments_pack(message, &source, &memory, &packed, &refusal);
}

/* The packed argument at `position`. */
static const msgpack_object *argument(unsigned position)
{
	msgpack_unpacked_destroy(&unpacked);
	msgpack_unpacked_init(&unpacked);
	cr_assert_eq(msgpack_unpack_next(&unpacked, (char *)packed.at, packed.size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	cr_assert_lt(position, unpacked.data.via.array.size);
	return &unpacked.data.via.array.ptr[position];
}

static bool argument_is_text(unsigned position, const char *want)
{
	const msgpack_object *at = argument(position);
	return at->type == MSGPACK_OBJECT_STR && span_is(span_of(at->via.str.ptr, at->via.str.size), want);
}

struct row {
	const char *param, *query, *body;
	enum err    want;
	const char *field; /* NULL: no error */
};

static void check_rows(enum message message, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		enum err          got = pack(message, row->param, row->query, row->body);
		cr_expect_eq(got, row->want, "row %zu: got %s", i, err_code(got));
		cr_expect(span_is(refusal.field, row->field ? row->field : ""), "row %zu: field %.*s", i,
		          (int)refusal.field.size, (const char *)refusal.field.at);
		cr_expect_eq(*refusal.message != 0, got != OK, "row %zu: %s", i, refusal.message);
	}
}

#define CHECK(message, rows) check_rows(message, rows, sizeof(rows) / sizeof *(rows))

Test(arguments, a_delta_is_packed_in_order)
{
	cr_assert_eq(pack(MSG_PASS_LOYALTY, "a%20b", "", "{\"message\":\"hi\",\"balance_to_add\":-5}"), OK);
	cr_expect(argument_is_text(ARG_PASS_LOYALTY_pass_id, "a b"));
	cr_expect_eq(argument(ARG_PASS_LOYALTY_balance_to_add)->via.i64, -5);
	cr_expect(argument_is_text(ARG_PASS_LOYALTY_message, "hi"));
	cr_expect_eq(unpacked.data.via.array.size, ARGS_PASS_LOYALTY);
}

Test(arguments, body_fields_are_checked_for_presence_type_and_range)
{
	static const struct row rows[] = {
	    {"a", "", "", ERR_INVALID_REQUEST, NULL},
	    {"a", "", " ", ERR_INVALID_REQUEST, NULL},
	    {"a", "", "[]", ERR_INVALID_REQUEST, NULL},
	    {"a", "", "5", ERR_INVALID_REQUEST, NULL},
	    {"a", "", "{\"balance_to_add\":1}x", ERR_INVALID_REQUEST, NULL},
	    {"a", "", "{\"balance_to_add\":1,\"balance_to_add\":1}", ERR_INVALID_REQUEST, NULL},
	    {"a", "", "{}", ERR_INVALID_INPUT, "balance_to_add"},
	    {"a", "", "{\"balance_to_add\":null}", ERR_INVALID_INPUT, "balance_to_add"},
	    {"a", "", "{\"balance_to_add\":\"1\"}", ERR_INVALID_INPUT, "balance_to_add"},
	    {"a", "", "{\"balance_to_add\":1.0}", ERR_INVALID_INPUT, "balance_to_add"},
	    {"a", "", "{\"balance_to_add\":1e2}", ERR_INVALID_INPUT, "balance_to_add"},
	    {"a", "", "{\"balance_to_add\":9007199254740991}", OK, NULL},
	    {"a", "", "{\"balance_to_add\":9007199254740992}", ERR_INVALID_INPUT, "balance_to_add"},
	    {"a", "", "{\"balance_to_add\":-9007199254740992}", ERR_INVALID_INPUT, "balance_to_add"},
	    {"a", "", "{\"balance_to_add\":0,\"message\":null}", OK, NULL},
	    {"a", "", "{\"balance_to_add\":0,\"message\":5}", ERR_INVALID_INPUT, "message"},
	    {"a", "", "{\"balance_to_add\":0,\"other\":5}", ERR_INVALID_INPUT, "other"},
	    {"a", "", "{\"other\":5}", ERR_INVALID_INPUT, "other"},
	    {"a", "", "{\"balance_to_add\":0,\"pass_id\":\"b\"}", ERR_INVALID_INPUT, "pass_id"},
	    {"a", "balance_to_add=9", "{\"balance_to_add\":0}", OK, NULL},
	};
	CHECK(MSG_PASS_LOYALTY, rows);
}

Test(arguments, queries_are_checked_and_unknown_parameters_ignored)
{
	static const struct row rows[] = {
	    {"", "", "", OK, NULL},
	    {"", "limit=1&offset=0", "ignored", OK, NULL},
	    {"", "limit=100", "", OK, NULL},
	    {"", "limit=0", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit=101", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit=", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit=-", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit=abc", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit=1.0", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit=+5", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit=%zz", "", ERR_INVALID_INPUT, "limit"},
	    {"", "%6Cimit=7", "", OK, NULL},
	    {"", "limit=1&limit=1", "", ERR_INVALID_INPUT, "limit"},
	    {"", "offset=-1", "", ERR_INVALID_INPUT, "offset"},
	    {"", "offset=9223372036854775807", "", OK, NULL},
	    {"", "offset=9223372036854775808", "", ERR_INVALID_INPUT, "offset"},
	    {"", "include_deleted=true", "", OK, NULL},
	    {"", "include_deleted=f", "", OK, NULL},
	    {"", "include_deleted=TRUE", "", ERR_INVALID_INPUT, "include_deleted"},
	    {"", "include_deleted=", "", ERR_INVALID_INPUT, "include_deleted"},
	    {"", "foo=1&foo=2&%zz=3&=4&&", "", OK, NULL},
	    {"", "foo[]=1&foo[=2&[]=3&statuses[]=4&Status[]=5", "", OK, NULL},
	    {"", "limit[]=5", "", ERR_INVALID_INPUT, "limit"},
	    {"", "limit%5B0%5D=5", "", ERR_INVALID_INPUT, "limit"},
	    {"", "q[=5", "", ERR_INVALID_INPUT, "q"},
	    {"", "status[x]=issued", "", ERR_INVALID_INPUT, "status"},
	    {"", "status[=issued", "", ERR_INVALID_INPUT, "status"},
	    {"", "status[%zz]=issued", "", ERR_INVALID_INPUT, "status"},
	    {"", "status[]=%zz", "", ERR_INVALID_INPUT, "status"},
	};
	CHECK(MSG_PASS_LIST, rows);
	static const struct row texts[] = {
	    {"", "pass_template_id=", "", OK, NULL},
	    {"", "pass_template_id=%ff", "", ERR_INVALID_INPUT, "pass_template_id"},
	};
	CHECK(MSG_TEMPLATE_FIELDS, texts);
}

Test(arguments, query_values_arrive_decoded)
{
	cr_assert_eq(pack(MSG_PASS_LIST, "", "include_deleted=1&limit=%37", ""), OK);
	cr_expect_eq(argument(ARG_PASS_LIST_limit)->via.u64, 7);
	cr_expect_eq(argument(ARG_PASS_LIST_offset)->type, MSGPACK_OBJECT_NIL);
	cr_expect_eq(argument(ARG_PASS_LIST_include_deleted)->via.boolean, true);
	cr_assert_eq(pack(MSG_TEMPLATE_FIELDS, "", "pass_template_id=a+b%2Bc", ""), OK);
	cr_expect(argument_is_text(ARG_TEMPLATE_FIELDS_pass_template_id, "a b+c"));
}

Test(arguments, an_array_s_values_join_those_of_the_plain_name)
{
	static const char *const queries[] = {"status=a&status=b", "status[]=a&status[]=b",
	                                      "status%5B%5D=a&status=b", "status[0]=a&status%5b1%5d=b",
	                                      "%73tatus[7]=a&status[7]=b"};
	for (unsigned i = 0; i < sizeof queries / sizeof *queries; i++) {
		cr_assert_eq(pack(MSG_PASS_LIST, "", queries[i], ""), OK, "%s", queries[i]);
		const msgpack_object *list = argument(ARG_PASS_LIST_status);
		cr_assert_eq(list->type, MSGPACK_OBJECT_ARRAY, "%s", queries[i]);
		cr_assert_eq(list->via.array.size, 2, "%s", queries[i]);
		cr_expect(span_is(arg_span(&list->via.array.ptr[0]), "b"), "%s", queries[i]);
		cr_expect(span_is(arg_span(&list->via.array.ptr[1]), "a"), "%s", queries[i]);
	}
}

Test(arguments, an_invalid_id_reaches_the_handler)
{
	static const char *const impossible[] = {"%ff", "%", "..", "%2e", "a%0Ab"};
	for (unsigned i = 0; i < sizeof impossible / sizeof *impossible; i++) {
		cr_assert_eq(pack(MSG_PASS_LOYALTY, impossible[i], "", "{\"balance_to_add\":0}"), OK);
		cr_expect(argument_is_text(ARG_PASS_LOYALTY_pass_id, ""), "%s", impossible[i]);
	}
	static const struct row rows[] = {
	    {"..", "", "{\"balance_to_add\":0", ERR_INVALID_REQUEST, NULL},
	    {"..", "", "{}", ERR_INVALID_INPUT, "balance_to_add"},
	};
	CHECK(MSG_PASS_LOYALTY, rows);
}

Test(arguments, null_means_absent_except_where_it_has_a_meaning)
{
	cr_assert_eq(pack(MSG_PASS_CREATE, "", "", "{\"pass_id\":\"a\",\"visible\":null}"), OK);
	cr_expect_eq(argument(ARG_PASS_CREATE_visible)->type, MSGPACK_OBJECT_NIL);
	cr_assert_eq(pack(MSG_PASS_PATCH, "a", "", "{\"appearance\":null}"), OK);
	cr_expect_eq(argument(ARG_PASS_PATCH_appearance)->type, MSGPACK_OBJECT_BIN);
	cr_expect_eq(argument(ARG_PASS_PATCH_appearance)->via.bin.size, 0);
	cr_assert_eq(pack(MSG_PASS_PATCH, "a", "", "{\"appearance\":{\"title\":\"t\"}}"), OK);
	cr_expect_eq(argument(ARG_PASS_PATCH_appearance)->type, MSGPACK_OBJECT_MAP);
	cr_assert_eq(pack(MSG_PASS_PATCH, "a", "", ""), OK, "no body where nothing is required");
	cr_expect_eq(argument(ARG_PASS_PATCH_appearance)->type, MSGPACK_OBJECT_NIL);
	static const struct row rows[] = {
	    {"", "", "{\"pass_id\":\"a\",\"initial_platform\":\"ios\"}", OK, NULL},
	    {"", "", "{\"pass_id\":\"a\",\"initial_platform\":\"android\"}", OK, NULL},
	    {"", "", "{\"pass_id\":\"a\",\"initial_platform\":null}", ERR_INVALID_REQUEST,
	     "initial_platform"},
	    {"", "", "{\"pass_id\":\"a\",\"initial_platform\":\"IOS\"}", ERR_INVALID_REQUEST,
	     "initial_platform"},
	    {"", "", "{\"pass_id\":\"a\",\"initial_platform\":1}", ERR_INVALID_REQUEST, "initial_platform"},
	    {"", "", "{\"pass_id\":\"a\",\"hidden\":[]}", ERR_INVALID_INPUT, "hidden"},
	    {"", "", "{\"pass_id\":\"a\",\"appearance\":\"x\"}", ERR_INVALID_INPUT, "appearance"},
	    {"", "", "{\"pass_id\":7}", ERR_INVALID_INPUT, "pass_id"},
	};
	CHECK(MSG_PASS_CREATE, rows);
}

Test(arguments, faults_are_reported_in_table_order)
{
	static const struct row rows[] = {
	    {"", "", "{\"initial_platform\":1,\"hidden\":1,\"x\":1}", ERR_INVALID_INPUT, "x"},
	    {"", "", "{\"initial_platform\":1,\"hidden\":1}", ERR_INVALID_INPUT, "pass_id"},
	    {"", "", "{\"initial_platform\":1,\"hidden\":1,\"pass_id\":\"a\"}", ERR_INVALID_INPUT, "hidden"},
	};
	CHECK(MSG_PASS_CREATE, rows);
}

/* The value that the handler gets for one member of a body. */
static bool value_is(const char *body, msgpack_object_type type, const char *want)
{
	cr_assert_eq(pack(MSG_SUBSCRIPTION_CREATE, "", "", body), OK, "%s", body);
	const msgpack_object *at = argument(ARG_SUBSCRIPTION_CREATE_url);
	return at->type == type && span_is(arg_span(at), want);
}

Test(arguments, any_value_is_passed_on_where_the_handler_checks_it)
{
	cr_expect(value_is("{\"url\":\"a\\u0041\"}", MSGPACK_OBJECT_STR, "aA"));
	cr_expect(value_is("{\"url\":\"\"}", MSGPACK_OBJECT_STR, ""));
	cr_expect(value_is("{\"url\":1.50}", MSGPACK_OBJECT_BIN, "1.50"));
	cr_expect(value_is("{\"url\":[ \"x\" , {}]}", MSGPACK_OBJECT_BIN, "[\"x\",{}]"));
	cr_expect(value_is("{\"url\":false}", MSGPACK_OBJECT_BIN, "false"));
	cr_expect(value_is("{\"url\":null}", MSGPACK_OBJECT_NIL, ""));
	cr_expect(value_is("{}", MSGPACK_OBJECT_NIL, ""), "the handler reports that it is missing");
	cr_expect_eq(pack(MSG_SUBSCRIPTION_CREATE, "", "", ""), ERR_INVALID_REQUEST);
	cr_expect_eq(pack(MSG_SUBSCRIPTION_CREATE, "", "", "{\"urls\":1}"), ERR_INVALID_INPUT);
}

Test(arguments, a_value_that_is_too_large_is_passed_on_as_nil)
{
	static char body[2 * URL_BYTES_MAX];
	for (int size = URL_BYTES_MAX - 1; size <= URL_BYTES_MAX + 1; size++) {
		bool fits = size <= URL_BYTES_MAX;
		snprintf(body, sizeof body, "{\"url\":\"%0*d\"}", size, 0);
		cr_assert_eq(pack(MSG_SUBSCRIPTION_CREATE, "", "", body), OK);
		const msgpack_object *at = argument(ARG_SUBSCRIPTION_CREATE_url);
		cr_expect_eq(at->type, fits ? MSGPACK_OBJECT_STR : MSGPACK_OBJECT_BIN);
		cr_expect_eq(arg_span(at).size, fits ? (size_t)size : 0);
		snprintf(body, sizeof body, "{\"url\":[1%0*d]}", size - 3, 0);
		cr_assert_eq(pack(MSG_SUBSCRIPTION_CREATE, "", "", body), OK);
		at = argument(ARG_SUBSCRIPTION_CREATE_url);
		cr_expect_eq(at->type, MSGPACK_OBJECT_BIN);
		cr_expect_eq(arg_span(at).size, fits ? (size_t)size : 0);
	}
}

Test(arguments, an_invalid_uuid_reaches_the_handler)
{
	cr_assert_eq(pack(MSG_SUBSCRIPTION_GET, "a%20b", "", ""), OK);
	cr_expect(argument_is_text(ARG_SUBSCRIPTION_GET_subscription_id, "a b"));
	static const char *const impossible[] = {"%ff", "%", "..", "a%00"};
	for (unsigned i = 0; i < sizeof impossible / sizeof *impossible; i++) {
		cr_assert_eq(pack(MSG_SUBSCRIPTION_GET, impossible[i], "", ""), OK);
		cr_expect(argument_is_text(ARG_SUBSCRIPTION_GET_subscription_id, ""), "%s", impossible[i]);
	}
}

Test(arguments, more_than_any_pass_can_hold_is_too_large)
{
	struct buffer body = {0};
	buffer_text(&body, "{\"pass_id\":\"a\",\"hidden\":{\"k\":\"");
	for (int i = 0; i < 2 * PASS_STORED_BYTES_MAX; i++)
		buffer_byte(&body, 'x');
	buffer_text(&body, "\"}}");
	struct arguments_source source = {.query = span_str(""), .body = buffer_span(&body)};
	buffer_clear(&packed);
	cr_expect_eq(arguments_pack(MSG_PASS_CREATE, &source, &memory, &packed, &refusal),
	             ERR_PAYLOAD_TOO_LARGE);
	buffer_free(&body);
}

Test(arguments, list_the_operations_that_read_a_body)
{
	cr_expect(arguments_have_body(MSG_PASS_CREATE));
	cr_expect(arguments_have_body(MSG_PASS_LOYALTY));
	cr_expect_not(arguments_have_body(MSG_PASS_GET));
	cr_expect_not(arguments_have_body(MSG_PASS_DELETE));
}
