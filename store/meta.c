/* The shard's few settings, which outlive every process. */
#include "store/meta.h"

#include "schemas/bytes.h"

static const struct span clock_offset = {(const uint8_t *)"clock_offset", 12};
static const struct span erased = {(const uint8_t *)"erased", 6};
static const struct span segment_begun = {(const uint8_t *)"segment_begun", 13};
static const struct span issuer_paused = {(const uint8_t *)"issuer_paused", 13};
static const struct span wallets = {(const uint8_t *)"wallets", 7};

/* NULL: absent. */
static enum err get(struct view *view, struct span name, size_t size, const uint8_t **value)
{
	struct span row;
	enum err    err = view_get(view, TABLE_META, name, &row);
	*value = NULL;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (row.size != size) return ERR_DAMAGED;
	*value = row.at;
	return OK;
}

static enum err get_i64(struct view *view, struct span name, int64_t *number)
{
	const uint8_t *value;
	enum err       err = get(view, name, 8, &value);
	*number = value ? (int64_t)get_le64(value) : 0;
	return err;
}

static enum err put_i64(struct view *view, struct span name, int64_t number)
{
	uint8_t value[8];
	put_le64(value, (uint64_t)number);
	return write_put(view_writes(view), TABLE_META, name, span_of(value, sizeof value));
}

enum err clock_offset_get(struct view *view, int64_t *offset)
{
	return get_i64(view, clock_offset, offset);
}

enum err clock_offset_put(struct view *view, int64_t offset)
{
	return put_i64(view, clock_offset, offset);
}

enum err erased_get(struct view *view, wall_us *at)
{
	return get_i64(view, erased, &at->v);
}

enum err erased_put(struct view *view, wall_us at)
{
	return put_i64(view, erased, at.v);
}

enum err segment_begun_put(struct view *view, wall_us at)
{
	return put_i64(view, segment_begun, at.v);
}

enum err issuer_paused_get(struct view *view, bool *paused)
{
	const uint8_t *value;
	enum err       err = get(view, issuer_paused, 1, &value);
	*paused = value && *value;
	return err;
}

enum err issuer_paused_put(struct view *view, bool paused)
{
	uint8_t value = paused;
	return write_put(view_writes(view), TABLE_META, issuer_paused, span_of(&value, 1));
}

enum err wallets_get(struct view *view, unsigned *kinds)
{
	const uint8_t *value;
	enum err       err = get(view, wallets, 1, &value);
	*kinds = value ? *value : 0;
	return err;
}

enum err wallets_put(struct view *view, unsigned kinds)
{
	uint8_t value = (uint8_t)kinds;
	return write_put(view_writes(view), TABLE_META, wallets, span_of(&value, 1));
}

static const struct span google_keys = {(const uint8_t *)"google_keys", 11};

enum err google_keys_get(struct view *view, struct span *keys)
{
	return view_get(view, TABLE_META, google_keys, keys);
}

enum err google_keys_put(struct view *view, struct span keys)
{
	if (keys.size > GOOGLE_KEYS_BYTES_MAX) return ERR_TOO_LARGE;
	return write_put(view_writes(view), TABLE_META, google_keys, keys);
}
