/* http/guard.h compared with h2o's parser. A head that the guard accepts must have only one meaning: the
 * parser finds the same end of the head in any division into reads, and a strict parse of the body's length
 * agrees with h2o's. */
#include "tests/fuzz/fuzz.h"

#include "http/guard.h"
#include "schemas/json.h"
#include "schemas/limits.h"

#include <h2o.h>
#include <strings.h>

enum { SPLITS = 12 };

/* The parser's own declarations; its header is not installed, its functions are. */
struct phr_header {
	const char *name;
	size_t      name_len;
	const char *value;
	size_t      value_len;
};
struct phr_request {
	const char       *method, *path;
	size_t            method_len, path_len, header_count;
	int               minor_version;
	struct phr_header headers[HEADERS_MAX];
};
typedef int     parse_fn(const char *, size_t, const char **, size_t *, const char **, size_t *, int *,
                         struct phr_header *, size_t *, size_t);
extern parse_fn phr_parse_request;

enum { NOT_YET = -2, REFUSED = -1 };

/* `seen` bytes were available at the last try. Returns the head's size, NOT_YET or REFUSED. */
static int parse(struct span input, size_t seen, struct phr_request *request)
{
	request->header_count = HEADERS_MAX;
	return phr_parse_request((const char *)input.at, input.size, &request->method, &request->method_len,
	                         &request->path, &request->path_len, &request->minor_version,
	                         request->headers, &request->header_count, seen);
}

static bool is_named(const struct phr_header *header, const char *name)
{
	return header->name && header->name_len == strlen(name) &&
	       !strncasecmp(header->name, name, header->name_len);
}

/* As h2o reads it: the last of the two headers counts, and neither means an empty body. */
struct length {
	bool   chunked, refused;
	size_t bytes;
};

static struct length length_of_h2o(const struct phr_request *request)
{
	struct length length = {.bytes = 0};
	for (size_t i = 0; i < request->header_count; i++) {
		const struct phr_header *header = &request->headers[i];
		if (is_named(header, "transfer-encoding")) {
			length.chunked = header->value_len == 7 && !strncasecmp(header->value, "chunked", 7);
			length.refused = !length.chunked;
		} else if (is_named(header, "content-length") && !length.chunked) {
			length.bytes = h2o_strtosize(header->value, header->value_len);
			length.refused = length.bytes == SIZE_MAX;
		}
	}
	return length;
}

static struct span trimmed(struct span text)
{
	while (text.size && (text.at[0] == ' ' || text.at[0] == '\t'))
		text = span_of(text.at + 1, text.size - 1);
	while (text.size && (text.at[text.size - 1] == ' ' || text.at[text.size - 1] == '\t'))
		text.size--;
	return text;
}

static struct length length_of_digits(struct span value)
{
	struct length length = {.refused = value.size == 0};
	for (size_t i = 0; i < value.size; i++) {
		bool digit = value.at[i] >= '0' && value.at[i] <= '9';
		if (!digit || __builtin_mul_overflow(length.bytes, (size_t)10, &length.bytes) ||
		    __builtin_add_overflow(length.bytes, (size_t)(value.at[i] - '0'), &length.bytes))
			return (struct length){.refused = true};
	}
	return length;
}

static bool line_is_named(struct span line, const char *name)
{
	size_t size = strlen(name);
	return line.size > size && line.at[size] == ':' && !strncasecmp((const char *)line.at, name, size);
}

