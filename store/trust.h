#pragma once
#include "schemas/err.h"

#include <stdbool.h>

/* May the tables be believed? They run without syncs of their own, so what a killed process left is whole only
 * in the page cache of the boot it ran in. The mark, a file `trust` beside them, says which: it is written
 * durably before a process first writes to the tables (boot id, device and inode of data.mdb), and says `clean`
 * once everything was forced to disk. Text: `stampede-trust=1 state=… boot=… device=… inode=… crc=…`.
 * `place_fd` is the directory with `trust` and db/data.mdb. Errors: ERR_IO. */

/* *trusted: there are tables, and the mark is clean or of this boot and this very file. *present: data.mdb is. */
must_check enum err trust_read(int place_fd, bool *present, bool *trusted);

/* Writes the mark for db/data.mdb as it is now, making the file if need be. */
must_check enum err trust_write(int place_fd, bool clean);
