#pragma once
#include "actors/rt/datadir.h"
#include "actors/supervisor/traces.h"

#include <stdbool.h>

/* The data directory as its owner sees it: only the supervisor creates it, locks it and changes its identity. */
struct datadir_setup {
	struct datadir datadir;
	int            lock_fd;
	struct traces  traces; /* of this start */
};

/* Opens an existing DIR and takes its lock. ERR_NOT_FOUND: it does not exist and nothing was touched; datadir_setup_create()
 * creates it. All other errors are logged and leave nothing behind. They include a master key that is unreadable, readable by
 * others, of another user, or of another directory. Errors: also ERR_LOCKED, ERR_DAMAGED, ERR_OTHER_KEY, ERR_FOREIGN_KEY,
 * ERR_UNSUPPORTED, ERR_IO. */
must_check enum err datadir_setup_open(const char *dir, struct datadir_setup *home);

/* Creates DIR for `shards` shards, durably, or completes an interrupted creation; then as datadir_setup_open(). Refuses a
 * directory with anything else in it. Errors (logged): as datadir_setup_open(), ERR_EXISTS. */
must_check enum err datadir_setup_create(const char *dir, uint32_t shards, struct datadir_setup *home);

/* Waits at most 5 s in all until shards of a killed supervisor release their files. Errors (logged): ERR_LOCKED, ERR_IO. */
must_check enum err datadir_setup_await_orphans(const struct datadir_setup *home);

/* Call when every process has been ready once and none can refuse this start any more. Every shard has created its files: from
 * now on a missing one is damage. Durable. Errors (logged): ERR_IO, ERR_STORAGE_FULL. */
must_check enum err home_settle(struct datadir_setup *home);

/* Removes what this start created. Only while no shard has changed its directory and none is alive. */
void datadir_setup_undo(struct datadir_setup *home, const char *dir);

void datadir_setup_close(struct datadir_setup *home);
