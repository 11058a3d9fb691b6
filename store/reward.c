/* Rows of the tables REWARD, REWARD_SLUG, REWARD_VERSION and REWARD_TALLY. */
#include "store/reward.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { HEAD_BYTES = 56, VERSION_HEAD_BYTES = 76, VERSION_LAYOUT = 1 };
_Static_assert((int)REWARD_BYTES_MAX <= (int)ROW_BYTES_MAX, "a row is in one piece");
_Static_assert((int)REWARD_SLUG_BYTES_MAX <= (int)NAME_KEY_BYTES_MAX, "a slug fits a key");
_Static_assert((int)REWARD_NAME_BYTES_MAX <= UINT16_MAX, "its size has two bytes");

/* REWARD ------------------------------------------------------------------------------------------------- */

enum err reward_read(struct span value, struct reward *row)
{
	const uint8_t *at = value.at;
	if (value.size <= HEAD_BYTES || value.size > REWARD_BYTES_MAX) return ERR_DAMAGED;
	if (at[0] >= REWARD_STATUSES || at[1] || at[2] || at[3]) return ERR_DAMAGED;
	row->status = (enum reward_status)at[0];
	row->version = get_le32(at + 4);
	row->created.v = (int64_t)get_le64(at + 8);
	row->updated.v = (int64_t)get_le64(at + 16);
	row->assigned = get_le64(at + 24);
	row->assigned_newest = get_le64(at + 32);
	memcpy(row->family_id.b, at + 40, sizeof row->family_id.b);
	row->slug = span_of(at + HEAD_BYTES, value.size - HEAD_BYTES);
	return row->version && row->assigned_newest <= row->assigned ? OK : ERR_DAMAGED;
}

size_t reward_write(const struct reward *row, uint8_t value[REWARD_BYTES_MAX])
{
	must(row->version && row->slug.size && row->slug.size <= REWARD_SLUG_BYTES_MAX);
	memset(value, 0, 4);
	value[0] = (uint8_t)row->status;
	put_le32(value + 4, row->version);
	put_le64(value + 8, (uint64_t)row->created.v);
	put_le64(value + 16, (uint64_t)row->updated.v);
	put_le64(value + 24, row->assigned);
	put_le64(value + 32, row->assigned_newest);
	memcpy(value + 40, row->family_id.b, sizeof row->family_id.b);
	memcpy(value + HEAD_BYTES, row->slug.at, row->slug.size);
	return HEAD_BYTES + row->slug.size;
}

enum err reward_get(struct view *view, struct account_id account, uint32_t family, struct reward *row)
{
	struct row_key key = key_u32(account, family);
	struct span    value;
	enum err       err = view_get(view, TABLE_REWARD, key_span(&key), &value);
	row->family = family;
	return err ? err : reward_read(value, row);
}

enum err reward_put(struct view *view, struct account_id account, const struct reward *row)
{
	struct row_key key = key_u32(account, row->family);
	uint8_t        value[REWARD_BYTES_MAX];
	size_t         size = reward_write(row, value);
	return view_put(view, TABLE_REWARD, &key, span_of(value, size));
}

