/* Rows of the tables IDEMPOTENCY and IDEMPOTENCY_ORDER. */
#include "store/idempotency.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	KEY_HASH_BYTES = 32,
	HEAD_BYTES = 24 + KEY_HASH_BYTES,
	IDEMPOTENCY_BYTES_MAX = HEAD_BYTES + RECIPE_DETAIL_BYTES_MAX,
	ORDER_BYTES = KEY_HASH_BYTES + 8,
};
_Static_assert((int)IDEMPOTENCY_BYTES_MAX <= (int)ROW_BYTES_MAX, "a row is in one piece");

static struct row_key key_hash(struct account_id account, const uint8_t hash[32])
{
	struct row_key key = key_account(account);
	memcpy(key.bytes + key.size, hash, KEY_HASH_BYTES);
	key.size += KEY_HASH_BYTES;
	return key;
}

struct span recipe_detail(const struct subscription *row, uint8_t detail[RECIPE_DETAIL_BYTES_MAX])
{
	memcpy(detail, row->id.b, sizeof row->id.b);
	return span_of(detail, sizeof row->id.b + subscription_write(row, detail + sizeof row->id.b));
}

enum err recipe_subscription(const struct recipe *recipe, struct subscription *row)
{
	struct span detail = recipe->detail;
	if (detail.size < sizeof row->id.b) return ERR_DAMAGED;
	memcpy(row->id.b, detail.at, sizeof row->id.b);
	return subscription_read(span_of(detail.at + sizeof row->id.b, detail.size - sizeof row->id.b), row);
}

struct span recipe_scan_detail(const struct scan_row *row, uint8_t detail[RECIPE_SCAN_BYTES])
{
	detail[0] = row->verdict;
	memcpy(detail + 1, row->id.b, sizeof row->id.b);
	return span_of(detail, RECIPE_SCAN_BYTES);
}

enum err recipe_scan(const struct recipe *recipe, struct scan_row *row)
{
	const uint8_t *at = recipe->detail.at;
	if (recipe->detail.size != RECIPE_SCAN_BYTES || at[0] >= SCAN_VERDICTS) return ERR_DAMAGED;
	*row = (struct scan_row){.verdict = at[0], .pass = recipe->number};
	memcpy(row->id.b, at + 1, sizeof row->id.b);
	return OK;
}

enum err idempotency_row_read(struct span value, struct idempotency_row *row)
{
	if (value.size < HEAD_BYTES) return ERR_DAMAGED;
	row->recipe = (struct recipe){value.at[0], value.at[1], get_le32(value.at + 4),
	                              span_of(value.at + HEAD_BYTES, value.size - HEAD_BYTES)};
	row->at.v = (int64_t)get_le64(value.at + 8);
	row->order = get_le64(value.at + 16);
	memcpy(row->request, value.at + 24, sizeof row->request);
	return OK;
}

enum err idempotency_order_read(struct span value, struct idempotency_order *row)
{
	if (value.size != ORDER_BYTES) return ERR_DAMAGED;
	memcpy(row->key, value.at, sizeof row->key);
	row->at.v = (int64_t)get_le64(value.at + KEY_HASH_BYTES);
	return OK;
}

enum err idempotency_get(struct view *view, struct account_id account, const uint8_t hash[32],
                         struct idempotency_row *row)
{
	struct row_key key = key_hash(account, hash);
	struct span    value;
	enum err       err = view_get(view, TABLE_IDEMPOTENCY, key_span(&key), &value);
	return err ? err : idempotency_row_read(value, row);
}

enum err idempotency_replace(struct view *view, struct account_id account, const uint8_t hash[32],
                             const struct idempotency_row *row)
{
	struct row_key key = key_hash(account, hash);
	struct span    detail = row->recipe.detail;
	uint8_t        value[IDEMPOTENCY_BYTES_MAX] = {row->recipe.what, row->recipe.flags};
	must(detail.size <= RECIPE_DETAIL_BYTES_MAX);
	put_le32(value + 4, row->recipe.number);
	put_le64(value + 8, (uint64_t)row->at.v);
	put_le64(value + 16, row->order);
	memcpy(value + 24, row->request, sizeof row->request);
	if (detail.size) memcpy(value + HEAD_BYTES, detail.at, detail.size);
	return view_put(view, TABLE_IDEMPOTENCY, &key, span_of(value, HEAD_BYTES + detail.size));
}

enum err idempotency_put(struct view *view, struct account_id account, const uint8_t hash[32],
                         const struct idempotency_row *row)
{
	struct row_key order = key_u64(account, row->order);
	uint8_t        place[ORDER_BYTES];
	enum err       err = idempotency_replace(view, account, hash, row);
	if (err) return err;
	memcpy(place, hash, KEY_HASH_BYTES);
	put_le64(place + KEY_HASH_BYTES, (uint64_t)row->at.v);
	return view_put(view, TABLE_IDEMPOTENCY_ORDER, &order, span_of(place, sizeof place));
}

enum err idempotency_del(struct view *view, struct account_id account, const struct idempotency_order *old)
{
	struct row_key key = key_hash(account, old->key), order = key_u64(account, old->order);
	enum err       err = view_del(view, TABLE_IDEMPOTENCY, &key);
	return err ? err : view_del(view, TABLE_IDEMPOTENCY_ORDER, &order);
}

/* A row found in the order table, if it is the account's. */
static enum err take_place(struct account_id account, const struct view_row *found,
                           struct idempotency_order *row)
{
	struct row_key begin = key_account(account);
	if (!key_has_prefix(found->key, key_span(&begin))) return ERR_NOT_FOUND;
	if (found->key.size != begin.size + 8) return ERR_DAMAGED;
	row->order = get_be64(found->key.at + begin.size);
	return idempotency_order_read(found->value, row);
}

enum err idempotency_after(struct view *view, struct account_id account, uint64_t order,
                           struct idempotency_order *row)
{
	struct row_key  key = key_u64(account, order + 1);
	struct view_row found;
	enum err        err = view_from(view, TABLE_IDEMPOTENCY_ORDER, key_span(&key), &found);
	return err ? err : take_place(account, &found, row);
}

enum err idempotency_last(struct view *view, struct account_id account, uint64_t base, uint64_t *order)
{
	struct row_key           end = key_u64(account, base + (IDEMPOTENCY_IMPORTS - 1));
	struct idempotency_order last = {.order = 0};
	struct view_row          found;
	enum err                 err = view_before(view, TABLE_IDEMPOTENCY_ORDER, key_span(&end), &found);
	if (!err) err = take_place(account, &found, &last);
	*order = err || last.order < base ? base : last.order;
	return err == ERR_NOT_FOUND ? OK : err;
}
