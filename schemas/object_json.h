#pragma once
#include "schemas/buffer.h"
#include "schemas/date.h"
#include "schemas/ids.h"
#include "schemas/json.h"

/* Writes an object by its rows in schemas/objects/, as JSON text. The writer of one is
 *
 *	size_t begin = out->size;
 *	#include "schemas/objects/pass.def"
 *	json_object_end(out, begin);
 *
 * A value of the type T is written by json_T(out, value). Those of plain types and words are here; one of an object is a
 * function of the file that needs it. Errors: the buffer's, as it fails. */

/* Ends an object whose members have a comma in front each. */
static inline void json_object_end(struct buffer *out, size_t begin)
{
	if (out->size == begin) buffer_byte(out, ',');
	buffer_byte(out, '}');
	if (!out->failed) out->at[begin] = '{';
}

/* JSON text already. */
static inline void json_MAP(struct buffer *out, struct span text)
{
	buffer_append(out, text.at, text.size);
}

/* A text that needs no escapes. */
static inline void json_plain(struct buffer *out, struct span text)
{
	buffer_byte(out, '"');
	buffer_append(out, text.at, text.size);
	buffer_byte(out, '"');
}

static inline void json_UUID(struct buffer *out, struct uuid id)
{
	char text[UUID_TEXT];
	uuid_text(id, text);
	json_plain(out, span_of(text, UUID_TEXT - 1));
}

static inline void json_TIME(struct buffer *out, wall_us at)
{
	char text[RFC3339_TEXT];
	rfc3339_text(at, text);
	json_plain(out, span_of(text, RFC3339_TEXT - 1));
}

static inline void json_SPACED_TIME(struct buffer *out, wall_us at)
{
	char text[SPACED_DATE_TEXT];
	spaced_date_text(at, text);
	json_plain(out, span_str(text));
}

#define json_STRING(out, text)   json_quote(text, out)
#define json_SLUG                json_STRING
#define json_INTEGER(out, value) json_number(value, out)
#define json_BOOLEAN(out, value) buffer_text(out, (value) ? "true" : "false")

#define WORDS(name, about)                                                   \
	static inline void json_##name(struct buffer *out, const char *word) \
	{                                                                    \
		json_plain(out, span_str(word));                             \
	}
#include "schemas/object_words.def"

#define MEMBER(name, type, how, about, ...) MEMBER_##how(name, type, __VA_ARGS__);
#define MEMBER_KEY(name)                    buffer_append(out, ",\"" #name "\":", sizeof(",\"" #name "\":") - 1)
#define MEMBER_ALWAYS(name, type, value)    (MEMBER_KEY(name), json_##type(out, value))
#define MEMBER_SOMETIMES(name, type, is_there, value) \
	((is_there) ? (void)MEMBER_ALWAYS(name, type, value) : (void)0)
#define MEMBER_NULLABLE(name, type, is_there, value) \
	(MEMBER_KEY(name), (is_there) ? (void)json_##type(out, value) : buffer_append(out, "null", 4))
#define MEMBER_LIST(name, type, count, item)             \
	do {                                             \
		MEMBER_KEY(name);                        \
		buffer_byte(out, '[');                   \
		for (unsigned i = 0; i < (count); i++) { \
			if (i) buffer_byte(out, ',');    \
			json_##type(out, item);          \
		}                                        \
		buffer_byte(out, ']');                   \
	} while (0)
