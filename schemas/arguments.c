/* One routine checks every request against its message's fields, whatever the operation: a new operation is rows in
 * tables and no code here. Each field is read from its source, checked for type and range, and packed at once; the
 * finished array is sent. The handler in the shard has the finer rules (a template's keys, the pass's state). */
#include "schemas/arguments.h"
#include "schemas/date.h"
#include "schemas/query.h"
#include "schemas/fields.h"
#include "schemas/ids.h"
#include "schemas/limits.h"

enum { ARGUMENTS_BYTES_MAX = 2 * PASS_STORED_BYTES_MAX }; /* more than any pass; PAYLOAD_TOO_LARGE */

struct repeated {
	struct span      text;
	struct repeated *next;
};

struct reading {
	const struct field            *fields;
	unsigned                       count;
	const struct arguments_source *source;
	struct arguments_memory       *memory;
	const struct json             *body;               /* an object, or NULL: absent */
	const struct json             *members[ARGS_MAX];  /* of the body, by field */
	struct span                    texts[ARGS_MAX];    /* decoded, from path and query, by field */
	bool                           present[ARGS_MAX];  /* in path or query */
	struct repeated               *repeated[ARGS_MAX]; /* a query's STRINGS, in reverse order */
	struct refusal                *refusal;
};

static bool has_source(const struct field *fields, unsigned count, enum field_source source)
{
	for (unsigned i = 0; i < count; i++)
		if (fields[i].source == source) return true;
	return false;
}

bool arguments_have_body(enum message message)
{
	unsigned            count;
	const struct field *fields = message_fields(message, &count);
	return has_source(fields, count, FROM_BODY);
}

static bool integer_of(struct span text, int64_t *integer)
{
	struct json number = {.kind = JSON_NUMBER, .text = text};
	bool        digits = text.size > (size_t)(text.size && text.at[0] == '-');
	return digits && json_integer(&number, integer);
}

/* The expected value in messages, by field type. */
static const char *const wanted[] = {
    [TYPE_STRING] = "a string",
    [TYPE_INTEGER] = "an integer",
    [TYPE_BOOLEAN] = "true or false",
    [TYPE_OBJECT] = "an object",
    [TYPE_NULLABLE] = "an object or null",
    [TYPE_BYTES] = "bytes",
    [TYPE_STRINGS] = "text",
    [TYPE_TIME] = WANTED_TIME,
    [TYPE_VALUE] = "a value",
    [TYPE_UUID] = "a UUID",
    [TYPE_PLATFORM] = "\"ios\" or \"android\"",
};

static enum err refuse(struct reading *reading, unsigned i, struct reason reason)
{
	reason.field = span_str(reading->fields[i].name);
	if (!reason.wanted) reason.wanted = wanted[reading->fields[i].type];
	return refusal_of(reading->refusal, &reason);
}

static const char *body_called(const struct reading *reading)
{
	return reading->source->called ? reading->source->called : "The body";
}

static enum err refuse_body(struct reading *reading, struct reason reason)
{
	reason.field = span_str(body_called(reading));
	reason_text(&reason, reading->refusal->message);
	return cause_err(reason.cause);
}

static enum err refuse_unknown(struct reading *reading, struct span key)
{
	struct span known[ARGS_MAX];
	char        hint[HINT_TEXT];
	unsigned    count = 0;
	for (unsigned i = 0; i < reading->count; i++)
		if (reading->fields[i].source == FROM_BODY)
			known[count++] = span_str(reading->fields[i].name);
	hint_text(key, known, count, hint);
	return refusal_of(reading->refusal,
	                  &(struct reason){.cause = CAUSE_UNKNOWN, .field = key, .wanted = hint});
}

/* `text`: the number as written. */
static enum err refuse_integer(struct reading *reading, unsigned i, struct span text)
{
	const struct field *field = &reading->fields[i];
	struct reason       reason = {.cause = CAUSE_OUT_OF_RANGE, .least = field->min, .most = field->max};
	int64_t             integer;
	bool                is_known = integer_of(text, &integer);
	bool is_less = text.size && text.at[0] == '-'; /* no range begins below an integer's minimum */
	if (field->max == INT64_MAX && (is_known || is_less)) reason.cause = CAUSE_TOO_SMALL;
	for (size_t at = is_less; at < text.size && !is_known; at++)
		if (text.at[at] < '0' || text.at[at] > '9') reason.cause = CAUSE_NO_INTEGER;
	if (text.size == is_less) reason.cause = CAUSE_NO_INTEGER;
	return refuse(reading, i, reason);
}

