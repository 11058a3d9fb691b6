#pragma once
#include "store/segment.h"
#include "store/snapshot.h"
#include "store/store.h"

/* A shard's directory: journal/, snapshots/, db/, trust. Missing or untrusted tables are rebuilt in db.new/, from a
 * snapshot and the journal behind it, or from the whole journal. db.new/ replaces db/ only when it is complete.
 * Until then old files stay untouched, and an interrupted rebuild is started again. */
struct table_plan {
	bool            distrusted; /* in: the tables must not be trusted, whatever their marker says */
	bool            rebuild;    /* the tables must be rebuilt */
	struct snapshot from;       /* source of the rebuild; at.seq 0: the journal alone */
	uint64_t        floor_seq;  /* this record was acknowledged: the journal must reach it */
};

/* Decides whether and from what the tables are rebuilt; changes nothing.
 * Errors: ERR_DAMAGED (report->what): the files do not suffice to rebuild the tables, or would not if the tables
 * were lost; ERR_UNSUPPORTED (report->what): an unreliable file system, or an unknown format
 * version; ERR_IO. */
must_check enum err shard_dir_judge(const struct shard_dir *shard_dir, const struct journal_dir *dir,
                                    struct store_report *report, struct table_plan *plan);

/* Opens the directory of the tables: db/ (the caller writes its marker before any other write there), or db.new/,
 * empty or with the snapshot's tables. Errors: ERR_IO, ERR_STORAGE_FULL. */
must_check enum err shard_dir_open_tables(int shard_fd, const struct table_plan *plan, int *db_fd);

/* Opens journal/, which is created only where it may be missing. Errors: ERR_DAMAGED (report->what), ERR_IO. */
must_check enum err shard_dir_open_journal(const struct shard_dir *shard_dir, struct store_report *report,
                                           int *fd);

/* Removes leftovers: db.new/ of a start that was `refused` or died, and, once a start has succeeded, db.old/ of a
 * start that died. Until then db.old/ may be the only copy of the tables. */
void shard_dir_forget_tables(int shard_fd, bool refused);

/* The newest record that untrusted tables prove to be acknowledged; 0: none, or no tables. Errors: ERR_IO,
 * ERR_NO_MEMORY. */
must_check enum err shard_dir_find_floor(const struct shard_dir *shard_dir, uint64_t *floor_seq);

/* Renames db.new/ to db/, with its marker. Its descriptor stays valid. Errors: ERR_IO. */
must_check enum err shard_dir_adopt_tables(int shard_fd);
