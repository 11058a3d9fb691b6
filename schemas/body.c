/* The pass body: its stored form, the merge rule of PATCH, and the checks against a template. */
#include "schemas/body.h"

#include "schemas/bytes.h"
#include "schemas/date.h"
#include "schemas/keyed_hash.h"

enum { BODY_VERSION = 1, HEAD_BYTES = 35, LINEAR_KEYS_MAX = 8 };

static bool is_map(const msgpack_object *object)
{
	return object->type == MSGPACK_OBJECT_MAP;
}

static bool take(struct span *left, size_t size, struct span *part)
{
	if (left->size < size) return false;
	*part = span_of(left->at, size);
	*left = span_of(left->at + size, left->size - size);
	return true;
}

enum err body_open(struct span bytes, struct body *body)
{
	struct span head;
	if (!take(&bytes, HEAD_BYTES, &head) || head.at[0] != BODY_VERSION) return ERR_DAMAGED;
	memcpy(body->token, head.at + 1, sizeof body->token);
	bool whole = take(&bytes, get_le16(head.at + 17), &body->pass_id) &&
	             take(&bytes, get_le32(head.at + 19), &body->visible) &&
	             take(&bytes, get_le32(head.at + 23), &body->hidden) &&
	             take(&bytes, get_le32(head.at + 27), &body->appearance) &&
	             take(&bytes, get_le32(head.at + 31), &body->creation_error);
	return whole && bytes.size == 0 && body->visible.size >= 2 && body->hidden.size >= 2 ? OK
	                                                                                     : ERR_DAMAGED;
}

size_t body_size(const struct body *body)
{
	return HEAD_BYTES + body->pass_id.size + body->visible.size + body->hidden.size +
	       body->appearance.size + body->creation_error.size;
}

void body_pack(const struct body *body, struct buffer *out)
{
	uint8_t head[HEAD_BYTES] = {BODY_VERSION};
	memcpy(head + 1, body->token, sizeof body->token);
	put_le16(head + 17, (uint16_t)body->pass_id.size);
	put_le32(head + 19, (uint32_t)body->visible.size);
	put_le32(head + 23, (uint32_t)body->hidden.size);
	put_le32(head + 27, (uint32_t)body->appearance.size);
	put_le32(head + 31, (uint32_t)body->creation_error.size);
	buffer_append(out, head, sizeof head);
	buffer_append(out, body->pass_id.at, body->pass_id.size);
	buffer_append(out, body->visible.at, body->visible.size);
	buffer_append(out, body->hidden.at, body->hidden.size);
	buffer_append(out, body->appearance.at, body->appearance.size);
	buffer_append(out, body->creation_error.at, body->creation_error.size);
}

enum err object_open(struct span text, struct arena *arena, msgpack_zone *zone, msgpack_object *map)
{
	struct buffer packed = {0}, scratch = {0};
	struct json  *json;
	size_t        at = 0;
	enum err      err = OK;
	*map = (msgpack_object){.type = MSGPACK_OBJECT_MAP};
	if (text.size == 0) return OK;
	if ((err = json_parse(text, arena, &json))) return err == ERR_NO_MEMORY ? err : ERR_DAMAGED;
	if (json->kind != JSON_OBJECT) return ERR_DAMAGED;
	msgpack_packer pk = buffer_packer(&packed);
	json_pack_object(json, &pk, &scratch);
	char *kept = packed.failed || scratch.failed ? NULL : arena_take(arena, packed.size);
	if (kept) memcpy(kept, packed.at, packed.size);
	if (!kept || msgpack_unpack(kept, packed.size, &at, zone, map) != MSGPACK_UNPACK_SUCCESS)
		err = ERR_NO_MEMORY;
	buffer_free(&packed);
	buffer_free(&scratch);
	return err;
}

enum err object_text_of(const msgpack_object *map, struct arena *arena, struct span *text)
{
	struct buffer out = {0};
	enum err      err = json_render(map, &out);
	uint8_t      *kept = err || out.failed ? NULL : arena_take(arena, out.size);
	if (kept) memcpy(kept, out.at, out.size);
	*text = span_of(kept, kept ? out.size : 0);
	buffer_free(&out);
	if (err) return err;
	return kept ? OK : ERR_NO_MEMORY;
}

/* Merging ------------------------------------------------------------------------------------------------- */

/* Finds members of a growing map by key: linear search while it is small, otherwise a hash table of positions, so
 * that the cost per key does not grow with the body. */
struct key_index {
	uint32_t *slots; /* position + 1; 0: free */
	uint32_t  mask;
};

