/* Rows of the tables DELIVERY and DELIVERY_END. */
#include "store/delivery.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"

enum {
	ROW_VERSION = 1,
	ACCOUNT_BYTES = sizeof(struct account_id),
	AT_ZONE = ACCOUNT_BYTES + sizeof(struct uuid),
	AT_DUE = AT_ZONE + 1,
	AT_EVENT = AT_DUE + 8,
	KEY_BYTES = AT_EVENT + sizeof(struct uuid),
	WAITING_BYTES = 24,
	LEASED_BYTES = WAITING_BYTES + 16,
	AT_OUTCOME = WAITING_BYTES,
	AT_ENDED = AT_OUTCOME + 8,
	AT_IDS = AT_ENDED + 8,
	END_BYTES = AT_IDS + 2 * sizeof(struct uuid),
	END_KEY_BYTES = ACCOUNT_BYTES + 8,
};

static struct row_key key_delivery(const struct delivery *row)
{
	struct row_key key = key_uuid(row->account, row->subscription);
	key.bytes[AT_ZONE] = (uint8_t)row->zone;
	put_be64(key.bytes + AT_DUE, (uint64_t)row->due.v);
	memcpy(key.bytes + AT_EVENT, row->event.b, sizeof row->event.b);
	key.size = KEY_BYTES;
	return key;
}

static void put_facts(const struct delivery *row, uint8_t *at)
{
	at[0] = ROW_VERSION;
	at[1] = row->kind;
	at[2] = row->attempts;
	at[3] = row->error;
	put_le16(at + 4, row->status);
	at[6] = row->detail;
	at[7] = 0;
	put_le32(at + 8, row->generation);
	put_le32(at + 12, row->subject);
	put_le64(at + 16, (uint64_t)row->fact.v);
}

static bool get_facts(const uint8_t *at, struct delivery *row)
{
	row->kind = at[1];
	row->attempts = at[2];
	row->error = at[3];
	row->status = get_le16(at + 4);
	row->detail = at[6];
	row->generation = get_le32(at + 8);
	row->subject = get_le32(at + 12);
	row->fact.v = (int64_t)get_le64(at + 16);
	return at[0] == ROW_VERSION && row->kind < EVENT_KINDS && row->error < ATTEMPT_ERRORS &&
	       row->attempts <= DELIVERY_ATTEMPTS_MAX && row->detail < ATTEMPT_DETAILS && at[7] == 0;
}

enum err delivery_key_read(struct span key, struct delivery *row)
{
	if (key.size != KEY_BYTES) return ERR_DAMAGED;
	*row = (struct delivery){.zone = (enum delivery_zone)key.at[AT_ZONE],
	                         .due = {(int64_t)get_be64(key.at + AT_DUE)}};
	memcpy(row->account.b, key.at, sizeof row->account.b);
	memcpy(row->subscription.b, key.at + ACCOUNT_BYTES, sizeof row->subscription.b);
	memcpy(row->event.b, key.at + AT_EVENT, sizeof row->event.b);
	return row->zone == ZONE_LEASED || row->zone == ZONE_WAITING ? OK : ERR_DAMAGED;
}

enum err delivery_read(struct span key, struct span value, struct delivery *row)
{
	enum err err = delivery_key_read(key, row);
	if (err) return err;
	bool leased = row->zone == ZONE_LEASED;
	if (value.size != (leased ? (size_t)LEASED_BYTES : (size_t)WAITING_BYTES)) return ERR_DAMAGED;
	row->token = leased ? get_le64(value.at + WAITING_BYTES) : 0;
	row->instance = leased ? get_le64(value.at + WAITING_BYTES + 8) : 0;
	if (!get_facts(value.at, row)) return ERR_DAMAGED;
	return leased && row->attempts == 0 ? ERR_DAMAGED : OK;
}

enum err delivery_put(struct view *view, const struct delivery *row)
{
	struct row_key key = key_delivery(row);
	uint8_t        value[LEASED_BYTES];
	put_facts(row, value);
	put_le64(value + WAITING_BYTES, row->token);
	put_le64(value + WAITING_BYTES + 8, row->instance);
	size_t size = row->zone == ZONE_LEASED ? (size_t)LEASED_BYTES : (size_t)WAITING_BYTES;
	return view_put(view, TABLE_DELIVERY, &key, span_of(value, size));
}

