#pragma once
#include "schemas/buffer.h"
#include "schemas/version.h"
#include "store/db.h"
#include "store/faults.h"
#include "store/progress.h"
#include "store/segment.h"

/* A snapshot: a shard's tables as of one record, in a directory of its own that never changes once it has its name:
 *   shards/N/snapshots/<20 digits of seq>/data.mdb, and `manifest`, which is written last
 * A snapshot is valid if its manifest's checksum, its directory and its file hash match. Two are kept, and the
 * journal back to the older. */
struct snapshot {
	struct applied
	         at;    /* the last record it includes. segment 0: restored, a new journal begins behind it */
	wall_us  made;  /* real time */
	uint64_t bytes; /* of data.mdb */
	uint8_t  sha256[32]; /* of data.mdb */
	uint8_t  lineage[16];
	uint16_t shard;
};

enum { SNAPSHOTS_KEPT = 2, SNAPSHOT_NAME = 24, MANIFEST_BYTES_MAX = 4096, SNAPSHOT_VERSION = 1 };
void snapshot_name(uint64_t seq, char name[SNAPSHOT_NAME]); /* of its directory */
/* Is it the name of a snapshot's directory, or of an unfinished one? Other entries of snapshots/ are left alone. */
bool snapshot_is_name(const char *name);

/* The manifest: text, `name=value` a line, the last one a checksum. Errors: ERR_DAMAGED, ERR_UNSUPPORTED. */
void                snapshot_manifest_write(const struct snapshot *snapshot, struct buffer *out);
must_check enum err snapshot_manifest_read(struct span text, struct snapshot *snapshot);
/* The sentence about a text that snapshot_manifest_read() refuses with ERR_UNSUPPORTED; `file` names it. */
void snapshot_manifest_refusal(struct span text, enum version_of of, const char *file,
                               char why[VERSION_TEXT]);

/* The snapshots in `shard_fd` (shards/N) with a good manifest of this shard and lineage, newest first, at most
 * `*count`; sets `*count`. `*broken`, if not NULL, counts directories whose manifest is missing or unreadable.
 * Errors: ERR_IO, ERR_NO_MEMORY, ERR_UNSUPPORTED: a manifest has an unknown version; list[0].at.seq is its directory's
 * number, and snapshot_refusal() has the sentence about it. */
must_check enum err snapshot_list(int shard_fd, const struct journal_dir *dir, struct snapshot *list,
                                  unsigned *count, unsigned *broken);
void                snapshot_refusal(int shard_fd, const struct snapshot *snapshot, char why[VERSION_TEXT]);

/* Opens its directory. Errors: ERR_DAMAGED (missing), ERR_IO. */
must_check enum err snapshot_open_dir(int shard_fd, const struct snapshot *snapshot, int *fd);

/* Reads all of data.mdb. Errors: ERR_DAMAGED (missing, or differs from the manifest), ERR_IO, ERR_STOPPED. */
must_check enum err snapshot_check(int shard_fd, const struct snapshot *snapshot, struct progress *progress);

/* Makes a snapshot of the tables of `reader`, which keep changing: copies them in pieces, replays the journal into the
 * copy up to one record, walks it, and only then names it. `faults` gets the damage found.
 * Errors: ERR_DAMAGED (a row, or the journal), ERR_STORAGE_FULL, ERR_IO, ERR_NO_MEMORY, ERR_STOPPED: nothing stays
 * behind. */
struct snapshot_order {
	int                       shard_fd;
	const struct journal_dir *dir;
	struct view              *reader; /* of the live tables; before db_reader_begin() */
	uint64_t                  map_bytes;
	wall_us                   now; /* real time, for `made` */
	struct progress *progress;     /* SNAPSHOT_PASSES times the bytes in use, and the journal replayed */
	struct faults   *faults;
	atomic_bool     *tables_damaged; /* set when the live tables are damaged */
};
enum { SNAPSHOT_PASSES = 3 }; /* copied, walked, hashed */
must_check enum err snapshot_make(const struct snapshot_order *order, struct snapshot *made);

/* Removes one. Errors: ERR_IO. */
must_check enum err snapshot_remove(int shard_fd, const struct snapshot *snapshot, struct progress *progress);

/* Removes all but the newest `keep`, and unfinished ones. One with an unreadable manifest stays. Errors: ERR_IO,
 * ERR_NO_MEMORY. */
must_check enum err snapshot_prune(int shard_fd, const struct journal_dir *dir, unsigned keep,
                                   struct progress *progress);

/* Copies a snapshot's files durably to `to_fd`, an empty directory. Errors: ERR_IO, ERR_STORAGE_FULL, ERR_STOPPED. */
must_check enum err snapshot_export(int shard_fd, const struct snapshot *snapshot, int to_fd,
                                    struct progress *progress);