static bool index_new(struct key_index *index, size_t keys, msgpack_zone *zone)
{
	uint32_t count = 16;
	*index = (struct key_index){0};
	if (keys <= LINEAR_KEYS_MAX) return true;
	while (count < keys * 2)
		count *= 2;
	index->slots = msgpack_zone_malloc(zone, count * sizeof *index->slots);
	if (!index->slots) return false;
	memset(index->slots, 0, count * sizeof *index->slots);
	index->mask = count - 1;
	return true;
}

/* The position of `key` among the first `count` members, or `count`. With `add`, a key not found is entered. */
static uint32_t index_find(struct key_index *index, const msgpack_object_kv *members, uint32_t count,
                           struct span key, bool add)
{
	if (!index->slots) {
		for (uint32_t i = 0; i < count; i++)
			if (span_equal(object_text(&members[i].key), key)) return i;
		return count;
	}
	uint32_t slot = (uint32_t)keyed_hash(key) & index->mask;
	for (; index->slots[slot]; slot = (slot + 1) & index->mask)
		if (span_equal(object_text(&members[index->slots[slot] - 1].key), key))
			return index->slots[slot] - 1;
	if (add) index->slots[slot] = count + 1;
	return count;
}

/* Marks a removed member: no JSON value has this type, and a null in `base` stays a null. */
static const msgpack_object_type REMOVED = MSGPACK_OBJECT_EXT;

enum err map_merge(const msgpack_object *base, const msgpack_object *changes, bool keep_null,
                   msgpack_zone *zone, msgpack_object *merged)
{
	uint32_t           base_count = base && is_map(base) ? base->via.map.size : 0, count = 0, kept = 0;
	uint32_t           all = base_count + changes->via.map.size;
	struct key_index   index;
	msgpack_object_kv *members = msgpack_zone_malloc(zone, (all ? all : 1) * sizeof *members);
	if (!members || !index_new(&index, all, zone)) return ERR_NO_MEMORY;
	for (; count < base_count; count++) {
		members[count] = base->via.map.ptr[count];
		(void)index_find(&index, members, count, object_text(&members[count].key), true);
	}
	for (uint32_t i = 0; i < changes->via.map.size; i++) {
		const msgpack_object_kv *change = &changes->via.map.ptr[i];
		uint32_t at = index_find(&index, members, count, object_text(&change->key), true);
		members[at] = *change;
		if (change->val.type == MSGPACK_OBJECT_NIL && !keep_null) members[at].val.type = REMOVED;
		if (at == count) count++;
	}
	for (uint32_t i = 0; i < count;
	     i++) /* removed members stay until here, so that positions are stable */
		if (members[i].val.type != REMOVED) members[kept++] = members[i];
	merged->type = MSGPACK_OBJECT_MAP;
	merged->via.map.size = kept;
	merged->via.map.ptr = members;
	return OK;
}

/* Checks -------------------------------------------------------------------------------------------------- */

static int64_t code_points(struct span text)
{
	int64_t count = 0;
	for (size_t i = 0; i < text.size; i++)
		count += (text.at[i] & 0xc0) != 0x80;
	return count;
}

/* NULL: it is a date or a date-time. */
static const char *wanted_date(struct span text)
{
	static const char day[] = "0000-00-00";
	wall_us           at;
	if (rfc3339_read(text, &at) || rfc3339_day_read(text, &at)) return NULL;
	bool has_form = text.size == sizeof day - 1;
	for (size_t i = 0; has_form && i < text.size; i++)
		has_form = day[i] == '-' ? text.at[i] == '-' : text.at[i] >= '0' && text.at[i] <= '9';
	if (has_form) return "a day that exists";
	const char *wanted = rfc3339_wanted(text);
	return strcmp(wanted, WANTED_TIME) ? wanted
	                                   : "an RFC 3339 date or date-time such as 2026-11-26 or "
	                                     "2026-11-26T10:00:00Z";
}

static bool is_text(const msgpack_object *value)
{
	return value->type == MSGPACK_OBJECT_STR;
}

/* What the value's type or text form must be for the field; NULL: it fits. */
static const char *wanted_type(const struct template_field *field, const msgpack_object *value)
{
	struct span text = object_text(value);
	char        first = value->type == MSGPACK_OBJECT_BIN && text.size ? (char)text.at[0] : 0;
	bool        fits = is_text(value);
	const char *wanted = "a string";
	switch (field->kind) {
	case FIELD_NUMBER:
		wanted = "a number";
		fits = first == '-' || (first >= '0' && first <= '9');
		break;
	case FIELD_BOOLEAN:
		wanted = "true or false";
		fits = first == 't' || first == 'f';
		break;
	case FIELD_DATE:
		wanted = wanted_date(fits ? text : span_of("", 0));
		fits = !wanted;
		break;
	case FIELD_URL:
		wanted = "an http or https URL without blanks";
		fits = fits && is_web_url(text);
		break;
	default: break;
	}
	return fits ? NULL : wanted;
}

