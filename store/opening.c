/* Opens and closes a store: tables that are believed or rebuilt, recovery, and the clean marker at the end. */
#include "store/store_inside.h"

#include "schemas/limits.h"
#include "store/file.h"
#include "store/late_rows.h"
#include "store/recover.h"
#include "store/shape.h"
#include "store/shard_dir.h"
#include "store/start_walk.h"
#include "store/tails.h"
#include "store/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const uint64_t WALK_BYTES_MAX = UINT64_C(1) << 30;

/* Walks all tables unless that would take too long. ERR_DAMAGED: faults->texts[0] has the place. */
static enum err walk_unless_long(struct store *store, struct faults *faults)
{
	struct view *view = NULL;
	struct arena arena = {0};
	enum err     err = db_reader_open(store->db, &arena, &view);
	if (err || (err = db_reader_begin(view))) goto out;
	if (view_used_bytes(view) <= WALK_BYTES_MAX) err = walk_tables(view, faults, NULL);
	db_reader_end(view);
	if (!err && faults->count) err = ERR_DAMAGED;
out:
	db_reader_close(&view);
	arena_free(&arena);
	return err;
}

static void close_tables(struct store *store)
{
	db_close(&store->db);
	cells_close(&store->cells);
	if (store->db_fd >= 0) close(store->db_fd);
	store->db_fd = -1;
}

static enum err open_db(struct store *store, const struct shard_dir *shard_dir, struct store_report *report,
                        const struct table_plan *plan)
{
	enum err err = shard_dir_open_tables(shard_dir->dir_fd, plan, &store->db_fd);
	if (!err) err = db_open(store->db_fd, shard_dir->map_bytes, shard_dir->lineage, &store->db);
	if (!err) err = cells_open(&store->cells);
	if (!err && shard_dir->late_tails_bytes) tails_bound(store->cells, shard_dir->late_tails_bytes);
	if (!err && shard_dir->late_rows_bytes) late_rows_bound(store->cells, shard_dir->late_rows_bytes);
	if (!err)
		cells_set_bound(store->cells,
		                (struct cells_bound){shard_dir->memory_bytes, shard_dir->memory_blocks});
	if (!err) db_use_cells(store->db, store->cells);
	if (err && err != ERR_DAMAGED)
		snprintf(report->what, sizeof report->what, "the tables cannot be opened: %s",
		         err_cause(err));
	return err;
}

/* A clean stop has written everything. */
static enum err check_whole(struct store *store, struct store_report *report)
{
	struct standing standing;
	enum err        err = db_standing(db_view(store->db, NULL, NULL), &standing);
	if (err || standing.late.seq == standing.at.seq)
		return OK; /* what cannot be read, recovery finds and names */
	snprintf(report->refused, sizeof report->refused,
	         "the tables of a clean stop hold late rows of record %llu only, and stand at %llu",
	         (unsigned long long)standing.late.seq, (unsigned long long)standing.at.seq);
	return ERR_DAMAGED;
}

/* Opens the transaction. */
static enum err begin_tables(struct store *store, struct store_report *report, const struct table_plan *plan)
{
	struct applied applied;
	enum err       err = db_begin(store->db);
	if (err) return err;
	bool is_clean = report->clean_mark == CLEAN_MARK_CLEAN && !plan->rebuild;
	if (is_clean && (err = check_whole(store, report))) return err;
	if (plan->from.at.seq == 0) return OK;
	/* A restored snapshot's tables do not know the journal that begins behind it. */
	if ((err = db_applied(db_view(store->db, NULL, NULL), &applied))) {
		if (err == ERR_UNSUPPORTED)
			db_refusal(db_view(store->db, NULL, NULL), "a snapshot's data.mdb", report->what);
		return err;
	}
	if (applied.seq != plan->from.at.seq || applied.chain != plan->from.at.chain) return ERR_DAMAGED;
	return (err = db_commit(store->db, &plan->from.at)) ? err : db_begin(store->db);
}

/* What the journal is found to be by the tables. */
struct judgement {
	enum err        err;
	struct recovery recovery;
};

static bool await_late(struct start_walk *walk)
{
	bool is_whole = true;
	for (unsigned i = 1; i < TABLE_END && is_whole; i++)
		if (table_is_late((enum table)i)) is_whole = start_walk_await(walk, (enum table)i);
	return is_whole;
}

/* Beside a walk late tables are also replayed into memory. Reads only tables that the walk has found whole: a damaged page may
 * end the process. */
