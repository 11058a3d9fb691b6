/* MAINTENANCE_START: asks the shard's snapshotter for a snapshot, a backup or a verification. It only begins it; MAINTENANCE_STATUS tells what
 * became of it. A backup's directory is the whole one's: the shard's own is shards/N in it. It comes to a reader, so
 * that everything acknowledged before it is in the tables that the snapshot is made of. */
#include "actors/shard/command.h"
#include "schemas/api/system.h"
#include "schemas/backup.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

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

/* Is the directory of that name here the one that was meant? Another one would be filled with files that nobody finds. */
static enum err look_at_place(const char *dir, struct span place, struct outcome *outcome)
{
	struct stat st;
	char        text[BACKUP_PLACE_TEXT];
	if (stat(dir, &st)) {
		if (errno != ENOENT && errno != ENOTDIR) return ERR_IO;
	} else {
		backup_place_text((uint64_t)st.st_dev, (uint64_t)st.st_ino, text);
		if (span_is(place, text)) return OK;
	}
	outcome->message =
	    "The service sees another directory of that name, or none (PrivateTmp, a container, a "
	    "chroot?): name one that both see.";
	return ERR_UNSUPPORTED;
}

enum err on_MAINTENANCE_START(struct request *request, struct outcome *outcome)
{
	struct span    dir = arg_span(&request->args[ARG_MAINTENANCE_START_dir]);
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum keep      what;
	uint64_t       number;
	char           own[KEEP_DIR_MAX + 32] = "", whole[KEEP_DIR_MAX];
	enum err       err = OK;
	if (!keep_read(arg_span(&request->args[ARG_MAINTENANCE_START_what]), &what))
		return refuse(outcome, REASON(WANTED, "what", .wanted = "one of snapshot, backup, verify"));
	if ((what == KEEP_BACKUP) != (dir.size > 0))
		return refuse(outcome,
		              REASON(WANTED, "dir", .wanted = "a directory with backup, and absent else"));
	if (dir.size)
		snprintf(own, sizeof own, "%.*s/shards/%u", (int)dir.size, (const char *)dir.at,
		         request->facts->index);
	if (dir.size && memchr(dir.at, 0, dir.size))
		return refuse(outcome, REASON(WANTED, "dir", .wanted = "a path"));
	snprintf(whole, sizeof whole, "%.*s", (int)dir.size, (const char *)dir.at);
	if (dir.size)
		err = look_at_place(whole, arg_span(&request->args[ARG_MAINTENANCE_START_place]), outcome);
	if (!err) err = snapshotter_ask(request->facts->snapshotter, what, span_str(own), &number);
	if (err) return err;
	msgpack_pack_map(&pk, 2);
	pack_text(&pk, "number");
	msgpack_pack_uint64(&pk, number);
	pack_text(&pk, "epoch");
	msgpack_pack_uint64(&pk, request->facts->epoch);
	return OK;
}
