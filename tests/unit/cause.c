/* schemas/cause.h: every refusal has a sentence. schemas/json.h: every invalid JSON text has a reason. */
#include "schemas/cause.h"
#include "schemas/json.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>

static char text[REASON_TEXT];

static struct reason longest_of(enum cause cause)
{
	static char name[1000], wanted[HINT_TEXT];
	memset(name, 'n', sizeof name);
	memset(wanted, 'w', sizeof wanted - 1);
	return (struct reason){.cause = cause,
	                       .field = span_of(name, sizeof name),
	                       .given = span_of(name, sizeof name),
	                       .wanted = wanted,
	                       .least = INT64_MIN,
	                       .most = INT64_MIN};
}

Test(cause, each_has_one_plain_sentence)
{
	for (unsigned i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		struct reason reason = {
		    .cause = i, .field = span_str("Ada"), .given = span_str("g"), .wanted = "w"};
		const char *name = cause_name(i);
		reason_text(&reason, text);
		size_t size = strlen(text);
		cr_assert_gt(size, 10, "%s", name);
		cr_expect_eq(text[size - 1], '.', "%s: %s", name, text);
		cr_expect(isupper(text[0]) || text[0] == '`', "%s: %s", name, text);
		cr_expect_not(strstr(text, ". ") && i != CAUSE_RULE_SLUG, "%s is two sentences: %s", name,
		              text);
		for (const char *at = text; (at = strchr(at, '{')); at++)
			cr_expect_eq(at[1], '}', "%s: an unknown part: %s", name, text);
		if (strchr(text, '`'))
			cr_expect(strstr(text, "`Ada`") || strstr(text, "`g`"), "%s names nothing: %s", name,
			          text);
		cr_expect_neq(cause_err(i), OK, "%s", name);
	}
}

Test(cause, no_sentence_exceeds_its_buffer)
{
	for (unsigned i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		struct reason reason = longest_of(i);
		reason_text(&reason, text);
		cr_expect_eq(text[strlen(text) - 1], '.', "%s: %s", cause_name(i), text);
	}
}

Test(cause, values_of_the_client_are_cut_and_escaped)
{
	static char   long_name[300];
	struct reason reason = {.cause = CAUSE_EMPTY, .field = span_str("a`b\n\x7f")};
	reason_text(&reason, text);
	cr_expect_str_eq(text, "`a?b??` must not be empty.");
	for (size_t i = 0; i + 2 <= sizeof long_name; i += 2)
		memcpy(long_name + i, "\xc3\xa9", 2);
	reason.field = span_of(long_name + 1, sizeof long_name - 1);
	reason_text(&reason, text);
	cr_expect_lt(strlen(text), REASON_FIELD_MAX + 40);
	reason.field = span_of(long_name, sizeof long_name);
	reason_text(&reason, text);
	cr_expect(utf8_is_valid(span_str(text)), "cut within a character");
	cr_expect_neq(strstr(text, "...`"), NULL, "%s", text);
}

Test(cause, a_similar_name_is_suggested)
{
	static const struct {
		const char *name, *hint;
	} rows[] = {{"holdr", "perhaps `holder` is meant"},    {"Name", "perhaps `name` is meant"},
	            {"name ", "perhaps `name` is meant"},      {"nmae", "perhaps `name` is meant"},
	            {"zip", "known are name, holder, a"},      {"", "known are name, holder, a"},
	            {"b", "known are name, holder, a"},        {"holderss", "perhaps `holder` is meant"},
	            {"hoolderss", "known are name, holder, a"}};
	struct span known[] = {span_str("name"), span_str("holder"), span_str("a")};
	char        hint[HINT_TEXT];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		hint_text(span_str(rows[i].name), known, 3, hint);
		cr_expect_str_eq(hint, rows[i].hint, "%s: %s", rows[i].name, hint);
	}
	hint_text(span_str("x"), known, 0, hint);
	cr_expect_str_eq(hint, "it takes none");
}

