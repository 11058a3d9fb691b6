/* http/guard.h: valid heads, and every invalid form. */
#include "http/guard.h"
#include "schemas/buffer.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define GET "GET /v1/passes/a HTTP/1.1\r\n"

Test(guard, ordinary_heads_pass)
{
	static const char *const heads[] = {
	    GET "Host: x\r\n\r\n",
	    "\r\n" GET "host: x\r\n\r\n",
	    "GET / HTTP/1.0\r\n\r\n",
	    "POST /v1/passes HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab\ncd",
	    "POST /v1/passes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    GET "Host:\r\nX-Content-Length: 1\r\nContent-Lengthy: 2\r\nA:b\r\n\r\n",
	    "GET /a%2500 HTTP/1.1\r\nHost: x\r\n\r\n",
	    "GET /\xc3\xa9?q=a%20b HTTP/1.1\r\nHost: x\r\n\r\n",
	    GET "Host: x\r\n\r\n" GET "\n\n", /* bytes after the head are not checked here */
	};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		cr_expect_eq(guard_head(span_str(heads[i])), OK, "%s", heads[i]);
}

Test(guard, white_space_around_a_value_is_ignored)
{
	static const char *const values[] = {"a b", " a b", "a b ", "\t a b \t\t", "a b\t"};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		cr_expect(span_is(guard_trim(span_str(values[i])), "a b"), "%s", values[i]);
	cr_expect_eq(guard_trim(span_str(" \t ")).size, 0);
	cr_expect_eq(guard_trim(span_str("")).size, 0);
}

Test(guard, returns_method_target_and_key)
{
	static const char *const heads[] = {
	    "POST /v1/a?b=/c HTTP/1.1\r\nHost: x\r\nauthorization:\t Bearer k \r\n\r\n",
	    "\r\nPOST /v1/a HTTP/1.1\r\nAuthorization:Bearer k\r\nHost: x\r\nX-Authorization: y\r\n\r\n",
	    "POST /v1/a HTTP/1.1\r\nAuthorization: y\r\nHost: x\r\nAUTHORIZATION: Bearer k\r\n\r\n",
	};
	for (unsigned i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct head head = {0};
		cr_assert_eq(guard_take(&head, span_str(heads[i])), OK);
		cr_expect_eq(head.authorizations, i == 2 ? 2 : 1);
		cr_expect(span_is(span_of(heads[i] + head.path_at, head.path_size), "/v1/a"), "%s", heads[i]);
		cr_expect(
		    span_is(span_of(heads[i] + head.authorization_at, head.authorization_size), "Bearer k"),
		    "%s", heads[i]);
	}
}

Test(guard, an_incomplete_head_is_no_head)
{
	static const char *const heads[] = {"", "\r\n", GET "Host: x\r\n"};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		cr_expect_eq(guard_head(span_str(heads[i])), ERR_INVALID_REQUEST, "row %zu: %s", i, heads[i]);
}

