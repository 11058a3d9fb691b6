/* Rows of the tables ENTITLEMENT, OPEN and HELD, and the counts derived from them. */
#include "store/entitlement.h"

#include "schemas/bytes.h"
#include "store/expiry.h"
#include "store/keys.h"
#include "store/reward.h"

enum {
	ROW_VERSION = 1,
	AT_FAMILY = 4,
	AT_VERSION = 8,
	AT_ALLOWANCE = 12,
	AT_REMAINING = 16,
	AT_ZERO = 20,
	AT_EXPIRES = 24,
	AT_CREATED = 32,
	AT_UPDATED = 40,
	KEY_REST = 4 + 16,
	OPEN_KEY_REST = 4 + 4 + 8 + 16,
	HELD_BYTES = 4,
};

/* Keys ---------------------------------------------------------------------------------------------------- */

static void add_u32(struct row_key *key, uint32_t number)
{
	put_be32(key->bytes + key->size, number);
	key->size += 4;
}

static void add_uuid(struct row_key *key, struct uuid id)
{
	memcpy(key->bytes + key->size, id.b, sizeof id.b);
	key->size += sizeof id.b;
}

static struct row_key key_entitlement(struct account_id account, uint32_t pass, struct uuid id)
{
	struct row_key key = key_u32(account, pass);
	add_uuid(&key, id);
	return key;
}

static struct row_key key_held(struct account_id account, uint32_t pass, uint32_t family)
{
	struct row_key key = key_u32(account, pass);
	add_u32(&key, family);
	return key;
}

/* Entitlements without expiry sort last. */
static struct row_key key_open(struct account_id account, const struct entitlement_open *row)
{
	struct row_key key = key_held(account, row->pass, row->family);
	put_be64(key.bytes + key.size, row->expires.v ? (uint64_t)row->expires.v : INT64_MAX);
	key.size += 8;
	add_uuid(&key, row->id);
	return key;
}

static struct row_key key_open_of(struct account_id account, const struct entitlement *row)
{
	struct entitlement_open open = {row->pass, row->family, row->expires, row->id};
	return key_open(account, &open);
}

enum err entitlement_key_read(struct span rest, struct entitlement *row)
{
	if (rest.size != KEY_REST) return ERR_DAMAGED;
	row->pass = get_be32(rest.at);
	memcpy(row->id.b, rest.at + 4, sizeof row->id.b);
	return OK;
}

enum err entitlement_open_read(struct span rest, struct entitlement_open *row)
{
	if (rest.size != OPEN_KEY_REST) return ERR_DAMAGED;
	uint64_t expires = get_be64(rest.at + 8);
	if (expires == 0 || expires > INT64_MAX) return ERR_DAMAGED;
	row->pass = get_be32(rest.at);
	row->family = get_be32(rest.at + 4);
	row->expires.v = expires == INT64_MAX ? 0 : (int64_t)expires;
	memcpy(row->id.b, rest.at + 16, sizeof row->id.b);
	return OK;
}

/* Values -------------------------------------------------------------------------------------------------- */

enum err entitlement_read(struct span value, struct entitlement *row)
{
	const uint8_t *at = value.at;
	if (value.size != ENTITLEMENT_BYTES || at[0] != ROW_VERSION || at[3] != 0 || get_le32(at + AT_ZERO))
		return ERR_DAMAGED;
	if (at[1] > ENTITLEMENT_REPLACED || at[2] > SOURCE_AUTOMATIC) return ERR_DAMAGED;
	row->state = at[1];
	row->source = at[2];
	row->family = get_le32(at + AT_FAMILY);
	row->version = get_le32(at + AT_VERSION);
	row->allowance = get_le32(at + AT_ALLOWANCE);
	row->remaining = get_le32(at + AT_REMAINING);
	row->expires.v = (int64_t)get_le64(at + AT_EXPIRES);
	row->created.v = (int64_t)get_le64(at + AT_CREATED);
	row->updated.v = (int64_t)get_le64(at + AT_UPDATED);
	return row->expires.v < 0 ? ERR_DAMAGED : OK;
}

void entitlement_write(const struct entitlement *row, uint8_t value[ENTITLEMENT_BYTES])
{
	memset(value, 0, ENTITLEMENT_BYTES);
	value[0] = ROW_VERSION;
	value[1] = row->state;
	value[2] = row->source;
	put_le32(value + AT_FAMILY, row->family);
	put_le32(value + AT_VERSION, row->version);
	put_le32(value + AT_ALLOWANCE, row->allowance);
	put_le32(value + AT_REMAINING, row->remaining);
	put_le64(value + AT_EXPIRES, (uint64_t)row->expires.v);
	put_le64(value + AT_CREATED, (uint64_t)row->created.v);
	put_le64(value + AT_UPDATED, (uint64_t)row->updated.v);
}

/* Access -------------------------------------------------------------------------------------------------- */

enum err entitlement_get(struct view *view, struct account_id account, uint32_t pass, struct uuid id,
                         struct entitlement *row)
{
	struct row_key key = key_entitlement(account, pass, id);
	struct span    value;
	enum err       err = view_get(view, TABLE_ENTITLEMENT, key_span(&key), &value);
	row->pass = pass;
	row->id = id;
	return err ? err : entitlement_read(value, row);
}

static enum err put(struct view *view, struct account_id account, const struct entitlement *row)
{
	struct row_key key = key_entitlement(account, row->pass, row->id);
	uint8_t        value[ENTITLEMENT_BYTES];
	entitlement_write(row, value);
	return view_put(view, TABLE_ENTITLEMENT, &key, span_of(value, sizeof value));
}

