#pragma once
#include "schemas/err.h"
#include "schemas/version.h"

#include <stdbool.h>

/* The clean-shutdown marker: may the tables be trusted? They run without syncs, so after a kill they are whole only in
 * the page cache of the same boot. The marker is a file `trust` beside them. It is written durably before a process
 * first writes to the tables (boot id, device and inode of data.mdb). Its state becomes `clean`, with a checksum over
 * all of data.mdb, once everything is synced.
 * Text: `stampede-trust=1 state=… boot=… device=… inode=… sum=… crc=…`.
 * `shard_fd` is the directory with `trust` and db/data.mdb. Errors: ERR_IO, ERR_NO_MEMORY, ERR_STORAGE_FULL. */
enum { CLEAN_MARK_VERSION = 1 };
enum clean_mark { CLEAN_MARK_NONE, CLEAN_MARK_OPEN, CLEAN_MARK_CLEAN };

/* *clean_mark is OPEN if tables exist and the marker names this boot and this very file: the tables are as a process
 * left them. It is CLEAN if the marker says so and the checksum holds. *present: data.mdb exists.
 * Errors: also ERR_UNSUPPORTED: a marker of an unknown version, whose own checksum holds; clean_mark_refusal() has the
 * sentence about it. */
must_check enum err clean_mark_read(int shard_fd, bool *present, enum clean_mark *clean_mark);
void                clean_mark_refusal(int shard_fd, char why[VERSION_TEXT]);

/* What a marker that clean_mark_read() does not trust proves: `*flaw` is the sentence. NULL: nothing; so does one of
 * another boot or file. */
must_check enum err clean_mark_flaw(int shard_fd, const char **flaw);

/* Writes the marker for db/data.mdb in its present state, creating the file if missing. Clean requires that no
 * process writes to the tables. */
must_check enum err clean_mark_write(int shard_fd, bool clean);

/* Removes the marker of tables found damaged, so that the next start does not trust them. Async-signal-safe. */
void clean_mark_remove(int shard_fd);