Test(cause, a_suggestion_of_many_names_is_cut)
{
	static char names[TEMPLATE_FIELDS_MAX][16];
	struct span known[TEMPLATE_FIELDS_MAX];
	char        hint[HINT_TEXT];
	for (int i = 0; i < TEMPLATE_FIELDS_MAX; i++) {
		snprintf(names[i], sizeof names[i], "field_no_%d_", i);
		known[i] = span_str(names[i]);
	}
	hint_text(span_str("else"), known, TEMPLATE_FIELDS_MAX, hint);
	cr_expect_eq(strncmp(hint, "known are field_no_0_, field_no_1_, ", 36), 0, "%s", hint);
	cr_expect(strstr(hint, " more") && strlen(hint) < HINT_TEXT, "%s", hint);
}

/* ---- JSON ---- */

struct row {
	const char *json;
	size_t      size; /* 0: the length of the text */
	enum cause  cause;
	int64_t     least, most; /* expected position; 0: not checked */
};

static const struct row rows[] = {
    {"", 0, CAUSE_BODY_EMPTY, 0, 0},
    {" \r\n\t", 0, CAUSE_BODY_EMPTY, 0, 0},
    {"\xef\xbb\xbf{}", 0, CAUSE_BODY_MARKED, 0, 0},
    {"\xff\xfe{\0}\0", 6, CAUSE_BODY_ENCODED, 0, 0},
    {"\xfe\xff\0{\0}", 6, CAUSE_BODY_ENCODED, 0, 0},
    {"{\0}\0", 4, CAUSE_BODY_ENCODED, 0, 0},
    {"\0{\0}", 4, CAUSE_BODY_ENCODED, 0, 0},
    {"\xff\xfe\0\0{\0\0\0", 8, CAUSE_BODY_ENCODED, 0, 0},
    {"\x1f\x8b\x08\0", 4, CAUSE_BODY_COMPRESSED, 0, 0},
    {"\x28\xb5\x2f\xfd", 0, CAUSE_BODY_COMPRESSED, 0, 0},
    {"x\x9c\x01", 0, CAUSE_BODY_COMPRESSED, 0, 0},
    {"pass_id=a&b=c", 0, CAUSE_BODY_FORM, 0, 0},
    {"visible%5Bname%5D=a", 0, CAUSE_BODY_FORM, 0, 0},
    {"--x\r\nContent-Disposition: form-data", 0, CAUSE_BODY_FORM, 0, 0},
    {"<pass/>", 0, CAUSE_BODY_FORM, 0, 0},
    {"{\"a\":\"\xe9\"}", 0, CAUSE_BODY_NO_UTF8, 6, 0},
    {"{\"a\":\"\\ud800\"}", 0, CAUSE_BODY_SURROGATE, 6, 0},
    {"{\"a\":\"\\udc00\"}", 0, CAUSE_BODY_SURROGATE, 6, 0},
    {"{\"a\":1", 0, CAUSE_BODY_CUT, 1, 7},
    {"{\"a\":\"b", 0, CAUSE_BODY_CUT, 0, 0},
    {"{\"a\":tr", 0, CAUSE_BODY_CUT, 0, 0},
    {"{\"a\":-", 0, CAUSE_BODY_CUT, 0, 0},
    {"{\"a\":\"\\u00", 0, CAUSE_BODY_CUT, 0, 0},
    {"{\"a\"", 0, CAUSE_BODY_CUT, 0, 0},
    {"{\"a\":1,}", 0, CAUSE_BODY_COMMA, 1, 8},
    {"{\n \"\xc3\xa9\":[1,\n  ]}", 0, CAUSE_BODY_COMMA, 3, 3},
    {"{\"a\":[1,,2]}", 0, CAUSE_BODY_COMMA, 1, 9},
    {"{'a':1}", 0, CAUSE_BODY_QUOTES, 1, 2},
    {"{\"a\":'b'}", 0, CAUSE_BODY_QUOTES, 1, 6},
    {"{a:1}", 0, CAUSE_BODY_QUOTES, 1, 2},
    {"{\"a\":01}", 0, CAUSE_BODY_NUMBER, 1, 6},
    {"{\"a\":+1}", 0, CAUSE_BODY_NUMBER, 1, 6},
    {"{\"a\":.5}", 0, CAUSE_BODY_NUMBER, 1, 6},
    {"{\"a\":1.}", 0, CAUSE_BODY_NUMBER, 1, 6},
    {"{\"a\":1e}", 0, CAUSE_BODY_NUMBER, 1, 6},
    {"{\"a\":\"\\x\"}", 0, CAUSE_BODY_ESCAPE, 1, 7},
    {"{\"a\":\"\\u00g0\"}", 0, CAUSE_BODY_ESCAPE, 1, 7},
    {"{\"a\":\"b\nc\"}", 0, CAUSE_BODY_CONTROL, 1, 8},
    {"{} {}", 0, CAUSE_BODY_BEHIND, 1, 4},
    {"{}}", 0, CAUSE_BODY_BEHIND, 1, 3},
    {"{}\"", 0, CAUSE_BODY_BEHIND, 1, 3},
    {"{} \"}", 0, CAUSE_BODY_BEHIND, 1, 4},
    {"[]tru", 0, CAUSE_BODY_BEHIND, 1, 3},
    {"\"a\"\"", 0, CAUSE_BODY_BEHIND, 1, 4},
    {"null-", 0, CAUSE_BODY_BEHIND, 1, 5},
    {"5 \"", 0, CAUSE_BODY_BEHIND, 1, 3},
    {"5\"", 0, CAUSE_BODY_BEHIND, 1, 2},
    {"{\"a\":None}", 0, CAUSE_BODY_SYNTAX, 1, 6},
    {"{\"a\":NaN}", 0, CAUSE_BODY_SYNTAX, 1, 6},
    {"{\"a\" 1}", 0, CAUSE_BODY_SYNTAX, 1, 6},
    {"{\"a\":1 \"b\":2}", 0, CAUSE_BODY_SYNTAX, 1, 8},
    {"{\"a\":}", 0, CAUSE_BODY_SYNTAX, 1, 6},
    {"[1}", 0, CAUSE_BODY_SYNTAX, 1, 3},
    {"{\"a\":\v1}", 0, CAUSE_BODY_SYNTAX, 1, 6},
    {"// x\n{}", 0, CAUSE_BODY_SYNTAX, 1, 1},
    {"hello", 0, CAUSE_BODY_SYNTAX, 1, 1},
};

