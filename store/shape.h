#pragma once
#include "store/store.h"

/* Checks that each existing entry of a shard's directory is of a kind that the store can work with. Changes nothing.
 * A wrong entry would otherwise fail only when tables are rebuilt, after other shards have changed theirs. Errors:
 * ERR_UNSUPPORTED (report->what names the entry and its kind), ERR_IO. */
must_check enum err shape_judge(int shard_fd, struct store_report *report);
