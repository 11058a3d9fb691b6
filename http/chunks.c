/* Chunked bodies, decoded strictly.
 *
 * A lenient reader accepts "5xyz" as a size, ends a line at a bare line feed, or skips what it does not understand. Then it
 * can be made to see another end of the body than the proxy before it. Here each line ends with CR LF and has the form of the
 * standard; otherwise the request is refused. */
#include "http/chunks.h"
#include "http/guard.h"
#include "schemas/limits.h"

enum { SIZE_DIGITS_MAX = 15 };

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9') return c - '0';
	if (c >= 'a' && c <= 'f') return c - 'a' + 10;
	if (c >= 'A' && c <= 'F') return c - 'A' + 10;
	return -1;
}

static enum err refuse(struct chunks *chunks, enum cause cause, int64_t most)
{
	chunks->reason = (struct reason){.cause = cause, .most = most};
	return cause_err(cause);
}

/* A line's size without its CR LF; -1: incomplete. Control characters, including a lone CR or LF, are refused, as is a line
 * longer than `size_max`. */
static enum cause find_line(struct span bytes, size_t size_max, ptrdiff_t *size)
{
	*size = -1;
	for (size_t i = 0; i < bytes.size; i++) {
		uint8_t c = bytes.at[i];
		if (i > size_max) return CAUSE_CHUNK_LINE_LONG;
		if (c == '\r' && i + 1 == bytes.size) return CAUSE_NONE;
		if (c == '\r' && bytes.at[i + 1] == '\n') {
			*size = (ptrdiff_t)i;
			return CAUSE_NONE;
		}
		if (c == '\r' || c == '\n') return CAUSE_CHUNK_LINE_END;
		if ((c < ' ' && c != '\t') || c == 0x7f) return CAUSE_CHUNK_CONTROL;
	}
	return CAUSE_NONE;
}

static enum err take_size(struct chunks *chunks, struct span line)
{
	size_t digits = 0;
	chunks->left = 0;
	while (digits < line.size && hex_value(line.at[digits]) >= 0) {
		if (digits == SIZE_DIGITS_MAX) return refuse(chunks, CAUSE_CHUNK_DIGITS, SIZE_DIGITS_MAX);
		chunks->left = chunks->left * 16 + (uint64_t)hex_value(line.at[digits++]);
	}
	if (digits == 0 || (digits < line.size && line.at[digits] != ';'))
		return refuse(chunks, CAUSE_CHUNK_SIZE, 0);
	chunks->state = chunks->left ? CHUNK_DATA : CHUNK_TRAILER;
	return OK;
}

static enum err take_trailer(struct chunks *chunks, struct span line)
{
	struct span name, value;
	chunks->trailer += line.size + 2;
	if (chunks->trailer > TRAILER_BYTES_MAX)
		return refuse(chunks, CAUSE_TRAILER_LARGE, TRAILER_BYTES_MAX);
	if (line.size && guard_field(line, &name, &value)) return refuse(chunks, CAUSE_TRAILER_FORM, 0);
	if (line.size == 0) chunks->state = CHUNK_DONE;
	return OK;
}

/* Takes one line; *used 0: it is incomplete. */
static enum err take_line(struct chunks *chunks, struct span rest, size_t *used)
{
	ptrdiff_t  size;
	bool       trailer = chunks->state == CHUNK_TRAILER;
	size_t     most = trailer ? TRAILER_BYTES_MAX : CHUNK_LINE_BYTES_MAX;
	enum cause cause = find_line(rest, most, &size);
	*used = 0;
	if (chunks->state == CHUNK_DATA_END && (cause || size > 0)) return refuse(chunks, CAUSE_CHUNK_END, 0);
	if (cause == CAUSE_CHUNK_LINE_LONG && trailer) cause = CAUSE_TRAILER_LARGE;
	if (cause) return refuse(chunks, cause, (int64_t)most);
	if (size < 0) return OK;
	struct span line = span_of(rest.at, (size_t)size);
	*used = line.size + 2;
	if (trailer) return take_trailer(chunks, line);
	if (chunks->state == CHUNK_SIZE) return take_size(chunks, line);
	chunks->state = CHUNK_SIZE;
	return OK;
}

enum err chunks_decode(struct chunks *chunks, struct span bytes, uint8_t *out, size_t *taken, size_t *made)
{
	*taken = *made = 0;
	while (chunks->state != CHUNK_DONE && *taken < bytes.size) {
		struct span rest = span_of(bytes.at + *taken, bytes.size - *taken);
		size_t      used;
		if (chunks->state != CHUNK_DATA) {
			enum err err = take_line(chunks, rest, &used);
			if (err) return err;
			if (used == 0) break;
			*taken += used;
			continue;
		}
		used = rest.size < chunks->left ? rest.size : (size_t)chunks->left;
		memmove(out + *made, rest.at, used);
		*made += used;
		*taken += used;
		chunks->left -= used;
		if (chunks->left == 0) chunks->state = CHUNK_DATA_END;
	}
	return OK;
}
