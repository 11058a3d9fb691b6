/* Rows of the table EXPIRY. */
#include "store/expiry.h"

#include "schemas/bytes.h"
#include "store/keys.h"

static struct row_key key_expiry(struct account_id account, unsigned level, uint64_t span)
{
	struct row_key key = key_account(account);
	key.bytes[key.size++] = (uint8_t)level;
	put_be64(key.bytes + key.size, span);
	key.size += 8;
	return key;
}

static enum err get(struct view *view, const struct row_key *key, uint64_t *count)
{
	struct span value;
	enum err    err = view_get(view, TABLE_EXPIRY, key_span(key), &value);
	*count = 0;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (value.size != EXPIRY_BYTES) return ERR_DAMAGED;
	*count = get_le64(value.at);
	return OK;
}

static enum err put(struct view *view, const struct row_key *key, uint64_t count)
{
	uint8_t value[EXPIRY_BYTES];
	if (count == 0) return view_del(view, TABLE_EXPIRY, key);
	put_le64(value, count);
	return view_put(view, TABLE_EXPIRY, key, span_of(value, sizeof value));
}

enum err expiry_add(struct view *view, struct account_id account, wall_us at)
{
	enum err err = OK;
	must(at.v > 0);
	for (unsigned level = 0; !err && level < EXPIRY_LEVELS; level++) {
		struct row_key key = key_expiry(account, level, expiry_span(at, level));
		uint64_t       count;
		if (!(err = get(view, &key, &count))) err = put(view, &key, count + 1);
	}
	return err;
}

enum err expiry_take(struct view *view, struct account_id account, wall_us at)
{
	enum err err = OK;
	for (unsigned level = 0; !err && level < EXPIRY_LEVELS; level++) {
		struct row_key key = key_expiry(account, level, expiry_span(at, level));
		uint64_t       count;
		if ((err = get(view, &key, &count))) return err;
		err = count ? put(view, &key, count - 1) : ERR_DAMAGED;
	}
	return err;
}

/* Adds the counts of one level from span `from` to before `end`. */
static enum err add_spans(struct view *view, const struct row_key *from, const struct row_key *end,
                          uint64_t *sum)
{
	struct view_row row;
	enum err        err = view_from(view, TABLE_EXPIRY, key_span(from), &row);
	for (; !err; err = view_next(view, TABLE_EXPIRY, &row)) {
		if (row.key.size != end->size || memcmp(row.key.at, end->bytes, end->size) >= 0) return OK;
		if (row.value.size != EXPIRY_BYTES) return ERR_DAMAGED;
		*sum += get_le64(row.value.at);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err expiry_passed(struct view *view, struct account_id account, wall_us now, uint64_t *count)
{
	wall_us  end = {now.v + 1}; /* the first microsecond that does not count */
	enum err err = OK;
	*count = 0;
	for (unsigned level = 0; !err && level < EXPIRY_LEVELS; level++) {
		uint64_t       to = expiry_span(end, level);
		bool           is_highest = level + 1 == EXPIRY_LEVELS;
		uint64_t       from = is_highest ? 0 : expiry_span(end, level + 1) << EXPIRY_SHIFT;
		struct row_key first = key_expiry(account, level, from),
		               last = key_expiry(account, level, to);
		err = add_spans(view, &first, &last, count);
	}
	return err;
}
