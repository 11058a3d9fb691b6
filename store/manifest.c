/* A snapshot's manifest: its kind, its position in the journal, and the hash of its tables. */
#include "store/snapshot.h"

#include "schemas/lines.h"

#include <stdio.h>

static const char kind[] = "stampede-snapshot";

void snapshot_name(uint64_t seq, char name[SNAPSHOT_NAME])
{
	snprintf(name, SNAPSHOT_NAME, "%020llu", (unsigned long long)seq);
}

void snapshot_manifest_write(const struct snapshot *snapshot, struct buffer *out)
{
	buffer_clear(out);
	lines_number(out, kind, SNAPSHOT_VERSION);
	lines_hex(out, "lineage", snapshot->lineage, sizeof snapshot->lineage);
	lines_number(out, "shard", snapshot->shard);
	lines_number(out, "seq", snapshot->at.seq);
	lines_number(out, "epoch", snapshot->at.epoch);
	lines_number(out, "chain", snapshot->at.chain);
	lines_number(out, "segment", snapshot->at.segment);
	lines_number(out, "offset", snapshot->at.offset);
	lines_number(out, "record_offset", snapshot->at.record_offset);
	lines_number(out, "now_us", (uint64_t)snapshot->at.now.v);
	lines_number(out, "made_us", (uint64_t)snapshot->made.v);
	lines_number(out, "bytes", snapshot->bytes);
	lines_hex(out, "sha256", snapshot->sha256, sizeof snapshot->sha256);
	lines_end(out);
}

enum err snapshot_manifest_read(struct span text, struct snapshot *snapshot)
{
	struct lines    lines;
	struct applied *at = &snapshot->at;
	enum err        err = lines_begin(&lines, text, kind, SNAPSHOT_VERSION);
	*snapshot = (struct snapshot){.made = {0}};
	if (err) return err;
	lines_take_hex(&lines, "lineage", snapshot->lineage, sizeof snapshot->lineage);
	uint64_t shard = lines_take_number(&lines, "shard");
	at->seq = lines_take_number(&lines, "seq");
	at->epoch = lines_take_number(&lines, "epoch");
	uint64_t chain = lines_take_number(&lines, "chain");
	at->segment = lines_take_number(&lines, "segment");
	at->offset = lines_take_number(&lines, "offset");
	at->record_offset = lines_take_number(&lines, "record_offset");
	at->now.v = (int64_t)lines_take_number(&lines, "now_us");
	snapshot->made.v = (int64_t)lines_take_number(&lines, "made_us");
	snapshot->bytes = lines_take_number(&lines, "bytes");
	lines_take_hex(&lines, "sha256", snapshot->sha256, sizeof snapshot->sha256);
	if (shard > UINT16_MAX || chain > UINT32_MAX || at->seq == 0) return ERR_DAMAGED;
	snapshot->shard = (uint16_t)shard;
	at->chain = (uint32_t)chain;
	return lines_finish(&lines);
}

void snapshot_manifest_refusal(struct span text, enum version_of of, const char *file, char why[VERSION_TEXT])
{
	uint64_t found = 0;
	(void)lines_version(text, kind, &found);
	version_refusal(of, file, found, SNAPSHOT_VERSION, why);
}
