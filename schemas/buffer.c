/* The growable buffer under every encoder. Doubling keeps appends linear. A failed allocation is remembered instead
 * of returned, because an encoder of fifty items should not have fifty error paths. */
#include "schemas/buffer.h"

#include "schemas/bytes.h"

#include <stdlib.h>

bool buffer_grow(struct buffer *buffer, size_t size)
{
	if (buffer->failed) return false;
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	while (capacity - buffer->size < size)
		capacity *= 2;
	uint8_t *at = realloc(buffer->at, capacity);
	if (!at) {
		buffer->failed = true;
		return false;
	}
	buffer->at = at;
	buffer->capacity = capacity;
	return true;
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

void pack_count(msgpack_packer *packer, const char *key, uint64_t count)
{
	pack_text(packer, key);
	msgpack_pack_uint64(packer, count);
}

enum { BIN32 = 0xc6, BIN32_HEAD = 5 };

size_t bin_begin(struct buffer *buffer)
{
	static const uint8_t head[BIN32_HEAD] = {BIN32};
	buffer_append(buffer, head, sizeof head);
	return buffer->size;
}

void bin_end(struct buffer *buffer, size_t begin)
{
	if (!buffer->failed) put_be32(buffer->at + begin - 4, (uint32_t)(buffer->size - begin));
}
