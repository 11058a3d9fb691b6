#pragma once
#include "schemas/clock.h"
#include "schemas/limits.h"
#include "schemas/lineages.h"
#include "schemas/master_key.h"
#include "schemas/version.h"

/* BACKUP/manifest: describes a backup, written last. A backup has
 *   manifest, master.key, shards/N/{manifest, data.mdb}
 * and each of its shards is consistent as of its own record. Text in lines (lines.h):
 *   stampede-backup=3 / lineage=<32 hex> / earlier=<32 hex each> / shards=<n> / placement=1 / master_key=<16 hex> /
 *   created=<RFC 3339>
 *   then for each shard N: shard.N.seq / shard.N.epoch / shard.N.bytes / shard.N.sha256=<64 hex> (both of its data.mdb)
 *   crc=<8 hex> */
struct backup_shard {
	uint64_t seq, epoch;
	uint64_t bytes;
	uint8_t  sha256[32];
};

enum { BACKUP_MANIFEST_BYTES_MAX = 16 << 10, BACKUP_VERSION = 3 };
struct backup {
	uint8_t             lineage[LINEAGE_BYTES]; /* of the data directory that was backed up */
	struct lineages     earlier;                /* earlier lineages of that directory */
	uint32_t            shards;
	uint8_t             key_id[MASTER_KEY_ID]; /* of its master.key */
	wall_us             created;
	struct backup_shard of[SHARDS_MAX];
};

void backup_write(const struct backup *backup, struct buffer *out);

/* Errors: ERR_DAMAGED (malformed, wrong checksum), ERR_UNSUPPORTED (another version or placement). */
must_check enum err backup_read(struct span text, struct backup *backup);

/* The sentence about a text that backup_read() refuses with ERR_UNSUPPORTED. */
void backup_refusal(struct span text, char why[VERSION_TEXT]);

/* Identifies the directory of a backup as "device:inode". The requester and the writer compare it: in different
 * mount namespaces one name may mean two directories. */
enum { BACKUP_PLACE_TEXT = 2 * 20 + 1 + 1 };
void backup_place_text(uint64_t device, uint64_t inode, char text[BACKUP_PLACE_TEXT]);
