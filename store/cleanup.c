/* Rows of the table CLEANUP. */
#include "store/cleanup.h"

#include "store/keys.h"

enum { HEAD_BYTES = 8 };

static struct row_key key_of(const struct cleanup *row)
{
	struct row_key key = key_account(row->account);
	key.bytes[key.size++] = row->kind;
	memcpy(key.bytes + key.size, row->subject, row->subject_size);
	key.size += row->subject_size;
	return key;
}

struct cleanup cleanup_of(struct account_id account, enum cleanup_kind kind, struct span subject)
{
	struct cleanup row = {
	    .account = account, .kind = (uint8_t)kind, .subject_size = (uint8_t)subject.size};
	must(subject.size <= CLEANUP_SUBJECT_MAX);
	memcpy(row.subject, subject.at, subject.size);
	return row;
}

struct cleanup cleanup_of_number(struct account_id account, enum cleanup_kind kind, uint32_t number)
{
	uint8_t bytes[4];
	put_be32(bytes, number);
	return cleanup_of(account, kind, span_of(bytes, sizeof bytes));
}

uint32_t cleanup_number(const struct cleanup *row)
{
	return row->subject_size == 4 ? get_be32(row->subject) : 0;
}

enum err cleanup_put(struct view *view, const struct cleanup *row)
{
	struct row_key key = key_of(row);
	uint8_t        value[HEAD_BYTES + CLEANUP_STATE_MAX];
	must(row->state_size <= CLEANUP_STATE_MAX);
	put_le64(value, (uint64_t)row->from.v);
	memcpy(value + HEAD_BYTES, row->state, row->state_size);
	return view_put(view, TABLE_CLEANUP, &key, span_of(value, (size_t)HEAD_BYTES + row->state_size));
}

enum err cleanup_del(struct view *view, const struct cleanup *row)
{
	struct row_key key = key_of(row);
	return view_del(view, TABLE_CLEANUP, &key);
}

static enum err read_value(struct span value, struct cleanup *row)
{
	if (value.size < HEAD_BYTES || value.size - HEAD_BYTES > CLEANUP_STATE_MAX) return ERR_DAMAGED;
	row->from.v = (int64_t)get_le64(value.at);
	row->state_size = (uint8_t)(value.size - HEAD_BYTES);
	memcpy(row->state, value.at + HEAD_BYTES, row->state_size);
	return OK;
}

enum err cleanup_get(struct view *view, struct cleanup *row)
{
	struct row_key key = key_of(row);
	struct span    value;
	enum err       err = view_get(view, TABLE_CLEANUP, key_span(&key), &value);
	return err ? err : read_value(value, row);
}

enum err cleanup_read(struct span key, struct span value, struct cleanup *row)
{
	size_t head = sizeof row->account + 1;
	if (key.size <= head || key.size - head > CLEANUP_SUBJECT_MAX) return ERR_DAMAGED;
	memcpy(row->account.b, key.at, sizeof row->account);
	row->kind = key.at[head - 1];
	row->subject_size = (uint8_t)(key.size - head);
	memcpy(row->subject, key.at + head, row->subject_size);
	return row->kind && row->kind < CLEANUP_KINDS_END ? read_value(value, row) : ERR_DAMAGED;
}

enum err cleanup_from(struct view *view, struct cleanup *row)
{
	struct row_key  key = key_of(row);
	struct view_row found;
	enum err        err = view_from(view, TABLE_CLEANUP, key_span(&key), &found);
	return err ? err : cleanup_read(found.key, found.value, row);
}

enum err cleanup_next(struct view *view, struct cleanup *row)
{
	struct view_row found;
	enum err        err = view_next(view, TABLE_CLEANUP, &found);
	return err ? err : cleanup_read(found.key, found.value, row);
}
