#pragma once
#include "schemas/span.h"

#include <msgpack.h>

/* Looks at values that were received. Borrowed. Units: items, bytes. Errors: false, or NULL. */

/* Is it an array of `size` items; a bin of `size` bytes? */
static inline bool msgpack_is_array(const msgpack_object *object, uint32_t size)
{
	return object->type == MSGPACK_OBJECT_ARRAY && object->via.array.size == size;
}
static inline bool msgpack_is_bin(const msgpack_object *object, size_t size)
{
	return object->type == MSGPACK_OBJECT_BIN && object->via.bin.size == size;
}

/* The first value in a map whose key is the text `name`; NULL: there is none, or it is no map. */
static inline const msgpack_object *msgpack_member(const msgpack_object *map, const char *name)
{
	if (map->type != MSGPACK_OBJECT_MAP) return NULL;
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *member = &map->via.map.ptr[i];
		if (member->key.type == MSGPACK_OBJECT_STR &&
		    span_is(span_of(member->key.via.str.ptr, member->key.via.str.size), name))
			return &member->val;
	}
	return NULL;
}
