#pragma once
#include "schemas/err.h"
#include "store/db.h"

/* A thread that watches the disk for the writer. It keeps space reserved ahead of data.mdb and measures how full the
 * disk is. It also pushes data.mdb to the disk little by little, which finds errors that the page cache would hide.
 * All functions except open and close may be called by the writer at any time. */
struct disk_monitor;

/* What free space still allows: everything; only what frees or finishes something (deletions, leases, reports);
 * nothing. */
enum disk_level { DISK_FOR_ALL, DISK_TO_FINISH, DISK_FOR_NOTHING };

enum {
	CARETAKER_LOOK_MS = 250,
	CARETAKER_LOOK_NEAR_MS = 20,    /* near the floors: a fast disk fills by 1 MB a millisecond */
	DISK_NEAR_BYTES = 512 << 20,    /* free space below this is near the floors */
	PUSH_MS = 20,                   /* between two pushes, while data.mdb changes */
	PUSH_BYTES = 512 << 10,         /* of each push: many pages at once would stall the journal's syncs */
	RESERVE_AHEAD_BYTES = 64 << 20, /* beyond the end of data.mdb */
	DISK_SOFT_FLOOR_BYTES = 96 << 20, /* free below this: DISK_TO_FINISH */
	DISK_HARD_FLOOR_BYTES = 32 << 20, /* free below this: DISK_FOR_NOTHING */
};

/* `dir_fd` is any directory on the disk to watch. Measures once before it returns. Errors: ERR_NO_MEMORY. */
must_check enum err disk_monitor_open(struct db *db, int dir_fd, struct disk_monitor **disk_monitor);
/* Errors: ERR_IO: a write in the background has failed. */
must_check enum err disk_monitor_close(struct disk_monitor **disk_monitor);

/* The writer: bytes that rows in memory will need beyond the end of data.mdb; they are reserved besides. */
void disk_monitor_owes(struct disk_monitor *disk_monitor, uint64_t bytes);

enum disk_level disk_monitor_level(const struct disk_monitor *disk_monitor);

/* data.mdb was deleted: nothing can be stored any more. */
bool disk_monitor_is_removed(const struct disk_monitor *disk_monitor);

/* errno of a background write of data.mdb that failed; 0: none has. After one, the tables on disk cannot be trusted, and the
 * process must exit. */
int disk_monitor_error_number(const struct disk_monitor *disk_monitor);