/* A strict parse, by lines and without the parser above; two headers about the length are an error. */
static struct length length_by_lines(struct span head)
{
	struct length length = {.bytes = 0};
	unsigned      told = 0;
	bool          request_line = true;
	if (!memcmp(head.at, "\r\n", 2)) head = span_of(head.at + 2, head.size - 2);
	for (; head.size; request_line = false) {
		const uint8_t *end = memchr(head.at, '\n', head.size);
		struct span    line = span_of(head.at, (size_t)(end - head.at));
		head = span_of(end + 1, head.size - line.size - 1);
		if (!line.size || line.at[line.size - 1] != '\r') return (struct length){.refused = true};
		line.size--;
		bool is_length = line_is_named(line, "content-length");
		if (request_line || (!is_length && !line_is_named(line, "transfer-encoding"))) continue;
		size_t      name = (size_t)((const uint8_t *)memchr(line.at, ':', line.size) - line.at);
		struct span value = trimmed(span_of(line.at + name + 1, line.size - name - 1));
		if (told++) return (struct length){.refused = true};
		if (is_length) length = length_of_digits(value);
		if (!is_length)
			length.chunked = value.size == 7 &&
			                 !strncasecmp((const char *)value.at, "chunked", 7);
		if (!is_length) length.refused = !length.chunked;
	}
	return length;
}

/* The end of an accepted head: the first empty line that is not its first line. */
static size_t end_of_head(struct span input)
{
	size_t         skip = input.size >= 2 && !memcmp(input.at, "\r\n", 2) ? 2 : 0;
	const uint8_t *end = memmem(input.at + skip, input.size - skip, "\r\n\r\n", 4);
	must(end != NULL);
	return (size_t)(end - input.at) + 4;
}

/* Division into reads: exactly the same heads are accepted, and the parser agrees. */
static void check_splits(struct span input, size_t head, int whole)
{
	struct phr_request request;
	for (size_t i = 0; i < SPLITS; i++) {
		size_t at = i < 4 ? head - i : (head * i + i * i) % (input.size + 1);
		must((guard_head(span_of(input.at, at)) == OK) == (at >= head));
		int first = parse(span_of(input.at, at), 0, &request);
		if (at >= head) {
			must(first == whole);
		} else if (first == NOT_YET) {
			must(parse(input, at, &request) == whole);
		} else {
			must(first == REFUSED && whole == REFUSED);
		}
	}
}

/* The head passed to h2o has a path as its target, is valid like any other, and has the same end. */
static void check_origin(struct span input, size_t size)
{
	static uint8_t bytes[HEAD_BYTES_MAX];
	struct head    head = {0}, again = {0};
	memcpy(bytes, input.at, size);
	must(guard_take(&head, span_of(bytes, size)) == OK && head.size == size);
	size_t shift = guard_to_origin(&head, bytes);
	must(shift < size && head.size == size - shift && bytes[shift + head.path_at] == '/');
	must(guard_take(&again, span_of(bytes + shift, head.size)) == OK && again.size == head.size);
	must(again.excess == 0 && again.path_at == head.path_at && again.path_size == head.path_size);
}

/* A refusal has a message, which is text. */
static void check_reason(struct span input, enum err verdict)
{
	struct head head = {0};
	char        text[REASON_TEXT];
	if (guard_take(&head, input) == OK) return;
	reason_text(&head.reason, text);
	must(cause_err(head.reason.cause) == verdict && utf8_is_valid(span_str(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct span        input = span_of(bytes, size);
	struct phr_request request;
	enum err           verdict = guard_head(input);
	int                whole = parse(input, 0, &request);
	must(verdict == OK || verdict == ERR_INVALID_REQUEST || verdict == ERR_URI_TOO_LONG ||
	     verdict == ERR_HEAD_TOO_LARGE);
	/* The guard runs when the parser has seen a whole head: later bytes must not matter. */
	if (whole > 0) must(guard_head(span_of(bytes, (size_t)whole)) == verdict);
	check_reason(input, verdict);
	if (verdict) return 0;
	size_t head = end_of_head(input);
	must(head <= HEAD_BYTES_MAX);
	must(whole == REFUSED || whole == (int)head);
	check_splits(input, head, whole);
	check_origin(input, head);
	if (whole == REFUSED) return 0;
	struct length a = length_of_h2o(&request), b = length_by_lines(span_of(bytes, head));
	must(a.refused || (!b.refused && a.chunked == b.chunked && a.bytes == b.bytes));
	return 0;
}
