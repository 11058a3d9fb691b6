#pragma once
#include "actors/shard/command.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

/* The reader of that id; one that is new is staged, without a name, and counted in `tally`, which the caller puts.
 * Errors: as view.h. */
must_check enum err reader_take(struct request *request, struct span id, struct scan_tally *tally,
                                struct reader_row *row);
