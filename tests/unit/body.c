/* The pass body: its stored form, merging a client's members into it, and checking them against a
 * template. */
#include "schemas/body.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct arena arena;
static msgpack_zone zone;

static void begin(void)
{
	cr_assert(msgpack_zone_init(&zone, 8192));
}

static void end(void)
{
	msgpack_zone_destroy(&zone);
	arena_free(&arena);
}

TestSuite(body, .init = begin, .fini = end);

/* Stored form --------------------------------------------------------------------------------------------- */

static const struct body sample = {.pass_id = {(const uint8_t *)"p 1", 3},
                                   .token = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                                   .visible = {(const uint8_t *)"{\"a\":1.50}", 10},
                                   .hidden = {(const uint8_t *)"{}", 2},
                                   .appearance = {(const uint8_t *)"{\"title\":\"t\"}", 13},
                                   .creation_error = {(const uint8_t *)"why", 3}};

static bool equal(const struct body *a, const struct body *b)
{
	return span_equal(a->pass_id, b->pass_id) && !memcmp(a->token, b->token, 16) &&
	       span_equal(a->visible, b->visible) && span_equal(a->hidden, b->hidden) &&
	       span_equal(a->appearance, b->appearance) && span_equal(a->creation_error, b->creation_error);
}

Test(body, reads_as_it_was_packed)
{
	struct buffer bytes = {0};
	struct body   got, bare = sample;
	body_pack(&sample, &bytes);
	cr_expect_eq(body_size(&sample), bytes.size);
	cr_assert_eq(body_open(buffer_span(&bytes), &got), OK);
	cr_expect(equal(&got, &sample));
	bare.appearance = bare.creation_error = span_of(NULL, 0);
	buffer_clear(&bytes);
	body_pack(&bare, &bytes);
	cr_assert_eq(body_open(buffer_span(&bytes), &got), OK);
	cr_expect(equal(&got, &bare));
	buffer_free(&bytes);
}

Test(body, has_the_layout_its_header_describes)
{
	struct buffer bytes = {0};
	body_pack(&sample, &bytes);
	static const char want[] =
	    "\1\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\3\0\12\0\0\0\2\0\0\0\15\0\0\0\3\0\0\0"
	    "p 1{\"a\":1.50}{}{\"title\":\"t\"}why";
	cr_expect(span_equal(buffer_span(&bytes), span_of(want, sizeof want - 1)));
	buffer_free(&bytes);
}

Test(body, another_form_is_damage)
{
	struct buffer bytes = {0};
	struct body   got;
	body_pack(&sample, &bytes);
	for (size_t size = 0; size <= bytes.size + 1; size++) {
		uint8_t *exact = calloc(1, size + 1);
		memcpy(exact, bytes.at, size < bytes.size ? size : bytes.size);
		cr_expect_eq(body_open(span_of(exact, size), &got), size == bytes.size ? OK : ERR_DAMAGED,
		             "%zu bytes", size);
		free(exact);
	}
	for (size_t at = 17; at < 35; at++) { /* every size that contradicts the rest */
		bytes.at[at] ^= 0x80;
		cr_expect_eq(body_open(buffer_span(&bytes), &got), ERR_DAMAGED, "byte %zu", at);
		bytes.at[at] ^= 0x80;
	}
	bytes.at[0] = 2;
	cr_expect_eq(body_open(buffer_span(&bytes), &got), ERR_DAMAGED);
	buffer_free(&bytes);
}

/* Objects ------------------------------------------------------------------------------------------------- */

static msgpack_object object(const char *text)
{
	msgpack_object map;
	cr_assert_eq(object_open(span_str(text), &arena, &zone, &map), OK, "%s", text);
	return map;
}

static bool is_text(const msgpack_object *map, const char *want)
{
	struct span got;
	cr_assert_eq(object_text_of(map, &arena, &got), OK);
	bool same = span_is(got, want);
	if (!same) fprintf(stderr, "got %.*s want %s\n", (int)got.size, (const char *)got.at, want);
	return same;
}

