#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Notifications of an account, numbered from 0 in the order of their making. What changes, and what lists are made by, lies
 * apart from what is written once. Rows of all of these tables are put and deleted, never patched. Errors: as view.h.
 *   NOTIFICATION       little-endian: version u8 (1) | to an audience u8 | created i64 | its id 16 | pass number u32, 0 of
 *                      one to an audience | audience 16, 0 of one to a pass | message, empty of an
 *                      erased pass and of a cancelled one
 *   NOTIFICATION_HOT   columns of NOTICES of them: counts u8[4] (by status; in the row) | 0 u32 | earliest and latest
 *                      `scheduled` i64 | status u8 | scheduled i64 | sent i64, 0 until then. A
 *                      cancelled one keeps its place, and is in none of the counts
 *   NOTIFICATION_TEXT  folded messages (text.h)
 *   NOTIFICATION_DUE   nothing: of those that are scheduled, in the order in which they are due
 *   NOTIFICATION_TALLY made u32 | counts u32[3] by status; an absent row reads as zeros */
enum notification_status {
	NOTIFICATION_SCHEDULED,
	NOTIFICATION_SENT,
	NOTIFICATION_FAILED,
	NOTIFICATION_STATUSES,
	NOTIFICATION_CANCELLED = NOTIFICATION_STATUSES /* it is shown nowhere: its number alone is left */
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

/* The one of that id, cancelled ones too. Point reads. Errors: ERR_NOT_FOUND. */
must_check enum err notification_find(struct view *view, struct account_id account, struct uuid id,
                                      uint32_t *number);

/* Stages a new one, scheduled for that time; and the end of one that was scheduled: sent then, failed, or cancelled, when its
 * message goes too. `sent` is 0 but for the first. Point reads. */
must_check enum err notification_add(struct view *view, struct account_id account,
                                     const struct notification *row, wall_us scheduled);
must_check enum err notification_end(struct view *view, struct account_id account, uint32_t number,
                                     enum notification_status status, wall_us sent);

/* Stages that its message is empty: of an erased pass. */
must_check enum err notification_blank(struct view *view, struct account_id account, uint32_t number);
/* The number of the first that was created then or later; that of the next one when none was. Point reads. */
must_check enum err notification_since(struct view *view, struct account_id account, wall_us since,
                                       uint32_t *number);

/* One that is due. The first at or after `*due`, in the order of accounts, then times; the next after the one found last.
 * Range reads. Errors: ERR_NOT_FOUND: no more. */
struct notification_due {
	struct account_id account;
	wall_us           at;
	uint32_t          number;
};
must_check enum err notification_due_from(struct view *view, struct notification_due *due);
must_check enum err notification_due_next(struct view *view, struct notification_due *due);
/* Is that one due? A point read. Errors: ERR_NOT_FOUND. */
must_check enum err notification_due_get(struct view *view, const struct notification_due *due);
/* The one that a row's key names. Errors: ERR_DAMAGED. */
must_check enum err notification_due_read(struct span key, struct notification_due *due);

/* Stored values. The message points into `value`. Errors: ERR_DAMAGED. */
must_check enum err notification_read(struct span value, struct notification *row);
must_check enum err notification_tally_read(struct span value, struct notification_tally *tally);
void                notification_write(const struct notification *row, struct buffer *value);

/* A whole row of columns. */
bool                      notices_row_is_whole(struct span row);
unsigned                  notices_row_used(struct span row);
const uint8_t            *notices_row_counts(struct span row);   /* by status */
const uint8_t            *notices_row_statuses(struct span row); /* NOTICES of them */
int64_t                   notices_row_earliest(struct span row);
int64_t                   notices_row_latest(struct span row);
struct notification_state notices_row_state(struct span row, unsigned index);
void                      notices_row_scheduled(struct span row, int64_t scheduled[NOTICES]);
