#pragma once
#include "schemas/err.h"
#include "schemas/span.h"
#include "store/keys.h"
#include "store/writes.h"

/* Which number the newest pass with an id has, as far as the shard's writer has looked it up lately: it spares most
 * commands a walk down the index, and with it a random page. It grows with the ids that are asked for, up to
 * PASS_NUMBERS_MAX places of 64 bytes: few ids lie close together, where the processor's caches have them. The writer's
 * alone. */
struct pass_number {
	uint32_t number;
	uint8_t  size; /* 0: nothing is kept here */
	uint8_t  key[59];
};
_Static_assert(sizeof(struct pass_number) == 64, "one line of the processor's cache");

struct pass_id_cache {
	struct pass_number *places; /* NULL: nothing is kept */
	uint32_t            count;  /* of them, as far as it has grown: a power of two */
	uint32_t            taken;
};

/* Errors: ERR_NO_MEMORY (of address space). */
must_check enum err pass_id_cache_open(struct pass_id_cache *pass_ids);
void                pass_id_cache_close(struct pass_id_cache *pass_ids);

/* `key` is of a PASS_ID row, whatever its number. false: look it up, and put it. */
must_check bool pass_id_cache_get(const struct pass_id_cache *pass_ids, const struct row_key *key,
                                  uint32_t *number);
void            pass_id_cache_put(struct pass_id_cache *pass_ids, const struct row_key *key, uint32_t number);

/* What has been written may have given an id to another pass. */
void pass_id_cache_on_writes(struct pass_id_cache *pass_ids, const struct writes *writes);
