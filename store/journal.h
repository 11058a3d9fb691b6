#pragma once
#include "schemas/histogram.h"
#include "store/disk_monitor.h"
#include "store/record.h"
#include "store/scan.h"
#include "store/segment.h"

#include <stdatomic.h>

/* The journal being written: one record open, at most one on its way to the disk, by a thread of its own that
 * does nothing but write and sync, or by the caller itself while the disk is quick. Another thread sees that the
 * next segment always exists.
 * All functions are the writer's; after ERR_IO the process must exit without another word to anyone. */
struct journal;

/* Begins a fresh segment after `at` (on a full disk: goes on behind `at`) and makes an EPOCH record
 * (epoch = at->epoch + 1) durable in it; *at is moved behind it. `now` is service time.
 * Errors: ERR_IO, ERR_STORAGE_FULL, ERR_NO_MEMORY. */
must_check enum err journal_open(const struct journal_dir *dir, struct position *at, wall_us now,
                                 struct journal **journal);
void                journal_close(struct journal **journal); /* what was submitted is finished first */

/* Adds an operation to the open record, which begins with its first. Errors: ERR_NO_MEMORY, ERR_TOO_LARGE (the
 * record would not fit a segment). */
must_check enum err journal_add(struct journal *journal, const struct write *write);
size_t              journal_open_bytes(const struct journal *journal); /* 0: no record is open */

/* Can the open record go now: nothing is on its way, and there is a place for it? */
bool journal_can_submit(struct journal *journal);
/* Sends the open record on its way to the disk, where it may have arrived already when this returns:
 * journal_settle() tells. Only when journal_can_submit(). */
void journal_submit(struct journal *journal, wall_us now);

/* The next record begins the next segment, if that is there by then. */
void journal_begin_segment(struct journal *journal);

/* Takes note of a record that has arrived. Errors: ERR_IO: a write or sync failed. */
must_check enum err journal_settle(struct journal *journal);
/* Readable when journal_settle() may find news, but not of a submit just made. */
int journal_fd(const struct journal *journal);

bool            journal_is_quick(const struct journal *journal); /* submitting means that it has arrived */
bool            journal_is_syncing(const struct journal *journal);
uint64_t        journal_decided_seq(const struct journal *journal); /* of the newest operation added */
uint64_t        journal_durable_seq(const struct journal *journal);
struct position journal_position(const struct journal *journal); /* behind the newest durable record */
uint64_t        journal_syncs(const struct journal *journal);    /* since it was opened */

/* How long writing and syncing each record took (scale_us); any thread may read it. */
const struct histogram *journal_sync_times(const struct journal *journal);

/* Is nothing more to be decided for the moment, because the next segment is not there yet and what is decided might not
 * fit the present one? It ends by itself: with the segment, or with less room. */
bool journal_must_wait(const struct journal *journal);

/* Less than DISK_FOR_ALL while the next segment cannot be made (a full disk). */
enum disk_level journal_room(const struct journal *journal);
