#pragma once
#include "store/store.h"

/* Is each entry of a shard's place that is there of the kind that the store can work with? Changes nothing. What it refuses
 * would fail only when tables are made anew, after other shards have changed theirs. Errors: ERR_UNSUPPORTED (report->what
 * names the entry and what it is), ERR_IO. */
must_check enum err shape_judge(int shard_fd, struct store_report *report);
