/* The indexes over one account's passes, compared with their bodies.
 * The id, name and searched text of each body are noted as checksums. The rows of PASS_ID and NAME must agree with
 * them. Since they come in order, they also determine the chunks of the two orders. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "schemas/searchable.h"
#include "schemas/fields.h"
#include "store/chunk.h"
#include "store/hot.h"
#include "store/text.h"

#include <stdlib.h>

enum { KEY_END = 5 }; /* of the key of a PASS_ID or NAME row: 0, and the number */

/* FNV-1a: a collision between two texts of one account is not expected. */
static uint64_t sum_of(struct span text)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < text.size; i++)
		sum = (sum ^ text.at[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/* Bodies -------------------------------------------------------------------------------------------------- */

static struct span name_field(const struct auditor *auditor, unsigned template)
{
	const uint8_t *at = auditor->name_fields.at, *end = at + auditor->name_fields.size;
	for (unsigned number = 1; at < end; number++) {
		const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
		if (!zero) break;
		if (number == template) return span_of(at, (size_t)(zero - at));
		at = zero + 1;
	}
	return span_of(NULL, 0);
}

/* In the form of the NAME row's key, without the account and the end. */
static enum err make_name(struct auditor *auditor, const struct body *body, unsigned template,
                          struct row_key *key)
{
	buffer_clear(&auditor->text);
	enum err err = searchable_name(body, name_field(auditor, template), &auditor->arena, &auditor->text);
	if (!err) *key = key_name(auditor->account, buffer_span(&auditor->text), 0);
	return err;
}

static struct span name_in(const struct row_key *key)
{
	return span_of(key->bytes + sizeof(struct account_id),
	               key->size - sizeof(struct account_id) - KEY_END);
}

enum err audit_body(struct auditor *auditor, struct pass_seen *pass, struct span value, bool *readable)
{
	struct body    body;
	struct row_key name;
	pass->has_body = true;
	*readable = !body_open(value, &body) && pass_id_is_valid(body.pass_id);
	if (!*readable) return OK;
	struct span urls[IMAGE_USES];
	enum err    err = make_name(auditor, &body, pass->template, &name);
	if (!err) err = image_urls_of(body.appearance, &auditor->arena, urls);
	for (unsigned i = 0; !err && i < IMAGE_USES; i++)
		auditor->url_sum += audit_url_sum(urls[i]);
	pass->is_blank = body.visible.size == 2 && body.hidden.size == 2 && !body.appearance.size &&
	                 !body.creation_error.size;
	buffer_clear(&auditor->text);
	if (!err) err = searchable_text(&body, &auditor->arena, &auditor->text);
	arena_reset(&auditor->arena);
	if (err == ERR_DAMAGED) *readable = false;
	if (err) return err == ERR_DAMAGED ? OK : err;
	pass->id_sum = sum_of(body.pass_id);
	pass->name_sum = sum_of(name_in(&name));
	pass->text_sum = sum_of(buffer_span(&auditor->text));
	pass->text_size = (uint32_t)auditor->text.size;
	return OK;
}

/* One row a pass ------------------------------------------------------------------------------------------ */

/* The pass of a PASS_ID or NAME row, appended to its order. NULL: a fault was added. */
static struct pass_seen *seen(struct auditor *auditor, const struct audit_rows *rows, uint32_t number)
{
	if (rows->rest.at[rows->rest.size - KEY_END] || rows->value.size)
		audit_fault(auditor, rows->table, "pass %u: a row of a wrong form", number);
	if (number >= auditor->pass_count) {
		audit_fault(auditor, rows->table, "pass %u does not exist", number);
		return NULL;
	}
	if (auditor->order_count < auditor->pass_count) auditor->order[auditor->order_count++] = number;
	return &auditor->passes[number];
}

/* *live: the row belongs to a pass that is not deleted. */
static void judge_id(struct auditor *auditor, const struct audit_rows *rows, struct span id, bool *live)
{
	uint32_t          number = ~get_be32(rows->rest.at + id.size + 1);
	struct pass_seen *pass = seen(auditor, rows, number);
	*live = pass && !(pass->hot_flags & HOT_DELETED);
	if (!pass) return;
	if (pass->has_id) audit_fault(auditor, TABLE_PASS_ID, "pass %u has two ids", number);
	if (pass->has_body && pass->id_sum != sum_of(id))
		audit_fault(auditor, TABLE_PASS_ID, "pass %u: another id than in its body", number);
	pass->has_id = true;
}

/* The newest pass of an id is first among the rows, and last in the order of ids. */
static void reverse_from(struct auditor *auditor, size_t from)
{
	for (size_t to = auditor->order_count; from + 1 < to; from++, to--) {
		uint32_t kept = auditor->order[from];
		auditor->order[from] = auditor->order[to - 1];
		auditor->order[to - 1] = kept;
	}
}

static enum err audit_ids(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_PASS_ID};
	struct span       before = {NULL, 0};
	bool              live, live_before = false;
	size_t            first = 0;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		if (rows.rest.size <= KEY_END) {
			audit_fault(auditor, TABLE_PASS_ID, "a key of %zu bytes", rows.row.key.size);
			continue;
		}
		struct span id = span_of(rows.rest.at, rows.rest.size - KEY_END);
		bool        same = span_equal(id, before);
		if (!same) {
			reverse_from(auditor, first);
			first = auditor->order_count;
		}
		judge_id(auditor, &rows, id, &live);
		if (same && live && live_before)
			audit_fault(auditor, TABLE_PASS_ID, "two live passes of one id: pass %u is one",
			            ~get_be32(rows.rest.at + id.size + 1));
		live_before = live || (same && live_before);
		before = id;
	}
	reverse_from(auditor, first);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err judge_name(struct auditor *auditor, const struct audit_rows *rows)
{
	if (rows->rest.size < KEY_END) {
		audit_fault(auditor, TABLE_NAME, "a key of %zu bytes", rows->row.key.size);
		return OK;
	}
	struct span       name = span_of(rows->rest.at, rows->rest.size - KEY_END);
	uint32_t          number = get_be32(rows->rest.at + name.size + 1);
	struct pass_seen *pass = seen(auditor, rows, number);
	if (!pass) return OK;
	if (pass->has_name) audit_fault(auditor, TABLE_NAME, "pass %u has two names", number);
	if (pass->has_body && pass->name_sum != sum_of(name))
		audit_fault(auditor, TABLE_NAME, "pass %u: another name than in its body", number);
	pass->has_name = true;
	return OK;
}

/* Chunks -------------------------------------------------------------------------------------------------- */

/* The sort key of a pass in the order of `table`. *known false: its body cannot be decoded, which has been reported. */
static enum err place_of(struct auditor *auditor, enum table table, uint32_t number, struct row_key *place,
                         bool *known)
{
	struct row_key  key = key_u32(auditor->account, number);
	struct view_row row;
	struct body     body;
	enum err err = view_parted_from(auditor->reader, TABLE_BODY, key_span(&key), &auditor->whole, &row);
	*known = false;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (!span_equal(row.key, key_span(&key)) || body_open(row.value, &body)) return OK;
	*place = key_id_order(auditor->account, body.pass_id, number);
	if (table == TABLE_NAME_ORDER) {
		err = make_name(auditor, &body, auditor->passes[number].template, place);
		arena_reset(&auditor->arena);
		put_be32(place->bytes + place->size - 4, number);
	}
	*known = !err;
	return err == ERR_DAMAGED ? OK : err;
}

/* Checks the bound of a row that begins at index `at` of the order. It must sort behind the previous member and
 * equal its first member's sort key, so that no former id or name is kept in it. */
static enum err judge_bound(struct auditor *auditor, const struct audit_rows *rows, size_t at)
{
	struct row_key place;
	bool           known, wrong = rows->rest.size > 0 && at == 0;
	enum err       err = OK;
	if (at > 0) err = place_of(auditor, rows->table, auditor->order[at - 1], &place, &known);
	if (!err && at > 0 && known) wrong |= span_order(key_span(&place), rows->row.key) >= 0;
	if (!err && at < auditor->order_count) {
		err = place_of(auditor, rows->table, auditor->order[at], &place, &known);
		if (!err && known && rows->rest.size)
			wrong |= span_order(key_span(&place), rows->row.key) != 0;
	}
	if (!err && wrong)
		audit_fault(auditor, rows->table, "the row from place %zu on has a wrong bound", at);
	return err;
}

static enum err audit_order(struct auditor *auditor, enum table table)
{
	struct audit_rows rows = {.table = table};
	size_t            at = 0;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		unsigned count = chunk_row_count(rows.value);
		if (!chunk_row_is_whole(rows.value) || (count == 0 && rows.rest.size)) {
			audit_fault(auditor, table, "a row of a wrong form, from place %zu on", at);
			return OK;
		}
		if ((err = judge_bound(auditor, &rows, at))) return err;
		for (unsigned i = 0; i < count; i++, at++) {
			if (at < auditor->order_count &&
			    chunk_row_number(rows.value, i) == auditor->order[at])
				continue;
			audit_fault(auditor, table, "place %zu is wrong", at);
			return OK; /* one fault of order misplaces everything behind it */
		}
	}
	if (err == ERR_NOT_FOUND && at != auditor->order_count)
		audit_fault(auditor, table, "%zu passes, there are %zu", at, auditor->order_count);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Texts --------------------------------------------------------------------------------------------------- */

static void judge_text(struct auditor *auditor, size_t number, struct span text, bool is_kept)
{
	const struct pass_seen *pass = number < auditor->pass_count ? &auditor->passes[number] : NULL;
	if (!pass && (!is_kept || text.size))
		audit_fault(auditor, TABLE_TEXT, "pass %zu does not exist", number);
	else if (pass && is_kept != (pass->text_size <= TEXT_BYTES_MAX))
		audit_fault(auditor, TABLE_TEXT, "pass %zu: kept in the wrong place", number);
	else if (pass && is_kept && pass->text_sum != sum_of(text))
		audit_fault(auditor, TABLE_TEXT, "pass %zu: another text than its body's", number);
}

static void judge_texts(struct auditor *auditor, uint32_t row, struct span value)
{
	struct text_row texts;
	if (text_row_read(value, &texts)) {
		audit_fault(auditor, TABLE_TEXT, "row %u: of a wrong form", row);
		return;
	}
	for (unsigned i = 0; i < TEXT_PASSES; i++)
		judge_text(auditor, (size_t)row * TEXT_PASSES + i, texts.of[i], !(texts.elsewhere >> i & 1));
}

static bool has_long_text(const struct pass_seen *pass)
{
	return pass->text_size > TEXT_BYTES_MAX && pass->text_size <= PASS_STORED_BYTES_MAX;
}

static enum err audit_long_texts(struct auditor *auditor)
{
	struct audit_rows  rows = {.table = TABLE_LONG_TEXT};
	struct audit_whole found;
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		struct pass_seen *pass = found.number < auditor->pass_count ? &auditor->passes[found.number]
		                                                            : NULL;
		if (!pass || !has_long_text(pass) || pass->text_sum != sum_of(found.value))
			audit_fault(auditor, TABLE_LONG_TEXT, "pass %u: another text than its body's",
			            found.number);
		if (pass) pass->has_long_text = true;
	}
	for (size_t i = 0; err == ERR_NOT_FOUND && i < auditor->pass_count; i++)
		if (has_long_text(&auditor->passes[i]) && !auditor->passes[i].has_long_text)
			audit_fault(auditor, TABLE_LONG_TEXT, "pass %zu has none", i);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err audit_texts(struct auditor *auditor)
{
	struct audit_rows  rows = {.table = TABLE_TEXT};
	struct audit_whole found;
	size_t             want = (auditor->pass_count + TEXT_PASSES - 1) / TEXT_PASSES, count = 0;
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		count++;
		if (found.number >= want)
			audit_fault(auditor, TABLE_TEXT, "row %u: there is no such pass", found.number);
		else
			judge_texts(auditor, found.number, found.value);
	}
	if (err == ERR_NOT_FOUND && count != want)
		audit_fault(auditor, TABLE_TEXT, "%zu rows, there must be %zu", count, want);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* All together -------------------------------------------------------------------------------------------- */

enum err audit_index(struct auditor *auditor)
{
	enum err err;
	free(auditor->order);
	auditor->order_count = 0;
	if (!(auditor->order = calloc(auditor->pass_count + 1, sizeof *auditor->order))) return ERR_NO_MEMORY;
	if ((err = audit_ids(auditor)) || (err = audit_order(auditor, TABLE_ID_ORDER))) return err;
	auditor->order_count = 0;
	if ((err = audit_each(auditor, TABLE_NAME, judge_name, NULL))) return err;
	if ((err = audit_order(auditor, TABLE_NAME_ORDER))) return err;
	err = audit_texts(auditor);
	return err ? err : audit_long_texts(auditor);
}
