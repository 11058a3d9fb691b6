/* schemas/json.h: accepted and refused JSON, and the JSON that we write. */
#include "schemas/json.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arena arena;

static struct json *parsed(struct span text)
{
	struct json *value = NULL;
	enum err     err = json_parse(text, &arena, &value);
	return err ? NULL : value;
}

/* The text after parsing and writing; "" if it is invalid. */
static const char *round_trip(const char *text)
{
	static struct buffer out;
	struct json         *value = parsed(span_str(text));
	buffer_clear(&out);
	if (value) json_text(value, &out);
	buffer_byte(&out, '\0');
	return (const char *)out.at;
}

Test(json, reads_and_writes_back)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"{}", "{}"},
	    {" [ ] ", "[]"},
	    {"null", "null"},
	    {"-0", "-0"},
	    {"1", "1"},
	    {"\"\"", "\"\""},
	    {"{\"b\":1,\"a\":[true,false,null]}", "{\"b\":1,\"a\":[true,false,null]}"},
	    {"[1.50,1e2,123456789012345678901234567890]", "[1.50,1e2,123456789012345678901234567890]"},
	    {"\"\\u0041\\/\\b\\f\\n\\r\\t\\\"\\\\\"", "\"A/\\b\\f\\n\\r\\t\\\"\\\\\""},
	    {"\"\\u001f\\u007f\"", "\"\\u001f\x7f\""},
	    {"\"\\uD83D\\ude00\"", "\"\xf0\x9f\x98\x80\""},
	    {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
	    {"{\"\\u0061\":1}", "{\"a\":1}"},
	    {"\"a\\u0000b\"", "\"a\\u0000b\""},
	    {"\"\\\\ud800\"", "\"\\\\ud800\""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(round_trip(rows[i].text), rows[i].want, "%s", rows[i].text);
}

Test(json, refuses_what_is_not_strict_json)
{
	static const char *const rows[] = {
	    "",
	    " ",
	    "{",
	    "\v1",
	    "[\f]",
	    "[1,]",
	    "{\"a\":1,}",
	    "{a:1}",
	    "{'a':1}",
	    "01",
	    "+1",
	    ".5",
	    "1.",
	    "1e",
	    "NaN",
	    "-",
	    "nul",
	    "\"a",
	    "\"\t\"",
	    "\"\\x\"",
	    "\"\\u12\"",
	    "[1] 2",
	    "{} x",
	    "1 2",
	    "/* c */ 1",
	    "[1 2]",
	    "\xef\xbb\xbf{}", /* BOM */
	    "{\"a\":1,\"a\":2}",
	    "{\"a\":1,\"\\u0061\":2}",
	    "[{\"x\":{\"b\":1,\"b\":1}}]",
	    "\"\\ud800\"",
	    "\"\\ud800x\"",
	    "\"\\ud800\\u0041\"",
	    "\"\\udc00\"",
	    "\"\\udc00\\ud800\"",
	    "\"\\udc00\\udc00\"",
	    "\"\\ud800\\\\udc00\"",
	    "{\"\\ud800\":1}",
	    "\"\x80\"",
	    "\"\xc3\"",
	    "\"\xc0\xaf\"",
	    "\"\xe0\x80\xaf\"",
	    "\"\xed\xa0\x80\"",
	    "\"\xf4\x90\x80\x80\"",
	    "\"\xf8\x88\x80\x80\x80\"",
	    "\"\xff\"",
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_null(parsed(span_str(rows[i])), "row %zu: %s", i, rows[i]);
	cr_expect_null(parsed(span_of("1\0", 2)), "a NUL after the value");
}

Test(json, nests_to_the_limit_and_no_deeper)
{
	char text[2 * JSON_DEPTH_MAX + 3];
	for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		bool good = parsed(span_of(text, 2 * depth)) != NULL;
		cr_expect_eq(good, depth == JSON_DEPTH_MAX, "depth %zu", depth);
	}
}

static void write_object(struct buffer *out, unsigned members, unsigned twice)
{
	buffer_clear(out);
	for (unsigned i = 0; i < members; i++) {
		char text[32];
		snprintf(text, sizeof text, "%c\"key%u\":%u", i ? ',' : '{', i + 1 == members ? twice : i, i);
		buffer_text(out, text);
	}
	buffer_byte(out, '}');
}

Test(json, has_a_limit_of_values)
{
	static char text[2 * JSON_VALUES_MAX + 2];
	for (size_t members = JSON_VALUES_MAX - 1; members <= JSON_VALUES_MAX; members++) {
		struct json *value = NULL;
		for (size_t i = 0; i < members; i++)
			memcpy(text + 2 * i, i ? ",1" : "[1", 2);
		text[2 * members] = ']';
		enum err err = json_parse(span_of(text, 2 * members + 1), &arena, &value);
		cr_expect_eq(err, members < JSON_VALUES_MAX ? OK : ERR_PAYLOAD_TOO_LARGE, "%zu members",
		             members);
		arena_reset(&arena);
	}
}

Test(json, finds_duplicate_keys_in_objects_of_every_size)
{
	struct buffer text = {0};
	for (unsigned members = 2; members < 70; members++) {
		write_object(&text, members, members - 1);
		struct json *value = parsed(buffer_span(&text));
		cr_assert_not_null(value, "%u members", members);
		cr_expect_eq(value->count, members);
		for (unsigned twice = 0; twice + 1 < members; twice++) {
			write_object(&text, members, twice);
			cr_expect_null(parsed(buffer_span(&text)), "%u members, %u twice", members, twice);
		}
		arena_reset(&arena);
	}
	buffer_free(&text);
}

Test(json, integers_are_whole_and_fit)
{
	static const struct {
		const char *text;
		bool        good;
		int64_t     want;
	} rows[] = {
	    {"0", true, 0},
	    {"-0", true, 0},
	    {"5", true, 5},
	    {"-17", true, -17},
	    {"9223372036854775807", true, INT64_MAX},
	    {"-9223372036854775808", true, INT64_MIN},
	    {"9223372036854775808", false, 0},
	    {"-9223372036854775809", false, 0},
	    {"99999999999999999999999", false, 0},
	    {"1.0", false, 0},
	    {"1e2", false, 0},
	    {"1E2", false, 0},
	    {"\"1\"", false, 0},
	    {"true", false, 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t got = 0;
		cr_expect_eq(json_integer(parsed(span_str(rows[i].text)), &got), rows[i].good, "%s",
		             rows[i].text);
		cr_expect_eq(got, rows[i].want, "%s", rows[i].text);
	}
}

Test(json, members_are_found_by_key)
{
	const struct json *value = parsed(span_str("{\"a\":1,\"b\":{\"a\":2}}"));
	cr_assert_not_null(json_member(value, "b"));
	cr_expect(span_is(json_member(json_member(value, "b"), "a")->text, "2"));
	cr_expect_null(json_member(value, "c"));
	cr_expect_null(json_member(parsed(span_str("[1]")), "a"));
}

/* The msgpack that json_pack_object() makes of `text`, written as JSON. */
static const char *packed_and_rendered(const char *text)
{
	static struct buffer out;
	struct buffer        packed = {0}, scratch = {0};
	msgpack_packer       packer = buffer_packer(&packed);
	msgpack_unpacked     unpacked;
	msgpack_unpacked_init(&unpacked);
	json_pack_object(parsed(span_str(text)), &packer, &scratch);
	cr_assert_eq(msgpack_unpack_next(&unpacked, (char *)packed.at, packed.size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	buffer_clear(&out);
	cr_assert_eq(json_render(&unpacked.data, &out), OK);
	buffer_byte(&out, '\0');
	msgpack_unpacked_destroy(&unpacked);
	buffer_free(&packed);
	buffer_free(&scratch);
	return (const char *)out.at;
}

Test(json, an_object_is_unchanged_by_packing)
{
	static const char text[] =
	    "{\"z\":\"\\\"q\\\"\",\"n\":1.50,\"o\":{\"k\":[1e5,null]},\"t\":true,\"e\":null}";
	cr_expect_str_eq(packed_and_rendered(text), text);
}

Test(json, renders_every_kind_and_refuses_others)
{
	struct buffer  out = {0};
	msgpack_object value = {.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = UINT64_MAX};
	cr_expect_eq(json_render(&value, &out), OK);
	value = (msgpack_object){.type = MSGPACK_OBJECT_NEGATIVE_INTEGER, .via.i64 = INT64_MIN};
	cr_expect_eq(json_render(&value, &out), OK);
	cr_expect(span_is(buffer_span(&out), "18446744073709551615-9223372036854775808"));
	value.type = MSGPACK_OBJECT_FLOAT64;
	cr_expect_eq(json_render(&value, &out), ERR_MALFORMED);
	msgpack_object_kv pair = {.key.type = MSGPACK_OBJECT_NIL, .val.type = MSGPACK_OBJECT_NIL};
	value = (msgpack_object){.type = MSGPACK_OBJECT_MAP, .via.map = {1, &pair}};
	cr_expect_eq(json_render(&value, &out), ERR_MALFORMED);
	buffer_clear(&out);
	json_quote(span_of(NULL, 0), &out);
	cr_expect(span_is(buffer_span(&out), "\"\""));
	buffer_free(&out);
}

Test(json, a_small_body_parses_in_the_first_block)
{
	parsed(span_str("{\"balance_to_add\":5}"));
	struct arena_block *first = arena.blocks;
	for (int i = 0; i < 10000; i++) {
		arena_reset(&arena);
		cr_assert_not_null(parsed(span_str("{\"balance_to_add\":5,\"message\":\"a\\nb\"}")));
	}
	cr_expect_eq(arena.blocks, first);
}

Test(json, cuts_text_between_characters)
{
	static const struct {
		const char *text;
		size_t      size_max;
		const char *want;
	} rows[] = {
	    {"", 0, ""},
	    {"abc", 0, ""},
	    {"abc", 2, "ab"},
	    {"abc", 3, "abc"},
	    {"abc", 9, "abc"},
	    {"a\xc3\xa9", 2, "a"},
	    {"a\xc3\xa9z", 3, "a\xc3\xa9"},
	    {"\xf0\x9f\x98\x80", 3, ""},
	    {"\xf0\x9f\x98\x80z", 4, "\xf0\x9f\x98\x80"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct span got = utf8_cut(span_str(rows[i].text), rows[i].size_max);
		cr_expect(span_is(got, rows[i].want), "row %zu: %.*s", i, (int)got.size,
		          (const char *)got.at);
	}
}

/* Quoting reads eight bytes at a time where it can. */
Test(json, a_character_is_escaped_in_every_position)
{
	enum { FILL = 24 };
	static const char short_forms[] = "btn?fr";
	for (unsigned c = 0; c < 256; c++) {
		char escape[8] = {(char)c};
		if (c < ' ') snprintf(escape, sizeof escape, "\\u%04x", c);
		if (c >= 8 && c <= 13 && c != 11) snprintf(escape, sizeof escape, "\\%c", short_forms[c - 8]);
		if (c == '"' || c == '\\') snprintf(escape, sizeof escape, "\\%c", (char)c);
		size_t size = c ? strlen(escape) : 6;
		for (unsigned at = 0; at < FILL; at++) {
			char          text[FILL];
			struct buffer got = {0}, want = {0};
			memset(text, 'a', FILL);
			text[at] = (char)c;
			json_quote(span_of(text, FILL), &got);
			buffer_byte(&want, '"');
			buffer_append(&want, "aaaaaaaaaaaaaaaaaaaaaaaa", at);
			buffer_append(&want, escape, size);
			buffer_append(&want, "aaaaaaaaaaaaaaaaaaaaaaaa", FILL - 1 - at);
			buffer_byte(&want, '"');
			cr_expect(span_equal(buffer_span(&got), buffer_span(&want)), "byte %u at %u", c, at);
			buffer_free(&got);
			buffer_free(&want);
		}
	}
}

Test(json, is_shown_without_characters_that_act_on_a_terminal)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"", ""},
	    {"{\"a\":[\"b\\n\\\\\\\"\"]}\n", "{\"a\":[\"b\\n\\\\\\\"\"]}\n"},
	    {"~\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "~\\u007f\\u0080\\u009b\\u009f\xc2\xa0"},
	    {"\xd8\x9b\xd8\x9c\xd8\x9d", "\xd8\x9b\\u061c\xd8\x9d"},
	    {"\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", "\xe2\x80\x8d\\u200e\\u200f\xe2\x80\x90"},
	    {"\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", "\xe2\x80\xa9\\u202a\\u202e\xe2\x80\xaf"},
	    {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa"},
	    {"\xf0\x9f\x98\x80\xc2\x85"
	     "end",
	     "\xf0\x9f\x98\x80\\u0085end"},
	};
	struct buffer got = {0};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buffer_clear(&got);
		json_shown(span_str(rows[i].text), &got);
		cr_expect(span_is(buffer_span(&got), rows[i].want), "row %zu: %.*s", i, (int)got.size,
		          (const char *)got.at);
	}
	buffer_free(&got);
}
