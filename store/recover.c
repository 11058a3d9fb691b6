/* Recovery, in this order: find the applied position, and that of late tables; read the valid records behind them; decide whether the bytes
 * after them are an unfinished tail or damage; rewrite and sync the records that may be in the page cache only; cut
 * the tail; replay. Nothing is changed before the tail is judged, so a damaged store is left untouched. */
#include "store/recover.h"

#include "store/late.h"
#include "store/late_rows.h"
#include "store/tails.h"

#include <stdio.h>
#include <unistd.h>

struct applied applied_at(const struct position *at, wall_us now)
{
	return (struct applied){.segment = at->segment,
	                        .offset = at->offset,
	                        .record_offset = at->record_offset,
	                        .seq = at->seq,
	                        .epoch = at->epoch,
	                        .chain = at->chain,
	                        .now = now};
}

static struct position position_of(const struct applied *applied)
{
	return (struct position){.segment = applied->segment,
	                         .offset = applied->offset,
	                         .record_offset = applied->record_offset,
	                         .seq = applied->seq,
	                         .epoch = applied->epoch,
	                         .chain = applied->chain};
}

enum { REPLAY_CHUNK_RECORDS = 256 };

static enum err damage(struct store_report *report, const char *what, uint64_t segment, uint64_t offset,
                       uint64_t seq)
{
	snprintf(report->what, sizeof report->what, "%s: segment=%llu offset=%llu seq=%llu", what,
	         (unsigned long long)segment, (unsigned long long)offset, (unsigned long long)seq);
	return ERR_DAMAGED;
}

static enum err damage_of_way(struct store_report *report, const struct position *at)
{
	return damage(report, "the journal lacks a record the tables hold", at->segment, at->record_offset,
	              at->seq);
}

/* Rewrites one record in place, in whole blocks. */
static enum err write_again(const struct scan *scan, uint64_t offset, const struct record *record)
{
	int      fd;
	uint64_t bytes, room = record_room(record->writes.size);
	enum err err = segment_open(scan->dir, scan->here->segment, &fd, &bytes);
	if (err) return err;
	ssize_t n = pwrite(fd, scan->here->bytes + offset, (size_t)room, (off_t)offset);
	if (n != (ssize_t)room) err = ERR_IO;
#ifndef FAULT_HARDEN_UNSYNCED /* the fault: what is written again is not synced */
	if (!err && fdatasync(fd)) err = ERR_IO;
#endif
	close(fd);
	return err;
}

/* Reads without replay to the last valid record, and the durable_seq that it states. The way has to lead by the tables'
 * position. */
static enum err find_end(struct recovery *recovery, struct store_report *report)
{
	const struct position *tables = &recovery->at;
	struct position       *at = &recovery->end;
	struct record          record;
	enum err               err;
	bool                   is_by = at->seq == tables->seq && at->chain == tables->chain;
	while (!(err = scan_next(&recovery->scan, at, &record))) {
		is_by |= at->seq == tables->seq && at->chain == tables->chain;
		recovery->vouched = record.durable_seq;
		report->last_now = record.now;
	}
	if (err != ERR_NOT_FOUND) return err;
	return is_by ? OK : damage_of_way(report, tables);
}

