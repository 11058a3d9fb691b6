#pragma once
#include "schemas/err.h"

#include <stdbool.h>

/* May the tables be believed? They run without syncs of their own, so what a killed process left is whole only
 * in the page cache of the boot it ran in. The mark, a file `trust` beside them, says which: it is written
 * durably before a process first writes to the tables (boot id, device and inode of data.mdb), and says `clean`
 * once everything was forced to disk, with a sum over all of data.mdb.
 * Text: `stampede-trust=1 state=… boot=… device=… inode=… sum=… crc=…`.
 * `shard_fd` is the directory with `trust` and db/data.mdb. Errors: ERR_IO, ERR_NO_MEMORY, ERR_STORAGE_FULL. */
enum clean_mark { CLEAN_MARK_NONE, CLEAN_MARK_OPEN, CLEAN_MARK_CLEAN };

/* *clean_mark: there are tables, and the mark is of this boot and this very file (OPEN: as a process left them), or says
 * clean and the sum holds. *present: data.mdb is. */
must_check enum err clean_mark_read(int shard_fd, bool *present, enum clean_mark *clean_mark);

/* Writes the mark for db/data.mdb as it is now, making the file if need be. Clean: nobody writes to the tables. */
must_check enum err clean_mark_write(int shard_fd, bool clean);

/* The tables have been seen to be damaged: the next start is not to believe them. May be called in a signal handler. */
void clean_mark_remove(int shard_fd);