Test(body, objects_are_returned_unchanged)
{
	static const char *const texts[] = {
	    "{}", "{\"a\":\"\",\"b\":1,\"c\":-0.10e+5,\"d\":true,\"e\":false}",
	    "{\"z\":{\"y\":[1,2.0,{\"x\":null}]},\"a\":12345678901234567890123}",
	    "{\"\":\"\\\"\\\\\\n\xc3\xa9\",\"k\":\"\xf0\x9f\x98\x80\"}"};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		msgpack_object map = object(texts[i]);
		cr_expect(is_text(&map, texts[i]));
	}
	msgpack_object map = object("");
	cr_expect(map.type == MSGPACK_OBJECT_MAP && map.via.map.size == 0 && is_text(&map, "{}"));
	cr_expect_eq(object_open(span_str("[1]"), &arena, &zone, &map), ERR_DAMAGED);
	cr_expect_eq(object_open(span_str("{\"a\":"), &arena, &zone, &map), ERR_DAMAGED);
}

/* Merging ------------------------------------------------------------------------------------------------- */

static bool merges(const char *base, const char *changes, bool keep_null, const char *want)
{
	msgpack_object under = object(base ? base : "{}"), over = object(changes), merged;
	cr_assert_eq(map_merge(base ? &under : NULL, &over, keep_null, &zone, &merged), OK);
	return is_text(&merged, want);
}

