#pragma once
#include "ops/cli/import/rows.h"

#include <stdio.h>

/* What becomes of rows that fail: FILE.failed gets them as they are in the file (CSV: below its header), so that it can
 * be corrected and imported; FILE.errors gets a line for each, in the same order, with the reason. Those of an earlier
 * run are replaced when a run begins; of a run without failures nothing is left. */
struct failed {
	int           from; /* the import file */
	uint64_t      header_size;
	const char   *path; /* FILE */
	FILE         *rows, *errors;
	uint64_t      count;
	struct buffer first; /* the first reasons, for the screen */
	char          why[256];
};

/* Makes both files. `path` and the descriptor are borrowed until failed_close(), which is right after a failure too.
 * Errors: ERR_IO, ERR_STORAGE_FULL; failed->why is a sentence for people. */
must_check enum err failed_open(struct failed *failed, const char *path, int from, uint64_t header_size);
must_check enum err failed_add(struct failed *failed, const struct row_place *place, struct span reason);
void                failed_print(const struct failed *failed); /* the first reasons, to standard error */
must_check enum err failed_close(struct failed *failed);
