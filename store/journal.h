#pragma once
#include "schemas/histogram.h"
#include "store/disk_monitor.h"
#include "store/record.h"
#include "store/scan.h"
#include "store/segment.h"

#include <stdatomic.h>

/* The journal's writer: one record open, and at most one being written. A thread of its own only writes and
 * syncs; on a quick disk the caller does it itself. Another thread prepares the next segment ahead of need.
 * All functions are the writer's. After ERR_IO the process must exit without another response. */
struct journal;

/* Goes on behind `at` while less than a quarter of its segment is used and the rest is blank, or on a full disk; otherwise begins
 * the next segment. Makes an EPOCH record (epoch = at->epoch + 1) durable there; *at is moved behind it. `now` is service time. Errors: ERR_IO, ERR_STORAGE_FULL,
 * ERR_NO_MEMORY. */
must_check enum err journal_open(const struct journal_dir *dir, struct position *at, wall_us now,
                                 struct journal **journal);
void                journal_close(struct journal **journal); /* finishes the submitted record first */

/* Adds an operation to the open record, or opens one. Errors: ERR_NO_MEMORY, ERR_TOO_LARGE (the record would not fit
 * a segment). */
must_check enum err journal_add(struct journal *journal, const struct write *write);
size_t              journal_open_bytes(const struct journal *journal); /* 0: no record is open */

/* Can the open record be submitted: no other one is being written, and there is space for it? */
bool journal_can_submit(struct journal *journal);
/* Begins to write the open record. It may be written on return; journal_settle() finds out. Only when
 * journal_can_submit(). */
void journal_submit(struct journal *journal, wall_us now);

/* The next record begins the next segment, if it exists by then. */
void journal_begin_segment(struct journal *journal);

/* Registers a record that has been written and synced. Errors: ERR_IO: a write or sync failed, for the
 * reason in errno. */
must_check enum err journal_settle(struct journal *journal);
/* Readable when journal_settle() may have news, but not for a submit just made. */
int journal_fd(const struct journal *journal);

bool    journal_is_quick(const struct journal *journal); /* a submitted record is written on return */
int64_t journal_sync_us(const struct journal *journal);  /* microseconds of the last few syncs, on average */
int64_t journal_byte_ns(
    const struct journal *journal); /* of a byte of the last few large records, on average; 0: none yet */
bool            journal_is_syncing(const struct journal *journal);
uint64_t        journal_decided_seq(const struct journal *journal); /* of the newest operation added */
uint64_t        journal_durable_seq(const struct journal *journal);
struct position journal_position(const struct journal *journal); /* behind the newest durable record */
uint64_t        journal_syncs(const struct journal *journal);    /* since it was opened */

/* Histogram of the time to write and sync each record (scale_us); readable from any thread. */
const struct histogram *journal_sync_times(const struct journal *journal);

/* Must decisions pause because the next segment does not exist yet, and decided operations might not fit the present
 * one? It ends by itself: with the segment, or with less room. */
bool journal_must_wait(const struct journal *journal);

/* Less than DISK_FOR_ALL while the next segment cannot be created (full disk), and once the present one was removed. */
enum disk_level journal_room(const struct journal *journal);
/* errno of the last attempt to create the next segment, if it failed, EUCLEAN: one is there that cannot be used; 0: it did not. */
int  journal_create_error(const struct journal *journal);
bool journal_is_removed(
    const struct journal *journal); /* a segment was, while records were written into it */
