#pragma once
#include <stdbool.h>

/* Opens a file for appending: created if missing (mode 0640 less the umask), non-blocking if it is a named pipe. The caller
 * owns the descriptor; -1: errno has the reason. */
int log_file_open(const char *path);

/* Would that succeed? A file created for the check is removed again. False: errno has the reason. */
bool log_file_check(const char *path);

/* What `errno` means for such a file, in words. */
const char *log_file_error(int error);
