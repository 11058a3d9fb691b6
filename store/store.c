/* The store's interface to the shard's engine: journal and tables, kept in step. The decided, durable and committed
 * positions move along one sequence, never backward: late <= committed <= durable <= decided. Up to `late` the tables have
 * the changes of all tables, behind it not yet those of late ones. */
#include "store/store_inside.h"
#include "store/file.h"

#include "schemas/crc32c.h"
#include "schemas/limits.h"
#include "store/recover.h"

#include <errno.h>

struct snapshotter *store_snapshotter(struct store *store)
{
	return store->snapshotter;
}

bool store_blames_tables(const struct store *store, enum err err)
{
	return err == ERR_DAMAGED || store->damaged || disk_monitor_error_number(store->disk_monitor);
}

struct view *store_view(struct store *store, struct writes *writes, struct arena *arena)
{
	return db_view(store->db, writes, arena);
}

/* Appended rows share the last page. Two rows with one hash count as one: it is an estimate. */
static void count_row(struct store *store, const struct write *write)
{
	uint32_t mark = crc32c((uint32_t)write->table, write->key.at, write->key.size) % ROW_MARKS;
	uint64_t bit = UINT64_C(1) << mark % 64;
	bool     in_a_row = write->table == TABLE_IDEMPOTENCY_ORDER;
	if (in_a_row || table_is_late(write->table) || store->touched[mark / 64] & bit) return;
	store->touched[mark / 64] |= bit;
	store->rows++;
}

enum err store_apply(struct store *store, const struct writes *writes)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		enum err            err = db_apply(store->db, write, true);
		if (!err) err = journal_add(store->journal, write);
		if (err) store->broken = true;
		if (err == ERR_DAMAGED) store->damaged = true;
		if (err) return err;
		count_row(store, write);
	}
	return OK;
}

size_t store_open_bytes(const struct store *store)
{
	return journal_open_bytes(store->journal);
}

bool store_can_submit(struct store *store)
{
	return journal_can_submit(store->journal);
}

void store_submit(struct store *store, wall_us now)
{
	if (now.v > store->now.v) store->now = now;
	store->bytes += journal_open_bytes(store->journal);
	late_journalled(&store->late, record_room(journal_open_bytes(store->journal) - RECORD_HEAD));
	disk_monitor_owes(store->disk_monitor, late_growth(&store->late));
	journal_submit(store->journal, store->now);
}

void store_begin_segment(struct store *store)
{
	journal_begin_segment(store->journal);
}

enum err store_settle(struct store *store)
{
	int error_number = disk_monitor_error_number(store->disk_monitor);
	if (!error_number) return journal_settle(store->journal);
	errno = error_number;
	return ERR_IO;
}

int store_fd(const struct store *store)
{
	return journal_fd(store->journal);
}

bool store_is_syncing(const struct store *store)
{
	return journal_is_syncing(store->journal);
}

int64_t store_byte_ns(const struct store *store)
{
	return journal_byte_ns(store->journal);
}

bool store_is_quick(const struct store *store)
{
	return journal_is_quick(store->journal);
}

uint64_t store_decided_seq(const struct store *store)
{
	return journal_decided_seq(store->journal);
}

uint64_t store_durable_seq(const struct store *store)
{
	return journal_durable_seq(store->journal);
}

bool store_must_wait(const struct store *store)
{
	return journal_must_wait(store->journal);
}

enum disk_level store_room(const struct store *store)
{
#ifdef FAULT_NO_FLOORS
	(void)store;
	return DISK_FOR_ALL; /* the fault: a full disk is noticed only by a write */
#endif
	enum disk_level disk = disk_monitor_level(store->disk_monitor),
	                journal = journal_room(store->journal);
	return disk > journal ? disk : journal;
}

const char *store_lacks(const struct store *store, int *error)
{
	*error = ENOENT;
	if (journal_is_removed(store->journal) || disk_monitor_is_removed(store->disk_monitor))
		return "files below shards were removed while they are in use: take a backup before the "
		       "service stops";
	*error = journal_create_error(store->journal);
	return *error ? "the next segment of the journal cannot be created" : NULL;
}

