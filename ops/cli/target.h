#pragma once
#include "ops/cli/cli.h"

/* Directories that commands write files of a service into. `fd` is open on the directory `path`. */

/* DONE: it is not inside the files of a data directory, which a start would then refuse. Shards behind symbolic links are not
 * recognised. */
must_check enum outcome target_check_place(struct cli *cli, int fd, const char *path);

/* DONE: it belongs to the user of this process, or to root. Files of another user could not be read by the service. `name`: of a file in
 * it that shows the owner; NULL: itself. */
must_check enum outcome target_check_owner(struct cli *cli, int fd, const char *name, const char *path);
