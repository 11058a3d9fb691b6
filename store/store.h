#pragma once
#include "schemas/clock.h"
#include "schemas/histogram.h"
#include "store/disk_monitor.h"
#include "store/snapshotter.h"
#include "store/clean_mark.h"
#include "store/view.h"

/* A shard's store: the journal is the truth, LMDB the working state. One writer thread calls everything here
 * but the reader functions. Order of a batch: handlers stage writes over store_view(); store_apply() puts them
 * into the open LMDB transaction and the open journal record; store_submit() hands the record to the disk;
 * when store_settle() has seen it durable, answers may leave; store_commit() when nothing is undurable.
 * After ERR_IO, ERR_DAMAGED, ERR_TOO_LARGE or ERR_NO_MEMORY from anything but a view the process must exit without a further
 * word to anyone: recovery knows what happened. */
struct store;

struct shard_dir {
	int      dir_fd; /* of shards/N, already locked; stays open as long as the store */
	uint16_t shard;
	uint8_t  lineage[16];
	bool     may_format; /* an empty place may be made into a store; otherwise it is damage */
	bool     restored;   /* from a backup: a snapshot has to be there, and there may be no journal yet */
	uint64_t segment_bytes, map_bytes;
	uint64_t snapshot_after_bytes; /* of journal; 0: by the rule of snapshotter.h */
	uint64_t snapshot_bytes_per_s; /* its rate; 0: by the rule of snapshotter.h */
	int64_t
	    forget_after_s; /* between snapshots after an erasure; 0: by the rule of snapshotter.h; below: none */
	int64_t quick_sync_us; /* as in struct journal_dir */
	/* Asked when nothing that was found keeps the store from opening, before anything is changed: an error ends it. It
	 * may be asked again, and then has to say the same. NULL: nobody. */
	enum err (*before_change)(void *user);
	void *user;
};

struct store_report {
	uint64_t        epoch, seq;
	uint64_t        replayed_records;
	enum clean_mark clean_mark; /* as the tables were found */
	bool            formatted, cut_tail;
	bool            rebuilt;      /* the tables were missing, or not to be believed, and were made anew */
	uint64_t        snapshot_seq; /* rebuilt: out of this snapshot; 0: out of the journal alone */
	unsigned        snapshots_refused; /* rebuilt: newer ones that are damaged */
	wall_us         last_now;
	char            refused[160];    /* why tables with a good mark were made anew all the same */
	char            file_system[16]; /* one that deserves a warning, or is refused */
	char            what[160];       /* on failure: what was found where */
};

/* Recovers: reads the journal behind the applied position, replays it, begins a new epoch durably.
 * Errors: ERR_DAMAGED (report->what names it; nothing was changed), ERR_UNSUPPORTED, ERR_IO, ERR_NO_MEMORY. */
must_check enum err store_open(const struct shard_dir *shard_dir, wall_us now, struct store **store,
                               struct store_report *report);
/* Is it the tables that cannot be relied on any more, given the error that ends the process? Then they are not to be
 * believed again: clean_mark_remove(). */
bool store_blames_tables(const struct store *store, enum err err);
/* Ends in an orderly way: waits for the journal, commits, syncs. */
void store_close(struct store **store);

/* The writer's view, with `writes` laid over it; values made on the way live in `arena`. */
struct view *store_view(struct store *store, struct writes *writes, struct arena *arena);

must_check enum err store_apply(struct store *store, const struct writes *writes);
size_t              store_open_bytes(const struct store *store); /* of the open record; 0: none */
bool                store_can_submit(struct store *store);
void                store_submit(struct store *store, wall_us now);
void                store_begin_segment(struct store *store); /* as journal_begin_segment() */
must_check enum err store_settle(struct store *store);
/* Readable when store_settle() may find news, but not of a submit just made. */
int store_fd(const struct store *store);

bool     store_is_syncing(const struct store *store);
bool     store_is_quick(const struct store *store); /* records have arrived when they are submitted */
uint64_t store_decided_seq(const struct store *store);
uint64_t store_durable_seq(const struct store *store);

struct snapshotter *store_keeper(struct store *store); /* snapshots, backups, verification */

/* Is nothing to be decided for the moment? It ends by itself, with store_fd() or within a second. */
bool store_must_wait(const struct store *store);

/* What the disk still has room for: what does not fit answers STORAGE_FULL before anything is written. */
enum disk_level store_room(const struct store *store);

/* Is it time to commit (many records or rows), and is there anything to commit? */
bool                store_wants_commit(const struct store *store);
bool                store_is_committed(const struct store *store);
must_check enum err store_commit(struct store *store);

struct store_counters {
	uint64_t seq, epoch, syncs, commits;
};
struct store_counters store_counters(const struct store *store);

/* How long the journal's syncs took (scale_us); any thread may read it while the store is open. */
const struct histogram *store_sync_times(const struct store *store);

/* A reader's view, from any thread; begin after the writer has committed what it should see. */
must_check enum err store_reader_open(struct store *store, struct arena *arena, struct view **view);
must_check enum err store_reader_begin(struct view *view);
void                store_reader_end(struct view *view);
void                store_reader_close(struct view **view);