/* A commit waits until everything is durable, and decisions wait for the commit. If that takes long, commits are fewer. */
static unsigned rows_of_commit(const struct store *store)
{
	int64_t rows = journal_sync_us(store->journal) / COMMIT_ROW_SYNC_US;
	int64_t most = COMMIT_PAGES_BYTES_MAX / (int64_t)page_bytes();
	if (rows > most) rows = most;
	return rows > COMMIT_ROWS_MAX ? (unsigned)rows : COMMIT_ROWS_MAX;
}

bool store_wants_commit(const struct store *store)
{
	return store_decided_seq(store) - store->committed_seq >= COMMIT_RECORDS_MAX ||
	       store->bytes >= COMMIT_BYTES_MAX || store->rows >= rows_of_commit(store) ||
	       late_presses(&store->late);
}

bool store_is_committed(const struct store *store)
{
	return store->committed_seq == store_decided_seq(store);
}

static bool is_durable(const struct store *store)
{
	return store_open_bytes(store) == 0 && store_durable_seq(store) == store_decided_seq(store);
}

static struct applied position_now(const struct store *store)
{
	struct position at = journal_position(store->journal);
	return applied_at(&at, store->now);
}

static enum err commit(struct store *store, const struct applied *now)
{
	enum err err = db_commit(store->db, now);
	if (err) return err;
	store->committed_seq = now->seq;
	store->bytes = 0;
	store->rows = 0;
	memset(store->touched, 0, sizeof store->touched);
	store->commits++;
	return db_begin(store->db);
}

enum err store_commit(struct store *store)
{
	struct applied now = position_now(store);
	must(is_durable(store));
	enum err err = late_commit(&store->late, &now);
	return err ? err : commit(store, &now);
}

bool store_owes_slice(const struct store *store, bool idle)
{
#ifdef FAULT_LATE_EARLY
	return late_owes(&store->late,
	                 idle); /* the fault: a slice does not wait until everything is durable */
#endif
	return is_durable(store) && late_owes(&store->late, idle);
}

static enum err write_slice(struct store *store, unsigned rows)
{
	struct applied now = position_now(store);
	enum err       err = late_slice(&store->late, &now, rows);
	if (err == ERR_DAMAGED) store->damaged = true;
	if (err) store->broken = true;
	return err ? err : commit(store, &now);
}

enum err store_slice(struct store *store, bool idle)
{
	unsigned rows = store->late.set.slice_rows;
#ifndef FAULT_LATE_EARLY
	must(is_durable(store));
#endif
	/* Where a thread syncs each slice waits until the disk has nothing under way: there are fewer and larger ones. */
	if (!store_is_quick(store))
		rows *= LATE_SLICES_OWED_MAX;
	else if (idle && rows == LATE_SLICE_ROWS)
		rows = LATE_SLICE_ROWS_IDLE;
	return write_slice(store, rows);
}

bool store_is_behind(const struct store *store)
{
	return late_is_behind(&store->late);
}

enum err store_write_all(struct store *store)
{
	enum err err = OK;
	must(is_durable(store));
	while (!err && late_is_behind(&store->late))
		err = write_slice(store, LATE_SLICE_ROWS_IDLE * LATE_SLICES_OWED_MAX);
	return err;
}

struct db *store_tables(struct store *store)
{
	return store->db;
}

const struct histogram *store_sync_times(const struct store *store)
{
	return journal_sync_times(store->journal);
}

struct store_counters store_counters(const struct store *store)
{
	struct position    at = journal_position(store->journal);
	struct cells_usage usage = cells_usage(store->cells);
	return (struct store_counters){.seq = at.seq,
	                               .epoch = at.epoch,
	                               .syncs = journal_syncs(store->journal),
	                               .commits = store->commits,
	                               .memory_bytes = usage.bytes,
	                               .evictions = usage.evictions};
}

enum err store_reader_open(struct store *store, struct arena *arena, struct view **view)
{
	enum err err = db_reader_open(store->db, arena, view);
	if (!err) db_reader_use_cells(*view);
	return err;
}

enum err store_reader_begin(struct view *view)
{
	return db_reader_begin(view);
}

bool store_reader_is_too_old(const struct view *view)
{
	return db_reader_is_too_old(view);
}

void store_reader_end(struct view *view)
{
	db_reader_end(view);
}

void store_reader_close(struct view **view)
{
	db_reader_close(view);
}
