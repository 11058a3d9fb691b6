#pragma once
#include "schemas/err.h"
#include "schemas/identity.h"

#include <stdint.h>

/* The data directory: DIR/{identity, lock, master.key, run/, shards/N/}. Handles hold file descriptors, so
 * that names stay right whatever the working directory, and sockets' paths stay short.
 * Source of the layout: store/README.md. */
struct datadir {
	int             fd;     /* of DIR */
	int             run_fd; /* of DIR/run, where the sockets are */
	struct identity identity;
};

/* Opens an existing DIR and reads its identity. Errors: ERR_NOT_FOUND (no such DIR or no identity),
 * ERR_DAMAGED, ERR_UNSUPPORTED, ERR_IO. */
must_check enum err datadir_open(const char *dir, struct datadir *datadir);
void                datadir_close(struct datadir *datadir);

enum { ENDPOINT_TEXT = 64 };
/* "ipc:///proc/self/fd/N/shard-0" and the like: where a process of this data directory listens. Valid while
 * the datadir is open, in this process. */
void datadir_shard_endpoint(const struct datadir *datadir, uint32_t shard, char text[ENDPOINT_TEXT]);
void datadir_supervisor_endpoint(const struct datadir *datadir, char text[ENDPOINT_TEXT]);

/* Reads DIR/master.key: 32 bytes that encrypt what must not lie in clear. Errors: ERR_NOT_FOUND, ERR_DAMAGED,
 * ERR_IO. */
must_check enum err datadir_master_key(const struct datadir *datadir, uint8_t key[32]);

/* Takes an OFD write lock on DIR/<name> for the life of the descriptor returned (close-on-exec).
 * Waits at most `wait_ms`. Errors: ERR_LOCKED, ERR_IO. */
must_check enum err datadir_lock(int dir_fd, const char *name, int wait_ms, int *lock_fd);
