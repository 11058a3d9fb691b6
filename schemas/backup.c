/* A backup's manifest. */
#include "schemas/backup.h"

#include "schemas/date.h"
#include "schemas/ids.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME_TEXT = 32 };
static const char kind[] = "stampede-backup";

static const char *shard_line(uint32_t shard, const char *what, char name[NAME_TEXT])
{
	snprintf(name, NAME_TEXT, "shard.%u.%s", shard, what);
	return name;
}

void backup_write(const struct backup *backup, struct buffer *out)
{
	char name[NAME_TEXT], created[RFC3339_TEXT];
	rfc3339_text(backup->created, created);
	buffer_clear(out);
	lines_number(out, kind, BACKUP_VERSION);
	lines_hex(out, "lineage", backup->lineage, sizeof backup->lineage);
	lines_lineages(out, "earlier", &backup->earlier);
	lines_number(out, "shards", backup->shards);
	lines_number(out, "placement", PLACEMENT_VERSION);
	lines_hex(out, "master_key", backup->key_id, sizeof backup->key_id);
	lines_text(out, "created", created);
	for (uint32_t i = 0; i < backup->shards; i++) {
		const struct backup_shard *shard = &backup->of[i];
		lines_number(out, shard_line(i, "seq", name), shard->seq);
		lines_number(out, shard_line(i, "epoch", name), shard->epoch);
		lines_number(out, shard_line(i, "bytes", name), shard->bytes);
		lines_hex(out, shard_line(i, "sha256", name), shard->sha256, sizeof shard->sha256);
	}
	lines_end(out);
}

static void read_shard(struct lines *lines, uint32_t i, struct backup_shard *shard)
{
	char name[NAME_TEXT];
	shard->seq = lines_take_number(lines, shard_line(i, "seq", name));
	shard->epoch = lines_take_number(lines, shard_line(i, "epoch", name));
	shard->bytes = lines_take_number(lines, shard_line(i, "bytes", name));
	lines_take_hex(lines, shard_line(i, "sha256", name), shard->sha256, sizeof shard->sha256);
}

enum err backup_read(struct span text, struct backup *backup)
{
	struct lines lines;
	enum err     err = lines_begin(&lines, text, kind, BACKUP_VERSION);
	*backup = (struct backup){.shards = 0};
	if (err) return err;
	lines_take_hex(&lines, "lineage", backup->lineage, sizeof backup->lineage);
	lines_take_lineages(&lines, "earlier", &backup->earlier);
	uint64_t shards = lines_take_number(&lines, "shards");
	uint64_t placement = lines_take_number(&lines, "placement");
	lines_take_hex(&lines, "master_key", backup->key_id, sizeof backup->key_id);
	if (!rfc3339_read(lines_take_text(&lines, "created"), &backup->created)) return ERR_DAMAGED;
	if (lines.failed || shards < 1 || shards > SHARDS_MAX) return ERR_DAMAGED;
	backup->shards = (uint32_t)shards;
	for (uint32_t i = 0; i < backup->shards; i++)
		read_shard(&lines, i, &backup->of[i]);
	if ((err = lines_finish(&lines))) return err;
	return placement == PLACEMENT_VERSION ? OK : ERR_UNSUPPORTED;
}

void backup_refusal(struct span text, char why[VERSION_TEXT])
{
	uint64_t found = 0;
	(void)lines_version(text, kind, &found);
	if (found == BACKUP_VERSION)
		snprintf(why, VERSION_TEXT,
		         "The backup's manifest places accounts by a rule that this program does not know: "
		         "restore it with the program that wrote it");
	else
		version_refusal(VERSION_OF_BACKUP, "The backup's manifest", found, BACKUP_VERSION, why);
}

void backup_place_text(uint64_t device, uint64_t inode, char text[BACKUP_PLACE_TEXT])
{
	snprintf(text, BACKUP_PLACE_TEXT, "%" PRIu64 ":%" PRIu64, device, inode);
}
