/* Members of JSON objects. The last byte written shows whether a member is the first. */
#include "store/dump_inside.h"

#include "schemas/arena.h"
#include "schemas/bytes.h"
#include "schemas/date.h"
#include "schemas/json.h"
#include "schemas/lines.h"
#include "schemas/verdicts.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEX_PIECE = 64 };

enum err dump_end(const struct dump_to *to, uint64_t lines)
{
	if (!lines) return OK;
	if (to->why)
		snprintf(to->why, VERSION_TEXT, "Damage is shown in %" PRIu64 " %s, as \"damaged\".", lines,
		         lines == 1 ? "line" : "lines");
	return ERR_DAMAGED;
}

const char *dump_verdict_text(unsigned verdict)
{
	static const char *const words[] = {
#define V(name, status, reason) [SCAN_##name] = #name,
#include "schemas/verdicts.def"
#undef V
	};
	return verdict < SCAN_VERDICTS ? words[verdict] : "unknown";
}

void dump_item(struct buffer *out)
{
	uint8_t last = out->size ? out->at[out->size - 1] : '[';
	if (last != '[' && last != '{') buffer_byte(out, ',');
}

static void begin(struct buffer *out, const char *name)
{
	dump_item(out);
	json_quote(span_str(name), out);
	buffer_byte(out, ':');
}

void dump_begin(struct buffer *out, const char *name, char bracket)
{
	begin(out, name);
	buffer_byte(out, (uint8_t)bracket);
}

void dump_number(struct buffer *out, const char *name, int64_t value)
{
	begin(out, name);
	json_number(value, out);
}

void dump_count(struct buffer *out, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, value);
	begin(out, name);
	buffer_text(out, text);
}

void dump_flag(struct buffer *out, const char *name, bool on)
{
	begin(out, name);
	buffer_text(out, on ? "true" : "false");
}

void dump_word(struct buffer *out, const char *name, const char *word)
{
	begin(out, name);
	json_quote(span_str(word), out);
}

void dump_span(struct buffer *out, const char *name, struct span text)
{
	if (!utf8_is_valid(text)) {
		dump_hex(out, name, text);
		return;
	}
	begin(out, name);
	json_quote(text, out);
}

void dump_hex(struct buffer *out, const char *name, struct span bytes)
{
	char text[2 * HEX_PIECE + 1];
	dump_begin(out, name, '{');
	buffer_text(out, "\"hex\":\"");
	for (size_t at = 0; at < bytes.size; at += HEX_PIECE) {
		size_t left = bytes.size - at;
		hex_text(bytes.at + at, left < HEX_PIECE ? left : HEX_PIECE, text);
		buffer_text(out, text);
	}
	buffer_text(out, "\"}");
}

void dump_hidden(struct buffer *out, const char *name, size_t size)
{
	dump_begin(out, name, '{');
	dump_count(out, "hidden_bytes", size);
	buffer_byte(out, '}');
}

void dump_time(struct buffer *out, const char *name, wall_us at)
{
	enum { AT_ZONE = RFC3339_TEXT - 2 };
	char text[RFC3339_TEXT + 3];
	begin(out, name);
	if (!at.v) {
		buffer_text(out, "null");
		return;
	}
	rfc3339_text(at, text);
	unsigned us = (unsigned)((at.v % US_PER_MS + US_PER_MS) % US_PER_MS);
	snprintf(text + AT_ZONE, sizeof text - AT_ZONE, "%03uZ", us);
	json_quote(span_str(text), out);
}

void dump_uuid(struct buffer *out, const char *name, struct uuid id)
{
	char text[UUID_TEXT];
	uuid_text(id, text);
	dump_word(out, name, text);
}

void dump_text_of_json(struct buffer *out, const char *name, struct span text)
{
	struct arena arena = {0};
	struct json *value;
	if (text.size && json_parse(text, &arena, &value)) {
		dump_span(out, name, text);
	} else {
		begin(out, name);
		if (text.size)
			json_text(value, out); /* on one line, however it is stored */
		else
			buffer_text(out, "null");
	}
	arena_free(&arena);
}

void dump_numbers(struct buffer *out, const char *name, struct span numbers)
{
	char text[12];
	dump_begin(out, name, '[');
	for (size_t i = 0; i < numbers.size / 4; i++) {
		snprintf(text, sizeof text, "%u", get_le32(numbers.at + 4 * i));
		dump_item(out);
		buffer_text(out, text);
	}
	buffer_byte(out, ']');
}

bool dump_u32(struct buffer *out, const char *name, struct span value)
{
	if (value.size != 4) return false;
	dump_count(out, name, get_le32(value.at));
	return true;
}

uint32_t dump_u32_of(struct span key)
{
	return key.size < sizeof(struct account_id) + 4 ? 0 : get_be32(key.at + sizeof(struct account_id));
}

struct span dump_rest_of(struct span key)
{
	size_t account = sizeof(struct account_id);
	return key.size < account ? span_of(NULL, 0) : span_of(key.at + account, key.size - account);
}
