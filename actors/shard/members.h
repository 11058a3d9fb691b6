#pragma once
#include "schemas/buffer.h"
#include "schemas/date.h"
#include "schemas/ids.h"

/* Packs members of maps: a key, and a value as the interface prints it. Errors: those of the buffer. */
static inline void pack_switch(msgpack_packer *packer, const char *key, bool on)
{
	pack_text(packer, key);
	if (on)
		msgpack_pack_true(packer);
	else
		msgpack_pack_false(packer);
}

static inline void pack_null(msgpack_packer *packer, const char *key)
{
	pack_text(packer, key);
	msgpack_pack_nil(packer);
}

static inline void pack_member(msgpack_packer *packer, const char *key, struct span text)
{
	pack_text(packer, key);
	pack_str(packer, text);
}

static inline void pack_uuid(msgpack_packer *packer, const char *key, struct uuid id)
{
	char text[UUID_TEXT];
	uuid_text(id, text);
	pack_member(packer, key, span_str(text));
}

static inline void pack_time(msgpack_packer *packer, const char *key, wall_us at)
{
	char text[RFC3339_TEXT];
	rfc3339_text(at, text);
	pack_member(packer, key, span_str(text));
}
