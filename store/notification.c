/* Rows of notifications. A creation or end rewrites the row of columns: notifications that end together were mostly
 * created together, so they share it. */
#include "store/notification.h"

#include "schemas/fold.h"
#include "store/keys.h"
#include "store/text.h"

enum {
	ROW_VERSION = 1,
	AT_CREATED = 2,
	AT_ID = 10,
	AT_PASS = 26,
	AT_AUDIENCE = 30,
	HEAD_BYTES = 46,

	USED = 3, /* of the counts */
	AT_EARLIEST = 8,
	AT_LATEST = 16,
	AT_STATUS = 24,
	AT_SCHEDULED = AT_STATUS + NOTICES,
	AT_SENT = AT_SCHEDULED + 8 * NOTICES,
	NOTICES_BYTES = AT_SENT + 8 * NOTICES,

	TALLY_BYTES = 4 + 4 * NOTIFICATION_STATUSES,
	DUE_KEY_BYTES = sizeof(struct account_id) + 8 + 4,
};
_Static_assert((int)NOTIFICATION_STATUSES == (int)USED, "counts by status, then of all");
_Static_assert((int)NOTICES_BYTES == 1112 && (int)NOTICES_BYTES <= (int)ROW_BYTES_MAX,
               "the row's form is on disk");

static const struct text_tables texts = {.blocks = TABLE_NOTIFICATION_TEXT};

const char *notification_status_text(unsigned status)
{
	static const char *const words[NOTIFICATION_STATUSES] = {[NOTIFICATION_SCHEDULED] = "scheduled",
	                                                         [NOTIFICATION_SENT] = "sent",
	                                                         [NOTIFICATION_FAILED] = "failed"};
	if (status == NOTIFICATION_CANCELLED) return "cancelled";
	return status < NOTIFICATION_STATUSES ? words[status] : "unknown";
}

/* Immutable rows ------------------------------------------------------------------------------------------------- */

enum err notification_read(struct span value, struct notification *row)
{
	const uint8_t *at = value.at;
	if (value.size < HEAD_BYTES || at[0] != ROW_VERSION || at[1] > 1) return ERR_DAMAGED;
	row->to_audience = at[1];
	row->created.v = (int64_t)get_le64(at + AT_CREATED);
	memcpy(row->id.b, at + AT_ID, sizeof row->id.b);
	row->pass_number = get_le32(at + AT_PASS);
	memcpy(row->audience.b, at + AT_AUDIENCE, sizeof row->audience.b);
	row->message = span_of(at + HEAD_BYTES, value.size - HEAD_BYTES);
	return OK;
}

void notification_write(const struct notification *row, struct buffer *value)
{
	uint8_t head[HEAD_BYTES] = {ROW_VERSION, row->to_audience};
	put_le64(head + AT_CREATED, (uint64_t)row->created.v);
	memcpy(head + AT_ID, row->id.b, sizeof row->id.b);
	put_le32(head + AT_PASS, row->pass_number);
	memcpy(head + AT_AUDIENCE, row->audience.b, sizeof row->audience.b);
	buffer_append(value, head, sizeof head);
	buffer_append(value, row->message.at, row->message.size);
}

enum err notification_get(struct view *view, struct account_id account, uint32_t number,
                          struct notification *row)
{
	struct row_key key = key_u32(account, number);
	struct span    value;
	enum err       err = view_get(view, TABLE_NOTIFICATION, key_span(&key), &value);
	return err ? err : notification_read(value, row);
}

/* Also replaces a row. */
static enum err put_row(struct view *view, struct account_id account, uint32_t number,
                        const struct notification *row)
{
	struct row_key key = key_u32(account, number);
	struct buffer  text = {0}, value = {0};
	notification_write(row, &value);
	fold_text(row->message, &text);
	enum err err = text.failed || value.failed ? ERR_NO_MEMORY : OK;
	if (!err) err = view_put(view, TABLE_NOTIFICATION, &key, buffer_span(&value));
	if (!err) err = text_put_in(view, texts, account, number, buffer_span(&text));
	buffer_free(&text);
	buffer_free(&value);
	return err;
}

/* Columns ------------------------------------------------------------------------------------------------------ */

bool notices_row_is_whole(struct span row)
{
	return row.size == NOTICES_BYTES && row.at[USED] <= NOTICES;
}

unsigned notices_row_used(struct span row)
{
	return row.at[USED];
}

const uint8_t *notices_row_counts(struct span row)
{
	return row.at;
}

const uint8_t *notices_row_statuses(struct span row)
{
	return row.at + AT_STATUS;
}

int64_t notices_row_earliest(struct span row)
{
	return (int64_t)get_le64(row.at + AT_EARLIEST);
}

