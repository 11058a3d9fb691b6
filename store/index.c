/* The rows that passes are found by.
 * All lookups come before all staging, since a range read sees only the tables. The position of a pass in an order is
 * given by its predecessor, which the tables with one row a pass contain (PASS_ID, NAME).
 * The bound of a chunk is the full sort key of its first member. When that member leaves, the bound becomes the next
 * member's: a former id or name is kept nowhere. */
#include "store/index.h"

#include "schemas/searchable.h"
#include "store/cells.h"
#include "store/chunk.h"
#include "store/text.h"

/* One pass's position in one order, and the chunks that change with it. */
struct entry {
	struct row_key place;       /* sort key; size 0: none */
	uint32_t       before;      /* the predecessor; CHUNK_NOBODY: none */
	struct chunk   chunk, rest; /* rest: count 0 unless the chunk is split */
	struct row_key bound;       /* size 0, or the chunk's former bound */
};

/* A move between two positions. */
struct move {
	enum table   table; /* of the order */
	struct entry old, new;
	bool         same_chunk;
};

/* Predecessors --------------------------------------------------------------------------------------------------- */

/* Is it the account's? Keys of PASS_ID and NAME rows end in 0 and four bytes of number. */
static bool is_of(struct account_id account, struct span key)
{
	struct row_key prefix = key_account(account);
	return key.size >= prefix.size + 5 && key_has_prefix(key, key_span(&prefix));
}

static uint32_t number_at_end(struct span key)
{
	return get_be32(key.at + key.size - 4);
}

/* The newest pass with the id of `row`, a row of PASS_ID: the id's first row, since numbers are inverted. */
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

/* The newest pass with the id of `row` except `self`; if that is the only one, the pass before it, of another id. */
static enum err newest_but(struct view *view, struct account_id account, struct span row, uint32_t self,
                           uint32_t *number)
{
	struct view_row next;
	struct row_key  first = {.size = row.size};
	enum err        err = newest_of_id(view, row, number);
	if (err || *number != self) return err;
	memcpy(first.bytes, row.at, row.size);
	put_be32(first.bytes + first.size - 4, ~self);
	*number = CHUNK_NOBODY;
	err = view_next(view, TABLE_PASS_ID, &next);
	if (!err && next.key.size == first.size && !memcmp(next.key.at, first.bytes, first.size - 4)) {
		*number = ~number_at_end(next.key);
		return OK;
	}
	if (!err || err == ERR_NOT_FOUND) err = view_before(view, TABLE_PASS_ID, key_span(&first), &next);
	if (err || !is_of(account, next.key)) return err == ERR_NOT_FOUND ? OK : err;
	return newest_of_id(view, next.key, number);
}

/* Passes of one id are in order of creation, so a new one follows the newest so far. That may be `self`, under its
 * former id. */
static enum err before_by_id(struct view *view, const struct index_change *change, uint32_t *number)
{
	struct row_key  key = key_pass_id(change->account, change->after->pass_id, UINT32_MAX);
	struct view_row row;
	*number = CHUNK_NOBODY;
	enum err err = view_from(view, TABLE_PASS_ID, key_span(&key), &row);
	if (!err && row.key.size == key.size && !memcmp(row.key.at, key.bytes, key.size - 4)) {
		*number = ~number_at_end(row.key);
		return OK;
	}
	if (!err || err == ERR_NOT_FOUND) err = view_before(view, TABLE_PASS_ID, key_span(&key), &row);
	if (err || !is_of(change->account, row.key)) return err == ERR_NOT_FOUND ? OK : err;
	return newest_but(view, change->account, row.key, change->number, number);
}

/* The predecessor may be `self`, under its former name. */
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

/* A chunk's members are consecutive in NAME from its bound on. */
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

static enum err place_in(struct view *view, struct account_id account, const struct chunk *chunk,
                         uint32_t number, struct row_key *place)
{
	return chunk->table == TABLE_ID_ORDER ? place_by_id(view, account, number, place)
	                                      : place_by_name(view, chunk, number, place);
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
	if (first != number) err = place_in(view, account, chunk, first, &bound);
	if (!err) entry->rest = chunk_part(chunk, middle, &bound);
	return err;
}

/* The former sort key may be the bound of the chunk of `entry`. */
static enum err give_up_bound(struct view *view, const struct index_change *change, const struct move *move,
                              struct entry *entry)
{
	struct chunk  *chunk = &entry->chunk;
	struct row_key bound = move->new.place;
	enum err       err = OK;
	if (!span_equal(key_span(&chunk->key), key_span(&move->old.place)) || chunk->count == 0) return OK;
	if (chunk->numbers[0] != change->number)
		err = place_in(view, change->account, chunk, chunk->numbers[0], &bound);
	entry->bound = chunk->key;
	chunk->key = bound;
	return err;
}

