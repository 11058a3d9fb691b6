#pragma once
#include <stdbool.h>

/* A file that lines are appended to: made if there is none (mode 0640, less what the umask takes), non-blocking where it is
 * a pipe with a name. Returns its descriptor, the caller's; -1: errno says why not. */
int log_file_open(const char *path);

/* Would that succeed? A file that had to be made for it is gone again. false: errno says why not. */
bool log_file_check(const char *path);
