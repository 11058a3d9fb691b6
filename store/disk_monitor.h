#pragma once
#include "schemas/err.h"
#include "store/db.h"

/* A thread that looks after the disk, so that the writer meets no surprise: it keeps space reserved ahead of
 * data.mdb, knows how full the disk is, and pushes data.mdb to the disk little by little to hear of errors that
 * writing through the page cache would not tell. Functions but open and close may be called from the writer at any time. */
struct disk_monitor;

/* What may still be accepted, given the free space: everything; only what frees or finishes something
 * (deletions, leases, reports); nothing. */
enum disk_level { DISK_FOR_ALL, DISK_TO_FINISH, DISK_FOR_NOTHING };

enum {
	CARETAKER_LOOK_MS = 250,
	CARETAKER_LOOK_NEAR_MS = 20, /* near the floors: a quick disk takes a megabyte a millisecond */
	DISK_NEAR_BYTES = 512 << 20, /* free below this: they are */
	PUSH_MS = 20,                /* between two pushes, while data.mdb is written to, */
	PUSH_BYTES = 512 << 10, /* of so much of it: many pages at once would stall the journal's syncs */
	RESERVE_AHEAD_BYTES = 64 << 20,   /* of data.mdb, beyond its end */
	DISK_SOFT_FLOOR_BYTES = 96 << 20, /* free below this: DISK_TO_FINISH */
	DISK_HARD_FLOOR_BYTES = 32 << 20, /* free below this: DISK_FOR_NOTHING */
};

/* `dir_fd` is any directory on the disk to watch. Looks once before it returns.
 * Errors: ERR_NO_MEMORY. */
must_check enum err disk_monitor_open(struct db *db, int dir_fd, struct disk_monitor **disk_monitor);
/* Errors: ERR_IO: it has heard an error. */
must_check enum err disk_monitor_close(struct disk_monitor **disk_monitor);

enum disk_level disk_monitor_level(const struct disk_monitor *disk_monitor);

/* Has a sync of data.mdb failed? Then the tables on disk are not to be believed: the process must exit. */
bool disk_monitor_heard_error(const struct disk_monitor *disk_monitor);
