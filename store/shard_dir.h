#pragma once
#include "store/segment.h"
#include "store/snapshot.h"
#include "store/store.h"

/* A shard's directory: journal/, snapshots/, db/, trust. Tables that are missing or not to be believed are made
 * anew in db.new/, from a snapshot and the journal behind it, or from the whole journal; db.new/ takes the place of
 * db/ only when it is complete: until then nothing old is touched, and an interrupted attempt is simply begun again. */
struct table_plan {
	bool            distrusted; /* in: the tables are not to be believed, whatever their mark says */
	bool            anew;       /* the tables are to be made */
	struct snapshot from;       /* out of this; at.seq 0: out of the journal alone */
	uint64_t        floor_seq;  /* this record has been acknowledged: the journal must reach it */
};

/* Decides what becomes of the tables; changes nothing.
 * Errors: ERR_DAMAGED (report->what): what there is does not suffice to make the tables, or would not if they were lost;
 * ERR_UNSUPPORTED: a file system that cannot be relied on; ERR_IO. */
must_check enum err shard_dir_judge(const struct shard_dir *shard_dir, const struct journal_dir *dir,
                                    struct store_report *report, struct table_plan *plan);

/* Opens the directory of the tables: db/ (its mark is the caller's to write before anything is written there), or
 * db.new/, empty or with the snapshot's tables. Errors: ERR_IO, ERR_STORAGE_FULL. */
must_check enum err shard_dir_open_tables(int shard_fd, const struct table_plan *plan, int *db_fd);

/* Opens journal/; only a place that may be without one gets it. Errors: ERR_DAMAGED (report->what), ERR_IO. */
must_check enum err shard_dir_open_journal(const struct shard_dir *shard_dir, struct store_report *report,
                                           int *fd);

/* Takes away what is no longer needed: db.new/ of a start that was `refused` or died, and, once a start has
 * succeeded, db.old/ of one that died: until then it may be all that is left of the tables. */
void shard_dir_forget_tables(int shard_fd, bool refused);

/* The newest record that tables which are not believed prove to have been acknowledged; 0: none, or no tables.
 * Errors: ERR_IO, ERR_NO_MEMORY. */
must_check enum err shard_dir_find_floor(int shard_fd, uint64_t *floor_seq);

/* db.new/ becomes db/, with its mark. Its descriptor stays right. Errors: ERR_IO. */
must_check enum err shard_dir_adopt_tables(int shard_fd);
