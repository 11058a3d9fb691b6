#pragma once
#include "actors/rt/datadir.h"
#include "actors/supervisor/traces.h"

#include <stdbool.h>

/* The data directory as its owner sees it: only the supervisor makes it, locks it and changes its identity.
 */
struct datadir_setup {
	struct datadir datadir;
	int            lock_fd;
	struct traces  traces; /* of this start */
};

/* Opens an existing DIR and takes its lock. ERR_NOT_FOUND: there is none yet, nothing was touched;
 * datadir_setup_create() makes it. Any other error has been logged, also that the master key cannot be read, or by too many, or is
 * another directory's; and has left nothing behind. Errors: also ERR_LOCKED, ERR_DAMAGED, ERR_OTHER_KEY, ERR_UNSUPPORTED,
 * ERR_IO. */
must_check enum err datadir_setup_open(const char *dir, struct datadir_setup *home);

/* Makes DIR for `shards` shards, durably, or completes one whose making was interrupted; then as datadir_setup_open().
 * Refuses a directory that holds anything else. Errors (logged): as datadir_setup_open(), ERR_EXISTS. */
must_check enum err datadir_setup_create(const char *dir, uint32_t shards, struct datadir_setup *home);

/* Waits at most 5 s in all for shards whose supervisor was killed to let go of their files. Errors (logged):
 * ERR_LOCKED, ERR_IO. */
must_check enum err datadir_setup_await_orphans(const struct datadir_setup *home);

/* For when every process has been ready once, and no process can refuse this start any more. Every shard has made its
 * files: from now on a missing one is damage. An identity of the previous version gets its key's id. Durable. Only what the
 * state needs is an error; a failure to write the id alone is a warning. Errors (logged): ERR_IO, ERR_STORAGE_FULL. */
must_check enum err home_settle(struct datadir_setup *home);

/* Takes away again what this start has made, while no shard has changed its place and none is alive. */
void datadir_setup_undo(struct datadir_setup *home, const char *dir);

void datadir_setup_close(struct datadir_setup *home);
