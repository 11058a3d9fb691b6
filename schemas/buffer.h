#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

#include <msgpack.h>

/* Bytes that grow. Zeroed is empty; `failed` stays set once memory ran out, so a writer may write on and
 * the owner looks once at the end. Lifetime: owned by whoever declares it; buffer_free() ends it.
 * Units: bytes. Errors: `failed`. */
struct buffer {
	uint8_t *at;
	size_t   size;
	size_t   capacity;
	bool     failed;
};

void buffer_clear(struct buffer *buffer); /* empty again, memory kept, `failed` reset */
void buffer_free(struct buffer *buffer);
bool buffer_grow(struct buffer *buffer, size_t size); /* false: `failed` */

/* Room for `size` more bytes, not counted yet; NULL if failed. */
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

/* A msgpack packer that appends to `buffer`; it borrows the buffer for as long as it is used. */
msgpack_packer buffer_packer(struct buffer *buffer);

/* Short hands for the items we send: str, bin, and the two together with a length. */
void pack_str(msgpack_packer *packer, struct span text);
void pack_text(msgpack_packer *packer, const char *text);
void pack_bin(msgpack_packer *packer, struct span bytes);
void pack_count(msgpack_packer *packer, const char *key, uint64_t count); /* a member of a map */

/* A bin whose length is known only when it is written: begin, append its bytes, end with what begin returned. */
size_t bin_begin(struct buffer *buffer);
void   bin_end(struct buffer *buffer, size_t begin);
