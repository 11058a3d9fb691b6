/* Log lines: the text of each value in both formats. Hostile values must break neither. */
#include "actors/rt/log_line.h"
#include "schemas/json.h"

#include <criterion/criterion.h>
#include <limits.h>

static struct log_line line;
static struct arena    arena;

__attribute__((format(printf, 2, 3))) static const char *form(enum log_format format, const char *pairs, ...)
{
	static char text[LOG_LINE_BYTES_MAX + 1];
	va_list     values;
	log_line_begin(&line, format);
	va_start(values, pairs);
	log_line_format(&line, pairs, values);
	va_end(values);
	struct span whole = log_line_end(&line);
	cr_assert_leq(whole.size, (size_t)LOG_LINE_BYTES_MAX);
	memcpy(text, whole.at, whole.size);
	text[whole.size] = 0;
	cr_assert_eq(strchr(text, '\n'), text + whole.size - 1, "one newline, at the end: %s", text);
	return text;
}

/* The member `key` of a line of JSON, parsed. */
static const struct json *member(const char *text, const char *key)
{
	struct json *value;
	arena_reset(&arena);
	cr_assert_eq(json_parse(span_of(text, strlen(text) - 1), &arena, &value), OK, "%s", text);
	const struct json *found = json_member(value, key);
	cr_assert(found, "no %s in %s", key, text);
	return found;
}

Test(log_line, has_pairs_as_the_format_says)
{
	cr_expect_str_eq(form(LOG_LOGFMT, "child=%s-%u n=%d", "shard", 3u, -7), "child=shard-3 n=-7\n");
	cr_expect_str_eq(form(LOG_JSON, "child=%s-%u n=%d", "shard", 3u, -7),
	                 "{\"child\":\"shard-3\",\"n\":-7}\n");
	cr_expect_str_eq(form(LOG_LOGFMT, "data=\"%s\" orderly=1", "/a b"), "data=\"/a b\" orderly=1\n");
	cr_expect_str_eq(form(LOG_JSON, "data=\"%s\" orderly=1", "/a b"),
	                 "{\"data\":\"/a b\",\"orderly\":1}\n");
	cr_expect_str_eq(form(LOG_LOGFMT, "mode=%04o wanted=%o", 0640, 0600), "mode=0640 wanted=600\n");
	cr_expect_str_eq(form(LOG_JSON, "reason=\"has %s, for good\" x=%x", "4", 255u),
	                 "{\"reason\":\"has 4, for good\",\"x\":\"ff\"}\n");
}

Test(log_line, takes_every_width_of_integer)
{
	cr_expect_str_eq(form(LOG_JSON, "a=%lld b=%zu c=%llu d=%u e=%ld", LLONG_MIN, (size_t)-1, ULLONG_MAX,
	                      UINT_MAX, -1L),
	                 "{\"a\":-9223372036854775808,\"b\":18446744073709551615,\"c\":18446744073709551615,"
	                 "\"d\":4294967295,\"e\":-1}\n");
}

Test(log_line, takes_a_precision)
{
	cr_expect_str_eq(form(LOG_LOGFMT, "id=%.*s next=%.2s", 3, "abcdef", "xyz"), "id=abc next=xy\n");
}

Test(log_line, quotes_a_value_that_needs_it)
{
	cr_expect_str_eq(form(LOG_LOGFMT, "id=%s", "a b"), "id=\"a b\"\n");
	cr_expect_str_eq(form(LOG_LOGFMT, "id=%s", "a=b"), "id=\"a=b\"\n");
	cr_expect_str_eq(form(LOG_LOGFMT, "id=%s", "a\"b\\"), "id=\"a\\\"b\\\\\"\n");
	cr_expect_str_eq(form(LOG_LOGFMT, "why=\"%s\" n=%d", "x\" level=\"fatal", 1),
	                 "why=\"x\\\" level=\\\"fatal\" n=1\n");
}

Test(log_line, is_one_line_for_any_value)
{
	cr_expect_str_eq(form(LOG_LOGFMT, "v=%s", "a\nb\x7f"), "v=a?b?\n");
	cr_expect_str_eq(form(LOG_JSON, "v=%s", "a\nb"), "{\"v\":\"a\\u000ab\"}\n");
}

/* A terminal that shows the log does not obey a value in it. */
Test(log_line, does_not_act_on_a_terminal)
{
	static const char value[] =
	    "a\x7f\xc2\x9b\xc2\xa0\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c\xc3\xa9";
	cr_expect_str_eq(form(LOG_LOGFMT, "v=%s", value), "v=a??\xc2\xa0????\xc3\xa9\n");
	cr_expect_str_eq(form(LOG_JSON, "v=%s", value),
	                 "{\"v\":\"a\\u007f\\u009b\xc2\xa0\\u202e\\u2066\\u200f\\u061c\xc3\xa9\"}\n");
	cr_expect_str_eq(form(LOG_LOGFMT, "v=%s", "\x9b\xff\xe9"), "v=?\xff\xe9\n");
}

/* Every byte, alone and between others, is read back from JSON unchanged, or as the replacement character if
 * it is invalid. */
Test(log_line, is_valid_json_for_any_value)
{
	for (unsigned first = 1; first < 256; first++)
		for (unsigned second = 1; second < 256; second++) {
			char        value[] = {'<', (char)first, (char)second, '"', 0};
			const char *text = form(LOG_JSON, "a=%s b=\"%s\" c=%d", value, value, 9);
			struct span got = member(text, "a")->text;
			cr_assert(span_equal(got, member(text, "b")->text) || got.size);
			if (first < 0x80 && second < 0x80) cr_assert(span_is(member(text, "a")->text, value));
			cr_assert_eq(member(text, "c")->kind, JSON_NUMBER);
		}
}

Test(log_line, is_valid_json_with_complete_and_cut_characters)
{
	static const char *const values[] = {"\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x98\x80",
	                                     "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\xaf",
	                                     "\xff"};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct span got = member(form(LOG_JSON, "v=%s", values[i]), "v")->text;
		if (i < 3)
			cr_expect(span_is(got, values[i]));
		else
			cr_expect_eq(memcmp(got.at, "\xef\xbf\xbd", 3), 0);
	}
}

/* Values of any length, also when escaping makes them longer, and with the cut in any place. */
Test(log_line, stays_valid_when_values_are_too_long)
{
	static char value[3000];
	for (size_t size = 0; size < sizeof value - 1; size += 7)
		for (const char *c = "x\"\n\xc3"; *c; c++) {
			memset(value, *c, size);
			value[size] = 0;
			const char *text = form(LOG_JSON, "a=%s b=\"%s\" c=%s d=%d", value, value, value, 1);
			member(text, "a");
			text = form(LOG_LOGFMT, "a=%s b=\"%s\" c=%s d=%d", value, value, value, 1);
			cr_assert_eq(memcmp(text, "a=", 2), 0);
		}
}

Test(log_line, writes_null_and_numbers)
{
	log_line_begin(&line, LOG_JSON);
	log_line_null(&line, "key_id");
	log_line_number(&line, "us", INT64_MIN);
	log_line_text(&line, "route", span_str("/v1/passes/{pass_id}"));
	struct span whole = log_line_end(&line);
	cr_expect(span_is(
	    whole, "{\"key_id\":null,\"us\":-9223372036854775808,\"route\":\"/v1/passes/{pass_id}\"}\n"));
}