static enum err refuse_length(struct reading *reading, unsigned i, struct span text)
{
	const struct field *field = &reading->fields[i];
	enum cause          cause = (int64_t)text.size < field->min ? CAUSE_EMPTY : CAUSE_TOO_LONG;
	return refuse(reading, i, (struct reason){.cause = cause, .most = field->max, .wanted = "bytes"});
}

/* Refuses a member that pack_member() rejected. */
static enum err refuse_member(struct reading *reading, unsigned i)
{
	const struct json *value = reading->members[i];
	enum field_type    type = reading->fields[i].type;
	bool               is_empty_array = value->kind == JSON_ARRAY && value->count == 0;
	struct reason reason = {.cause = CAUSE_WRONG_TYPE, .given = span_str(json_kind_text(value->kind))};
	if (type == TYPE_PLATFORM) reason.cause = CAUSE_NO_PLATFORM;
	if (is_empty_array && (type == TYPE_OBJECT || type == TYPE_NULLABLE))
		reason.cause = CAUSE_EMPTY_ARRAY; /* from PHP, where it is also the empty object */
	if (type == TYPE_INTEGER && value->kind == JSON_NUMBER)
		return refuse_integer(reading, i, value->text);
	if (type == TYPE_STRING && value->kind == JSON_STRING) return refuse_length(reading, i, value->text);
	return refuse(reading, i, reason);
}

/* In a form, `+` decodes to a space: here it was the sign of an offset. Without memory: empty. */
static struct span time_text(struct reading *reading, struct span text)
{
	uint8_t *copy = arena_take(&reading->memory->arena, text.size + 1);
	for (size_t i = 0; copy && i < text.size; i++)
		copy[i] = text.at[i] == ' ' ? '+' : text.at[i];
	return span_of(copy, copy ? text.size : 0);
}

/* Refuses a parameter that pack_query() rejected. */
static enum err refuse_query(struct reading *reading, unsigned i)
{
	enum field_type type = reading->fields[i].type;
	struct reason   reason = {.cause = CAUSE_WANTED};
	if (type == TYPE_INTEGER) return refuse_integer(reading, i, reading->texts[i]);
	if (type == TYPE_BOOLEAN) reason.wanted = "true or false, or 1, 0, t, f";
	if (type == TYPE_TIME) reason.wanted = rfc3339_wanted(time_text(reading, reading->texts[i]));
	if (type == TYPE_STRINGS) reason.cause = CAUSE_BAD_ENCODING;
	if (type == TYPE_STRING) {
		if (utf8_is_valid(reading->texts[i])) return refuse_length(reading, i, reading->texts[i]);
		reason.cause = CAUSE_BAD_ENCODING;
	}
	return refuse(reading, i, reason);
}

/* The field of that name and source; `count` if there is none. */
static unsigned find_field(const struct reading *reading, struct span name, enum field_source source)
{
	unsigned i = 0;
	while (i < reading->count &&
	       (reading->fields[i].source != source || !span_is(name, reading->fields[i].name)))
		i++;
	return i;
}

static enum err read_body(struct reading *reading)
{
	if (!has_source(reading->fields, reading->count, FROM_BODY)) return OK;
	if (reading->source->body.size == 0) {
		for (unsigned i = 0; i < reading->count; i++)
			if (reading->fields[i].source == FROM_BODY &&
			    reading->fields[i].need == NEED_REQUIRED)
				return refuse_body(reading, (struct reason){.cause = CAUSE_BODY_EMPTY});
		return OK;
	}
	struct json *body;
	enum err     err = json_parse_told(reading->source->body, &reading->memory->arena, &body,
	                                   body_called(reading), reading->refusal);
	if (err) return err;
	if (body->kind == JSON_ARRAY && body->count == 0)
		return refuse_body(reading, (struct reason){.cause = CAUSE_BODY_EMPTY_ARRAY});
	if (body->kind != JSON_OBJECT)
		return refuse_body(reading, (struct reason){.cause = CAUSE_BODY_NO_OBJECT,
		                                            .given = span_str(json_kind_text(body->kind))});
	reading->body = body;
	return OK;
}

static enum err sort_members(struct reading *reading)
{
	if (!reading->body) return OK;
	for (const struct json *member = reading->body->child; member; member = member->next) {
		unsigned i = find_field(reading, member->key, FROM_BODY);
		if (i == reading->count) return refuse_unknown(reading, member->key);
		reading->members[i] = member;
	}
	return OK;
}

static bool decode(struct reading *reading, struct span text, bool in_query, struct span *decoded)
{
	uint8_t *at = arena_take(&reading->memory->arena, text.size ? text.size : 1);
	decoded->at = at;
	return at && percent_decode(text, in_query, at, &decoded->size);
}

