#pragma once
#include "actors/shard/command.h"

/* Stages a new key with this hash for the account of the call; *key is the row. Errors: as view.h. */
must_check enum err key_make(struct request *request, struct span hash, struct key_row *key);

/* Packs a key as `key list` prints it: {"key_id","created_at","revoked_at"}. Errors: none. */
void key_pack(const struct key_row *key, msgpack_packer *packer);
