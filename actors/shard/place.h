#pragma once
#include "actors/rt/datadir.h"
#include "actors/rt/needs.h"
#include "store/store.h"

/* A shard's place as its process and offline work see it: what of the identity concerns the store. Units: bytes. */
static inline struct store_place shard_place(const struct datadir *datadir, uint32_t index, int dir_fd)
{
	struct store_place place = {.dir_fd = dir_fd,
	                            .shard = (uint16_t)index,
	                            .may_format = datadir->identity.state == IDENTITY_NEW,
	                            .restored = datadir->identity.state == IDENTITY_RESTORED,
	                            .segment_bytes = SHARD_SEGMENT_BYTES,
	                            .map_bytes = SHARD_MAP_BYTES};
	memcpy(place.lineage, datadir->identity.lineage, sizeof place.lineage);
	return place;
}