/* Invalid forms, each with its cause and a word of its message; `size` 0: the length of the text. */
static const struct {
	const char *head;
	size_t      size;
	enum cause  cause;
	const char *word;
} causes[] = {
    {"GET / HTTP/1.1\nHost: x\n\n", 0, CAUSE_HEAD_FEED, "offset 14"},
    {GET "Host: x\r\nA: b\n\r\n", 0, CAUSE_HEAD_FEED, "line feed"},
    {GET "Host: x\r\n\n", 0, CAUSE_HEAD_FEED, "line feed"},
    {"\n" GET "Host: x\r\n\r\n", 0, CAUSE_HEAD_FEED, "offset 0"},
    {GET "Host: x\r\nA: b\rc\r\n\r\n", 0, CAUSE_HEAD_RETURN, "carriage return"},
    {GET "Host: x\r\r\n", 0, CAUSE_HEAD_RETURN, "line feed"},
    {GET "A: \0\r\n", sizeof GET "A: \0\r\n" - 1, CAUSE_HEAD_CONTROL, "byte 0,"},
    {"GET /\0 HTTP/1.1\r\n", sizeof "GET /\0 HTTP/1.1\r\n" - 1, CAUSE_HEAD_CONTROL, "byte 0, at offset 5"},
    {"GET /a\x7f HTTP/1.1\r\n", 0, CAUSE_HEAD_CONTROL, "byte 127, at offset 6"},
    {"GET \x16 HTTP/1.1\r\n", 0, CAUSE_HEAD_CONTROL, "byte 22, at offset 4"},
    {"\x16\x03\x01", 0, CAUSE_HEAD_TLS, "http://"},
    {"\r\n\r\n" GET, 0, CAUSE_LINE_EMPTY, "empty line"},
    {"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" GET, 0, CAUSE_LINE_PROXY, "switch it off"},
    {"PROXY UNKNOWN\r\n", 0, CAUSE_LINE_PROXY, "PROXY protocol"},
    {"PROXY / HTTP/1.1\r\n", 0, CAUSE_LINE_PROXY, "PROXY protocol"},
    {"GET\r\n", 0, CAUSE_LINE_FORM, "GET /v1/passes HTTP/1.1"},
    {"GET /\r\n", 0, CAUSE_LINE_FORM, "a version"},
    {"GET  / HTTP/1.1\r\n", 0, CAUSE_LINE_FORM, "one space"},
    {"GET /  HTTP/1.1\r\n", 0, CAUSE_LINE_FORM, "one space"},
    {"GET /a b HTTP/1.1\r\n", 0, CAUSE_LINE_FORM, "one space"},
    {"GET / HTTP/1.1 \r\n", 0, CAUSE_LINE_FORM, "one space"},
    {"{}\r\n", 0, CAUSE_LINE_FORM, "a method"},
    {" / HTTP/1.1\r\n", 0, CAUSE_LINE_METHOD, "method"},
    {"G(T / HTTP/1.1\r\n", 0, CAUSE_LINE_METHOD, "letters"},
    {"G\xc9T / HTTP/1.1\r\n", 0, CAUSE_LINE_METHOD, "letters"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n", 0, CAUSE_LINE_METHOD, "1 to 32"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG", 0, CAUSE_LINE_METHOD, "1 to 32"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG\r\n", 0, CAUSE_LINE_METHOD, "1 to 32"},
    {"PRI * HTTP/2.0\r\n", 0, CAUSE_LINE_VERSION, "HTTP/1.1 or HTTP/1.0"},
    {"GET / HTTP/1.7\r\n", 0, CAUSE_LINE_VERSION, "HTTP/1.1"},
    {"GET / http/1.1\r\n", 0, CAUSE_LINE_VERSION, "HTTP/1.1"},
    {"OPTIONS * HTTP/1.1\r\n", 0, CAUSE_TARGET_FORM, "begins with /"},
    {"GET v1/passes HTTP/1.1\r\n", 0, CAUSE_TARGET_FORM, "URL"},
    {"GET ftp://x/a HTTP/1.1\r\n", 0, CAUSE_TARGET_FORM, "http or https"},
    {"GET http:///a HTTP/1.1\r\n", 0, CAUSE_TARGET_HOST, "a host"},
    {"GET http://u:p@x/a HTTP/1.1\r\n", 0, CAUSE_TARGET_HOST, "password"},
    {"GET /a\tb HTTP/1.1\r\n", 0, CAUSE_TARGET_BLANK, "%09"},
    {GET "Host: x\r\nA: b\r\n c\r\n", 0, CAUSE_FIELD_FOLDED, "Header 3 begins with a blank"},
    {GET "\tHost: x\r\n", 0, CAUSE_FIELD_FOLDED, "Header 1 begins"},
    {GET "Host: x\r\nA b\r\n", 0, CAUSE_FIELD_COLON, "Header 2 has no colon"},
    {GET "Host: x\r\n: b\r\n", 0, CAUSE_FIELD_NAMELESS, "Header 2 has no name"},
    {GET "Host : x\r\n", 0, CAUSE_FIELD_BLANK, "`Host `"},
    {GET "A\tb: c\r\n", 0, CAUSE_FIELD_NAME, "`A?b`"},
    {GET "X(y): z\r\n", 0, CAUSE_FIELD_NAME, "`X(y)`"},
    {GET "X\xe9: z\r\n", 0, CAUSE_FIELD_NAME, "`X?`"},
    {GET "X\xc3\xa9: z\r\n", 0, CAUSE_FIELD_NAME, "`X\xc3\xa9`"},
    {GET "\r\n", 0, CAUSE_HOST_MISSING, "Host is missing"},
    {GET "Host: x\r\nHost: x\r\n\r\n", 0, CAUSE_HOST_TWICE, "Host is given more than once"},
    {"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 0, CAUSE_HOST_TWICE, "more than once"},
    {GET "Host: a b\r\n", 0, CAUSE_HOST_FORM, "Host must be one"},
    {GET "Host: a,b\r\n", 0, CAUSE_HOST_FORM, "Host must be one"},
    {GET "Content-Length: +5\r\n", 0, CAUSE_LENGTH_FORM, "Content-Length must be a number"},
    {GET "Content-Length:\r\n", 0, CAUSE_LENGTH_FORM, "digits"},
    {GET "Content-Length: 5, 5\r\n", 0, CAUSE_LENGTH_FORM, "nothing else"},
    {GET "Content-Length: 00000000000000000005\r\n", 0, CAUSE_LENGTH_FORM, "1 to 19 digits"},
    {GET "Host: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 0, CAUSE_LENGTH_TWICE,
     "Content-Length is given more than once"},
    {GET "Host: x\r\ncontent-length: 0\r\nCONTENT-LENGTH: 5\r\n\r\n", 0, CAUSE_LENGTH_TWICE,
     "more than once"},
    {GET "Host: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 0, CAUSE_LENGTH_CODED,
     "both Content-Length and Transfer-Encoding"},
    {GET "Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 0, CAUSE_CODING_TWICE,
     "Transfer-Encoding is given more than once"},
    {GET "Transfer-Encoding: gzip, chunked\r\n", 0, CAUSE_CODING_OTHER, "must be chunked"},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 0, CAUSE_CODING_OLD, "HTTP/1.0"},
    {GET "Expect: 200-ok\r\n", 0, CAUSE_EXPECT_OTHER, "100-continue"},
    {GET "Host: x\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 0, CAUSE_EXPECT_TWICE,
     "Expect is given more than once"},
};

Test(guard, each_cause_has_its_own_message)
{
	char text[REASON_TEXT];
	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
		struct head head = {0};
		size_t      size = causes[i].size ? causes[i].size : strlen(causes[i].head);
		enum err    err = guard_take(&head, span_of(causes[i].head, size));
		cr_expect_eq(err, cause_err(causes[i].cause), "row %zu: %s", i, causes[i].head);
		cr_expect_eq(head.reason.cause, causes[i].cause, "row %zu: %s: %s", i, causes[i].head,
		             cause_name(head.reason.cause));
		reason_text(&head.reason, text);
		cr_expect(strstr(text, causes[i].word), "row %zu: %s: %s", i, causes[i].word, text);
	}
}