enum err delivery_del(struct view *view, const struct delivery *row)
{
	struct row_key key = key_delivery(row);
	return view_del(view, TABLE_DELIVERY, &key);
}

enum err delivery_get(struct view *view, struct delivery *row)
{
	struct row_key key = key_delivery(row);
	struct span    value;
	enum err       err = view_get(view, TABLE_DELIVERY, key_span(&key), &value);
	return err ? err : delivery_read(key_span(&key), value, row);
}

enum err delivery_from(struct view *view, struct delivery *row)
{
	struct row_key  key = key_delivery(row);
	struct view_row found;
	enum err        err = view_from(view, TABLE_DELIVERY, key_span(&key), &found);
	return err ? err : delivery_read(found.key, found.value, row);
}

enum err delivery_next(struct view *view, struct delivery *row)
{
	struct view_row found;
	enum err        err = view_next(view, TABLE_DELIVERY, &found);
	return err ? err : delivery_read(found.key, found.value, row);
}

void delivery_skip(struct delivery *row)
{
	row->zone = (enum delivery_zone)UINT8_MAX;
}

/* Ends -------------------------------------------------------------------------------------------------- */

enum err delivery_end_read(struct span key, struct span value, struct delivery_end *row)
{
	if (key.size != END_KEY_BYTES || value.size != END_BYTES) return ERR_DAMAGED;
	*row = (struct delivery_end){.number = get_be64(key.at + ACCOUNT_BYTES),
	                             .outcome = (enum delivery_outcome)value.at[AT_OUTCOME],
	                             .ended = {(int64_t)get_le64(value.at + AT_ENDED)}};
	memcpy(row->was.account.b, key.at, sizeof row->was.account.b);
	memcpy(row->was.subscription.b, value.at + AT_IDS, sizeof row->was.subscription.b);
	memcpy(row->was.event.b, value.at + AT_IDS + sizeof(struct uuid), sizeof row->was.event.b);
	bool ended = row->outcome > DELIVERY_PENDING && row->outcome < DELIVERY_OUTCOMES;
	return get_facts(value.at, &row->was) && ended && row->number ? OK : ERR_DAMAGED;
}

enum err delivery_end_put(struct view *view, const struct delivery_end *row)
{
	struct row_key key = key_u64(row->was.account, row->number);
	uint8_t        value[END_BYTES] = {0};
	put_facts(&row->was, value);
	value[AT_OUTCOME] = (uint8_t)row->outcome;
	put_le64(value + AT_ENDED, (uint64_t)row->ended.v);
	memcpy(value + AT_IDS, row->was.subscription.b, sizeof row->was.subscription.b);
	memcpy(value + AT_IDS + sizeof(struct uuid), row->was.event.b, sizeof row->was.event.b);
	return view_put(view, TABLE_DELIVERY_END, &key, span_of(value, sizeof value));
}

enum err delivery_end_del(struct view *view, struct account_id account, uint64_t number)
{
	struct row_key key = key_u64(account, number);
	return view_del(view, TABLE_DELIVERY_END, &key);
}

static enum err end_of(struct account_id account, const struct view_row *found, struct delivery_end *row)
{
	struct row_key begin = key_account(account);
	if (!key_has_prefix(found->key, key_span(&begin))) return ERR_NOT_FOUND;
	return delivery_end_read(found->key, found->value, row);
}

enum err delivery_end_after(struct view *view, struct account_id account, uint64_t number,
                            struct delivery_end *row)
{
	struct row_key  key = key_u64(account, number + 1);
	struct view_row found;
	enum err        err = view_from(view, TABLE_DELIVERY_END, key_span(&key), &found);
	return err ? err : end_of(account, &found, row);
}

enum err delivery_end_last(struct view *view, struct account_id account, uint64_t *number)
{
	struct row_key      end = key_u64(account, UINT64_MAX);
	struct delivery_end last = {.number = 0};
	struct view_row     found;
	enum err            err = view_before(view, TABLE_DELIVERY_END, key_span(&end), &found);
	if (!err) err = end_of(account, &found, &last);
	*number = err ? 0 : last.number;
	return err == ERR_NOT_FOUND ? OK : err;
}
