#pragma once
#include "schemas/arena.h"
#include "schemas/buffer.h"
#include "schemas/cause.h"
#include "schemas/err.h"
#include "schemas/span.h"

/* JSON parsing and printing. Parsing is strict: valid UTF-8, no lone surrogates, no duplicate keys in one object, at
 * most JSON_DEPTH_MAX containers nested, nothing after the value. Numbers keep their text. A value in the tree takes
 * many times the memory of its text, so at most JSON_VALUES_MAX are allowed. */
enum json_kind { JSON_NULL, JSON_TRUE, JSON_FALSE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_kind kind;
	struct span    text;  /* STRING: decoded UTF-8 (may contain NUL); NUMBER: as written */
	struct span    key;   /* a member of an object: its decoded key */
	struct json   *child; /* ARRAY, OBJECT: the first member, in written order */
	struct json   *next;  /* the next member of the same container */
	size_t         count; /* members */
};

/* Parses `text`; the tree lives in `arena` and may point into `text`. Errors: ERR_INVALID_REQUEST (not such JSON),
 * ERR_PAYLOAD_TOO_LARGE (too many values), ERR_NO_MEMORY. */
must_check enum err json_parse(struct span text, struct arena *arena, struct json **value);

/* The same, and sets refusal->message for the first two errors; `called` is the text's name in messages: "The body". */
must_check enum err json_parse_told(struct span text, struct arena *arena, struct json **value,
                                    const char *called, struct refusal *refusal);

/* The kind in messages: "an object". */
const char *json_kind_text(enum json_kind kind);

/* The reason for which json_parse() refuses a text, except for a duplicate key: CAUSE_NONE then. */
void json_explain(struct span text, struct reason *reason);

/* Is this well-formed UTF-8: shortest forms only, no surrogates, nothing beyond U+10FFFF? Errors: none. */
size_t             utf8_valid_size(struct span text); /* of the valid part at the beginning */
static inline bool utf8_is_valid(struct span text)
{
	return utf8_valid_size(text) == text.size;
}

/* The size of the character at the beginning of `text`, which is not empty; 0: malformed, and *point is the first byte. */
size_t utf8_character(struct span text, uint32_t *point);
/* Does a terminal obey the character: C0, DEL or C1? Does it turn the direction of the text around it? */
bool utf8_is_control(uint32_t point);
bool utf8_turns_direction(uint32_t point);

/* Position of an unpaired surrogate escape \u; the text's size: none. Errors: none. */
size_t lone_surrogate_at(struct span text);

/* The beginning of `text`, of at most `size_max` bytes, cut between characters. Errors: none. */
struct span utf8_cut(struct span text, size_t size_max);

/* The member `key` of an object, or NULL. Linear: for small objects. */
const struct json *json_member(const struct json *object, const char *key);

/* A JSON integer (no fraction, no exponent) that fits int64; false otherwise. */
bool json_integer(const struct json *value, int64_t *integer);

/* Appends the value as JSON text: no white space, member order kept, numbers exactly as written. */
void json_text(const struct json *value, struct buffer *out);

/* Packs a value as a message's OBJECT holds it: a string becomes str, null becomes nil, anything else becomes bin
 * with its JSON text. json_pack_object() packs a whole object as the map of its members. */
void json_pack_value(const struct json *value, msgpack_packer *packer, struct buffer *scratch);
void json_pack_object(const struct json *object, msgpack_packer *packer, struct buffer *scratch);

/* Appends a whole number. */
void json_number(int64_t value, struct buffer *out);

/* Appends `text` as a JSON string, quoted and escaped. */
void json_quote(struct span text, struct buffer *out);

/* Appends JSON texts, or lines with them, for a terminal. Characters that it would obey, and those that turn the direction of
 * text, are written as \uXXXX, which is the same JSON. White space between values stays. */
void json_shown(struct span text, struct buffer *out);

/* An error as every interface prints it: {"code","message","field"?,"request_id"?}. `message` empty: the error's own.
 * `field`, of which ERROR_FIELD_BYTES_MAX are shown, and `request_id`: at NULL: none. */
void json_error(enum err err, struct span message, struct span field, struct span request_id,
                struct buffer *out);

/* Appends a msgpack value as JSON: map, array, str, int, bool, nil as themselves; bin is JSON text already and is
 * copied verbatim. Errors: ERR_MALFORMED (a key that is not str, a float, an ext). */
must_check enum err json_render(const msgpack_object *value, struct buffer *out);
