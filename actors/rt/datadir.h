#pragma once
#include "schemas/entry.h"
#include "schemas/err.h"
#include "schemas/identity.h"

#include <stdint.h>

/* The data directory: DIR/{identity, lock, master.key, run/, shards/N/}. Handles hold descriptors, so that names do not depend
 * on the working directory and sockets' paths stay short. Source of the layout: store/format.md. */
enum { DATADIR_PATH = 64 }; /* of a shard's directory or file, within DIR */

struct datadir {
	int             fd;     /* of DIR */
	int             run_fd; /* of DIR/run, where the sockets are */
	struct identity identity;
};

/* Opens an existing DIR and reads its identity. Errors: ERR_NOT_FOUND (no such DIR or no identity), ERR_DAMAGED,
 * ERR_UNSUPPORTED, ERR_IO. */
must_check enum err datadir_open(const char *dir, struct datadir *datadir);
/* The same for a caller that only reads: DIR/run is not needed, and run_fd is -1. */
must_check enum err datadir_look(const char *dir, struct datadir *datadir);
void                datadir_close(struct datadir *datadir);
/* The sentence about a directory whose identity has an unknown version: after ERR_UNSUPPORTED. */
void datadir_refusal(const char *dir, char why[VERSION_TEXT]);

/* Has each existing entry of a data directory, and each of shards/0 to shards/(shards - 1) and its lock, the type that it must
 * have? What cannot be looked at is left to its reader. Errors: ERR_UNSUPPORTED: `why` is the sentence about it. */
must_check enum err datadir_judge(int dir_fd, uint32_t shards, char why[ENTRY_TEXT]);
/* The same for one entry of any directory, as entry_fits(). True also: it does not exist. */
bool datadir_entry_fits(int dir_fd, const char *path, enum entry_type wanted, enum entry_use use,
                        char why[ENTRY_TEXT]);

#define DATADIR_RESTORING "restoring" /* a file in DIR during a restore, or after an interrupted one */
enum { ENDPOINT_TEXT = 64 };
/* Where a process of this data directory listens, such as "ipc:///proc/self/fd/N/shard-0". Valid in this process while the
 * datadir is open. */
void datadir_shard_endpoint(const struct datadir *datadir, uint32_t shard, char text[ENDPOINT_TEXT]);
void datadir_supervisor_endpoint(const struct datadir *datadir, char text[ENDPOINT_TEXT]);

/* Reads DIR/master.key: 32 bytes that encrypt secrets on disk. After an error nothing of it is left in `key`. Errors:
 * ERR_NOT_FOUND, ERR_DAMAGED (wrong size), ERR_IO, ERR_FOREIGN_KEY (the file belongs neither to this user nor to root; root may
 * read that of the directory's owner), ERR_OTHER_KEY (not the one that the identity names). */
must_check enum err datadir_master_key(const struct datadir *datadir, uint8_t key[MASTER_KEY_BYTES]);
/* The same for any directory with a key, whichever key it is. */
must_check enum err datadir_read_key(int dir_fd, uint8_t key[MASTER_KEY_BYTES]);

/* "shards/N" and, unless `name` is NULL, "/name" after it. */
void datadir_shard_path(uint32_t shard, const char *name, char path[DATADIR_PATH]);

/* For creating a data directory or a backup; each is durable when it returns. Errors: ERR_IO (see errno), ERR_STORAGE_FULL,
 * ERR_NO_MEMORY. */
must_check enum err datadir_mkdir(int dir_fd, const char *name); /* an existing one is fine */
must_check enum err datadir_sync(int dir_fd, const char *name);  /* a directory's entries */
/* Replaces a small file: after a crash it is completely old or completely new. The new one is its owner's alone, whatever
 * NAME.new was there before. */
must_check enum err datadir_write(int dir_fd, const char *name, struct span bytes);
must_check enum err datadir_write_identity(int dir_fd, const struct identity *identity);
/* Reads at most `max` bytes of a small file. Errors: ERR_NOT_FOUND, ERR_DAMAGED (longer), ERR_IO, ERR_NO_MEMORY. */
must_check enum err datadir_read(int dir_fd, const char *name, size_t max, struct buffer *out);

/* In a directory without an identity: is every entry one that an interrupted creation or restore leaves? `stranger` gets the
 * name of the first other one. Errors: ERR_EXISTS, ERR_IO. */
enum { DATADIR_NAME = 64 };
must_check enum err datadir_has_strangers(int dir_fd, const char *but, char stranger[DATADIR_NAME]);

/* Is a directory in `dir_fd` empty, or missing? False also: it cannot be read. */
bool datadir_is_empty(int dir_fd, const char *name);

/* Takes an OFD write lock on DIR/<name> for the life of the returned descriptor (close-on-exec). Waits at most `wait_ms`.
 * Errors: ERR_LOCKED, ERR_IO. */
must_check enum err datadir_lock(int dir_fd, const char *name, int wait_ms, int *lock_fd);

/* Does a process hold that lock? Only looks. False also: it cannot be looked at. */
bool datadir_is_locked(int dir_fd, const char *name);
/* Is there such a file, and does nobody hold the lock? False also: it cannot be looked at. */
bool datadir_is_free(int dir_fd, const char *name);

/* Takes a lock on the directory itself while `dir_fd` is open; this lock cannot be deleted. */
must_check enum err datadir_lock_dir(int dir_fd, int wait_ms);
