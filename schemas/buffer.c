/* The growable buffer under every encoder. Doubling keeps appends linear; a failed allocation is remembered
 * instead of reported, because an encoder of fifty items should not have fifty error paths. */
#include "schemas/buffer.h"

#include <stdlib.h>

uint8_t *buffer_reserve(struct buffer *buffer, size_t size)
{
	if (buffer->failed) return NULL;
	if (buffer->capacity - buffer->size >= size) return buffer->at + buffer->size;
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	while (capacity - buffer->size < size)
		capacity *= 2;
	uint8_t *at = realloc(buffer->at, capacity);
	if (!at) {
		buffer->failed = true;
		return NULL;
	}
	buffer->at = at;
	buffer->capacity = capacity;
	return at + buffer->size;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
	if (size == 0) return;
	uint8_t *to = buffer_reserve(buffer, size);
	if (!to) return;
	memcpy(to, bytes, size);
	buffer->size += size;
}

void buffer_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_byte(struct buffer *buffer, uint8_t byte)
{
	buffer_append(buffer, &byte, 1);
}

void buffer_clear(struct buffer *buffer)
{
	buffer->size = 0;
	buffer->failed = false;
}

void buffer_free(struct buffer *buffer)
{
	free(buffer->at);
	*buffer = (struct buffer){0};
}

static int append_packed(void *data, const char *bytes, size_t size)
{
	struct buffer *buffer = data;
	buffer_append(buffer, bytes, size);
	return buffer->failed ? -1 : 0;
}

msgpack_packer buffer_packer(struct buffer *buffer)
{
	msgpack_packer packer;
	msgpack_packer_init(&packer, buffer, append_packed);
	return packer;
}

void pack_str(msgpack_packer *packer, struct span text)
{
	msgpack_pack_str(packer, text.size);
	msgpack_pack_str_body(packer, text.at, text.size);
}

void pack_text(msgpack_packer *packer, const char *text)
{
	pack_str(packer, span_str(text));
}

void pack_bin(msgpack_packer *packer, struct span bytes)
{
	msgpack_pack_bin(packer, bytes.size);
	msgpack_pack_bin_body(packer, bytes.at, bytes.size);
}