/* The chunk for `new.place` in the order, behind `new.before`; and the changes for leaving `old.place`. */
static enum err look_up(struct view *view, const struct index_change *change, struct move *move)
{
	struct entry *old = &move->old, *new = &move->new;
	enum err      err = chunk_at(view, move->table, &new->place, &new->chunk);
	if (err) return err;
	if (!old->place.size) return join(view, change->account, new, change->number);
	if ((err = chunk_at(view, move->table, &old->place, &old->chunk))) return err;
	move->same_chunk = span_equal(key_span(&old->chunk.key), key_span(&new->chunk.key));
	struct entry *left = move->same_chunk ? new : old;
	if ((err = chunk_remove(&left->chunk, change->number))) return err;
	if ((err = join(view, change->account, new, change->number))) return err;
	return give_up_bound(view, change, move, left);
}

static enum err put_entry(struct view *view, const struct entry *entry)
{
	enum err err = OK;
	if (entry->bound.size) err = view_del(view, entry->chunk.table, &entry->bound);
	if (!err) err = chunk_put(view, &entry->chunk);
	return err || entry->rest.count == 0 ? err : chunk_put(view, &entry->rest);
}

/* The move in its order, and in the table with one row a pass, to which these keys belong. */
static enum err put_move(struct view *view, const struct move *move, enum table table,
                         const struct row_key *old, const struct row_key *new)
{
	enum err err = OK;
	if (move->old.place.size) err = view_del(view, table, old);
	if (!err) err = view_put(view, table, new, span_of(NULL, 0));
	if (!err && move->old.place.size && !move->same_chunk) err = put_entry(view, &move->old);
	return err ? err : put_entry(view, &move->new);
}

/* Ids --------------------------------------------------------------------------------------------------------- */

/* The first row of the id from `key` on. */
static enum err read_id(struct view *view, const struct row_key *key, uint32_t *number)
{
	struct view_row row;
	enum err        err = view_from(view, TABLE_PASS_ID, key_span(key), &row);
	if (err) return err;
	if (row.key.size != key->size || memcmp(row.key.at, key->bytes, key->size - 4)) return ERR_NOT_FOUND;
	*number = ~number_at_end(row.key);
	return OK;
}

enum err index_find_below(struct view *view, struct account_id account, struct span pass_id, uint32_t number,
                          uint32_t *found)
{
	struct row_key key = key_pass_id(account, pass_id, number - 1);
	return number ? read_id(view, &key, found) : ERR_NOT_FOUND;
}

enum err index_find(struct view *view, struct account_id account, struct span pass_id, uint32_t *number)
{
	struct row_key key = key_pass_id(account, pass_id, UINT32_MAX);
	if (cells_find_id(view, key_span(&key), number)) return OK;
	enum err err = read_id(view, &key, number);
	if (err) return err;
	/* What hinders this, the caller meets when it reads the pass. */
	if (cells_bring(view, account, *number)) cells_learn_id(view, key_span(&key), *number);
	return OK;
}

static enum err look_up_id(struct view *view, const struct index_change *change, struct move *move)
{
	move->new.place = key_id_order(change->account, change->after->pass_id, change->number);
	if (change->before)
		move->old.place = key_id_order(change->account, change->before->pass_id, change->number);
	enum err err = before_by_id(view, change, &move->new.before);
	return err ? err : look_up(view, change, move);
}

static enum err put_id(struct view *view, const struct index_change *change, const struct move *move)
{
	struct row_key new = key_pass_id(change->account, change->after->pass_id, change->number), old = new;
	if (change->before) old = key_pass_id(change->account, change->before->pass_id, change->number);
	return put_move(view, move, TABLE_PASS_ID, &old, &new);
}

/* Names ------------------------------------------------------------------------------------------------------- */

static enum err name_place(struct view *view, const struct index_change *change, const struct body *body,
                           struct row_key *place)
{
	struct buffer name = {0};
	enum err      err = searchable_name(body, change->name_field, view_arena(view), &name);
	if (!err) *place = key_name(change->account, buffer_span(&name), change->number);
	buffer_free(&name);
	return err;
}

static enum err look_up_name(struct view *view, const struct index_change *change, struct move *move)
{
	enum err err = before_by_name(view, change->account, &move->new.place, change->number,
	                              &move->new.before);
	return err ? err : look_up(view, change, move);
}

/* Both -------------------------------------------------------------------------------------------------------- */

static enum err put_text(struct view *view, const struct index_change *change)
{
	struct buffer text = {0};
	enum err      err = searchable_text(change->after, view_arena(view), &text);
	if (!err) err = text_put(view, change->account, change->number, buffer_span(&text));
	buffer_free(&text);
	return err;
}

enum err index_put(struct view *view, const struct index_change *change)
{
	struct move id = {.table = TABLE_ID_ORDER}, name = {.table = TABLE_NAME_ORDER};
	bool        is_new = !change->before;
	enum err    err = name_place(view, change, change->after, &name.new.place);
	if (!err && !is_new) err = name_place(view, change, change->before, &name.old.place);
	if (err) return err;
	bool renamed = is_new || !span_equal(key_span(&name.old.place), key_span(&name.new.place));
	bool has_new_id = is_new || !span_equal(change->before->pass_id, change->after->pass_id);
	if (has_new_id && (err = look_up_id(view, change, &id))) return err;
	if (renamed && (err = look_up_name(view, change, &name))) return err;
	if (has_new_id && (err = put_id(view, change, &id))) return err;
	if (renamed && (err = put_move(view, &name, TABLE_NAME, &name.old.place, &name.new.place)))
		return err;
	return put_text(view, change);
}
