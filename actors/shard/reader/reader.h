#pragma once
#include "actors/shard/command.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

/* Counts a scan more of the reader of that id; one that is new is staged, without a name, with its number from `tally`, which
 * the caller puts. Errors: as view.h. */
must_check enum err reader_take(struct request *request, struct span id, struct scan_tally *tally,
                                struct reader_row *row);

/* Counts a scan less of the reader of that number, 0: of none. Without a name it goes with its last scan. Point reads.
 * Errors: as view.h. */
must_check enum err reader_give_up(struct request *request, uint32_t number);
