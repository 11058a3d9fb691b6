#pragma once
#include "schemas/buffer.h"
#include "schemas/date.h"
#include "schemas/ids.h"

/* Packs a member of a map. Errors: the buffer's, as it fails. */
static inline void pack_switch(msgpack_packer *packer, const char *key, bool on)
{
	pack_text(packer, key);
	if (on)
		msgpack_pack_true(packer);
	else
		msgpack_pack_false(packer);
}
