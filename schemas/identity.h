#pragma once
#include "schemas/lineages.h"
#include "schemas/master_key.h"
#include "schemas/version.h"

#include <stdbool.h>

/* DIR/identity: the identity of a data directory. Text in lines (lines.h):
 *   stampede-data=7 / lineage=<32 hex> / earlier=<32 hex each> / master_key=<16 hex> / shards=<n> / formatted=<0|1|2> /
 *   crc=<8 hex>
 * `formatted` is the state: 0, new: a shard without files creates them; 1, whole: every shard has its files, and a
 * missing or empty shard is damage; 2, restored: every shard has its snapshot, and no journal yet. */
enum {
	IDENTITY_VERSION = 7,
	IDENTITY_VERSION_READ = 5 /* the oldest that is read; all have the same lines */
};
enum identity_state { IDENTITY_NEW, IDENTITY_WHOLE, IDENTITY_RESTORED };

struct identity {
	uint32_t            version; /* as it was read; what is written is of IDENTITY_VERSION */
	uint8_t             lineage[LINEAGE_BYTES];
	struct lineages     earlier; /* lineages of the backups that it was restored from, and theirs */
	uint8_t             key_id[MASTER_KEY_ID];
	uint32_t            shards;
	enum identity_state state;
};

void identity_write(const struct identity *identity, struct buffer *out);

/* Errors: ERR_DAMAGED (malformed, wrong checksum), ERR_UNSUPPORTED (another version). */
must_check enum err identity_read(struct span text, struct identity *identity);

/* The sentence about a text that identity_read() refuses with ERR_UNSUPPORTED. */
void identity_refusal(struct span text, char why[VERSION_TEXT]);