enum err reward_next(struct view *view, struct account_id account, struct reward *row)
{
	struct row_key  begin = key_account(account), key = key_u32(account, row->family + 1);
	struct view_row found;
	if (row->family == UINT32_MAX) return ERR_NOT_FOUND;
	enum err err = view_from(view, TABLE_REWARD, key_span(&key), &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	if (found.key.size != key.size) return ERR_DAMAGED;
	row->family = get_be32(found.key.at + begin.size);
	return reward_read(found.value, row);
}

/* REWARD_SLUG -------------------------------------------------------------------------------------------- */

enum err reward_by_slug(struct view *view, struct account_id account, struct span slug, struct reward *row)
{
	struct span value;
	if (slug.size > REWARD_SLUG_BYTES_MAX) return ERR_NOT_FOUND;
	struct row_key key = key_reward_slug(account, slug);
	enum err       err = view_get(view, TABLE_REWARD_SLUG, key_span(&key), &value);
	if (err) return err;
	if (value.size != 4) return ERR_DAMAGED;
	err = reward_get(view, account, get_le32(value.at), row);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err reward_slug_put(struct view *view, struct account_id account, const struct reward *row)
{
	struct row_key key = key_reward_slug(account, row->slug);
	uint8_t        family[4];
	put_le32(family, row->family);
	return view_put(view, TABLE_REWARD_SLUG, &key, span_of(family, sizeof family));
}

enum err reward_del(struct view *view, struct account_id account, const struct reward *row)
{
	struct row_key key = key_u32(account, row->family), slug = key_reward_slug(account, row->slug);
	enum err       err = view_del(view, TABLE_REWARD, &key);
	return err ? err : view_del(view, TABLE_REWARD_SLUG, &slug);
}

/* REWARD_VERSION ----------------------------------------------------------------------------------------- */

static bool version_is_sound(const uint8_t *at)
{
	return at[0] == VERSION_LAYOUT && at[1] < REWARD_STATUSES && at[2] < REWARD_KINDS && at[3] <= 1 &&
	       at[4] < EXPIRATION_KINDS;
}

/* The three texts behind the head, which has the sizes of two. */
static enum err read_texts(struct span rest, size_t slug, size_t name, struct reward_version *row)
{
	if (slug == 0 || slug > REWARD_SLUG_BYTES_MAX || name == 0 || name > REWARD_NAME_BYTES_MAX)
		return ERR_DAMAGED;
	if (rest.size < slug + name || rest.size - slug - name > REWARD_DESCRIPTION_BYTES_MAX)
		return ERR_DAMAGED;
	row->slug = span_of(rest.at, slug);
	row->name = span_of(rest.at + slug, name);
	row->description = span_of(rest.at + slug + name, rest.size - slug - name);
	return OK;
}

enum err reward_version_read(struct span value, struct reward_version *row)
{
	const uint8_t *at = value.at;
	if (value.size < VERSION_HEAD_BYTES || !version_is_sound(at)) return ERR_DAMAGED;
	uint64_t expires = get_le64(at + 20);
	row->status = (enum reward_status)at[1];
	row->kind = (enum reward_kind)at[2];
	row->repeat_assignment = at[3];
	row->expiration = (enum expiration_kind)at[4];
	row->redemption_allowance = get_le32(at + 8);
	row->assignment_limit = get_le64(at + 12);
	row->window_seconds = row->expiration == EXPIRATION_RELATIVE_WINDOW ? expires : 0;
	row->fixed_end.v = row->expiration == EXPIRATION_FIXED_END ? (int64_t)expires : 0;
	row->created.v = (int64_t)get_le64(at + 28);
	row->made.v = (int64_t)get_le64(at + 36);
	memcpy(row->id.b, at + 44, sizeof row->id.b);
	memcpy(row->family_id.b, at + 60, sizeof row->family_id.b);
	if (row->redemption_allowance == 0 || (row->expiration == EXPIRATION_NONE && expires))
		return ERR_DAMAGED;
	if (row->expiration == EXPIRATION_RELATIVE_WINDOW && expires == 0) return ERR_DAMAGED;
	return read_texts(span_of(at + VERSION_HEAD_BYTES, value.size - VERSION_HEAD_BYTES), at[5],
	                  get_le16(at + 6), row);
}

static uint64_t expires_of(const struct reward_version *row)
{
	switch (row->expiration) {
	case EXPIRATION_RELATIVE_WINDOW: return row->window_seconds;
	case EXPIRATION_FIXED_END: return (uint64_t)row->fixed_end.v;
	default: return 0;
	}
}

size_t reward_version_write(const struct reward_version *row, uint8_t value[REWARD_VERSION_BYTES_MAX])
{
	uint8_t *at = value;
	must(row->slug.size && row->slug.size <= REWARD_SLUG_BYTES_MAX && row->redemption_allowance);
	must(row->name.size && row->name.size <= REWARD_NAME_BYTES_MAX);
	must(row->description.size <= REWARD_DESCRIPTION_BYTES_MAX);
	at[0] = VERSION_LAYOUT;
	at[1] = (uint8_t)row->status;
	at[2] = (uint8_t)row->kind;
	at[3] = row->repeat_assignment;
	at[4] = (uint8_t)row->expiration;
	at[5] = (uint8_t)row->slug.size;
	put_le16(at + 6, (uint16_t)row->name.size);
	put_le32(at + 8, row->redemption_allowance);
	put_le64(at + 12, row->assignment_limit);
	put_le64(at + 20, expires_of(row));
	put_le64(at + 28, (uint64_t)row->created.v);
	put_le64(at + 36, (uint64_t)row->made.v);
	memcpy(at + 44, row->id.b, sizeof row->id.b);
	memcpy(at + 60, row->family_id.b, sizeof row->family_id.b);
	at += VERSION_HEAD_BYTES;
	memcpy(at, row->slug.at, row->slug.size);
	memcpy(at += row->slug.size, row->name.at, row->name.size);
	at += row->name.size;
	if (row->description.size) memcpy(at, row->description.at, row->description.size);
	return (size_t)(at - value) + row->description.size;
}

enum err reward_version_get(struct view *view, struct account_id account, uint32_t family, uint32_t version,
                            struct reward_version *row)
{
	struct row_key key = key_reward_version(account, family, version);
	struct span    value;
	enum err       err = view_get(view, TABLE_REWARD_VERSION, key_span(&key), &value);
	row->family = family;
	row->version = version;
	return err ? err : reward_version_read(value, row);
}

enum err reward_version_in(struct view *view, struct account_id account, const struct reward *row,
                           struct buffer *room, struct reward_version *terms)
{
	struct row_key  key = key_reward_version(account, row->family, row->version);
	struct view_row found;
	enum err        err = view_parted_from(view, TABLE_REWARD_VERSION, key_span(&key), room, &found);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (!span_equal(found.key, key_span(&key))) return ERR_DAMAGED;
	terms->family = row->family;
	terms->version = row->version;
	return reward_version_read(found.value, terms);
}

enum err reward_version_put(struct view *view, struct account_id account, const struct reward_version *row)
{
	struct row_key key = key_reward_version(account, row->family, row->version);
	uint8_t        value[REWARD_VERSION_BYTES_MAX];
	size_t         size = reward_version_write(row, value);
	return view_put(view, TABLE_REWARD_VERSION, &key, span_of(value, size));
}

struct cleanup reward_left_over(struct account_id account, const struct reward *row)
{
	struct cleanup left = cleanup_of_number(account, CLEANUP_REWARD, row->family);
	put_le32(left.state, 1);
	put_le32(left.state + 4, row->version);
	left.state_size = 8;
	return left;
}

struct cleanup reward_version_left_over(struct account_id account, uint32_t family, uint32_t version)
{
	uint8_t subject[8];
	put_be32(subject, family);
	put_be32(subject + 4, version);
	return cleanup_of(account, CLEANUP_REWARD_VERSION, span_of(subject, sizeof subject));
}

/* *gone false: it did not exist. */
static enum err remove_version(struct view *view, struct account_id account, uint32_t family,
                               uint32_t version, bool *gone)
{
	struct row_key key = key_reward_version(account, family, version);
	struct span    value;
	enum err       err = view_get(view, TABLE_REWARD_VERSION, key_span(&key), &value);
	*gone = !err;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return view_del(view, TABLE_REWARD_VERSION, &key);
}

enum err reward_versions_clean(struct view *view, struct cleanup *row, bool *done)
{
	uint32_t family = cleanup_number(row);
	unsigned count = 0;
	enum err err = OK;
	if (family == 0 || row->state_size != 8) return ERR_DAMAGED;
	uint64_t next = get_le32(row->state), last = get_le32(row->state + 4);
	for (unsigned looked = 0; next <= last && count < BULK_WRITES_MAX / 2; next++, looked++) {
		bool gone;
		if (looked == CLEAN_LOOKED_MAX) break;
		if ((err = remove_version(view, row->account, family, (uint32_t)next, &gone))) return err;
		count += gone;
	}
	*done = next > last;
	put_le32(row->state, (uint32_t)next);
	return OK;
}

/* It has no entitlement: only the newest version is ever assigned. */
enum err reward_version_clean(struct view *view, const struct cleanup *row)
{
	bool gone;
	if (row->subject_size != 8) return ERR_DAMAGED;
	return remove_version(view, row->account, get_be32(row->subject), get_be32(row->subject + 4), &gone);
}

/* REWARD_TALLY ------------------------------------------------------------------------------------------- */

enum err reward_tally_read(struct span value, struct reward_tally *tally)
{
	if (value.size != REWARD_TALLY_BYTES) return ERR_DAMAGED;
	*tally = (struct reward_tally){
	    .families = get_le32(value.at),
	    .rewards = get_le32(value.at + 4),
	    .entitlements = get_le64(value.at + 8),
	    .redeemed = get_le64(value.at + 16),
	    .replaced = get_le64(value.at + 24),
	    .open = get_le64(value.at + 32),
	};
	return OK;
}

enum err reward_tally_get(struct view *view, struct account_id account, struct reward_tally *tally)
{
	struct row_key key = key_account(account);
	struct span    value;
	enum err       err = view_get(view, TABLE_REWARD_TALLY, key_span(&key), &value);
	*tally = (struct reward_tally){0};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return reward_tally_read(value, tally);
}

enum err reward_tally_put(struct view *view, struct account_id account, const struct reward_tally *tally)
{
	struct row_key key = key_account(account);
	uint8_t        value[REWARD_TALLY_BYTES];
	put_le32(value, tally->families);
	put_le32(value + 4, tally->rewards);
	put_le64(value + 8, tally->entitlements);
	put_le64(value + 16, tally->redeemed);
	put_le64(value + 24, tally->replaced);
	put_le64(value + 32, tally->open);
	return view_put(view, TABLE_REWARD_TALLY, &key, span_of(value, sizeof value));
}
