#pragma once
#include "schemas/buffer.h"

/* DIR/identity: what a data directory is. Text, one `name=value` a line, the last line a CRC-32C of the rest:
 *   stampede-data=1 / lineage=<32 hex> / shards=<n> / formatted=<0|1> / crc=<8 hex>
 * formatted is 1 once every shard has made its files: from then on a missing or empty shard is damage. */
struct identity {
	uint8_t  lineage[16];
	uint32_t shards;
	bool     formatted;
};

void identity_write(const struct identity *identity, struct buffer *out);

/* Errors: ERR_DAMAGED (not this form, wrong sum), ERR_UNSUPPORTED (another version). */
must_check enum err identity_read(struct span text, struct identity *identity);
