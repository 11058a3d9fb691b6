#pragma once
#include "store/db.h"
#include "store/faults.h"
#include "store/progress.h"

/* Every page and row of the tables gone through once: every row's checksum, ascending keys, that a search finds the first
 * and last row of each page where the walk found it, that each table holds as many rows as it says, and that no page
 * is missing, counted twice, or both free and in use. What does not hold becomes a fault.
 * Errors: ERR_IO, ERR_NO_MEMORY, ERR_STOPPED. A page damaged badly enough kills the process: whoever cannot afford that
 * walks in a child, or prepares for the signal. */
must_check enum err walk_tables(struct view *reader, struct faults *faults, struct progress *progress);