static enum err repeat(struct reading *reading, unsigned i, struct span text)
{
	struct repeated *one = arena_take(&reading->memory->arena, sizeof *one);
	if (!one) return ERR_NO_MEMORY;
	*one = (struct repeated){text, reading->repeated[i]};
	reading->repeated[i] = one;
	return OK;
}

/* Many clients write a repeated parameter as an array. Any other bracket behind a known name is refused, and so is
 * an array's name where one value is expected. If these were ignored, a list would look filtered without being so. */
static enum err sort_query(struct reading *reading)
{
	struct span rest = reading->source->query, name, value, decoded;
	if (!has_source(reading->fields, reading->count, FROM_QUERY)) return OK;
	while (query_next(&rest, &name, &value)) {
		if (!decode(reading, name, true, &decoded)) decoded = name;
		enum query_form form = query_cut_form(&decoded);
		unsigned        i = find_field(reading, decoded, FROM_QUERY);
		if (i == reading->count) continue;
		bool may_repeat = reading->fields[i].type == TYPE_STRINGS;
		bool is_well_formed = form == QUERY_PLAIN || (form == QUERY_ARRAY && may_repeat);
		if (!is_well_formed) return refuse(reading, i, (struct reason){.cause = CAUSE_NO_LIST});
		if (reading->present[i] && !may_repeat)
			return refuse(reading, i, (struct reason){.cause = CAUSE_GIVEN_TWICE});
		reading->present[i] = true;
		if (!decode(reading, value, true, &reading->texts[i]))
			return refuse(reading, i, (struct reason){.cause = CAUSE_BAD_ENCODING});
		if (may_repeat && repeat(reading, i, reading->texts[i])) return ERR_NO_MEMORY;
	}
	return OK;
}

static bool boolean_of(struct span text, bool *truth)
{
	*truth = span_is(text, "true") || span_is(text, "1") || span_is(text, "t");
	return *truth || span_is(text, "false") || span_is(text, "0") || span_is(text, "f");
}

static bool in_range(const struct field *field, int64_t value)
{
	return value >= field->min && value <= field->max;
}

static bool fits(const struct field *field, struct span text)
{
	return field->max == 0 || in_range(field, (int64_t)text.size);
}

static void pack_boolean(msgpack_packer *packer, bool truth)
{
	if (truth)
		msgpack_pack_true(packer);
	else
		msgpack_pack_false(packer);
}

static bool pack_time(struct reading *reading, struct span text, msgpack_packer *packer)
{
	wall_us at;
	if (!rfc3339_read(time_text(reading, text), &at)) return false;
	msgpack_pack_int64(packer, at.v);
	return true;
}

static bool pack_strings(const struct repeated *list, msgpack_packer *packer)
{
	uint32_t count = 0;
	for (const struct repeated *one = list; one; one = one->next, count++)
		if (!utf8_is_valid(one->text)) return false;
	msgpack_pack_array(packer, count);
	for (; list; list = list->next)
		pack_str(packer, list->text);
	return true;
}

static bool pack_query(struct reading *reading, unsigned i, msgpack_packer *packer)
{
	const struct field *field = &reading->fields[i];
	struct span         text = reading->texts[i];
	int64_t             integer;
	bool                truth;
	switch (field->type) {
	case TYPE_INTEGER:
		if (!integer_of(text, &integer) || !in_range(field, integer)) return false;
		msgpack_pack_int64(packer, integer);
		return true;
	case TYPE_BOOLEAN:
		if (!boolean_of(text, &truth)) return false;
		pack_boolean(packer, truth);
		return true;
	case TYPE_STRING:
		if (!fits(field, text) || !utf8_is_valid(text)) return false;
		pack_str(packer, text);
		return true;
	case TYPE_TIME: return pack_time(reading, text, packer);
	case TYPE_STRINGS: return pack_strings(reading->repeated[i], packer);
	default: return false;
	}
}

/* A text above the range is sent empty: no value of that size is valid. */
static void pack_value(struct reading *reading, unsigned i, msgpack_packer *packer)
{
	const struct json *value = reading->members[i];
	struct buffer     *scratch = &reading->memory->scratch;
	struct span        text = value->text;
	bool               is_string = value->kind == JSON_STRING;
	if (!is_string) {
		buffer_clear(scratch);
		json_text(value, scratch);
		text = buffer_span(scratch);
	}
	if (!fits(&reading->fields[i], text))
		pack_bin(packer, span_of("", 0));
	else if (is_string)
		pack_str(packer, text);
	else
		pack_bin(packer, text);
}

