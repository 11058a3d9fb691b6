/* Verifies a shard's whole directory in order of dependence: the journal's segments and the chain of its records;
 * the snapshots, each of which must join the journal; and the tables, if trusted, which must join it too. Nothing is
 * written. Flaws that recovery mends are left alone, and reported only if mending would lose data. */
#include "store/verify_inside.h"

#include "store/clean_mark.h"
#include "store/shape.h"
#include "store/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A step counts its work as it goes; at its end, the count is set to the announced amount. */
static void step_done(struct verifying *v, uint64_t bytes)
{
	v->planned += bytes;
	if (v->order->progress) atomic_store(&v->order->progress->done, v->planned);
}

/* Tables -------------------------------------------------------------------------------------------------- */

/* Rows of late tables that are behind the others contradict them: then pages and checksums alone are checked. */
static enum err audit_rows(struct verifying *v, struct view *view, const struct standing *standing,
                           struct faults *part)
{
	if (standing->late.seq == standing->at.seq)
		return audit_tables(view, &v->report->audit, part, v->order->progress);
	return walk_tables(view, part, v->order->progress);
}

/* `at` becomes the tables' position. Errors: also ERR_UNSUPPORTED: a version that is not known, which has been reported. */
static enum err audit_view(struct verifying *v, struct view *view, struct standing *standing,
                           const char *name)
{
	struct faults *part = calloc(1, sizeof *part);
	char           why[VERSION_TEXT];
	enum err       err = part ? db_reader_begin(view) : ERR_NO_MEMORY;
	if (!err) {
		err = db_standing(view, standing);
		if (err == ERR_DAMAGED) fault(part, "its position cannot be read");
		if (err == ERR_UNSUPPORTED) {
			db_refusal(view, "data.mdb", why);
			fault(v->faults, "%s: %s", name, why);
		}
		if (!err || err == ERR_NOT_FOUND || err == ERR_DAMAGED)
			err = audit_rows(v, view, standing, part);
		db_reader_end(view);
		faults_add(v->faults, part, name);
	}
	free(part);
	return err;
}

/* Errors: also ERR_DAMAGED: the tables cannot be opened, which has been reported. */
static enum err audit_dir(struct verifying *v, int db_fd, struct standing *standing, const char *name)
{
	struct db   *db = NULL;
	struct view *view = NULL;
	struct arena arena = {0};
	*standing = (struct standing){.at = {0}};
	enum err err = db_open_still(db_fd, &db);
	if (!err) err = db_reader_open(db, &arena, &view);
	if (!err) err = audit_view(v, view, standing, name);
	db_reader_close(&view);
	db_close(&db);
	arena_free(&arena);
	if (err == ERR_DAMAGED) fault(v->faults, "%s: data.mdb cannot be opened", name);
	return err;
}

/* Snapshots ----------------------------------------------------------------------------------------------- */

static bool same_place(const struct applied *a, const struct applied *b)
{
	return a->seq == b->seq && a->chain == b->chain && a->epoch == b->epoch;
}

