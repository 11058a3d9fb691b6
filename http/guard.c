/* The guard: reads the raw head of a request strictly, before any parser sees it.
 *
 * The packaged h2o reads HTTP/1 leniently: bare line feeds, folded headers, two lengths, a length beside a chunked body, no or
 * two Host headers. If a proxy in front reads the same bytes differently, one client can smuggle text into another client's
 * requests. So each head is checked here line by line, and h2o gets only heads with one reading. Pure: bytes in, verdict out. */
#include "http/guard.h"
#include "schemas/limits.h"
#include "schemas/plain_run.h"

#include <strings.h>

enum { METHOD_BYTES_MAX = 32, LENGTH_DIGITS_MAX = 19 };

static const struct span nothing = {NULL, 0};

/* What a byte may be part of. */
enum { TOKEN = 1, HOST = 2 };
static const uint8_t kinds[256] = {
    ['0' ... '9'] = TOKEN | HOST,
    ['A' ... 'Z'] = TOKEN | HOST,
    ['a' ... 'z'] = TOKEN | HOST,
    ['!'] = TOKEN | HOST,
    ['$'] = TOKEN | HOST,
    ['%'] = TOKEN | HOST,
    ['&'] = TOKEN | HOST,
    ['\''] = TOKEN | HOST,
    ['*'] = TOKEN | HOST,
    ['+'] = TOKEN | HOST,
    ['-'] = TOKEN | HOST,
    ['.'] = TOKEN | HOST,
    ['_'] = TOKEN | HOST,
    ['~'] = TOKEN | HOST,
    ['#'] = TOKEN,
    ['^'] = TOKEN,
    ['`'] = TOKEN,
    ['|'] = TOKEN,
    ['('] = HOST,
    [')'] = HOST,
    [':'] = HOST,
    [';'] = HOST,
    ['='] = HOST,
    ['['] = HOST,
    [']'] = HOST,
};

static bool is_made_of(struct span text, uint8_t kind)
{
	for (size_t i = 0; i < text.size; i++)
		if (!(kinds[text.at[i]] & kind)) return false;
	return true;
}

