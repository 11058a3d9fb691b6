#pragma once
#include "schemas/clock.h"

#include <stddef.h>
#include <sys/types.h>

/* Files that options name. A pipe, a FIFO or a terminal may stand where a file is expected, and may never deliver a byte:
 * reading one ends at a deadline. */
enum { NAMED_FILE_WAIT_MS = 1000 }; /* for the whole of one file, from its opening */

/* Opens it for reading; *until is the deadline of its reads. Waits for no writer. -1: errno has the reason. */
int named_file_open(const char *path, mono_us *until);

/* As read(2): bytes read, 0 at the end, -1 with errno. ETIMEDOUT: nothing came by the deadline. */
ssize_t named_file_read(int fd, void *to, size_t size, mono_us until);

/* What errno says of such a file, in words. */
const char *named_file_error(int error);
