/* The rows that passes are found by.
 *
 * First everything is looked up, then everything is staged: a range read sees only what is in the tables. The place of
 * a pass in an order is told by who comes before it, which the tables with one row a pass know (PASS_ID, NAME). */
#include "store/index.h"

#include "schemas/found.h"
#include "store/chunk.h"
#include "store/text.h"

/* One pass's place in one order, and the chunks that change with it. */
struct entry {
	struct row_key place;
	uint32_t       before;      /* who stands in front of it; CHUNK_NOBODY */
	struct chunk   chunk, rest; /* rest: count 0 unless the chunk had to be parted */
};

/* Who comes before -------------------------------------------------------------------------------------------- */

/* Of a PASS_ID or NAME row's key: it ends in 0 and four bytes of number. */
static bool is_of(struct account_id account, struct span key)
{
	struct row_key prefix = key_account(account);
	return key.size >= prefix.size + 5 && key_has_prefix(key, key_span(&prefix));
}

static uint32_t number_at_end(struct span key)
{
	return get_be32(key.at + key.size - 4);
}

/* The newest pass with the id of `row`, which is one of its rows: the first of them, as numbers stand inverted. */
static enum err newest_of_id(struct view *view, struct span row, uint32_t *number)
{
	struct row_key  key = {.size = row.size};
	struct view_row first;
	if (row.size > sizeof key.bytes) return ERR_DAMAGED;
	memcpy(key.bytes, row.at, row.size);
	put_be32(key.bytes + key.size - 4, 0);
	enum err err = view_from(view, TABLE_PASS_ID, key_span(&key), &first);
	if (!err) *number = ~number_at_end(first.key);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

/* Passes of one id stand in the order of their creation, so that a new one comes behind the newest of before. */
static enum err before_by_id(struct view *view, struct account_id account, struct span pass_id,
                             uint32_t *number)
{
	struct row_key  key = key_pass_id(account, pass_id, UINT32_MAX);
	struct view_row row;
	*number = CHUNK_NOBODY;
	enum err err = view_from(view, TABLE_PASS_ID, key_span(&key), &row);
	if (!err && row.key.size == key.size && !memcmp(row.key.at, key.bytes, key.size - 4)) {
		*number = ~number_at_end(row.key);
		return OK;
	}
	if (!err || err == ERR_NOT_FOUND) err = view_before(view, TABLE_PASS_ID, key_span(&key), &row);
	if (err || !is_of(account, row.key)) return err == ERR_NOT_FOUND ? OK : err;
	return newest_of_id(view, row.key, number);
}

/* `self` may stand there itself, under the name it gives up. */
static enum err before_by_name(struct view *view, struct account_id account, const struct row_key *place,
                               uint32_t self, uint32_t *number)
{
	struct view_row row;
	*number = CHUNK_NOBODY;
	enum err err = view_before(view, TABLE_NAME, key_span(place), &row);
	if (!err && is_of(account, row.key) && number_at_end(row.key) == self)
		err = view_previous(view, TABLE_NAME, &row);
	if (!err && is_of(account, row.key)) *number = number_at_end(row.key);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Chunks ------------------------------------------------------------------------------------------------------ */

static enum err place_by_id(struct view *view, struct account_id account, uint32_t number,
                            struct row_key *place)
{
	struct row_key key = key_u32(account, number);
	struct span    value;
	struct body    body;
	enum err       err = view_get(view, TABLE_BODY, key_span(&key), &value);
	if (err || (err = body_open(value, &body))) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	*place = key_id_order(account, body.pass_id, number);
	return OK;
}

/* A chunk's members follow each other in NAME from its bound on. */
static enum err place_by_name(struct view *view, const struct chunk *chunk, uint32_t number,
                              struct row_key *place)
{
	struct view_row row;
	enum err        err = view_from(view, TABLE_NAME, key_span(&chunk->key), &row);
	for (unsigned i = 0; !err && i <= CHUNK_PASSES; i++) {
		if (row.key.size < 4 || row.key.size > sizeof place->bytes) return ERR_DAMAGED;
		if (number_at_end(row.key) == number) {
			memcpy(place->bytes, row.key.at, row.key.size);
			place->size = row.key.size;
			return OK;
		}
		err = view_next(view, TABLE_NAME, &row);
	}
	return err && err != ERR_NOT_FOUND ? err : ERR_DAMAGED;
}

static enum err join(struct view *view, struct account_id account, struct entry *entry, uint32_t number)
{
	struct chunk  *chunk = &entry->chunk;
	struct row_key bound = entry->place;
	enum err       err = OK;
	chunk_insert(chunk, entry->before, number);
	if (!chunk_is_over(chunk)) return OK;
	unsigned middle = chunk_middle(chunk, number);
	uint32_t first = chunk->numbers[middle];
	if (first != number)
		err = chunk->table == TABLE_ID_ORDER ? place_by_id(view, account, first, &bound)
		                                     : place_by_name(view, chunk, first, &bound);
	if (!err) entry->rest = chunk_part(chunk, middle, &bound);
	return err;
}

static enum err put_entry(struct view *view, const struct entry *entry)
{
	enum err err = chunk_put(view, &entry->chunk);
	return err || entry->rest.count == 0 ? err : chunk_put(view, &entry->rest);
}

/* Ids --------------------------------------------------------------------------------------------------------- */

static enum err look_up_id(struct view *view, const struct index_change *change, struct entry *entry)
{
	struct span pass_id = change->after->pass_id;
	entry->place = key_id_order(change->account, pass_id, change->number);
	enum err err = before_by_id(view, change->account, pass_id, &entry->before);
	if (err || (err = chunk_at(view, TABLE_ID_ORDER, &entry->place, &entry->chunk))) return err;
	return join(view, change->account, entry, change->number);
}

static enum err put_id(struct view *view, const struct index_change *change, const struct entry *entry)
{
	struct row_key key = key_pass_id(change->account, change->after->pass_id, change->number);
	enum err       err = write_put(view_writes(view), TABLE_PASS_ID, key_span(&key), span_of(NULL, 0));
	return err ? err : put_entry(view, entry);
}

/* Names ------------------------------------------------------------------------------------------------------- */

static enum err name_place(struct view *view, const struct index_change *change, const struct body *body,
                           struct row_key *place)
{
	struct buffer name = {0};
	enum err      err = found_name(body, change->name_field, view_arena(view), &name);
	if (!err) *place = key_name(change->account, buffer_span(&name), change->number);
	buffer_free(&name);
	return err;
}

struct renaming {
	struct entry old, new; /* old.place.size 0: there is no old name */
	bool         same_chunk;
};

static enum err look_up_name(struct view *view, const struct index_change *change, struct renaming *renaming)
{
	struct entry *old = &renaming->old, *new = &renaming->new;
	enum err      err = before_by_name(view, change->account, &new->place, change->number, &new->before);
	if (err || (err = chunk_at(view, TABLE_NAME_ORDER, &new->place, &new->chunk))) return err;
	if (old->place.size) {
		if ((err = chunk_at(view, TABLE_NAME_ORDER, &old->place, &old->chunk))) return err;
		renaming->same_chunk = span_equal(key_span(&old->chunk.key), key_span(&new->chunk.key));
		if ((err = chunk_remove(renaming->same_chunk ? &new->chunk : &old->chunk, change->number)))
			return err;
	}
	return join(view, change->account, new, change->number);
}

static enum err put_name(struct view *view, const struct renaming *renaming)
{
	struct writes      *writes = view_writes(view);
	const struct entry *old = &renaming->old, *new = &renaming->new;
	enum err            err = OK;
	if (old->place.size) err = write_del(writes, TABLE_NAME, key_span(&old->place));
	if (!err && old->place.size && !renaming->same_chunk) err = chunk_put(view, &old->chunk);
	if (!err) err = write_put(writes, TABLE_NAME, key_span(&new->place), span_of(NULL, 0));
	return err ? err : put_entry(view, new);
}

/* Both -------------------------------------------------------------------------------------------------------- */

static enum err put_text(struct view *view, const struct index_change *change)
{
	struct buffer text = {0};
	enum err      err = found_text(change->after, view_arena(view), &text);
	if (!err) err = text_put(view, change->account, change->number, buffer_span(&text));
	buffer_free(&text);
	return err;
}

enum err index_put(struct view *view, const struct index_change *change)
{
	struct entry    id = {.before = CHUNK_NOBODY};
	struct renaming names = {.same_chunk = false};
	bool            is_new = !change->before;
	enum err        err = name_place(view, change, change->after, &names.new.place);
	if (!err && !is_new) err = name_place(view, change, change->before, &names.old.place);
	if (err) return err;
	bool renamed = is_new || !span_equal(key_span(&names.old.place), key_span(&names.new.place));
	if (is_new && (err = look_up_id(view, change, &id))) return err;
	if (renamed && (err = look_up_name(view, change, &names))) return err;
	if (is_new && (err = put_id(view, change, &id))) return err;
	if (renamed && (err = put_name(view, &names))) return err;
	return put_text(view, change);
}