int64_t notices_row_latest(struct span row)
{
	return (int64_t)get_le64(row.at + AT_LATEST);
}

struct notification_state notices_row_state(struct span row, unsigned i)
{
	return (struct notification_state){
	    .status = row.at[AT_STATUS + i],
	    .scheduled = {(int64_t)get_le64(row.at + AT_SCHEDULED + 8 * i)},
	    .sent = {(int64_t)get_le64(row.at + AT_SENT + 8 * i)},
	};
}

void notices_row_scheduled(struct span row, int64_t scheduled[NOTICES])
{
	for (unsigned i = 0; i < NOTICES; i++)
		scheduled[i] = (int64_t)get_le64(row.at + AT_SCHEDULED + 8 * i);
}

/* A copy of the row with `number`; zeros if there is none yet. */
static enum err copy_row(struct view *view, const struct row_key *key, uint8_t row[NOTICES_BYTES])
{
	struct span stored;
	enum err    err = view_get(view, TABLE_NOTIFICATION_HOT, key_span(key), &stored);
	if (err == ERR_NOT_FOUND) memset(row, 0, NOTICES_BYTES);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (!notices_row_is_whole(stored)) return ERR_DAMAGED;
	memcpy(row, stored.at, NOTICES_BYTES);
	return OK;
}

enum err notification_state_get(struct view *view, struct account_id account, uint32_t number,
                                struct notification_state *state)
{
	struct row_key key = key_u32(account, number / NOTICES);
	struct span    row;
	enum err       err = view_get(view, TABLE_NOTIFICATION_HOT, key_span(&key), &row);
	if (err) return err;
	if (!notices_row_is_whole(row)) return ERR_DAMAGED;
	if (number % NOTICES >= notices_row_used(row)) return ERR_NOT_FOUND;
	*state = notices_row_state(row, number % NOTICES);
	return state->status <= NOTIFICATION_CANCELLED ? OK : ERR_DAMAGED;
}

static enum err add_state(struct view *view, struct account_id account, uint32_t number, wall_us scheduled)
{
	struct row_key key = key_u32(account, number / NOTICES);
	unsigned       i = number % NOTICES;
	uint8_t        row[NOTICES_BYTES];
	enum err       err = copy_row(view, &key, row);
	if (err) return err;
	if (row[USED] != i) return ERR_DAMAGED; /* numbers are dense */
	row[NOTIFICATION_SCHEDULED]++;
	row[USED]++;
	row[AT_STATUS + i] = NOTIFICATION_SCHEDULED;
	put_le64(row + AT_SCHEDULED + 8 * i, (uint64_t)scheduled.v);
	if (i == 0 || scheduled.v < (int64_t)get_le64(row + AT_EARLIEST))
		put_le64(row + AT_EARLIEST, (uint64_t)scheduled.v);
	if (i == 0 || scheduled.v > (int64_t)get_le64(row + AT_LATEST))
		put_le64(row + AT_LATEST, (uint64_t)scheduled.v);
	return view_put(view, TABLE_NOTIFICATION_HOT, &key, span_of(row, sizeof row));
}

/* Counts ------------------------------------------------------------------------------------------------------- */

enum err notification_tally_read(struct span value, struct notification_tally *tally)
{
	if (value.size != TALLY_BYTES) return ERR_DAMAGED;
	tally->made = get_le32(value.at);
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		tally->counts[i] = get_le32(value.at + 4 + 4 * i);
	return OK;
}

enum err notification_tally_get(struct view *view, struct account_id account,
                                struct notification_tally *tally)
{
	struct row_key key = key_account(account);
	struct span    value;
	enum err       err = view_get(view, TABLE_NOTIFICATION_TALLY, key_span(&key), &value);
	*tally = (struct notification_tally){0};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return notification_tally_read(value, tally);
}

static enum err put_tally(struct view *view, struct account_id account,
                          const struct notification_tally *tally)
{
	struct row_key key = key_account(account);
	uint8_t        value[TALLY_BYTES];
	put_le32(value, tally->made);
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		put_le32(value + 4 + 4 * i, tally->counts[i]);
	return view_put(view, TABLE_NOTIFICATION_TALLY, &key, span_of(value, sizeof value));
}

/* Due rows ------------------------------------------------------------------------------------------------------- */

/* The order of bytes is that of times, also before 1970. */
static uint64_t due_bits(wall_us at)
{
	return (uint64_t)at.v ^ UINT64_C(1) << 63;
}

static struct row_key due_key(const struct notification_due *due)
{
	struct row_key key = key_u64(due->account, due_bits(due->at));
	put_be32(key.bytes + key.size, due->number);
	key.size += 4;
	return key;
}

