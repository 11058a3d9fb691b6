/* KEEP: asks the shard's keeper for a snapshot, a backup or a verification. It only begins it; KEEPING tells what
 * became of it. A backup's directory is the whole one's: the shard's own is shards/N in it. It comes to a reader, so
 * that everything acknowledged before it is in the tables that the snapshot is made of. */
#include "actors/shard/command.h"
#include "schemas/fields/system.h"

#include <stdio.h>

static bool keep_read(struct span text, enum keep *what)
{
	static const char *const texts[] = {
	    [KEEP_SNAPSHOT] = "snapshot", [KEEP_BACKUP] = "backup", [KEEP_VERIFY] = "verify"};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (!span_is(text, texts[i])) continue;
		*what = (enum keep)i;
		return true;
	}
	return false;
}

enum err on_KEEP(struct request *request, struct outcome *outcome)
{
	struct span    dir = arg_span(&request->args[ARG_KEEP_dir]);
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum keep      what;
	uint64_t       number;
	char           own[KEEP_DIR_MAX + 32] = "";
	if (!keep_read(arg_span(&request->args[ARG_KEEP_what]), &what))
		return blame(outcome, ERR_INVALID_INPUT, span_str("what"));
	if ((what == KEEP_BACKUP) != (dir.size > 0))
		return blame(outcome, ERR_INVALID_INPUT, span_str("dir"));
	if (dir.size)
		snprintf(own, sizeof own, "%.*s/shards/%u", (int)dir.size, (const char *)dir.at,
		         request->facts->index);
	if (dir.size && memchr(dir.at, 0, dir.size))
		return blame(outcome, ERR_INVALID_INPUT, span_str("dir"));
	enum err err = keeper_ask(request->facts->keeper, what, span_str(own), &number);
	if (err) return err;
	msgpack_pack_map(&pk, 2);
	pack_text(&pk, "number");
	msgpack_pack_uint64(&pk, number);
	pack_text(&pk, "epoch");
	msgpack_pack_uint64(&pk, request->facts->epoch);
	return OK;
}