/* Checks a key that the template has and a caller may write. */
static enum cause check_value(const struct template_field *field, const msgpack_object *value,
                              struct reason *reason)
{
	if (value->type == MSGPACK_OBJECT_NIL) return field->required ? CAUSE_VISIBLE_REMOVED : CAUSE_NONE;
	if ((reason->wanted = wanted_type(field, value))) return CAUSE_VISIBLE_TYPE;
	reason->most = field->max_length;
	bool is_long = is_text(value) && field->max_length &&
	               code_points(object_text(value)) > field->max_length;
	return is_long ? CAUSE_VISIBLE_LONG : CAUSE_NONE;
}

static bool map_has(const msgpack_object *map, struct span key)
{
	for (uint32_t i = 0; map && i < map->via.map.size; i++)
		if (span_equal(object_text(&map->via.map.ptr[i].key), key)) return true;
	return false;
}

/* A pass may have a value of a field removed from the template since. It can only be removed. */
static bool is_orphan_removed(const msgpack_object *held, const msgpack_object_kv *change)
{
	return change->val.type == MSGPACK_OBJECT_NIL && map_has(held, object_text(&change->key));
}

enum err visible_check(const struct template *template, const msgpack_object *held,
                       const msgpack_object *changes, struct reason *reason)
{
	uint32_t                 count = changes->via.map.size;
	const msgpack_object_kv *members = changes->via.map.ptr;
	*reason = (struct reason){.cause = CAUSE_NONE};
	for (uint32_t i = 0; i < count && !reason->cause; i++) {
		const struct template_field *field;
		reason->field = object_text(&members[i].key);
		field = template_field(template, reason->field);
		if (field && field->locked) reason->cause = CAUSE_VISIBLE_LOCKED;
		if (!field && !is_orphan_removed(held, &members[i])) reason->cause = CAUSE_VISIBLE_UNKNOWN;
	}
	for (uint32_t i = 0; i < count && !reason->cause; i++) {
		const struct template_field *field;
		reason->field = object_text(&members[i].key);
		field = template_field(template, reason->field);
		if (field) reason->cause = check_value(field, &members[i].val, reason);
	}
	return cause_err(reason->cause);
}

enum err visible_check_required(const struct template *template, const msgpack_object *visible,
                                struct reason *reason)
{
	*reason = (struct reason){.cause = CAUSE_NONE};
	for (unsigned i = 0; i < template->field_count && !reason->cause; i++) {
		const struct template_field *field = &template->fields[i];
		reason->field = field->key;
		if (field->required && !field->locked && !map_has(visible, field->key))
			reason->cause = CAUSE_VISIBLE_MISSING;
	}
	return cause_err(reason->cause);
}

/* The required form of each property of an appearance. */
static const struct property {
	struct span name;
	const char *wanted;
	bool (*fits)(struct span text);
} properties[] = {
    {{(const uint8_t *)"background_color", 16}, "a colour such as #112233", is_colour},
    {{(const uint8_t *)"logo", 4}, "an http or https URL without blanks", is_web_url},
    {{(const uint8_t *)"banner", 6}, "an http or https URL without blanks", is_web_url},
    {{(const uint8_t *)"title", 5}, "a string", NULL},
};
enum { PROPERTIES = sizeof properties / sizeof *properties };

static enum cause check_property(const msgpack_object_kv *member, struct reason *reason)
{
	unsigned i = 0;
	reason->field = object_text(&member->key);
	while (i < PROPERTIES && !span_equal(properties[i].name, reason->field))
		i++;
	if (i == PROPERTIES) {
		reason->wanted = "known are background_color, logo, banner, title";
		return CAUSE_APPEARANCE_UNKNOWN;
	}
	reason->wanted = properties[i].wanted;
	if (member->val.type == MSGPACK_OBJECT_NIL) return CAUSE_NONE;
	bool fits = is_text(&member->val) &&
	            (!properties[i].fits || properties[i].fits(object_text(&member->val)));
	return fits ? CAUSE_NONE : CAUSE_WANTED;
}

enum err appearance_check(const msgpack_object *changes, struct reason *reason)
{
	*reason = (struct reason){.cause = CAUSE_NONE};
	for (uint32_t i = 0; i < changes->via.map.size && !reason->cause; i++)
		reason->cause = check_property(&changes->via.map.ptr[i], reason);
	return cause_err(reason->cause);
}