enum err notification_due_read(struct span key, struct notification_due *due)
{
	if (key.size != DUE_KEY_BYTES) return ERR_DAMAGED;
	memcpy(due->account.b, key.at, sizeof due->account.b);
	due->at.v = (int64_t)(get_be64(key.at + sizeof due->account.b) ^ UINT64_C(1) << 63);
	due->number = get_be32(key.at + sizeof due->account.b + 8);
	return OK;
}

enum err notification_due_get(struct view *view, const struct notification_due *due)
{
	struct row_key key = due_key(due);
	struct span    value;
	return view_get(view, TABLE_NOTIFICATION_DUE, key_span(&key), &value);
}

enum err notification_due_from(struct view *view, struct notification_due *due)
{
	struct row_key  key = due_key(due);
	struct view_row row;
	enum err        err = view_from(view, TABLE_NOTIFICATION_DUE, key_span(&key), &row);
	return err ? err : notification_due_read(row.key, due);
}

enum err notification_due_next(struct view *view, struct notification_due *due)
{
	struct view_row row;
	enum err        err = view_next(view, TABLE_NOTIFICATION_DUE, &row);
	return err ? err : notification_due_read(row.key, due);
}

/* All of it ---------------------------------------------------------------------------------------------------- */

enum err notification_add(struct view *view, struct account_id account, const struct notification *row,
                          wall_us scheduled)
{
	struct notification_tally tally;
	enum err                  err = notification_tally_get(view, account, &tally);
	if (err) return err;
	if (tally.made == UINT32_MAX) return ERR_TOO_LARGE;
	struct notification_due due = {account, scheduled, tally.made};
	struct row_key          key = due_key(&due);
	if ((err = put_row(view, account, tally.made, row))) return err;
	if ((err = add_state(view, account, tally.made, scheduled))) return err;
	if ((err = view_put(view, TABLE_NOTIFICATION_DUE, &key, span_of(NULL, 0)))) return err;
	tally.made++;
	tally.counts[NOTIFICATION_SCHEDULED]++;
	return put_tally(view, account, &tally);
}

enum err notification_blank(struct view *view, struct account_id account, uint32_t number)
{
	struct notification row;
	enum err            err = notification_get(view, account, number, &row);
	row.message = span_of("", 0);
	return err ? err : put_row(view, account, number, &row);
}

enum err notification_since(struct view *view, struct account_id account, wall_us since, uint32_t *number)
{
	struct notification_tally tally;
	enum err                  err = notification_tally_get(view, account, &tally);
	uint32_t                  low = 0, high = tally.made;
	while (!err && low < high) {
		struct notification row;
		uint32_t            middle = low + (high - low) / 2;
		err = notification_get(view, account, middle, &row);
		if (row.created.v < since.v)
			low = middle + 1;
		else
			high = middle;
	}
	*number = low;
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err notification_find(struct view *view, struct account_id account, struct uuid id, uint32_t *number)
{
	struct notification row;
	enum err            err = notification_since(view, account, uuid_time(id), number);
	while (!err && !(err = notification_get(view, account, *number, &row))) {
		if (uuid_same(row.id, id)) return OK;
		if (row.created.v != uuid_time(id).v) return ERR_NOT_FOUND;
		++*number;
	}
	return err;
}

enum err notification_end(struct view *view, struct account_id account, uint32_t number,
                          enum notification_status status, wall_us sent)
{
	struct row_key            hot = key_u32(account, number / NOTICES);
	unsigned                  i = number % NOTICES;
	uint8_t                   row[NOTICES_BYTES];
	struct notification_tally tally;
	enum err                  err = copy_row(view, &hot, row);
	if (err || (err = notification_tally_get(view, account, &tally))) return err;
	bool is_there = i < row[USED] && row[AT_STATUS + i] == NOTIFICATION_SCHEDULED;
	if (!is_there || !row[NOTIFICATION_SCHEDULED] || !tally.counts[NOTIFICATION_SCHEDULED])
		return ERR_DAMAGED;
	struct notification_due due = {account, {(int64_t)get_le64(row + AT_SCHEDULED + 8 * i)}, number};
	struct row_key          key = due_key(&due);
	row[NOTIFICATION_SCHEDULED]--;
	row[AT_STATUS + i] = (uint8_t)status;
	put_le64(row + AT_SENT + 8 * i, (uint64_t)sent.v);
	tally.counts[NOTIFICATION_SCHEDULED]--;
	if (status != NOTIFICATION_CANCELLED) {
		row[status]++;
		tally.counts[status]++;
	} else if ((err = notification_blank(view, account, number))) {
		return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	}
	if ((err = view_put(view, TABLE_NOTIFICATION_HOT, &hot, span_of(row, sizeof row)))) return err;
	if ((err = view_del(view, TABLE_NOTIFICATION_DUE, &key))) return err;
	return put_tally(view, account, &tally);
}