Test(cause, invalid_json_has_its_reason)
{
	struct arena arena = {0};
	struct json *value;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		struct span       json = row->size ? span_of(row->json, row->size) : span_str(row->json);
		struct reason     reason = {.cause = CAUSE_NONE};
		json_explain(json, &reason);
		cr_expect_eq(reason.cause, row->cause, "row %zu: %s", i, cause_name(reason.cause));
		if (row->least)
			cr_expect_eq(reason.least, row->least, "row %zu: %lld", i, (long long)reason.least);
		if (row->most)
			cr_expect_eq(reason.most, row->most, "row %zu: %lld", i, (long long)reason.most);
		cr_expect_eq(json_parse(json, &arena, &value), ERR_INVALID_REQUEST, "row %zu is JSON", i);
	}
	arena_free(&arena);
}

Test(cause, valid_json_has_no_reason)
{
	static const char *const good[] = {"{}",    " [1,-0,2.5e-3,1E+2,\"\\u00e9\\\"\\/\",true,false,null] ",
	                                   "0",     "{\"a\":{\"b\":[]},\"c\":\"\\ud83d\\ude00\"}",
	                                   "\"x\"", "[[],[{}]]"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct reason reason = {.cause = CAUSE_BODY_CUT};
		json_explain(span_str(good[i]), &reason);
		cr_expect_eq(reason.cause, CAUSE_NONE, "%s: %s", good[i], cause_name(reason.cause));
	}
}

static const char *told(const char *json)
{
	static struct refusal refusal;
	struct arena          arena = {0};
	struct json          *value;
	refusal.message[0] = 0;
	(void)!json_parse_told(span_str(json), &arena, &value, "The file", &refusal);
	arena_free(&arena);
	return refusal.message;
}

Test(cause, depth_and_duplicate_keys_are_reported)
{
	char deep[2 * JSON_DEPTH_MAX + 8] = "";
	for (int i = 0; i <= JSON_DEPTH_MAX; i++)
		deep[i] = '[';
	cr_expect_str_eq(told(deep),
	                 "The file is nested too deep: at most 32 arrays and objects within each other.");
	cr_expect_str_eq(told("{\"a\":{\"b\":1,\"b\":2}}"), "The file has the key `b` twice in one object.");
	cr_expect_str_eq(
	    told("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"\":2,\"\":2}"),
	    "The file has the key `` twice in one object.");
	cr_expect_str_eq(told("{\"a\":1}"), "");
}