#define REST " HTTP/1.1\r\nHost: x\r\nAuthorization: k\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"

Test(guard, a_target_in_absolute_form_becomes_one_in_origin_form)
{
	static const struct {
		const char *target, *want, *path;
	} rows[] = {
	    {"/v1/a?b", "/v1/a?b", "/v1/a"},
	    {"http://x/v1/a", "/v1/a", "/v1/a"},
	    {"http://x/v1/a?b=http://y/c", "/v1/a?b=http://y/c", "/v1/a"},
	    {"HTTPS://shop.example:8443/v1/a?b", "/v1/a?b", "/v1/a"},
	    {"hTTp://[::1]:80/%2Fa", "/%2Fa", "/%2Fa"},
	    {"https://[2001:db8::1]/a", "/a", "/a"},
	    {"http://10.0.0.1", "/", "/"},
	    {"http://x:", "/", "/"},
	    {"http://x/", "/", "/"},
	    {"http://x?a=/b", "/?a=/b", "/"},
	    {"http://x?", "/?", "/"},
	    {"http://x//a", "//a", "//a"},
	    {"http://x/http://y/a", "/http://y/a", "/http://y/a"},
	    {"http://a%20b/c", "/c", "/c"},
	};
	static const char *const methods[] = {"GET ", "\r\nPOST ", "OPTIONS "};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t j = 0; j < sizeof methods / sizeof *methods; j++) {
			char        bytes[512], want[512];
			struct head head = {0}, plain = {0};
			snprintf(bytes, sizeof bytes, "%s%s" REST "body", methods[j], rows[i].target);
			snprintf(want, sizeof want, "%s%s" REST "body", methods[j], rows[i].want);
			cr_assert_eq(guard_take(&head, span_str(bytes)), OK, "%s", bytes);
			size_t shift = guard_to_origin(&head, (uint8_t *)bytes);
			cr_expect_str_eq(bytes + shift, want);
			cr_assert_eq(guard_take(&plain, span_str(want)), OK);
			cr_expect_eq(head.size, plain.size);
			cr_expect_eq(head.path_at, plain.path_at);
			cr_expect(span_is(span_of(want + head.path_at, head.path_size), rows[i].path), "%s",
			          bytes);
			cr_expect_eq(head.authorization_at, plain.authorization_at);
			cr_expect_eq(memcmp(head.hidden, plain.hidden, sizeof head.hidden), 0);
			cr_expect_eq(guard_to_origin(&head, (uint8_t *)bytes + shift), 0, "once");
		}
}

