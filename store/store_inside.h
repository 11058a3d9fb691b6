#pragma once
#include "store/db.h"
#include "store/journal.h"
#include "store/late.h"
#include "store/store.h"

/* Shared by the files of the store's interface. */
enum { ROW_MARKS = 16384 };

struct store {
	struct db           *db;
	struct cells        *cells;
	struct late          late;
	struct journal      *journal;
	struct disk_monitor *disk_monitor;
	struct snapshotter  *snapshotter;
	struct journal_dir   dir;
	int                  db_fd, shard_fd;
	wall_us              now; /* of the newest record submitted */
	uint64_t             committed_seq;
	uint64_t             commits;
	bool                 broken;  /* tables and journal differ: no more commits */
	bool                 damaged; /* the tables, found by a write */
	uint64_t             bytes;   /* of records since the last commit */
	unsigned rows; /* distinct rows written since the last commit: about as many dirty pages */
	uint64_t touched[ROW_MARKS / 64]; /* a bit a row, by hash */
};