static bool is_token(struct span text)
{
	return text.size > 0 && is_made_of(text, TOKEN);
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* --- the request line --- */

/* Printable. Percent-encoded bytes are left to the route: a %00 matches nothing. */
static bool is_printable(struct span target)
{
	for (size_t i = 0; i < target.size; i++)
		if (target.at[i] <= ' ' || target.at[i] == 0x7f) return false;
	return true;
}

static size_t find(struct span text, const char *any)
{
	size_t at = 0;
	while (at < text.size && !strchr(any, text.at[at]))
		at++;
	return at;
}

/* A non-empty host and an optional port, without user information. */
static bool is_authority(struct span text)
{
	bool   bracket = text.size && text.at[0] == '[';
	size_t size = find(text, bracket ? "]" : ":[]");
	if (bracket && size == text.size) return false;
	struct span host = span_of(text.at + bracket, size - bracket);
	struct span rest = span_of(text.at + size + bracket, text.size - size - bracket);
	if (host.size == 0 || !is_made_of(host, HOST)) return false;
	if (rest.size && rest.at[0] != ':') return false;
	for (size_t i = 1; i < rest.size; i++)
		if (rest.at[i] < '0' || rest.at[i] > '9') return false;
	return true;
}

/* Refuses the head; `what` names the offending part, or nothing. */
static enum err refuse(struct head *head, enum cause cause, struct span what)
{
	head->reason.cause = cause;
	head->reason.field = what;
	return cause_err(cause);
}

static enum err refuse_beyond(struct head *head, enum cause cause, int64_t most)
{
	head->reason.most = most;
	return refuse(head, cause, nothing);
}

/* Bytes of the target before its path; 0 in origin form. CAUSE_NONE: the target has one of the two forms. */
static enum cause measure_authority(struct span target, size_t *size)
{
	static const char *const schemes[] = {"http://", "https://"};
	*size = 0;
	if (target.size && target.at[0] == '/') return CAUSE_NONE;
	for (unsigned i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		size_t scheme = strlen(schemes[i]);
		if (target.size < scheme || !span_is_caseless(span_of(target.at, scheme), schemes[i]))
			continue;
		struct span rest = span_of(target.at + scheme, target.size - scheme);
		rest.size = find(rest, "/?");
		*size = scheme + rest.size;
		return is_authority(rest) ? CAUSE_NONE : CAUSE_TARGET_HOST;
	}
	return CAUSE_TARGET_FORM;
}

static enum err take_target(struct head *head, struct span target, size_t at)
{
	size_t excess;
	if (target.size > URI_BYTES_MAX) return refuse_beyond(head, CAUSE_TARGET_LONG, URI_BYTES_MAX);
	if (!is_printable(target)) return refuse(head, CAUSE_TARGET_BLANK, nothing);
	enum cause cause = measure_authority(target, &excess);
	if (cause) return refuse(head, cause, nothing);
	struct span rest = span_of(target.at + excess, target.size - excess);
	head->front = (uint16_t)at;
	head->excess = (uint16_t)excess;
	head->path_at = (uint16_t)(at + excess);
	head->path_size = (uint16_t)find(rest, "?");
	return OK;
}

static enum err take_request_line(struct head *head, struct span line)
{
	const uint8_t *space = line.size ? memchr(line.at, ' ', line.size) : NULL;
	if (!space && line.size <= METHOD_BYTES_MAX)
		return refuse(head, line.size ? CAUSE_LINE_FORM : CAUSE_LINE_EMPTY, nothing);
	struct span method = space ? span_of(line.at, (size_t)(space - line.at)) : line;
	if (method.size > METHOD_BYTES_MAX || !is_token(method))
		return refuse_beyond(head, CAUSE_LINE_METHOD, METHOD_BYTES_MAX);
	if (span_is(method, "PROXY")) return refuse(head, CAUSE_LINE_PROXY, nothing);
	struct span    rest = span_of(space + 1, line.size - method.size - 1);
	const uint8_t *end = rest.size ? memchr(rest.at, ' ', rest.size) : NULL;
	if (!end) return refuse(head, CAUSE_LINE_FORM, nothing);
	struct span target = span_of(rest.at, (size_t)(end - rest.at));
	struct span version = span_of(end + 1, rest.size - target.size - 1);
	head->old = span_is(version, "HTTP/1.0");
	if (!head->old && !span_is(version, "HTTP/1.1")) {
		bool is_one_word = target.size && version.size && !memchr(version.at, ' ', version.size);
		return refuse(head, is_one_word ? CAUSE_LINE_VERSION : CAUSE_LINE_FORM, nothing);
	}
	head->has_request_line = true;
	return take_target(head, target, head->line + method.size + 1);
}

size_t guard_to_origin(struct head *head, uint8_t *input)
{
	size_t shift = head->excess;
	if (shift == 0) return 0;
	if (head->path_size == 0) {
		input[--head->path_at] = '/';
		head->path_size = 1;
		shift--;
	}
	memmove(input + shift, input, head->front);
	head->excess = 0;
	head->size -= shift;
	head->path_at -= (uint16_t)shift;
	if (head->authorizations) head->authorization_at -= (uint16_t)shift;
	for (unsigned i = 0; i < head->hidden_count; i++)
		head->hidden[i] -= (uint16_t)shift;
	return shift;
}

/* --- headers --- */

struct span guard_trim(struct span value)
{
	while (value.size && is_blank(value.at[0]))
		value = span_of(value.at + 1, value.size - 1);
	while (value.size && is_blank(value.at[value.size - 1]))
		value.size--;
	return value;
}

enum cause guard_field(struct span line, struct span *name, struct span *value)
{
	const uint8_t *colon = line.size ? memchr(line.at, ':', line.size) : NULL;
	*name = colon ? span_of(line.at, (size_t)(colon - line.at)) : nothing;
	if (line.size && is_blank(line.at[0])) return CAUSE_FIELD_FOLDED;
	if (!colon) return CAUSE_FIELD_COLON;
	if (name->size == 0) return CAUSE_FIELD_NAMELESS;
	if (is_blank(name->at[name->size - 1])) return CAUSE_FIELD_BLANK;
	if (!is_token(*name)) return CAUSE_FIELD_NAME;
	*value = guard_trim(span_of(colon + 1, line.size - name->size - 1));
	return CAUSE_NONE;
}

/* Digits only. A number too long for any body is refused, not cut. */
static enum err take_length(struct head *head, struct span value)
{
	bool is_number = value.size > 0 && value.size <= LENGTH_DIGITS_MAX;
	head->length = 0;
	for (size_t i = 0; i < value.size && is_number; i++) {
		is_number = value.at[i] >= '0' && value.at[i] <= '9';
		head->length = head->length * 10 + (uint64_t)(value.at[i] - '0');
	}
	if (!is_number) return refuse_beyond(head, CAUSE_LENGTH_FORM, LENGTH_DIGITS_MAX);
	head->has_length = true;
	return OK;
}

static void hide(struct head *head, size_t line)
{
	if (head->hidden_count < sizeof head->hidden / sizeof *head->hidden)
		head->hidden[head->hidden_count++] = (uint16_t)line;
}

static enum err take_field(struct head *head, struct span line)
{
	struct span name, value;
	enum cause  cause = guard_field(line, &name, &value);
	head->reason.least = head->headers + 1;
	if (cause) return refuse(head, cause, name);
	if (++head->headers > HEADERS_MAX) return refuse_beyond(head, CAUSE_HEADERS_MANY, HEADERS_MAX);
	if (span_is_caseless(name, "host")) {
		/* A name or address and an optional port, without characters that a proxy could take for the end
		 * of the host. Some clients without a name send an empty value; it is allowed. */
		head->hosts++;
		return is_made_of(value, HOST) ? OK : refuse(head, CAUSE_HOST_FORM, nothing);
	}
	if (span_is_caseless(name, "content-length")) {
		head->lengths++;
		hide(head, head->line);
		return take_length(head, value);
	}
	if (span_is_caseless(name, "transfer-encoding")) {
		head->encodings++;
		hide(head, head->line);
		head->chunked = span_is_caseless(value, "chunked");
		return head->chunked ? OK : refuse(head, CAUSE_CODING_OTHER, nothing);
	}
	if (span_is_caseless(name, "expect")) {
		head->expectations++;
		hide(head, head->line);
		return span_is_caseless(value, "100-continue") ? OK
		                                               : refuse(head, CAUSE_EXPECT_OTHER, nothing);
	}
	if (span_is_caseless(name, "authorization")) {
		head->authorizations++;
		head->authorization_at = (uint16_t)(head->line + (size_t)(value.at - line.at));
		head->authorization_size = (uint16_t)value.size;
	}
	return OK;
}

/* --- lines --- */

static enum cause judge_fields(const struct head *head)
{
	if (head->lengths && head->encodings) return CAUSE_LENGTH_CODED;
	if (head->lengths > 1) return CAUSE_LENGTH_TWICE;
	if (head->encodings > 1) return CAUSE_CODING_TWICE;
	if (head->encodings && head->old) return CAUSE_CODING_OLD;
	if (head->expectations > 1) return CAUSE_EXPECT_TWICE;
	if (head->hosts > 1) return CAUSE_HOST_TWICE;
	return head->hosts == 0 && !head->old ? CAUSE_HOST_MISSING : CAUSE_NONE;
}

static enum err end_head(struct head *head, size_t size)
{
	enum cause cause = judge_fields(head);
	if (cause) return refuse(head, cause, nothing);
	head->expects = head->expectations && !head->old;
	head->size = size;
	return OK;
}

/* Takes the line from head->line to `end`, where its CR LF is. */
static enum err take_line(struct head *head, struct span input, size_t end)
{
	struct span line = span_of(input.at + head->line, end - head->line);
	enum err    err = OK;
	if (end + 2 > HEAD_BYTES_MAX && head->has_request_line)
		return refuse_beyond(head, CAUSE_HEAD_LARGE, HEAD_BYTES_MAX);
	if (!head->has_request_line) {
		/* All readers accept one empty line before a request (RFC 9112, 2.2), so it is harmless. */
		if (line.size > 0 || head->line > 0) err = take_request_line(head, line);
	} else if (line.size == 0) {
		err = end_head(head, end + 2);
	} else {
		err = take_field(head, line);
	}
	head->line = end + 2;
	return err;
}

/* What an incomplete line already shows: it is too long, or is no request line. */
static enum err judge_rest(struct head *head, struct span input)
{
	struct span rest = span_of(input.at + head->line, input.size - head->line);
	if (head->has_request_line)
		return input.size > HEAD_BYTES_MAX ? refuse_beyond(head, CAUSE_HEAD_LARGE, HEAD_BYTES_MAX)
		                                   : OK;
	size_t some = rest.size < METHOD_BYTES_MAX + 1 ? rest.size : METHOD_BYTES_MAX + 1;
	bool   begun = some && memchr(rest.at, ' ', some);
	if (!begun && some > METHOD_BYTES_MAX)
		return refuse_beyond(head, CAUSE_LINE_METHOD, METHOD_BYTES_MAX);
	if (rest.size > URI_BYTES_MAX + REQUEST_LINE_SLACK_BYTES)
		return refuse_beyond(head, CAUSE_TARGET_LONG, URI_BYTES_MAX);
	return OK;
}

/* Refuses a byte that must not be in a head. */
static enum err refuse_byte(struct head *head, uint8_t c)
{
	enum { TLS_HANDSHAKE = 0x16 }; /* RFC 8446, 5.1: first byte of a TLS connection */
	bool is_tls = c == TLS_HANDSHAKE && head->seen == 0;
	head->reason.least = c;
	head->reason.most = (int64_t)head->seen;
	if (c == '\r') return refuse(head, CAUSE_HEAD_RETURN, nothing);
	if (c == '\n') return refuse(head, CAUSE_HEAD_FEED, nothing);
	return refuse(head, is_tls ? CAUSE_HEAD_TLS : CAUSE_HEAD_CONTROL, nothing);
}

enum err guard_take(struct head *head, struct span input)
{
	while (head->seen < input.size && !head->size) {
		struct span rest = span_of(input.at + head->seen, input.size - head->seen);
		head->seen += plain_run(rest, 0x7f, 0x7f);
		if (head->seen == input.size) break;
		uint8_t c = input.at[head->seen];
		if (c == '\t') {
			head->seen++;
			continue;
		}
		if (c != '\r') return refuse_byte(head, c);
		if (head->seen + 1 == input.size) break;
		if (input.at[head->seen + 1] != '\n') return refuse_byte(head, c);
		enum err err = take_line(head, input, head->seen);
		if (err) return err;
		head->seen = head->line;
	}
	return head->size ? OK : judge_rest(head, input);
}

enum err guard_head(struct span input)
{
	struct head head = {0};
	enum err    err = guard_take(&head, input);
	return err || head.size ? err : ERR_INVALID_REQUEST;
}
