#pragma once
#include "actors/shard/command.h"

/* Packs an account as `account show` prints it: one map. Errors: none. */
void account_pack(struct account_id id, const struct account_row *row, msgpack_packer *packer);
