#pragma once
#include "schemas/buffer.h"
#include "schemas/bytes.h"
#include "schemas/date.h"
#include "schemas/ids.h"

/* Packs an object by its rows in schemas/objects/, as msgpack. The writer of one is
 *
 *	void card_pack(const struct card *card, struct span pass_id, msgpack_packer *pk)
 *	{
 *		size_t map = map_begin(pk);
 *	#include "schemas/objects/card.def"
 *	}
 *
 * The rows use its parameters and variables. Objects that only the operator gets are not in the OpenAPI document: their
 * writers have the rows in place, as MEMBER_ALWAYS(name, type, value) and so on.
 * A value of the type T is packed by pack_T(pk, value). Those of plain types and words are here; one of an object is a
 * function of the file that needs it. Errors: the buffer's, as it fails. */

/* Heads of maps: MAP_FIX + members, or MAP_WIDE and their number in two bytes. */
enum { MAP_FIX = 0x80, MAP_FIX_MEMBERS = 15, MAP_WIDE = 0xde };

/* Begins a map that has no members yet, and returns its place in the buffer. */
static inline size_t map_begin(msgpack_packer *pk)
{
	const struct buffer *out = pk->data;
	msgpack_pack_map(pk, 0);
	return out->size - !out->failed;
}

/* The same for a map that gets more than 15 members. */
static inline size_t map_begin_wide(msgpack_packer *pk)
{
	const struct buffer *out = pk->data;
	msgpack_pack_map(pk, MAP_FIX_MEMBERS + 1);
	if (out->failed) return 0;
	put_be16(out->at + out->size - 2, 0);
	return out->size - 3;
}

/* Counts one more member of the map, of 15 at most unless it is wide, and packs its key. */
static inline void map_key(msgpack_packer *pk, size_t map, const char *key)
{
	const struct buffer *out = pk->data;
	if (!out->failed && out->at[map] == MAP_WIDE)
		put_be16(out->at + map + 1, (uint16_t)(get_be16(out->at + map + 1) + 1));
	else if (!out->failed)
		must(++out->at[map] <= MAP_FIX + MAP_FIX_MEMBERS);
	pack_text(pk, key);
}

static inline void pack_UUID(msgpack_packer *pk, struct uuid id)
{
	char text[UUID_TEXT];
	uuid_text(id, text);
	pack_text(pk, text);
}

static inline void pack_TIME(msgpack_packer *pk, wall_us at)
{
	char text[RFC3339_TEXT];
	rfc3339_text(at, text);
	pack_text(pk, text);
}

#define pack_TEXT(value) \
	_Generic((value), struct span : pack_str, struct uuid : pack_UUID, const char * : pack_text, char * : pack_text)
#define pack_STRING(pk, value)  pack_TEXT(value)(pk, value)
#define pack_INTEGER(pk, value) msgpack_pack_int64(pk, (int64_t)(value))
#define pack_BOOLEAN(pk, value) ((value) ? msgpack_pack_true(pk) : msgpack_pack_false(pk))
#define pack_SLUG               pack_str
#define pack_URL                pack_str

#define WORDS(name, about)                                                   \
	static inline void pack_##name(msgpack_packer *pk, const char *word) \
	{                                                                    \
		pack_text(pk, word);                                         \
	}
#include "schemas/object_words.def"

#define MEMBER(name, type, how, about, ...) MEMBER_##how(name, type, __VA_ARGS__);
#define MEMBER_ALWAYS(name, type, value)    (map_key(pk, map, #name), pack_##type(pk, value))
#define MEMBER_SOMETIMES(name, type, is_there, value) \
	((is_there) ? (void)MEMBER_ALWAYS(name, type, value) : (void)0)
#define MEMBER_NULLABLE(name, type, is_there, value) \
	(map_key(pk, map, #name), (is_there) ? (void)pack_##type(pk, value) : (void)msgpack_pack_nil(pk))
#define MEMBER_LIST(name, type, count, item)           \
	do {                                           \
		map_key(pk, map, #name);               \
		msgpack_pack_array(pk, count);         \
		for (unsigned i = 0; i < (count); i++) \
			pack_##type(pk, item);         \
	} while (0)

/* Packs {"id": ...}, the response to the creation of what the operator makes. */
static inline void pack_id(msgpack_packer *pk, struct uuid id)
{
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(id, UUID, id);
}
