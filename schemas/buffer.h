#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

#include <msgpack.h>

/* A growing byte buffer. Zeroed is empty. `failed` stays set once memory ran out, so a writer may continue and the
 * owner checks once at the end. Lifetime: the owner ends it with buffer_free(). Units: bytes. Errors: `failed`. */
struct buffer {
	uint8_t *at;
	size_t   size;
	size_t   capacity;
	bool     failed;
};

void buffer_clear(struct buffer *buffer); /* empty again, memory kept, `failed` reset */
void buffer_free(struct buffer *buffer);
bool buffer_grow(struct buffer *buffer, size_t size); /* false: `failed` */

/* Space for `size` more bytes, not counted yet; NULL if failed. */
static inline uint8_t *buffer_reserve(struct buffer *buffer, size_t size)
{
	bool room = buffer->capacity - buffer->size >= size && !buffer->failed;
	return room || buffer_grow(buffer, size) ? buffer->at + buffer->size : NULL;
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
	uint8_t *to = size ? buffer_reserve(buffer, size) : NULL;
	if (!to) return;
	memcpy(to, bytes, size);
	buffer->size += size;
}

static inline void buffer_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

static inline void buffer_byte(struct buffer *buffer, uint8_t byte)
{
	buffer_append(buffer, &byte, 1);
}

static inline struct span buffer_span(const struct buffer *buffer)
{
	return span_of(buffer->at, buffer->size);
}

/* A msgpack packer that appends to `buffer`, which it borrows while in use. */
msgpack_packer buffer_packer(struct buffer *buffer);

/* Shorthands for the items we send: str, bin, and a map member with a number. */
void pack_str(msgpack_packer *packer, struct span text);
void pack_text(msgpack_packer *packer, const char *text);
void pack_bin(msgpack_packer *packer, struct span bytes);
void pack_count(msgpack_packer *packer, const char *key, uint64_t count); /* a member of a map */

/* A bin of unknown length: begin, append its bytes, end with the result of bin_begin(). */
size_t bin_begin(struct buffer *buffer);
void   bin_end(struct buffer *buffer, size_t begin);
