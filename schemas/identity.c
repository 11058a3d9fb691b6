/* The identity file. A file with a valid checksum and an unknown version was written by another Stampede; one with
 * an invalid checksum is damaged. */
#include "schemas/identity.h"

#include "schemas/limits.h"

/* 1: passes without index rows; 2: links without a lineage; 3: without the master key's id; 4: journal of version 1; 5: no
 * tables of wallets; 6: no recent scans. The last two are read. */
static const char kind[] = "stampede-data";

void identity_write(const struct identity *identity, struct buffer *out)
{
	buffer_clear(out);
	lines_number(out, kind, IDENTITY_VERSION);
	lines_hex(out, "lineage", identity->lineage, sizeof identity->lineage);
	lines_lineages(out, "earlier", &identity->earlier);
	lines_hex(out, "master_key", identity->key_id, sizeof identity->key_id);
	lines_number(out, "shards", identity->shards);
	lines_number(out, "formatted", (uint64_t)identity->state);
	lines_end(out);
}

enum err identity_read(struct span text, struct identity *identity)
{
	struct identity read = {.shards = 0};
	struct lines    lines;
	uint64_t        version = 0;
	(void)lines_version(text, kind, &version);
	if (version < IDENTITY_VERSION_READ || version > IDENTITY_VERSION) version = IDENTITY_VERSION;
	enum err err = lines_begin(&lines, text, kind, version);
	if (err) return err;
	read.version = (uint32_t)version;
	lines_take_hex(&lines, "lineage", read.lineage, sizeof read.lineage);
	lines_take_lineages(&lines, "earlier", &read.earlier);
	lines_take_hex(&lines, "master_key", read.key_id, sizeof read.key_id);
	uint64_t shards = lines_take_number(&lines, "shards");
	uint64_t state = lines_take_number(&lines, "formatted");
	if ((err = lines_finish(&lines))) return err;
	if (shards < 1 || shards > SHARDS_MAX || state > IDENTITY_RESTORED) return ERR_DAMAGED;
	read.shards = (uint32_t)shards;
	read.state = (enum identity_state)state;
	*identity = read;
	return OK;
}

void identity_refusal(struct span text, char why[VERSION_TEXT])
{
	uint64_t found = 0;
	(void)lines_version(text, kind, &found);
	version_refusal(VERSION_OF_DATA, "identity", found, IDENTITY_VERSION, why);
}