Test(guard, every_other_form_of_a_target_is_refused)
{
	static const char *const targets[] = {
	    "*",
	    "x",
	    "x:443",
	    "v1/a",
	    "?a",
	    "//",
	    "http:/x/a",
	    "http:///a",
	    "http://",
	    "http://?a",
	    "http://:80/a",
	    "http://u@x/a",
	    "http://u:p@x/a",
	    "http://@x/a",
	    "http://x:8o/a",
	    "http://x:-1/a",
	    "http://x:80:80/a",
	    "http://x,y/a",
	    "http://x#a",
	    "http://x\\a",
	    "http://x\\@y/a",
	    "http://\xc3\xa9/a",
	    "http://[::1/a",
	    "http://[]/a",
	    "http://[::1]x/a",
	    "http://::1/a",
	    "http://a]/b",
	    "http://a[b/c",
	    "http://<x>/a",
	    "ftp://x/a",
	    "httpx://x/a",
	    "http",
	    "https:",
	    "ws://x/a",
	    "file:///a",
	    "http://x/a\x7f",
	    "http://x\x01/a",
	    "xhttp://x/a",
	    "http//x/a",
	    "javascript:1",
	};
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		char     head[128];
		enum err want = span_is(span_str(targets[i]), "//") ? OK : ERR_INVALID_REQUEST;
		snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", targets[i]);
		cr_expect_eq(guard_head(span_str(head)), want, "%s", targets[i]);
	}
}

/* The verdict and the end of the head do not depend on the division into pieces. */
static void expect_same_in_pieces(struct span bytes)
{
	struct head whole = {0};
	enum err    want = guard_take(&whole, bytes);
	for (size_t step = 1; step < bytes.size; step++) {
		struct head head = {0};
		enum err    got = OK;
		for (size_t come = step; !got && !head.size; come += step) {
			got = guard_take(&head, span_of(bytes.at, come < bytes.size ? come : bytes.size));
			if (come >= bytes.size) break;
		}
		cr_expect_eq(got, want, "%.*s in pieces of %zu", (int)bytes.size, (const char *)bytes.at,
		             step);
		cr_expect_eq(head.reason.cause, whole.reason.cause, "%.*s in pieces of %zu", (int)bytes.size,
		             (const char *)bytes.at, step);
		cr_expect_eq(head.size, whole.size, "%.*s in pieces of %zu", (int)bytes.size,
		             (const char *)bytes.at, step);
	}
}

Test(guard, any_division_into_pieces_has_the_same_result)
{
	static const char *const heads[] = {
	    GET "Host: x\r\nA: b\r\n\r\nbody\n",
	    "\r\n" GET "Host: x\r\n\r\n",
	    GET "Host: x\r\nA b: c\r\n\r\n",
	    GET "Host: x\r\nA: b\n\r\n",
	    GET "Host: x\r\n",
	    "GET http://x?a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
	    "GET http://x@y/ HTTP/1.1\r\nHost: x\r\n\r\n",
	    "GET /\r\n\r\n",
	    "\x16\x03\x01 ",
	    "\r\n\r\n" GET,
	    GET "Host: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
	};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		expect_same_in_pieces(span_str(heads[i]));
}

