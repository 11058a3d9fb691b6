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

void     buffer_append(struct buffer *buffer, const void *bytes, size_t size);
void     buffer_text(struct buffer *buffer, const char *text);
void     buffer_byte(struct buffer *buffer, uint8_t byte);
uint8_t *buffer_reserve(struct buffer *buffer, size_t size); /* room for `size` more, not counted yet; NULL if failed */
void     buffer_clear(struct buffer *buffer);                /* empty again, memory kept, `failed` reset */
void     buffer_free(struct buffer *buffer);

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