static enum err verify_snapshot(struct verifying *v, const struct snapshot *snapshot)
{
	char            number[SNAPSHOT_NAME], path[64], name[64];
	struct standing standing;
	enum err        err;
	verify_part(v, "snapshot", snapshot->at.seq);
	snapshot_name(snapshot->at.seq, number);
	snprintf(path, sizeof path, "snapshots/%s", number);
	snprintf(name, sizeof name, "snapshot %" PRIu64, snapshot->at.seq);
	if ((err = verify_joined(v, &snapshot->at, name))) return err;
	err = snapshot_check(v->order->shard_dir->dir_fd, snapshot, v->order->progress);
	if (err == ERR_DAMAGED) {
		fault(v->faults, "%s: data.mdb is missing, or not the bytes that its manifest tells", name);
		return OK;
	}
	int fd = err ? -1 : openat(v->order->shard_dir->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return err ? err : ERR_IO;
	err = audit_dir(v, fd, &standing, name);
	close(fd);
	if (!err && (!same_place(&standing.at, &snapshot->at) || !same_place(&standing.late, &snapshot->at)))
		fault(v->faults, "%s: its tables stand at record %" PRIu64, name, standing.late.seq);
	return err == ERR_DAMAGED ? OK : err;
}

/* The oldest first, so that the report's audit is of the newest. */
static enum err verify_snapshots(struct verifying *v)
{
	enum err err = OK;
	for (unsigned i = v->snapshot_count; !err && i-- > 0;) {
		err = verify_snapshot(v, &v->snapshots[i]);
		step_done(v, 3 * v->snapshots[i].bytes);
	}
	v->report->snapshots = v->snapshot_count;
	if (v->snapshot_count && v->report->seq < v->snapshots[0].at.seq)
		v->report->seq = v->snapshots[0].at.seq;
	if (!v->snapshot_count && v->begun && v->begin.seq)
		fault(v->faults,
		      "journal: begins with record %" PRIu64 ", and there is no snapshot of what was before",
		      v->begin.seq + 1);
	return err;
}

/* Only a finished directory without a manifest is damage: unfinished ones are removed automatically. */
static enum err list_snapshots(struct verifying *v)
{
	unsigned broken = 0;
	char     why[VERSION_TEXT];
	v->snapshot_count = VERIFIED_SNAPSHOTS_MAX;
	enum err err = snapshot_list(v->order->shard_dir->dir_fd, &v->dir, v->snapshots, &v->snapshot_count,
	                             &broken);
	if (err == ERR_UNSUPPORTED) {
		snapshot_refusal(v->order->shard_dir->dir_fd, v->snapshots, why);
		fault(v->faults, "%s", why);
	}
	if (broken) fault(v->faults, "snapshots: %u without a manifest that can be read", broken);
	return err;
}

/* The shard's own tables ---------------------------------------------------------------------------------- */

/* Untrusted tables still prove how far the journal must reach. */
static enum err judge_floor(struct verifying *v)
{
	uint64_t floor_seq;
	enum err err = shard_dir_find_floor(v->order->shard_dir, &floor_seq);
	if (!err && floor_seq > v->report->seq)
		fault(v->faults,
		      "journal: ends with record %" PRIu64 ", but db/ proves that record %" PRIu64
		      " had been acknowledged",
		      v->report->seq, floor_seq);
	return err;
}

static enum err verify_tables(struct verifying *v)
{
	struct standing standing;
	bool            present;
	char            why[VERSION_TEXT];
	const char     *flaw;
	enum clean_mark clean_mark;
	enum err        err = clean_mark_read(v->order->shard_dir->dir_fd, &present, &clean_mark);
	if (err == ERR_UNSUPPORTED) {
		clean_mark_refusal(v->order->shard_dir->dir_fd, why);
		fault(v->faults, "%s", why);
		return OK;
	}
	if (err || !present) return err;
	if (clean_mark == CLEAN_MARK_NONE) {
		if ((err = judge_floor(v)) || (err = clean_mark_flaw(v->order->shard_dir->dir_fd, &flaw)))
			return err;
		if (flaw) fault(v->faults, "%s", flaw);
		return OK;
	}
	int fd = openat(v->order->shard_dir->dir_fd, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return ERR_IO;
	err = audit_dir(v, fd, &standing, "tables");
	close(fd);
	v->report->tables = !err;
	if (err) return err == ERR_DAMAGED ? OK : err;
	if ((err = verify_joined(v, &standing.at, "tables"))) return err;
	return verify_joined(v, &standing.late, "tables");
}

/* All of it ----------------------------------------------------------------------------------------------- */

static void plan(struct verifying *v)
{
	struct stat st;
	uint64_t    total = v->report->segments * v->order->shard_dir->segment_bytes;
	if (!v->order->progress) return;
	v->planned = atomic_load(&v->order->progress->done);
	for (unsigned i = 0; i < v->snapshot_count; i++)
		total += 3 * v->snapshots[i].bytes;
	if (!v->order->served && !fstatat(v->order->shard_dir->dir_fd, "db/data.mdb", &st, 0))
		total += 2 * (uint64_t)st.st_size;
	atomic_store(&v->order->progress->total, v->planned + total);
}

/* An empty directory is right only if it has never had data. */
static void judge_presence(struct verifying *v)
{
	const struct shard_dir *shard_dir = v->order->shard_dir;
	if (v->last || (shard_dir->may_format && !v->snapshot_count) ||
	    (shard_dir->restored && v->snapshot_count))
		return;
	fault(v->faults, v->snapshot_count ? "journal: missing" : "journal and snapshots: missing");
}

/* A directory that no start would accept is not read. */
static bool has_shape(const struct verifying *v, enum err *err)
{
	struct store_report found = {.rebuilt = false};
	*err = v->order->served ? OK : shape_judge(v->order->shard_dir->dir_fd, &found);
	if (*err != ERR_UNSUPPORTED && *err != ERR_IO) return !*err;
	fault(v->faults, "%s", found.what);
	*err = OK;
	return false;
}

enum err verify_shard(const struct verify_order *order, struct verify_report *report)
{
	struct verifying v = {.order = order, .report = report, .faults = &report->faults};
	enum err         err;
	*report = (struct verify_report){.seq = 0};
	verify_part(&v, "journal", 0);
	errno = 0;
	if (!has_shape(&v, &err)) return err;
	v.dir = (struct journal_dir){
	    .fd = openat(order->shard_dir->dir_fd, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    .shard = order->shard_dir->shard,
	    .segment_bytes = order->shard_dir->segment_bytes};
	memcpy(v.dir.lineage, order->shard_dir->lineage, sizeof v.dir.lineage);
	err = v.dir.fd < 0 && errno != ENOENT ? ERR_IO : list_snapshots(&v);
	if (!err && v.dir.fd >= 0) err = verify_segments(&v);
	if (err) goto out;
	judge_presence(&v);
	plan(&v);
	if ((err = verify_journal(&v))) goto out;
	step_done(&v, report->segments * order->shard_dir->segment_bytes);
	if ((err = verify_snapshots(&v))) goto out;
	verify_part(&v, "tables", 0);
	if (!order->served) err = verify_tables(&v);
out:
	if (err == ERR_IO) { /* a fault too, and it ends the check */
		fault(v.faults, "%s: cannot be read: %s", v.part, errno ? strerror(errno) : err_message(err));
		err = OK;
	}
	if (err == ERR_UNSUPPORTED) err = OK; /* a version that is not known is a fault, and ends the check */
	scan_end(&v.scan);
	arena_free(&v.arena);
	if (v.dir.fd >= 0) close(v.dir.fd);
	return err;
}