static bool pack_member(struct reading *reading, unsigned i, msgpack_packer *packer)
{
	const struct field *field = &reading->fields[i];
	const struct json  *value = reading->members[i];
	int64_t             integer;
	switch (field->type) {
	case TYPE_STRING:
		if (value->kind != JSON_STRING || !fits(field, value->text)) return false;
		pack_str(packer, value->text);
		return true;
	case TYPE_INTEGER:
		if (!json_integer(value, &integer) || !in_range(field, integer)) return false;
		msgpack_pack_int64(packer, integer);
		return true;
	case TYPE_BOOLEAN:
		if (value->kind != JSON_TRUE && value->kind != JSON_FALSE) return false;
		pack_boolean(packer, value->kind == JSON_TRUE);
		return true;
	case TYPE_NULLABLE:
		if (value->kind == JSON_NULL) {
			pack_bin(packer, span_of("", 0));
			return true;
		}
		/* fallthrough */
	case TYPE_OBJECT:
		if (value->kind != JSON_OBJECT) return false;
		json_pack_object(value, packer, &reading->memory->scratch);
		return true;
	case TYPE_PLATFORM:
		if (value->kind != JSON_STRING) return false;
		if (!span_is(value->text, "ios") && !span_is(value->text, "android")) return false;
		pack_str(packer, value->text);
		return true;
	case TYPE_VALUE: pack_value(reading, i, packer); return true;
	case TYPE_BYTES:
	case TYPE_STRINGS:
	case TYPE_UUID:
	case TYPE_TIME: return false;
	}
	return false;
}

/* A null member counts as absent, except for types that give null a meaning. */
static bool member_is_given(const struct reading *reading, unsigned i)
{
	const struct json *value = reading->members[i];
	if (!value) return false;
	enum field_type type = reading->fields[i].type;
	return value->kind != JSON_NULL || type == TYPE_NULLABLE || type == TYPE_PLATFORM;
}

static enum err pack_field(struct reading *reading, unsigned i, msgpack_packer *packer)
{
	const struct field *field = &reading->fields[i];
	bool                body = field->source == FROM_BODY;
	if (body ? !member_is_given(reading, i) : !reading->present[i]) {
		const struct span *defaults = reading->source->defaults;
		if (body && defaults && defaults[i].size) {
			pack_str(packer, defaults[i]);
			return OK;
		}
		if (field->need == NEED_REQUIRED && field->type != TYPE_VALUE)
			return refuse(
			    reading, i,
			    (struct reason){reading->members[i] ? CAUSE_NULL_GIVEN : CAUSE_MISSING});
		msgpack_pack_nil(packer);
		return OK;
	}
	if (field->source == FROM_PATH) {
		pack_str(packer, reading->texts[i]);
		return OK;
	}
	if (body) return pack_member(reading, i, packer) ? OK : refuse_member(reading, i);
	return pack_query(reading, i, packer) ? OK : refuse_query(reading, i);
}

/* Decodes the path's values. An impossible id becomes the empty one, which no resource has. The handler looks it up
 * after all other checks and returns the resource's own error. */
static void sort_path(struct reading *reading)
{
	unsigned param = 0;
	for (unsigned i = 0; i < reading->count; i++) {
		if (reading->fields[i].source != FROM_PATH) continue;
		struct span *text = &reading->texts[i];
		reading->present[i] = true;
		if (!decode(reading, reading->source->params[param++], false, text) ||
		    !pass_id_is_valid(*text))
			*text = span_of("", 0);
	}
}

enum err arguments_pack(enum message message, const struct arguments_source *source,
                        struct arguments_memory *memory, struct buffer *out, struct refusal *refusal)
{
	struct reading reading = {.source = source, .memory = memory, .refusal = refusal};
	msgpack_packer packer = buffer_packer(out);
	size_t         begin = out->size;
	reading.fields = message_fields(message, &reading.count);
	refusal->field = span_of(NULL, 0);
	refusal->message[0] = 0;
	enum err err;
	if ((err = read_body(&reading))) goto out;
	if ((err = sort_members(&reading))) goto out;
	if ((err = sort_query(&reading))) goto out;
	sort_path(&reading);
	msgpack_pack_array(&packer, reading.count);
	for (unsigned i = 0; i < reading.count; i++)
		if ((err = pack_field(&reading, i, &packer))) goto out;
	if (out->failed || memory->scratch.failed)
		err = ERR_NO_MEMORY;
	else if (out->size - begin > ARGUMENTS_BYTES_MAX)
		err = refuse_body(&reading,
		                  (struct reason){.cause = CAUSE_BODY_LARGE, .most = PASS_STORED_BYTES_MAX});
out:
	return err;
}
