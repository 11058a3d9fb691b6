/* The guard before the parser's word is believed.
 *
 * The packaged h2o reads HTTP/1 leniently: bare line feeds, folded headers, two lengths, a length beside a
 * chunked body, none or two Host headers. Behind a proxy that reads the same bytes differently, each of these
 * lets one client put words into another's mouth. h2o drops those very headers from its list, but the bytes
 * as they came are still in the connection's buffer: here they are read again, strictly. Pure: bytes in,
 * verdict out. */
#include "http/guard.h"
#include "schemas/limits.h"

#include <strings.h>

struct tally {
	bool     old; /* HTTP/1.0 */
	unsigned lengths, encodings, hosts;
};

static bool is_header(struct span line, const char *name)
{
	size_t size = strlen(name);
	return line.size > size && line.at[size] == ':' &&
	       strncasecmp((const char *)line.at, name, size) == 0;
}

/* The next line without its CR LF; false when there is none that ends so, or it holds another CR. */
static bool take_line(struct span *rest, struct span *line)
{
	const uint8_t *end = rest->size ? memchr(rest->at, '\n', rest->size) : NULL;
	if (!end || end == rest->at || end[-1] != '\r') return false;
	*line = span_of(rest->at, (size_t)(end - rest->at) - 1);
	rest->size -= (size_t)(end - rest->at) + 1;
	rest->at = end + 1;
	return line->size == 0 || !memchr(line->at, '\r', line->size);
}

/* Origin form only, and printable. What is percent-encoded is the route's to judge: a %00 names nothing. */
static bool target_is_plain(struct span target)
{
	if (target.size == 0 || target.at[0] != '/') return false;
	for (size_t i = 0; i < target.size; i++) {
		uint8_t c = target.at[i];
		if (c <= ' ' || c == 0x7f) return false;
	}
	return true;
}

static enum err check_request_line(struct span line, struct tally *tally)
{
	const uint8_t *space = line.size ? memchr(line.at, ' ', line.size) : NULL;
	if (!space || space == line.at) return ERR_INVALID_REQUEST;
	struct span    rest = span_of(space + 1, line.size - (size_t)(space + 1 - line.at));
	const uint8_t *end = rest.size ? memchr(rest.at, ' ', rest.size) : NULL;
	if (!end) return ERR_INVALID_REQUEST;
	struct span target = span_of(rest.at, (size_t)(end - rest.at));
	struct span version = span_of(end + 1, rest.size - target.size - 1);
	if (target.size > URI_BYTES_MAX) return ERR_URI_TOO_LONG;
	tally->old = span_is(version, "HTTP/1.0");
	if (!tally->old && !span_is(version, "HTTP/1.1")) return ERR_INVALID_REQUEST;
	return target_is_plain(target) ? OK : ERR_INVALID_REQUEST;
}

static enum err check_header(struct span line, struct tally *tally)
{
	const uint8_t *colon = memchr(line.at, ':', line.size);
	if (!colon || colon == line.at || line.at[0] == ' ' || line.at[0] == '\t') return ERR_INVALID_REQUEST;
	tally->lengths += is_header(line, "content-length");
	tally->encodings += is_header(line, "transfer-encoding");
	tally->hosts += is_header(line, "host");
	return OK;
}

enum err guard_head(struct span input)
{
	struct tally tally = {0};
	struct span  rest = input, line;
	/* One empty line before a request is tolerated by every reader (RFC 9112, 2.2), so it is no trick. */
	if (rest.size >= 2 && memcmp(rest.at, "\r\n", 2) == 0) rest = span_of(rest.at + 2, rest.size - 2);
	if (!take_line(&rest, &line)) return ERR_INVALID_REQUEST;
	enum err err = check_request_line(line, &tally);
	while (!err) {
		if (!take_line(&rest, &line)) return ERR_INVALID_REQUEST;
		if ((size_t)(rest.at - input.at) > HEAD_BYTES_MAX) return ERR_HEAD_TOO_LARGE;
		if (line.size == 0) break;
		err = check_header(line, &tally);
	}
	if (err) return err;
	if (tally.lengths + tally.encodings > 1) return ERR_INVALID_REQUEST;
	if (tally.encodings && tally.old) return ERR_INVALID_REQUEST;
	if (tally.hosts > 1 || (tally.hosts == 0 && !tally.old)) return ERR_INVALID_REQUEST;
	return OK;
}