/* Everything after `vouched` may be in the page cache only. */
static enum err harden(struct scan *scan, struct position at, uint64_t vouched)
{
	struct record record;
	enum err      err;
#ifdef FAULT_NO_HARDEN
	vouched = UINT64_MAX; /* the fault: readable records are assumed to be on disk */
#endif
	while (!(err = scan_next(scan, &at, &record))) {
		uint64_t offset = at.offset - record_room(record.writes.size);
		if (record.seq > vouched && (err = write_again(scan, offset, &record))) return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* The operations of a record that are applied. */
enum share { SHARE_ALL, SHARE_LATE, SHARE_OTHERS };

static bool is_in(enum share share, enum table table)
{
	return share == SHARE_ALL || (share == SHARE_LATE) == table_is_late(table);
}

static enum err replay_record(struct db *db, const struct record *record, enum share share,
                              struct arena *arena)
{
	struct span  left = record->writes;
	struct write write;
	enum err     err;
#ifdef FAULT_SKIP_REPLAY
	(void)db, (void)share, (void)arena;
	return OK; /* the fault: the journal is read but not applied */
#endif
	while (!(err = record_next(&left, arena, &write))) {
		if (!is_in(share, write.table)) continue;
		if ((err = db_apply(db, &write, false)))
			return err == ERR_NOT_FOUND ? ERR_DAMAGED
			                            : err; /* ERR_NOT_FOUND would mean: no more */
	}
	arena_reset(arena);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err commit_chunk(struct db *db, const struct position *at, wall_us now)
{
	struct applied applied = applied_at(at, now);
	enum err       err = db_commit(db, &applied);
	return err ? err : db_begin(db);
}

/* Memory for late tables may be smaller than what the replay changes. */
static bool is_pressed(struct db *db)
{
	const struct cells *cells = db_cells(db);
	return cells && (cells_pressure(cells) >= LATE_PAUSE_PERCENT || tails_fill(cells) >= LATE_AHEAD ||
	                 late_rows_fill(cells) >= LATE_AHEAD);
}

/* Then rows are written as they are by now. `is_ahead`: the other tables are ahead of `at`. */
static enum err relieve(struct db *db, const struct position *at, wall_us now, bool is_ahead)
{
	struct applied applied = applied_at(at, now);
	enum err       err = is_ahead ? db_applied(db_view(db, NULL, NULL), &applied) : OK;
	if (!err) err = late_write_all(db, db_cells(db));
	if (!err) err = db_commit(db, &applied);
	return err ? err : db_begin(db);
}

enum err recover_late(struct recovery *recovery, struct db *db)
{
	struct position at = position_of(&recovery->late);
	struct record   record;
	struct arena    arena = {0};
	enum err        err;
	bool is_too_much = false; /* nothing may be written yet, so recover_finish() begins once more */
	while (!is_too_much && !(err = scan_next(&recovery->scan, &at, &record))) {
		if ((err = replay_record(db, &record, SHARE_LATE, &arena))) break;
		is_too_much = is_pressed(db);
	}
	arena_free(&arena);
	must(err != ERR_NOT_FOUND || at.seq == recovery->end.seq);
	recovery->has_late = err == ERR_NOT_FOUND;
	return recovery->has_late ? OK : err;
}

/* Of a record that is not in the tables: all, unless late ones were replayed. Of one that is: late ones. */
static enum share share_of(const struct recovery *recovery, const struct record *record)
{
	if (recovery->has_late) return SHARE_OTHERS;
	return record->seq <= recovery->at.seq ? SHARE_LATE : SHARE_ALL;
}

/* From the late position, or from that of the other tables if late ones were replayed. Chunks are committed with the
 * position of all other tables; the late one stays until a round has written what is replayed here into memory. */
static enum err replay(struct recovery *recovery, struct db *db, struct store_report *report)
{
	struct position at = recovery->has_late ? recovery->at : position_of(&recovery->late);
	struct record   record;
	struct arena    arena = {0};
	enum err        err = db_put_late(db, &recovery->late); /* it may be missing */
	while (!err && !(err = scan_next(&recovery->scan, &at, &record))) {
		bool is_ahead = record.seq <= recovery->at.seq;
		if ((err = replay_record(db, &record, share_of(recovery, &record), &arena))) break;
		if (is_pressed(db) && (err = relieve(db, &at, record.now, is_ahead))) break;
		if (is_ahead) continue;
		if (++report->replayed_records % REPLAY_CHUNK_RECORDS == 0)
			err = commit_chunk(db, &at, record.now);
	}
	arena_free(&arena);
	must(err != ERR_NOT_FOUND || at.seq == recovery->end.seq);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err recover_catch_up(const struct journal_dir *dir, struct db *db, const struct applied *from,
                          const struct applied *to, struct progress *progress)
{
	struct scan     scan;
	struct record   record;
	struct arena    arena = {0};
	struct position at = position_of(from);
	uint64_t        records = 0;
	enum err        err = OK;
	scan_begin(&scan, dir, to->segment);
	while (!err && at.seq < to->seq) {
		if ((err = scan_next(&scan, &at, &record)) ||
		    (err = replay_record(db, &record, SHARE_ALL, &arena)))
			break;
		if (++records % REPLAY_CHUNK_RECORDS == 0) {
			err = commit_chunk(db, &at, record.now);
			db_write_back(
			    db); /* the sync at the end would push all of it at once, beside the journal's */
		}
		if (!err && !progress_count(progress, record_room(record.writes.size))) err = ERR_STOPPED;
	}
	scan_end(&scan);
	arena_free(&arena);
	if (err == ERR_NOT_FOUND || (!err && at.chain != to->chain)) return ERR_DAMAGED;
	return err;
}

/* The start of the replay: behind the positions of the tables, or the journal's beginning for new tables. */
static enum err begin_at(struct recovery *recovery, struct db *db, uint64_t first,
                         struct store_report *report)
{
	struct applied applied;
	struct view   *view = db_view(db, NULL, NULL);
	enum err       err = db_applied(view, &applied);
	if (err == ERR_NOT_FOUND) /* zeros: before the first record of segment 1 */
		return first <= 1 ? OK : damage(report, "tables without a position", first, 0, 0);
	if (!err) err = db_late(view, &recovery->late);
	if (err == ERR_UNSUPPORTED) db_refusal(view, "db/data.mdb", report->what);
	if (err == ERR_UNSUPPORTED) return err;
	if (err || recovery->late.seq > applied.seq)
		return damage(report, "position of the tables unreadable", 0, 0, 0);
	report->last_now = applied.now;
	recovery->at = position_of(&applied);
#ifdef FAULT_LATE_REPLAY_APPLIED
	recovery->late = applied; /* the fault: what was in memory alone is not replayed */
#endif
	return OK;
}

/* Is a position of the tables in this journal? */
static enum err check_joint(struct scan *scan, const struct position *at, uint64_t first,
                            struct store_report *report)
{
	uint64_t last = scan->last_segment;
	if (at->segment > last || (at->segment ? at->segment < first : first != 1))
		return damage(report, "the tables' journal segment is missing", at->segment, at->offset,
		              at->seq);
	enum err err = scan_check(scan, at);
	return err == ERR_DAMAGED ? damage_of_way(report, at) : err;
}

static enum err damage_of_others(struct store_report *report, uint64_t segment)
{
	char name[SEGMENT_NAME];
	segment_name(segment, name);
	snprintf(report->what, sizeof report->what,
	         "journal/%s belongs to another shard, place or data directory", name);
	return ERR_DAMAGED;
}

static enum err check_floor(const struct position *end, uint64_t floor_seq, struct store_report *report)
{
	if (end->seq >= floor_seq) return OK;
	snprintf(report->what, sizeof report->what,
	         "the journal ends with record %llu, but %llu had been acknowledged: its newest "
	         "segments are missing, or db is not this shard's",
	         (unsigned long long)end->seq, (unsigned long long)floor_seq);
	return ERR_DAMAGED;
}

static enum err judge_tail(struct recovery *recovery, uint64_t floor_seq, struct store_report *report)
{
	enum err err = find_end(recovery, report);
	if (!err) err = scan_tail(&recovery->scan, &recovery->end, &recovery->blank);
	return err ? err : check_floor(&recovery->end, floor_seq, report);
}

enum err recover_judge(const struct journal_dir *dir, struct db *db, uint64_t floor_seq,
                       struct recovery *recovery, struct store_report *report)
{
	struct position *at = &recovery->at, *end = &recovery->end, late;
	uint64_t         first, last;
	enum err         err = segment_range(dir, &first, &last);
	*recovery = (struct recovery){.blank = true};
	if (err)
		return err == ERR_DAMAGED
		           ? damage(report, "a journal segment is missing between", first, last, 0)
		           : err;
	scan_begin(&recovery->scan, dir, last);
	if ((err = begin_at(recovery, db, first, report))) return err;
	*end = late = position_of(&recovery->late);
	if (last == 0 && at->segment) return damage(report, "no journal", at->segment, at->offset, at->seq);
	if (last == 0) return check_floor(end, floor_seq, report);
	if (!(err = check_joint(&recovery->scan, at, first, report)) &&
	    !(err = check_joint(&recovery->scan, &late, first, report)))
		err = judge_tail(recovery, floor_seq, report);
	if (err == ERR_UNSUPPORTED && !report->what[0]) scan_refusal(&recovery->scan, report->what);
	if (recovery->scan.foreign) return damage_of_others(report, recovery->scan.refused);
	if (err == ERR_DAMAGED && !report->what[0])
		damage(report, "journal damaged before acknowledged records", end->segment, end->offset,
		       end->seq + 1);
	if (err == ERR_IO && !report->what[0]) snprintf(report->what, sizeof report->what, "journal: %m");
	report->cut_tail = !err && !recovery->blank;
	recovery->late_bytes = (end->segment - late.segment) * dir->segment_bytes + end->offset - late.offset;
	return err;
}

enum err recover_finish(struct recovery *recovery, struct db *db, struct store_report *report)
{
	struct scan *scan = &recovery->scan;
	enum err     err;
	if (scan->last_segment == 0) return OK;
	if ((err = harden(scan, recovery->at, recovery->vouched))) return err;
	if (!recovery->blank && (err = scan_cut(scan, &recovery->end))) return err;
	return replay(recovery, db, report);
}

void recover_end(struct recovery *recovery)
{
	scan_end(&recovery->scan);
}
