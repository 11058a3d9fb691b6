#pragma once
#include "schemas/buffer.h"
#include "schemas/cause.h"
#include "schemas/template.h"

/* The cold part of a pass: the caller's data as JSON text in its printed form, so that reading a pass renders
 * nothing. Stored little-endian: version u8 (1) | token 16 | sizes of the parts: pass_id u16, visible u32, hidden
 * u32, appearance u32, creation_error u32 | these five. visible, hidden and appearance are JSON objects without
 * white space, numbers exactly as written; size 0 means null. The balance is not in `visible`: it is inserted when
 * the pass is printed. */
struct body {
	struct span pass_id;
	uint8_t     token[16]; /* of download_url */
	struct span visible, hidden;
	struct span appearance;     /* size 0: null */
	struct span creation_error; /* size 0: null */
};

/* Spans point into `bytes`. Errors: ERR_DAMAGED. */
must_check enum err body_open(struct span bytes, struct body *body);
void                body_pack(const struct body *body, struct buffer *out);

/* Bytes that body_pack() writes. */
size_t body_size(const struct body *body);

/* Converts an object's text to a map (str, or bin with JSON text, by key) in `zone`, and back. An empty span is the
 * empty object. Errors: ERR_DAMAGED, ERR_NO_MEMORY. */
must_check enum err object_open(struct span text, struct arena *arena, msgpack_zone *zone,
                                msgpack_object *map);
must_check enum err object_text_of(const msgpack_object *map, struct arena *arena, struct span *text);

/* `base` with the members of `changes` merged in: replaced in place, added at the end, removed if null. Members not
 * in `changes` stay, nulls too. With `keep_null` a null is an ordinary value. base may be NULL. Errors:
 * ERR_NO_MEMORY. */
must_check enum err map_merge(const msgpack_object *base, const msgpack_object *changes, bool keep_null,
                              msgpack_zone *zone, msgpack_object *merged);

/* Checks a caller's changes of `visible` against the template: unknown and locked keys first, then types and
 * lengths. A null requests removal of the key. A key without a field may be removed if `held`, the pass's own map
 * (NULL: a new pass), has it. `*reason` names the offender; the cause VISIBLE_UNKNOWN has no hint yet. Errors:
 * ERR_INVALID_INPUT, ERR_PASS_TEMPLATE_DATA_INVALID. */
must_check enum err visible_check(const struct template *template, const msgpack_object *held,
                                  const msgpack_object *changes, struct reason *reason);

/* Checks that a complete `visible` has every required field. Errors: ERR_PASS_TEMPLATE_DATA_INVALID. */
must_check enum err visible_check_required(const struct template *template, const msgpack_object *visible,
                                           struct reason *reason);

/* Checks property names and forms of `appearance`; nulls pass. Errors: ERR_INVALID_INPUT. */
must_check enum err appearance_check(const msgpack_object *changes, struct reason *reason);

static inline struct span object_text(const msgpack_object *object) /* of a str or bin */
{
	if (object->type == MSGPACK_OBJECT_STR) return span_of(object->via.str.ptr, object->via.str.size);
	if (object->type == MSGPACK_OBJECT_BIN) return span_of(object->via.bin.ptr, object->via.bin.size);
	return span_of(NULL, 0);
}