enum err entitlement_held(struct view *view, struct account_id account, uint32_t pass, uint32_t family,
                          uint32_t *count)
{
	struct row_key key = key_held(account, pass, family);
	struct span    value;
	enum err       err = view_get(view, TABLE_HELD, key_span(&key), &value);
	*count = 0;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (value.size != HELD_BYTES) return ERR_DAMAGED;
	*count = get_le32(value.at);
	return OK;
}

static enum err hold_one_more(struct view *view, struct account_id account, const struct entitlement *row)
{
	struct row_key key = key_held(account, row->pass, row->family);
	uint8_t        value[HELD_BYTES];
	uint32_t       count;
	enum err       err = entitlement_held(view, account, row->pass, row->family, &count);
	if (err) return err;
	put_le32(value, count + 1);
	return view_put(view, TABLE_HELD, &key, span_of(value, sizeof value));
}

enum err entitlement_add(struct view *view, struct account_id account, const struct entitlement *row)
{
	struct reward_tally tally;
	struct row_key      open = key_open_of(account, row);
	must(row->state == ENTITLEMENT_OPEN && row->remaining);
	enum err err = reward_tally_get(view, account, &tally);
	if (err || (err = put(view, account, row)) || (err = hold_one_more(view, account, row))) return err;
	if (row->expires.v && (err = expiry_add(view, account, row->expires))) return err;
	if ((err = view_put(view, TABLE_OPEN, &open, span_of(NULL, 0)))) return err;
	tally.entitlements++;
	tally.open++;
	return reward_tally_put(view, account, &tally);
}

enum err entitlement_change(struct view *view, struct account_id account, const struct entitlement *before,
                            const struct entitlement *after)
{
	struct reward_tally tally;
	struct row_key      open = key_open_of(account, before);
	enum err            err = put(view, account, after);
	must(before->state == ENTITLEMENT_OPEN);
	if (err || after->state == ENTITLEMENT_OPEN) return err;
	if ((err = reward_tally_get(view, account, &tally))) return err;
	if (tally.open == 0) return ERR_DAMAGED;
	tally.open--;
	if (after->state == ENTITLEMENT_REDEEMED)
		tally.redeemed++;
	else
		tally.replaced++;
	if ((err = reward_tally_put(view, account, &tally))) return err;
	if ((err = view_del(view, TABLE_OPEN, &open))) return err;
	return before->expires.v ? expiry_take(view, account, before->expires) : OK;
}

/* Walks --------------------------------------------------------------------------------------------------- */

enum err entitlement_next(struct view *view, struct account_id account, struct entitlement *row)
{
	struct row_key begin = key_u32(account, row->pass),
	               key = key_entitlement(account, row->pass, row->id);
	struct view_row found;
	key.bytes[key.size++] = 0; /* the smallest key after its own */
	enum err err = view_from(view, TABLE_ENTITLEMENT, key_span(&key), &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	size_t skip = sizeof account;
	err = entitlement_key_read(span_of(found.key.at + skip, found.key.size - skip), row);
	return err ? err : entitlement_read(found.value, row);
}

/* The smallest key that a row of the family expiring after `now` can have. */
static struct row_key key_after(struct account_id account, uint32_t pass, uint32_t family, wall_us now)
{
	struct row_key key = key_held(account, pass, family);
	put_be64(key.bytes + key.size, (uint64_t)now.v + 1);
	key.size += 8;
	return key;
}

/* The next among the rows with this prefix. */
static enum err open_next(struct view *view, struct account_id account, wall_us now,
                          const struct row_key *begin, struct entitlement_open *row)
{
	struct row_key  key = key_open(account, row);
	bool            is_first = uuid_same(row->id, (struct uuid){0});
	struct view_row found;
	size_t          skip = sizeof account;
	if (is_first) key = key_after(account, row->pass, row->family, now);
	key.bytes[key.size++] = 0; /* the smallest key after its own */
	for (;;) {
		enum err err = view_from(view, TABLE_OPEN, key_span(&key), &found);
		if (err) return err;
		if (!key_has_prefix(found.key, key_span(begin))) return ERR_NOT_FOUND;
		err = entitlement_open_read(span_of(found.key.at + skip, found.key.size - skip), row);
		if (err) return err;
		if (!row->expires.v || row->expires.v > now.v) return OK;
		key = key_after(account, row->pass, row->family, now);
	}
}

enum err entitlement_open_next(struct view *view, struct account_id account, wall_us now,
                               struct entitlement_open *row)
{
	struct row_key begin = key_u32(account, row->pass);
	return open_next(view, account, now, &begin, row);
}

enum err entitlement_open_next_alike(struct view *view, struct account_id account, wall_us now,
                                     struct entitlement_open *row)
{
	struct row_key begin = key_held(account, row->pass, row->family);
	return open_next(view, account, now, &begin, row);
}

enum err entitlement_open_staged(struct view *view, struct account_id account, unsigned *at,
                                 struct entitlement_open *row)
{
	const struct writes *writes = view_writes(view);
	struct row_key       begin = key_u32(account, row->pass);
	size_t               skip = sizeof account;
	while (*at < writes->count) {
		const struct write *write = &writes->rows[(*at)++];
		if (write->table != TABLE_OPEN || write->kind != WRITE_PUT) continue;
		if (!key_has_prefix(write->key, key_span(&begin))) continue;
		return entitlement_open_read(span_of(write->key.at + skip, write->key.size - skip), row);
	}
	return ERR_NOT_FOUND;
}
