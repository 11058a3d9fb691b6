#pragma once
#include "schemas/clock.h"
#include "schemas/histogram.h"
#include "store/disk_monitor.h"
#include "store/snapshotter.h"
#include "store/clean_mark.h"
#include "store/view.h"

/* A shard's store: the journal is the truth, LMDB the working state. One writer thread calls everything except the
 * reader functions. Order of a batch: handlers stage writes over store_view(); store_apply() puts them into the open
 * LMDB transaction and the open journal record; store_submit() sends the record to the disk; responses may leave once
 * store_settle() has seen it durable; store_commit() follows when nothing is undurable. Rows of late tables (table.h) go
 * into memory and the record instead; store_slice() writes them later.
 * After ERR_IO, ERR_DAMAGED, ERR_TOO_LARGE or ERR_NO_MEMORY, except from a view, the process must exit without
 * another response: recovery finds out what happened. */
struct store;

struct shard_dir {
	int      dir_fd; /* of shards/N, already locked; stays open as long as the store */
	uint16_t shard;
	uint8_t  lineage[16];
	bool     may_format; /* an empty directory may become a store; otherwise it is damage */
	bool     restored;   /* from a backup: a snapshot must exist, a journal may be missing */
	uint64_t segment_bytes, map_bytes;
	uint64_t snapshot_after_bytes; /* of journal; 0: by the rule of snapshotter.h */
	uint64_t snapshot_bytes_per_s; /* its rate; 0: by the rule of snapshotter.h */
	int64_t
	    forget_after_s; /* between snapshots after an erasure; 0: by the rule of snapshotter.h; below 0: none */
	int64_t  quick_sync_us;    /* as in struct journal_dir */
	uint64_t late_round_bytes; /* of journal, and */
	unsigned late_slice_rows;  /* units in one commit: as in late.h; 0: by its rules */
	uint64_t
	    late_tails_bytes;     /* the most memory of ledger rows, as in tails.h; 0: LATE_TAILS_BYTES_MAX */
	uint64_t late_rows_bytes; /* of late rows, as in late_rows.h; 0: LATE_ROWS_BYTES_MAX */
	uint64_t memory_bytes;    /* of late tables: as in cells.h; 0: no bound, */
	unsigned memory_blocks;   /* likewise */
	/* Called once nothing found prevents opening, and before any change; an error ends the opening. A second
	 * call must return the same. NULL: no call. */
	enum err (*before_change)(void *user);
	void *user;
};

struct store_report {
	uint64_t        epoch, seq;
	uint64_t        replayed_records;
	enum clean_mark clean_mark; /* as the tables were found */
	bool            formatted, cut_tail;
	bool            rebuilt;           /* the tables were missing or untrusted, and were rebuilt */
	uint64_t        snapshot_seq;      /* rebuilt: from this snapshot; 0: from the journal alone */
	unsigned        snapshots_refused; /* rebuilt: newer snapshots that are damaged */
	wall_us         last_now;
	char            refused[160];       /* why tables with a good marker were rebuilt */
	char            file_system[16];    /* one that warrants a warning, or is refused */
	char            what[VERSION_TEXT]; /* on failure: the finding and its place */
};

/* Recovers: reads the journal behind the applied position, replays it, begins a new epoch durably.
 * Errors: ERR_DAMAGED (report->what names it; nothing was changed), ERR_UNSUPPORTED, ERR_IO, ERR_NO_MEMORY. */
must_check enum err store_open(const struct shard_dir *shard_dir, wall_us now, struct store **store,
                               struct store_report *report);
/* Does `err`, which ends the process, mean that the tables are unreliable? Then clean_mark_remove() must follow, so
 * that they are not trusted again. */
bool store_blames_tables(const struct store *store, enum err err);
/* Clean shutdown: waits for the journal, commits, syncs. */
void store_close(struct store **store);

/* The writer's view, with `writes` laid over it; computed values live in `arena`. */
struct view *store_view(struct store *store, struct writes *writes, struct arena *arena);

must_check enum err store_apply(struct store *store, const struct writes *writes);
size_t              store_open_bytes(const struct store *store); /* of the open record; 0: none is open */
bool                store_can_submit(struct store *store);
void                store_submit(struct store *store, wall_us now);
void                store_begin_segment(struct store *store); /* as journal_begin_segment() */
must_check enum err store_settle(struct store *store);        /* errors: ERR_IO, with errno */
/* Readable when store_settle() may have news, but not for a submit just made. */
int store_fd(const struct store *store);

bool     store_is_syncing(const struct store *store);
bool     store_is_quick(const struct store *store); /* submitted records have arrived on return */
int64_t  store_byte_ns(const struct store *store);  /* as journal_byte_ns() */
uint64_t store_decided_seq(const struct store *store);
uint64_t store_durable_seq(const struct store *store);

struct snapshotter *store_snapshotter(struct store *store); /* snapshots, backups, verification */

/* Must decisions pause? It ends by itself, with store_fd() or within a second. */
bool store_must_wait(const struct store *store);

/* What the disk still has room for: a command that does not fit gets STORAGE_FULL before anything is written. */
enum disk_level store_room(const struct store *store);

/* What store_room() lacks besides space, as a sentence for the log; *error: errno. NULL: nothing. */
const char *store_lacks(const struct store *store, int *error);

/* Is it time to commit (many records or rows), and is everything committed? */
bool                store_wants_commit(const struct store *store);
bool                store_is_committed(const struct store *store);
must_check enum err store_commit(struct store *store);

struct store_counters {
	uint64_t seq, epoch, syncs, commits;
	uint64_t memory_bytes,
	    evictions; /* of late tables: blocks, accounts, index of ids; blocks that went */
};
struct store_counters store_counters(const struct store *store);

/* Histogram of the journal's sync times (scale_us); readable from any thread while the store is open. */
const struct histogram *store_sync_times(const struct store *store);

/* Late tables. store_owes_slice(): is a slice of rows due, and can it be written now, with nothing open and nothing
 * undurable? `idle`: nobody is waiting. store_slice() writes one and commits. store_is_behind(): is there a row that the
 * tables on disk do not have? store_write_all() writes all of them; afterwards the tables are whole by themselves. */
bool                store_owes_slice(const struct store *store, bool idle);
must_check enum err store_slice(struct store *store, bool idle);
bool                store_is_behind(const struct store *store);
must_check enum err store_write_all(struct store *store);
struct db          *store_tables(struct store *store); /* for tests */

/* A reader's view, from any thread; begin it after the commit that it should see. */
must_check enum err store_reader_open(struct store *store, struct arena *arena, struct view **view);
/* Errors: also ERR_OVERLOADED: this thread is so slow that it finds no commit that is still known. */
must_check enum err store_reader_begin(struct view *view);
/* Has a read returned ERR_OVERLOADED since it began, because more has changed since than is remembered? One that begins
 * again sees the newest. */
bool store_reader_is_too_old(const struct view *view);
void store_reader_end(struct view *view);
void store_reader_close(struct view **view);
