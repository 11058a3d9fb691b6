#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Notifications of an account, numbered from 0 in order of creation. Mutable fields and sort columns are stored apart
 * from the immutable row. Rows of all these tables are put and deleted, never patched. Errors: as view.h.
 *   NOTIFICATION       little-endian: version u8 (1) | to an audience u8 | created i64 | its id 16 | pass number u32, 0
 *                      if to an audience | audience 16, 0 if to a pass | message, empty if the pass is erased or the
 *                      notification cancelled
 *   NOTIFICATION_HOT   columns of NOTICES notifications: counts u8[4] (by status; in the row) | 0 u32 | earliest and
 *                      latest `scheduled` i64 | status u8 | scheduled i64 | sent i64, 0 until then. A cancelled one
 *                      keeps its position and is in none of the counts
 *   NOTIFICATION_TEXT  folded messages (text.h)
 *   NOTIFICATION_DUE   empty values: the scheduled ones, in due order
 *   NOTIFICATION_TALLY made u32 | counts u32[3] by status; an absent row reads as zeros */
enum notification_status {
	NOTIFICATION_SCHEDULED,
	NOTIFICATION_SENT,
	NOTIFICATION_FAILED,
	NOTIFICATION_STATUSES,
	NOTIFICATION_CANCELLED = NOTIFICATION_STATUSES /* shown nowhere: only its number remains */
};
enum { NOTICES = 64 };

struct notification {
	struct uuid id;
	bool        to_audience;
	uint32_t    pass_number;
	struct uuid audience;
	wall_us     created;
	struct span message;
};

struct notification_state {
	uint8_t status; /* enum notification_status */
	wall_us scheduled, sent;
};

struct notification_tally {
	uint32_t made;
	uint32_t counts[NOTIFICATION_STATUSES];
};

const char *notification_status_text(unsigned status);

must_check enum err notification_get(struct view *view, struct account_id account, uint32_t number,
                                     struct notification *row);
must_check enum err notification_state_get(struct view *view, struct account_id account, uint32_t number,
                                           struct notification_state *state);
must_check enum err notification_tally_get(struct view *view, struct account_id account,
                                           struct notification_tally *tally);

/* The notification of that id, cancelled or not. Point reads. Errors: ERR_NOT_FOUND. */
must_check enum err notification_find(struct view *view, struct account_id account, struct uuid id,
                                      uint32_t *number);

/* Stage a new notification scheduled for that time; and the end of a scheduled one as sent, failed or cancelled.
 * Cancelling also removes the message. `sent` is 0 unless sent. Point reads. */
must_check enum err notification_add(struct view *view, struct account_id account,
                                     const struct notification *row, wall_us scheduled);
must_check enum err notification_end(struct view *view, struct account_id account, uint32_t number,
                                     enum notification_status status, wall_us sent);

/* Stages an empty message: its pass is erased. */
must_check enum err notification_blank(struct view *view, struct account_id account, uint32_t number);
/* The number of the first one created at `since` or later; if there is none, the number the next one will get. Point
 * reads. */
must_check enum err notification_since(struct view *view, struct account_id account, wall_us since,
                                       uint32_t *number);

/* A scheduled notification in due order: the first at or after `*due`, ordered by account, then time; the next after
 * the one found last. Range reads. Errors: ERR_NOT_FOUND: no more. */
struct notification_due {
	struct account_id account;
	wall_us           at;
	uint32_t          number;
};
must_check enum err notification_due_from(struct view *view, struct notification_due *due);
must_check enum err notification_due_next(struct view *view, struct notification_due *due);
/* Is it scheduled for that time? A point read. Errors: ERR_NOT_FOUND. */
must_check enum err notification_due_get(struct view *view, const struct notification_due *due);
/* Decodes a row's key. Errors: ERR_DAMAGED. */
must_check enum err notification_due_read(struct span key, struct notification_due *due);

/* Stored values. The message points into `value`. Errors: ERR_DAMAGED. */
must_check enum err notification_read(struct span value, struct notification *row);
must_check enum err notification_tally_read(struct span value, struct notification_tally *tally);
void                notification_write(const struct notification *row, struct buffer *value);

/* Decode a whole row of columns. */
bool                      notices_row_is_whole(struct span row);
unsigned                  notices_row_used(struct span row);
const uint8_t            *notices_row_counts(struct span row);   /* by status */
const uint8_t            *notices_row_statuses(struct span row); /* NOTICES bytes */
int64_t                   notices_row_earliest(struct span row);
int64_t                   notices_row_latest(struct span row);
struct notification_state notices_row_state(struct span row, unsigned index);
void                      notices_row_scheduled(struct span row, int64_t scheduled[NOTICES]);
