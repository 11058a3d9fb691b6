/* The shard's own few settings, so that they outlive every process. */
#include "store/meta.h"

#include "schemas/bytes.h"

static const struct span clock_offset = {(const uint8_t *)"clock_offset", 12};
static const struct span issuer_paused = {(const uint8_t *)"issuer_paused", 13};

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

enum err clock_offset_get(struct view *view, int64_t *offset)
{
	const uint8_t *value;
	enum err       err = get(view, clock_offset, 8, &value);
	*offset = value ? (int64_t)get_le64(value) : 0;
	return err;
}

enum err clock_offset_put(struct view *view, int64_t offset)
{
	uint8_t value[8];
	put_le64(value, (uint64_t)offset);
	return write_put(view_writes(view), TABLE_META, clock_offset, span_of(value, sizeof value));
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
