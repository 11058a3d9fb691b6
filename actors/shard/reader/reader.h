#pragma once
#include "actors/shard/command.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

/* Counts one more scan of the reader with that id. A new reader is staged without a name; its number comes from `tally`, which
 * the caller puts. Errors: as view.h. */
must_check enum err reader_take(struct request *request, struct span id, struct scan_tally *tally,
                                struct reader_row *row);

/* Counts one scan less of the reader with that number; 0: no reader. A reader without a name is removed with its last scan.
 * Point reads. Errors: as view.h. */
must_check enum err reader_give_up(struct request *request, uint32_t number);
