/* http/chunks.h: decoding of chunked bodies in any division into pieces, and refused forms. */
#include "http/chunks.h"
#include "schemas/buffer.h"

#include <criterion/criterion.h>

static enum cause refused; /* set by the last decode(), for this */

/* Decodes `text` in pieces of `step` bytes. `out` gets the body, `*taken` the number of bytes used. */
static enum err decode(const char *text, size_t step, struct buffer *out, size_t *taken)
{
	struct chunks chunks = {0};
	size_t        size = strlen(text), come = 0;
	*taken = 0;
	buffer_clear(out);
	while (come < size && chunks.state != CHUNK_DONE) {
		size_t used, made;
		come = come + step < size ? come + step : size;
		uint8_t *room = buffer_reserve(out, size);
		cr_assert(room);
		enum err err = chunks_decode(&chunks, span_of(text + *taken, come - *taken), room, &used,
		                             &made);
		refused = chunks.reason.cause;
		cr_expect_eq(err, cause_err(refused));
		if (err) return err;
		*taken += used;
		out->size += made;
	}
	return chunks.state == CHUNK_DONE ? OK : ERR_WOULD_BLOCK;
}

Test(chunks, bodies_are_decoded_in_any_pieces)
{
	static const struct {
		const char *text, *body;
		size_t      behind; /* bytes after the body */
	} rows[] = {
	    {"0\r\n\r\n", "", 0},
	    {"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
	    {"1\r\na\r\n2\r\nbc\r\n000\r\n\r\nGET /", "abc", 5},
	    {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n\r\n", "01234567890123456789", 2},
	    {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", 0},
	    {"2;a=b;c=\"d\"\r\nxy\r\n0;e\r\nX: y\r\nZ:\r\n\r\n5\r\n", "xy", 3},
	};
	struct buffer out = {0};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t step = 1; step <= strlen(rows[i].text); step++) {
			size_t taken;
			cr_expect_eq(decode(rows[i].text, step, &out, &taken), OK, "row %zu step %zu", i,
			             step);
			cr_expect(span_is(buffer_span(&out), rows[i].body), "row %zu step %zu", i, step);
			cr_expect_eq(strlen(rows[i].text) - taken, rows[i].behind, "row %zu step %zu", i,
			             step);
		}
	buffer_free(&out);
}

Test(chunks, invalid_forms_are_refused_in_any_pieces)
{
	static const struct {
		const char *text;
		enum cause  cause;
	} rows[] = {
	    {"\r\n\r\n", CAUSE_CHUNK_SIZE},
	    {"x\r\n", CAUSE_CHUNK_SIZE},
	    {"-1\r\nx\r\n", CAUSE_CHUNK_SIZE},
	    {"+1\r\nx\r\n", CAUSE_CHUNK_SIZE},
	    {" 1\r\nx\r\n", CAUSE_CHUNK_SIZE},
	    {"0x1\r\nx\r\n", CAUSE_CHUNK_SIZE},
	    {"1 \r\nx\r\n", CAUSE_CHUNK_SIZE},
	    {"1\nx\r\n", CAUSE_CHUNK_LINE_END},
	    {"1\r\nx\n0\r\n\r\n", CAUSE_CHUNK_END},
	    {"1\r\nxy\r\n0\r\n\r\n", CAUSE_CHUNK_END},
	    {"1\r\nx0\r\n\r\n", CAUSE_CHUNK_END},
	    {"1;\x01\r\nx\r\n", CAUSE_CHUNK_CONTROL},
	    {"1;a\nb\r\nx\r\n", CAUSE_CHUNK_LINE_END},
	    {"1;a\rb\r\nx\r\n", CAUSE_CHUNK_LINE_END},
	    {"1234567890abcdef\r\n", CAUSE_CHUNK_DIGITS},
	    {"0\r\nX y: z\r\n\r\n", CAUSE_TRAILER_FORM},
	    {"0\r\nX\r\n\r\n", CAUSE_TRAILER_FORM},
	    {"0\r\n folded\r\n\r\n", CAUSE_TRAILER_FORM},
	    {"0\r\nX: y\n\r\n", CAUSE_CHUNK_LINE_END},
	    {"0\r\n\n", CAUSE_CHUNK_LINE_END},
	    {"0\n\r\n", CAUSE_CHUNK_LINE_END},
	    {"0\r\n\rx", CAUSE_CHUNK_LINE_END},
	};
	struct buffer out = {0};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t step = 1; step <= strlen(rows[i].text); step++) {
			size_t taken;
			cr_expect_eq(decode(rows[i].text, step, &out, &taken), ERR_INVALID_REQUEST,
			             "row %zu step %zu", i, step);
			cr_expect_eq(refused, rows[i].cause, "row %zu step %zu: %s", i, step,
			             cause_name(refused));
		}
	buffer_free(&out);
}

Test(chunks, lines_and_trailers_have_limits)
{
	static const char *const begins[] = {"1;", "0\r\nX: "}, *const fill[] = {"x", "x\r\nX: "};
	struct buffer text = {0}, out = {0};
	for (size_t begin = 0; begin < 2; begin++)
		for (size_t kind = 0; kind <= begin; kind++) {
			size_t taken;
			buffer_clear(&text);
			buffer_text(&text, begins[begin]);
			while (text.size < 6000)
				buffer_text(&text, fill[kind]);
			buffer_byte(&text, '\0');
			cr_expect_eq(decode((char *)text.at, 7, &out, &taken), ERR_INVALID_REQUEST, "%zu %zu",
			             begin, kind);
			cr_expect_eq(refused, begin ? CAUSE_TRAILER_LARGE : CAUSE_CHUNK_LINE_LONG);
		}
	buffer_free(&text);
	buffer_free(&out);
}

Test(chunks, decoding_is_in_place)
{
	char          bytes[] = "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
	struct chunks chunks = {0};
	size_t        taken, made;
	cr_expect_eq(chunks_decode(&chunks, span_str(bytes), (uint8_t *)bytes, &taken, &made), OK);
	cr_expect_eq(taken, sizeof bytes - 1);
	cr_expect(span_is(span_of(bytes, made), "abcdefg"));
}
