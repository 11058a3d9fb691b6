#pragma once
#include "actors/shard/command.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

/* The reader with that id, of a scan that is about to be added. A new one is staged without a name. Its scans are counted when
 * they are gathered (scan_row.h). Errors: as view.h. */
must_check enum err reader_take(struct request *request, struct span id, struct reader_row *row);

/* Counts one scan in SCAN less of the reader with that number; 0: no reader. A reader without a name is removed with its last scan.
 * Point reads. Errors: as view.h. */
must_check enum err reader_give_up(struct request *request, uint32_t number);