Test(body, merging_replaces_adds_and_removes)
{
	static const struct {
		const char *base, *changes;
		bool        keep_null;
		const char *want;
	} rows[] = {
	    {NULL, "{}", false, "{}"},
	    {NULL, "{\"b\":1,\"a\":2}", false, "{\"b\":1,\"a\":2}"},
	    {"{\"a\":1,\"b\":2}", "{}", false, "{\"a\":1,\"b\":2}"},
	    {"{\"a\":1,\"b\":2,\"c\":3}", "{\"b\":\"x\"}", false, "{\"a\":1,\"b\":\"x\",\"c\":3}"},
	    {"{\"a\":1}", "{\"c\":3,\"b\":2}", false, "{\"a\":1,\"c\":3,\"b\":2}"},
	    {"{\"a\":1,\"b\":2,\"c\":3}", "{\"b\":null}", false, "{\"a\":1,\"c\":3}"},
	    {"{\"a\":1}", "{\"b\":null}", false, "{\"a\":1}"},
	    {"{\"a\":1}", "{\"a\":null}", false, "{}"},
	    {"{\"a\":null,\"b\":null,\"\":null}", "{\"b\":null,\"c\":1}", false,
	     "{\"a\":null,\"\":null,\"c\":1}"}, /* a stored null is not a removal */
	    {"{\"a\":1}", "{\"a\":null,\"b\":null}", true, "{\"a\":null,\"b\":null}"},
	    {"{\"a\":1,\"b\":{\"c\":1}}", "{\"b\":{\"d\":null}}", false,
	     "{\"a\":1,\"b\":{\"d\":null}}"}, /* only at the top level */
	    {"{\"a\":1}", "{\"A\":2,\"a \":3,\"\":4}", false, "{\"a\":1,\"A\":2,\"a \":3,\"\":4}"},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(merges(rows[i].base, rows[i].changes, rows[i].keep_null, rows[i].want), "row %u",
		          i);
}

Test(body, merging_over_another_type_begins_with_an_empty_map)
{
	msgpack_object nil = {.type = MSGPACK_OBJECT_NIL}, over = object("{\"a\":1}"), merged;
	cr_assert_eq(map_merge(&nil, &over, false, &zone, &merged), OK);
	cr_expect(is_text(&merged, "{\"a\":1}"));
}

/* A naive merge: ordered pairs, found by linear search. Keys are numbers; a value of 0 is null. */
enum { KEYS = 60 };
struct pairs {
	unsigned count, keys[2 * KEYS], values[2 * KEYS];
};

static void naive_merge(struct pairs *base, const struct pairs *changes)
{
	unsigned kept = 0;
	for (unsigned c = 0; c < changes->count; c++) {
		unsigned at = 0;
		while (at < base->count && base->keys[at] != changes->keys[c])
			at++;
		base->keys[at] = changes->keys[c];
		base->values[at] = changes->values[c] ? changes->values[c] : UINT_MAX;
		if (at == base->count) base->count++;
	}
	for (unsigned i = 0; i < base->count; i++) {
		if (base->values[i] == UINT_MAX) continue;
		base->keys[kept] = base->keys[i];
		base->values[kept++] = base->values[i];
	}
	base->count = kept;
}

static void pairs_text(const struct pairs *pairs, char text[8192])
{
	size_t at = (size_t)snprintf(text, 8192, "{");
	for (unsigned i = 0; i < pairs->count; i++) {
		at += (size_t)snprintf(text + at, 8192 - at, "%s\"key %u\":", i ? "," : "", pairs->keys[i]);
		if (pairs->values[i])
			at += (size_t)snprintf(text + at, 8192 - at, "%u", pairs->values[i]);
		else
			at += (size_t)snprintf(text + at, 8192 - at, "null");
	}
	snprintf(text + at, 8192 - at, "}");
}

static struct pairs any_pairs(uint64_t *state, unsigned count, bool nulls)
{
	struct pairs pairs = {.count = 0};
	bool         used[KEYS] = {false};
	while (pairs.count < count) {
		unsigned key = chance_below(state, KEYS);
		if (used[key]) continue;
		used[key] = true;
		pairs.keys[pairs.count] = key;
		pairs.values[pairs.count++] = nulls && chance_below(state, 3) == 0
		                                  ? 0
		                                  : 1 + chance_below(state, 1000);
	}
	return pairs;
}

/* Sizes around eight keys, where the search becomes a hash table, and far above. */
Test(body, merging_equals_a_naive_merge)
{
	uint64_t    state = chance_begin();
	static char base_text[8192], changes_text[8192], want[8192];
	for (unsigned round = 0; round < 3000; round++) {
		unsigned     bound = round % 2 ? 6 : KEYS;
		struct pairs base = any_pairs(&state, chance_below(&state, bound), true);
		struct pairs changes = any_pairs(&state, chance_below(&state, bound), true);
		pairs_text(&base, base_text);
		pairs_text(&changes, changes_text);
		naive_merge(&base, &changes);
		pairs_text(&base, want);
		cr_assert(merges(base_text, changes_text, false, want), "round %u", round);
		msgpack_zone_clear(&zone);
		arena_reset(&arena);
	}
}

/* Checks -------------------------------------------------------------------------------------------------- */

static const char template_file[] = "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"fields\":["
                                    "{\"key\":\"text\",\"type\":\"text\",\"required\":true,\"max_length\":3},"
                                    "{\"key\":\"number\",\"type\":\"number\"},"
                                    "{\"key\":\"date\",\"type\":\"date\"},{\"key\":\"url\",\"type\":\"url\","
                                    "\"max_length\":12},{\"key\":\"flag\",\"type\":\"boolean\"},"
                                    "{\"key\":\"points\",\"type\":\"number\",\"locked\":true,\"required\":"
                                    "true},{\"key\":\"long\",\"type\":\"text\"}]}";

static void read_template(struct template *template)
{
	struct json      *json;
	struct file_fault fault;
	cr_assert_eq(json_parse(span_str(template_file), &arena, &json), OK);
	cr_assert_eq(template_read(json, template, &fault), OK, "%s", fault.field);
}

Test(body, visible_is_checked_against_the_template)
{
	static const struct {
		enum err    want;
		const char *key, *changes;
	} rows[] = {
	    {OK, "", "{}"},
	    {OK, "",
	     "{\"text\":\"abc\",\"number\":-1.5e3,\"date\":\"2026-11-20\",\"url\":\"https://"
	     "a\",\"flag\":false}"},
	    {OK, "", "{\"text\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}"}, /* three code points */
	    {OK, "", "{\"number\":0,\"flag\":true,\"date\":\"2026-11-20T20:43:00.123456789+02:00\"}"},
	    {OK, "", "{\"number\":null,\"date\":null,\"url\":null,\"flag\":null}"},
	    {OK, "", "{\"text\":\"\",\"long\":\"any length will do here\"}"},
	    {ERR_INVALID_INPUT, "other", "{\"other\":1}"},
	    {ERR_INVALID_INPUT, "other", "{\"other\":null}"},
	    {ERR_INVALID_INPUT, "points", "{\"points\":1}"},
	    {ERR_INVALID_INPUT, "points", "{\"points\":null}"},
	    {ERR_INVALID_INPUT, "Text", "{\"text\":5,\"Text\":\"a\"}"}, /* an unknown key is reported first */
	    {ERR_INVALID_INPUT, "points", "{\"number\":\"x\",\"points\":1}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "text", "{\"text\":null}"}, /* required */
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "text", "{\"text\":\"abcd\"}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "text", "{\"text\":5}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "text", "{\"text\":true}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "text", "{\"text\":{}}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "text", "{\"text\":[\"a\"]}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "number", "{\"number\":\"5\"}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "number", "{\"number\":true}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "number", "{\"number\":[5]}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "flag", "{\"flag\":\"true\"}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "flag", "{\"flag\":1}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "flag", "{\"flag\":{\"t\":true}}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "date", "{\"date\":\"2026-02-30\"}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "date", "{\"date\":\"20.11.2026\"}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "date", "{\"date\":\"2026-11-20T20:43:00\"}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "date", "{\"date\":20261120}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "url", "{\"url\":\"ftp://a\"}"},
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "url", "{\"url\":\"https://a.example\"}"}, /* too long */
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "flag",
	     "{\"text\":\"a\",\"flag\":0,\"date\":0}"}, /* the first fault */
	};
	static struct template template;
	read_template(&template);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		msgpack_object changes = object(rows[i].changes);
		struct reason  reason;
		cr_expect_eq(visible_check(&template, NULL, &changes, &reason), rows[i].want, "row %u", i);
		if (rows[i].want) cr_expect(span_is(reason.field, rows[i].key), "row %u", i);
	}
}

Test(body, a_value_of_a_removed_field_can_only_be_removed)
{
	static const struct {
		enum err    want;
		const char *key, *changes;
	} rows[] = {
	    {OK, "", "{\"gone\":null}"},
	    {OK, "", "{\"gone\":null,\"text\":\"abc\",\"number\":null}"},
	    {ERR_INVALID_INPUT, "gone", "{\"gone\":\"x\"}"},
	    {ERR_INVALID_INPUT, "gone", "{\"gone\":\"held\"}"},
	    {ERR_INVALID_INPUT, "never", "{\"gone\":null,\"never\":null}"},
	    {ERR_INVALID_INPUT, "Gone", "{\"Gone\":null}"},
	    {ERR_INVALID_INPUT, "points", "{\"points\":null}"}, /* locked, whatever the pass has */
	    {ERR_PASS_TEMPLATE_DATA_INVALID, "text", "{\"gone\":null,\"text\":null}"},
	};
	static struct template template;
	read_template(&template);
	msgpack_object held = object("{\"gone\":\"held\",\"points\":1,\"text\":\"a\"}");
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		msgpack_object changes = object(rows[i].changes);
		struct reason  reason;
		cr_expect_eq(visible_check(&template, &held, &changes, &reason), rows[i].want, "row %u", i);
		if (rows[i].want) cr_expect(span_is(reason.field, rows[i].key), "row %u", i);
	}
}

Test(body, visible_needs_what_the_template_requires)
{
	static struct template template;
	struct reason reason;
	read_template(&template);
	msgpack_object visible = object(
	    "{\"long\":\"x\",\"text\":\"a\"}"); /* the counter is added when the pass is shown */
	cr_expect_eq(visible_check_required(&template, &visible, &reason), OK);
	visible = object("{\"long\":\"x\"}");
	cr_expect_eq(visible_check_required(&template, &visible, &reason), ERR_PASS_TEMPLATE_DATA_INVALID);
	cr_expect(span_is(reason.field, "text"));
	template.field_count = 0;
	cr_expect_eq(visible_check_required(&template, &visible, &reason), OK);
}

Test(body, appearance_has_four_properties)
{
	static const struct {
		enum err    want;
		const char *key, *changes;
	} rows[] = {
	    {OK, "", "{}"},
	    {OK, "",
	     "{\"title\":\"t\",\"background_color\":\"#a1B2c3\",\"logo\":\"https://a/l\",\"banner\":\"http://"
	     "a/b\"}"},
	    {OK, "", "{\"title\":null,\"background_color\":null,\"logo\":null,\"banner\":null}"},
	    {ERR_INVALID_INPUT, "colour", "{\"title\":\"t\",\"colour\":\"#112233\"}"},
	    {ERR_INVALID_INPUT, "Title", "{\"Title\":null}"},
	    {ERR_INVALID_INPUT, "background_color", "{\"background_color\":\"red\"}"},
	    {ERR_INVALID_INPUT, "background_color", "{\"background_color\":112233}"},
	    {ERR_INVALID_INPUT, "logo", "{\"logo\":\"l.png\"}"},
	    {ERR_INVALID_INPUT, "banner", "{\"logo\":\"https://a\",\"banner\":\"\"}"},
	    {ERR_INVALID_INPUT, "banner", "{\"banner\":[\"https://a\"]}"},
	    {ERR_INVALID_INPUT, "title", "{\"title\":5}"},
	    {ERR_INVALID_INPUT, "title", "{\"title\":{}}"},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		msgpack_object changes = object(rows[i].changes);
		struct reason  reason;
		cr_expect_eq(appearance_check(&changes, &reason), rows[i].want, "row %u", i);
		if (rows[i].want) cr_expect(span_is(reason.field, rows[i].key), "row %u", i);
	}
}
