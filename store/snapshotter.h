#pragma once
#include "store/audit.h"
#include "store/faults.h"
#include "store/snapshot.h"

/* The thread that makes snapshots: by itself when the journal has outgrown the tables, and for a requested backup or
 * verification, each of which reads a snapshot made for it. One job at a time. After each it removes older snapshots
 * and the journal's segments before the oldest kept. All functions except open and close may be called from any thread.
 * After an erasure (meta.h), both kept snapshots and the journal behind them are renewed without the erased data. Two
 * snapshots are made SNAPSHOT_FORGET_S apart, each in a segment started after the erasure, for which
 * snapshotter_wants_segment() asks. The data is gone from all of them within twice that time and the duration of a
 * snapshot.
 * A snapshot is due when the journal behind the newest one exceeds SNAPSHOT_JOURNAL_BYTES and half of the tables, and
 * always when it exceeds a sixteenth of the disk; on a disk short of space, every four segments. */
struct snapshotter;
struct shard_dir;

enum snapshot_job { JOB_SNAPSHOT, JOB_BACKUP, JOB_VERIFY };
enum {
	BACKUP_DIR_MAX = 1024,
	SNAPSHOT_JOURNAL_BYTES = 1 << 30,
	SNAPSHOT_BYTES_PER_S = 32 << 20, /* of snapshots: copied, walked, hashed, verified or removed */
	SNAPSHOT_RETRY_S = 60,           /* after a failed snapshot that was not requested */
	SNAPSHOT_LOOK_MS = 1000,
	SNAPSHOT_FORGET_S = 6 * 3600, /* of real time */
};

/* Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err snapshotter_open(const struct shard_dir *shard_dir, const struct journal_dir *dir,
                                     struct db *db, struct snapshotter **snapshotter);
void                snapshotter_close(struct snapshotter **snapshotter); /* stops a running job */

/* Requests a job; `dir` (BACKUP): an existing, empty directory for this shard's files, an absolute path; it is
 * opened now. *number identifies the job in snapshotter_state. Errors: ERR_RESOURCE_CONFLICT (a job is running),
 * ERR_INVALID_INPUT (no such directory), ERR_IO. */
must_check enum err snapshotter_ask(struct snapshotter *snapshotter, enum snapshot_job what, struct span dir,
                                    uint64_t *number);

struct snapshotter_state {
	uint64_t          number; /* of the running job, or of the last one requested; 0: none yet */
	enum snapshot_job what;
	bool              running;
	enum err          err;         /* of an ended one */
	int               error;       /* errno, with ERR_IO */
	uint64_t          done, total; /* bytes */
	struct snapshot   made;        /* the snapshot made, or found to exist already */
	struct faults     faults;      /* damage found */
	struct audit      audit;       /* VERIFY: counts of what was checked */
	uint64_t          records, segments;

	/* Present state. */
	unsigned snapshots;
	uint64_t snapshot_seq;
	wall_us  snapshot_made;  /* real time; 0: there is none */
	int64_t  snapshot_age_s; /* by the clock of real time */
	uint64_t journal_bytes, journal_first_segment;
	uint64_t data_bytes, free_bytes; /* of the tables, used; of the disk */
	uint64_t failures;               /* consecutive failures of snapshots that were not requested */
	enum err failure;                /* of the last of them */
	int      failure_error;          /* errno, with ERR_IO */
	bool     damage;                 /* the live tables were found damaged: the process must exit */
};
void snapshotter_state(struct snapshotter *snapshotter, struct snapshotter_state *state);
bool snapshotter_wants_segment(const struct snapshotter *snapshotter); /* and a record in it */
bool snapshotter_has_failed(
    struct snapshotter *snapshotter); /* once, after one for another reason than the last */
bool snapshotter_found_damage(const struct snapshotter *snapshotter);
