#pragma once
#include "actors/rt/datadir.h"
#include "actors/rt/needs.h"
#include "store/store.h"

/* A shard's directory for its process and for offline work: the facts of the identity that the store needs. Units: bytes. */
static inline struct shard_dir shard_dir_of(const struct datadir *datadir, uint32_t index, int dir_fd)
{
	struct shard_dir shard_dir = {.dir_fd = dir_fd,
	                              .shard = (uint16_t)index,
	                              .may_format = datadir->identity.state == IDENTITY_NEW,
	                              .restored = datadir->identity.state == IDENTITY_RESTORED,
	                              .segment_bytes = SHARD_SEGMENT_BYTES,
	                              .map_bytes = SHARD_MAP_BYTES};
	memcpy(shard_dir.lineage, datadir->identity.lineage, sizeof shard_dir.lineage);
	return shard_dir;
}
