#pragma once
#include "ops/cli/import/rows.h"

#include <stdio.h>

/* Rows that fail go to FILE.failed as they are in the file (CSV: below its header), to be corrected and imported. FILE.errors
 * gets a line with the reason for each, in the same order. A run replaces the files of an earlier one, and leaves none if
 * nothing failed. */
struct failed {
	int           from; /* the import file */
	uint64_t      header_size;
	const char   *path; /* FILE */
	FILE         *rows, *errors;
	uint64_t      count;
	bool          is_cut; /* writing has failed: both files end with a whole row, and get no more */
	struct buffer first;  /* the first reasons, for the screen */
	char          why[256];
};

/* Creates both files. `path` and the descriptor are borrowed until failed_close(); call that after a failure, too. Errors:
 * ERR_IO, ERR_STORAGE_FULL; failed->why is a sentence. */
must_check enum err failed_open(struct failed *failed, const char *path, int from, uint64_t header_size);
must_check enum err failed_add(struct failed *failed, const struct row_place *place, struct span reason);
void                failed_print(const struct failed *failed); /* the first reasons, to standard error */
must_check enum err failed_close(struct failed *failed);