static void judge_journal(struct store *store, const struct table_plan *plan, struct start_walk *walk,
                          struct judgement *journal, struct store_report *report)
{
	struct recovery *recovery = &journal->recovery;
	if (!start_walk_await(walk, TABLE_META)) return; /* the walk's end says why */
	journal->err = recover_judge(&store->dir, store->db, plan->floor_seq, recovery, report);
	if (!journal->err && walk && await_late(walk)) journal->err = recover_late(recovery, store->db);
}

/* Opens the tables and judges the journal by them. Tables of a killed process are whole if the page cache kept them: a thread
 * walks through them meanwhile. What it finds comes first, and without that nothing else counts. Errors: of the tables. */
static enum err try_tables(struct store *store, const struct shard_dir *shard_dir,
                           struct store_report *report, const struct table_plan *plan,
                           struct judgement *journal)
{
	bool                must_walk = report->clean_mark == CLEAN_MARK_OPEN && !plan->rebuild;
	struct start_walk  *walk = NULL;
	struct store_report as_judged;
	char                found[FAULT_TEXT] = "";
	enum err            err = open_db(store, shard_dir, report, plan);
	if (!err && must_walk) err = start_walk_begin(store->db, WALK_BYTES_MAX, &walk);
	if (!err) err = begin_tables(store, report, plan);
	as_judged = *report;
	if (!err) judge_journal(store, plan, walk, journal, &as_judged);
	enum err walked = start_walk_end(&walk, found);
	if (found[0]) snprintf(report->refused, sizeof report->refused, "%.159s", found);
	if (walked) return walked;
	if (!err) *report = as_judged;
	return err;
}

/* Trusted tables found damaged are rebuilt like untrusted ones. */
static enum err open_tables(struct store *store, const struct shard_dir *shard_dir,
                            struct store_report *report, struct table_plan *plan, struct judgement *journal)
{
	enum err err = try_tables(store, shard_dir, report, plan, journal);
	if (err != ERR_DAMAGED || plan->rebuild) return err;
	recover_end(&journal->recovery);
	close_tables(store);
	*journal = (struct judgement){.err = OK};
	if (!report->refused[0])
		snprintf(report->refused, sizeof report->refused, "the tables cannot be opened");
	clean_mark_remove(shard_dir->dir_fd);
	if ((err = shard_dir_judge(shard_dir, &store->dir, report, plan))) return err;
	return try_tables(store, shard_dir, report, plan, journal);
}

static enum err open_helpers(struct store *store, const struct shard_dir *shard_dir)
{
	enum err err = disk_monitor_open(store->db, store->db_fd, &store->disk_monitor);
	return err ? err : snapshotter_open(shard_dir, &store->dir, store->db, &store->snapshotter);
}

static void plan_dir(struct store *store, const struct shard_dir *shard_dir)
{
	store->db_fd = -1;
	store->shard_fd = shard_dir->dir_fd;
	store->dir = (struct journal_dir){.fd = -1,
	                                  .shard = shard_dir->shard,
	                                  .segment_bytes = shard_dir->segment_bytes,
	                                  .quick_sync_us = shard_dir->quick_sync_us};
	memcpy(store->dir.lineage, shard_dir->lineage, sizeof shard_dir->lineage);
}

/* Before a call that changes errno. */
static void describe_failure(struct store_report *report, enum err err)
{
	if (err && !report->what[0]) snprintf(report->what, sizeof report->what, "%s: %m", err_message(err));
}

static void begin_late(struct store *store, const struct shard_dir *shard_dir, uint64_t behind)
{
	const struct late_setting set = {.db = store->db,
	                                 .cells = store->cells,
	                                 .round_bytes = shard_dir->late_round_bytes,
	                                 .slice_rows = shard_dir->late_slice_rows};
	late_begin(&store->late, &set, behind);
}

