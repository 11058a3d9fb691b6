#pragma once
#include "store/audit.h"
#include "store/faults.h"
#include "store/snapshot.h"

/* The thread that makes snapshots: by itself when the journal has outgrown the tables, and when it is asked for a
 * backup or a verification, which both read a snapshot made for them. One job at a time. After each it removes what is
 * no longer needed: older snapshots, and the journal's segments before the oldest kept. Functions but open and close
 * may be called from any thread.
 *
 * After an erasure (meta.h) there are to be two snapshots, and journal behind them, that know nothing of it: they are made
 * KEEP_FORGET_S apart, and so that they stand in segments that were begun after it. snapshotter_wants_segment() asks for such a
 * segment. So what was erased is gone from all of them within twice that time, and what a snapshot takes.
 *
 * The rule: a snapshot is due when the journal behind the newest one exceeds KEEP_JOURNAL_BYTES and half of the tables,
 * but never more than a sixteenth of the disk; and on a disk that gets short, with every four segments. */
struct snapshotter;
struct shard_dir;

enum keep { KEEP_SNAPSHOT, KEEP_BACKUP, KEEP_VERIFY };
enum {
	KEEP_DIR_MAX = 1024,
	KEEP_JOURNAL_BYTES = 1 << 30,
	KEEP_BYTES_PER_S = 32 << 20, /* copied, walked, hashed, verified or removed */
	KEEP_RETRY_S = 60,           /* after one of its own accord has failed */
	KEEP_LOOK_MS = 1000,
	KEEP_FORGET_S = 6 * 3600, /* of real time */
};

/* Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err snapshotter_open(const struct shard_dir *shard_dir, const struct journal_dir *dir,
                                     struct db *db, struct snapshotter **snapshotter);
void                snapshotter_close(struct snapshotter **snapshotter); /* a job under way is stopped */

/* Asks for a job; `dir` (BACKUP): an existing, empty directory for this shard's files, an absolute path.
 * *number identifies it in snapshotter_state. Errors: ERR_RESOURCE_CONFLICT (one is under way), ERR_INVALID_INPUT. */
must_check enum err snapshotter_ask(struct snapshotter *snapshotter, enum keep what, struct span dir,
                                    uint64_t *number);

struct snapshotter_state {
	uint64_t        number; /* of the job under way, or of the last one that was asked for; 0: none yet */
	enum keep       what;
	bool            running;
	enum err        err;         /* of one that has ended */
	uint64_t        done, total; /* bytes */
	struct snapshot made;        /* what it made, or found to be made already */
	struct faults   faults;      /* what was found damaged */
	struct audit    audit;       /* VERIFY: what was gone through */
	uint64_t        records, segments;

	/* As of now. */
	unsigned snapshots;
	uint64_t snapshot_seq;
	wall_us  snapshot_made;  /* real time; 0: there is none */
	int64_t  snapshot_age_s; /* by the same clock */
	uint64_t journal_bytes, journal_first_segment;
	uint64_t data_bytes, free_bytes; /* of the tables, used; of the disk */
	uint64_t failures;               /* snapshots of its own accord in a row that failed */
	enum err failure;                /* of the last of them */
	bool     damage;                 /* the live tables have been found damaged: the process is to exit */
};
void snapshotter_state(struct snapshotter *snapshotter, struct snapshotter_state *state);
bool snapshotter_wants_segment(const struct snapshotter *snapshotter); /* and a record in it */
bool snapshotter_found_damage(const struct snapshotter *snapshotter);