Test(guard, returns_the_framing_of_the_body)
{
	struct head head = {0};
	struct span bytes = span_str(
	    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:  0017\t\r\nExpect: 100-Continue\r\n\r\n");
	cr_assert_eq(guard_take(&head, bytes), OK);
	cr_expect(head.has_length && !head.chunked && head.expects);
	cr_expect_eq(head.length, 17);
	cr_expect_eq(head.hidden_count, 2);
	cr_expect(memcmp(bytes.at + head.hidden[0], "Content-Length", 14) == 0);
	cr_expect(memcmp(bytes.at + head.hidden[1], "Expect", 6) == 0);
	head = (struct head){0};
	bytes = span_str("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:Chunked\r\n\r\n");
	cr_assert_eq(guard_take(&head, bytes), OK);
	cr_expect(head.chunked && !head.has_length && !head.expects);
	cr_expect_eq(head.hidden_count, 1);
	head = (struct head){0};
	cr_assert_eq(guard_take(&head, span_str("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")), OK);
	cr_expect_not(head.expects, "HTTP/1.0 has no interim answers");
}

/* A head whose target or only header has `fill` letters. Beyond the limit the message names it. */
static enum err guard_filled(const char *before, size_t fill, const char *after)
{
	struct head   taken = {0};
	struct buffer head = {0};
	buffer_text(&head, before);
	for (size_t i = 0; i < fill; i++)
		buffer_byte(&head, 'a');
	buffer_text(&head, after);
	enum err err = guard_take(&taken, buffer_span(&head));
	if (err == ERR_URI_TOO_LONG) cr_expect_eq(taken.reason.most, URI_BYTES_MAX);
	if (err == ERR_HEAD_TOO_LARGE) cr_expect_eq(taken.reason.most, HEAD_BYTES_MAX);
	buffer_free(&head);
	return err;
}

Test(guard, too_many_headers_are_counted)
{
	struct buffer text = {0};
	struct head   head = {0};
	buffer_text(&text, GET);
	for (int i = 0; i <= HEADERS_MAX; i++)
		buffer_text(&text, "A: b\r\n");
	cr_assert_eq(guard_take(&head, buffer_span(&text)), ERR_HEAD_TOO_LARGE);
	buffer_free(&text);
	cr_expect_eq(head.reason.cause, CAUSE_HEADERS_MANY);
	cr_expect_eq(head.reason.most, HEADERS_MAX);
}

Test(guard, targets_and_heads_have_limits)
{
	static const char end[] = " HTTP/1.1\r\nHost: x\r\n\r\n", head[] = GET "Host: x\r\nA: ";
	cr_expect_eq(guard_filled("GET /", URI_BYTES_MAX - 1, end), OK);
	cr_expect_eq(guard_filled("GET /", URI_BYTES_MAX, end), ERR_URI_TOO_LONG);
	cr_expect_eq(guard_filled("GET /", 2 * HEAD_BYTES_MAX, end), ERR_URI_TOO_LONG);
	cr_expect_eq(guard_filled("GET http://x/", URI_BYTES_MAX - 9, end), OK, "the authority counts too");
	cr_expect_eq(guard_filled("GET http://x/", URI_BYTES_MAX - 8, end), ERR_URI_TOO_LONG);
	cr_expect_eq(guard_filled("GET http://", 2 * HEAD_BYTES_MAX, end), ERR_URI_TOO_LONG);
	size_t room = HEAD_BYTES_MAX - (sizeof head - 1) - 4;
	cr_expect_eq(guard_filled(head, room, "\r\n\r\n"), OK);
	cr_expect_eq(guard_filled(head, room + 1, "\r\n\r\n"), ERR_HEAD_TOO_LARGE);
	cr_expect_eq(guard_filled(head, room, "\r\n\r\nbody"), OK, "the body does not count");
}

/* The guard reads eight bytes at a time where it can. */
Test(guard, a_control_character_is_found_in_every_position)
{
	enum { FILL = 24 };
	static const char before[] = "GET / HTTP/1.1\r\nHost: x\r\nX-A:";
	char              text[sizeof before + FILL + 4];
	for (unsigned c = 0; c < 256; c++)
		for (unsigned at = 0; at < FILL; at++) {
			bool allowed = c == '\t' || (c >= ' ' && c != 0x7f);
			memcpy(text, before, sizeof before - 1);
			memset(text + sizeof before - 1, 'a', FILL);
			text[sizeof before - 1 + at] = (char)c;
			memcpy(text + sizeof before - 1 + FILL, "\r\n\r\n", 4);
			enum err err = guard_head(span_of(text, sizeof before - 1 + FILL + 4));
			cr_expect_eq(err, allowed ? OK : ERR_INVALID_REQUEST, "byte %u at %u", c, at);
		}
}