/* Runs up to the last point without changes; then writes the marker and replays the journal. */
static enum err recover_with(struct store *store, const struct shard_dir *shard_dir,
                             struct store_report *report, struct table_plan *plan, struct position *end)
{
	struct judgement journal = {.err = OK};
	struct recovery *recovery = &journal.recovery;
	enum err         err = open_tables(store, shard_dir, report, plan, &journal);
	if (err || (err = journal.err)) goto out;
	report->snapshot_seq = plan->from.at.seq;
	if (shard_dir->before_change && (err = shard_dir->before_change(shard_dir->user))) goto out;
	if (!plan->rebuild && (err = clean_mark_write(shard_dir->dir_fd, false))) goto out;
	if ((err = recover_finish(recovery, store->db, report))) goto out;
	if (plan->rebuild && (err = shard_dir_adopt_tables(shard_dir->dir_fd))) goto out;
	begin_late(store, shard_dir, recovery->late_bytes);
	*end = recovery->end;
out:
	describe_failure(report, err);
	recover_end(recovery);
	if (err) close_tables(store);
	if (!err || plan->rebuild) shard_dir_forget_tables(shard_dir->dir_fd, err != OK);
	return err;
}

/* Trusted tables that contradict the journal may be an operator's manual repair: recovery is tried without them. */
static enum err recover(struct store *store, const struct shard_dir *shard_dir, struct store_report *report,
                        struct position *end)
{
	struct table_plan   plan = {.rebuild = false};
	struct store_report before;
	enum err            err = shard_dir_judge(shard_dir, &store->dir, report, &plan);
	if (err || (err = recover_with(store, shard_dir, report, &plan, end)) != ERR_DAMAGED || plan.rebuild)
		return err;
	before = *report;
	*report = (struct store_report){.clean_mark = CLEAN_MARK_NONE};
	snprintf(report->refused, sizeof report->refused, "%.159s", before.what);
	plan = (struct table_plan){.distrusted = true};
	if (!(err = shard_dir_judge(shard_dir, &store->dir, report, &plan)))
		err = recover_with(store, shard_dir, report, &plan, end);
	if (err) *report = before; /* the first refusal has more detail */
	return err;
}

enum err store_open(const struct shard_dir *shard_dir, wall_us now, struct store **out,
                    struct store_report *report)
{
	struct position at;
	struct store   *store = calloc(1, sizeof *store);
	enum err        err = store ? OK : ERR_NO_MEMORY;
	*out = NULL;
	*report = (struct store_report){0};
	if (err) goto out;
	plan_dir(store, shard_dir);
	if ((err = shape_judge(shard_dir->dir_fd, report))) goto out;
	if ((err = shard_dir_open_journal(shard_dir, report, &store->dir.fd))) goto out;
	if ((err = recover(store, shard_dir, report, &at))) goto out;
	if (report->last_now.v < now.v) report->last_now = now;
	store->now = report->last_now;
	if ((err = journal_open(&store->dir, &at, store->now, &store->journal))) goto out;
	report->epoch = at.epoch;
	report->seq = at.seq;
	if ((err = store_commit(store))) goto out;
	err = open_helpers(store, shard_dir);
out:
	describe_failure(report, err);
	if (err) store_close(&store);
	*out = store;
	return err;
}

/* Syncs all that was committed. ERR_DAMAGED: it may not be on the disk. */
static enum err sync_committed(struct store *store)
{
	enum err err = store_write_all(store);
	if (!err) err = store_commit(store);
	if (err) return err;
	return db_sync(store->db) ? ERR_DAMAGED : OK;
}

/* If everything is decided, durable and committed, the tables on disk can be trusted, unless they were damaged while
 * in use. Damaged ones keep the open marker, so that the next start finds the same faults. After a failed write the
 * marker is removed: the kernel reports the error once, and the next start would find the tables in memory,
 * seemingly good. */
static void close_clean(struct store *store)
{
	struct faults faults = {0};
	if (!store->journal || store->broken) return;
	if (store_open_bytes(store) || journal_is_syncing(store->journal)) return;
	enum err err = sync_committed(store);
	if (err == ERR_DAMAGED) clean_mark_remove(store->shard_fd);
	if (err || walk_unless_long(store, &faults)) return;
	close_tables(store);
	(void)!clean_mark_write(store->shard_fd, true); /* for speed: without it the next start walks, too */
}

void store_close(struct store **store_p)
{
	struct store *store = *store_p;
	if (!store) return;
	bool is_blamed = store->snapshotter && snapshotter_found_damage(store->snapshotter);
	snapshotter_close(&store->snapshotter);
	if (disk_monitor_close(&store->disk_monitor)) is_blamed = true;
	if (is_blamed)
		clean_mark_remove(store->shard_fd);
	else
		close_clean(store);
	journal_close(&store->journal);
	close_tables(store);
	if (store->dir.fd >= 0) close(store->dir.fd);
	free(store);
	*store_p = NULL;
}
