/* Maintenance: its start, and what became of it. */
#include "actors/shard/command.h"
#include "schemas/api/system.h"
#include "schemas/backup.h"
#include "schemas/object_msgpack.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* MAINTENANCE_START: asks the shard's snapshotter for a snapshot, a backup or a verification. It only begins it;
 * MAINTENANCE_STATUS reports the outcome. The directory of a backup is that of all shards; this shard's is shards/N in it. A
 * reader handles it, so that everything acknowledged before is in the tables that the snapshot is made of. */
static bool job_read(struct span text, enum snapshot_job *what)
{
	static const char *const texts[] = {
	    [JOB_SNAPSHOT] = "snapshot", [JOB_BACKUP] = "backup", [JOB_VERIFY] = "verify"};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (!span_is(text, texts[i])) continue;
		*what = (enum snapshot_job)i;
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
	struct span       dir = arg_span(&request->args[ARG_MAINTENANCE_START_dir]);
	msgpack_packer    pk = buffer_packer(outcome->payload);
	enum snapshot_job what;
	uint64_t          number;
	char              own[BACKUP_DIR_MAX + 32] = "", whole[BACKUP_DIR_MAX];
	enum err          err = OK;
	if (!job_read(arg_span(&request->args[ARG_MAINTENANCE_START_what]), &what))
		return refuse(outcome, REASON(WANTED, "what", .wanted = "one of snapshot, backup, verify"));
	if ((what == JOB_BACKUP) != (dir.size > 0))
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
	pack_count(&pk, "number", number);
	pack_count(&pk, "epoch", request->facts->epoch);
	return OK;
}

/* MAINTENANCE_STATUS: the progress of the snapshotter's job, and its outcome once it has ended. `epoch` distinguishes a job of
 * this process from one of the same number before a restart. */
static void pack_faults(msgpack_packer *pk, size_t map, const struct faults *faults)
{
	size_t kept = faults->count < FAULTS_KEPT ? (size_t)faults->count : (size_t)FAULTS_KEPT;
	MEMBER_ALWAYS(fault_count, INTEGER, faults->count);
	map_key(pk, map, "faults");
	msgpack_pack_array(pk, kept);
	for (size_t i = 0; i < kept; i++)
		pack_text(pk, faults->texts[i]);
}

enum err on_MAINTENANCE_STATUS(struct request *request, struct outcome *outcome)
{
	struct snapshotter_state state;
	msgpack_packer           packer = buffer_packer(outcome->payload), *pk = &packer;
	snapshotter_state(request->facts->snapshotter, &state);
	size_t map = map_begin_wide(pk);
	MEMBER_ALWAYS(index, INTEGER, request->facts->index);
	MEMBER_ALWAYS(epoch, INTEGER, request->facts->epoch);
	MEMBER_ALWAYS(number, INTEGER, state.number);
	MEMBER_ALWAYS(running, BOOLEAN, state.running);
	MEMBER_ALWAYS(code, STRING, state.err ? err_code(state.err) : "");
	MEMBER_ALWAYS(error, STRING, state.err == ERR_IO && state.error ? strerror(state.error) : "");
	MEMBER_ALWAYS(done, INTEGER, state.done);
	MEMBER_ALWAYS(total, INTEGER, state.total);
	MEMBER_ALWAYS(seq, INTEGER, state.made.at.seq);
	MEMBER_ALWAYS(made_epoch, INTEGER, state.made.at.epoch);
	MEMBER_ALWAYS(bytes, INTEGER, state.made.bytes);
	map_key(pk, map, "sha256");
	pack_bin(pk, span_of(state.made.sha256, sizeof state.made.sha256));
	MEMBER_ALWAYS(accounts, INTEGER, state.audit.accounts);
	MEMBER_ALWAYS(passes, INTEGER, state.audit.passes);
	MEMBER_ALWAYS(ledger_rows, INTEGER, state.audit.ledger_rows);
	MEMBER_ALWAYS(rows, INTEGER, state.audit.rows);
	MEMBER_ALWAYS(records, INTEGER, state.records);
	MEMBER_ALWAYS(segments, INTEGER, state.segments);
	MEMBER_ALWAYS(snapshots, INTEGER, state.snapshots);
	pack_faults(pk, map, &state.faults);
	return OK;
}
