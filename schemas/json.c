/* JSON parsing and printing.
 * Parsing: yajl finds the tokens, and this file builds the tree from its callbacks. yajl uses the arena for its own
 * memory, so that a small body needs no malloc once the arena's first block exists. Strings without escapes and all
 * numbers stay in the caller's text. yajl is laxer than we promise in five points, which are checked here: UTF-8 (it
 * checks lead bytes only), lone surrogates (it writes a question mark), duplicate keys (it does not check), white space
 * (it accepts two more kinds), and bytes behind the value (it accepts half a token).
 * Printing: directly into a buffer, from our tree or from msgpack. */
#include "schemas/json.h"
#include "schemas/keyed_hash.h"
#include "schemas/limits.h"
#include "schemas/plain_run.h"

#include <yajl/yajl_parse.h>

enum { LINEAR_KEYS_MAX = 8 }; /* members up to which comparing all pairs beats a table */

struct reader {
	struct arena *arena;
	struct span   text;
	struct json  *root;
	struct json  *open[JSON_DEPTH_MAX]; /* the open containers, outermost first */
	struct json  *last[JSON_DEPTH_MAX]; /* the newest member of each */
	unsigned      depth;
	unsigned      values; /* so far */
	yajl_handle   handle;
	size_t        end;   /* of the root, in the text */
	struct span   key;   /* read; its value is still to come */
	struct span   twice; /* the duplicate key in an object; at NULL: none */
	enum err      err;
};

/* --- memory for yajl: the arena, with each block's size in front, since an arena cannot grow a block --- */

enum { HEADER_BYTES = 16 }; /* keeps the arena's alignment */

static void *take_sized(void *arena, size_t size)
{
	uint8_t *at = arena_take(arena, size + HEADER_BYTES);
	if (!at) return NULL;
	memcpy(at, &size, sizeof size);
	return at + HEADER_BYTES;
}

static void *grow_sized(void *arena, void *old, size_t size)
{
	uint8_t *at = take_sized(arena, size);
	if (!at || !old) return at;
	size_t old_size;
	memcpy(&old_size, (uint8_t *)old - HEADER_BYTES, sizeof old_size);
	memcpy(at, old, old_size < size ? old_size : size);
	return at;
}

static void free_nothing(void *arena, void *at)
{
	(void)arena;
	(void)at;
}

/* --- what yajl does not check --- */

/* yajl accepts a vertical tab and a form feed as white space. JSON forbids them everywhere, in strings too. */
static bool has_odd_space(struct span text)
{
	return memchr(text.at, '\v', text.size) || memchr(text.at, '\f', text.size);
}

static enum err duplicate_key(struct reader *reader, struct span key)
{
	reader->twice = key;
	return ERR_INVALID_REQUEST;
}

static enum err check_keys_by_table(struct reader *reader, const struct json *object)
{
	size_t room = 16;
	while (room < object->count * 2)
		room *= 2;
	const struct json **table = arena_take(reader->arena, room * sizeof *table);
	if (!table) return ERR_NO_MEMORY;
	memset(table, 0, room * sizeof *table);
	for (const struct json *member = object->child; member; member = member->next) {
		size_t place = keyed_hash(member->key) & (room - 1);
		while (table[place]) {
			if (span_equal(table[place]->key, member->key))
				return duplicate_key(reader, member->key);
			place = (place + 1) & (room - 1);
		}
		table[place] = member;
	}
	return OK;
}

static enum err check_keys(struct reader *reader, const struct json *object)
{
	if (object->count > LINEAR_KEYS_MAX) return check_keys_by_table(reader, object);
	for (const struct json *a = object->child; a; a = a->next)
		for (const struct json *b = a->next; b; b = b->next)
			if (span_equal(a->key, b->key)) return duplicate_key(reader, b->key);
	return OK;
}

/* --- building the tree: yajl's callbacks; 0 stops it, with the reason in reader->err --- */

static int stop(struct reader *reader, enum err err)
{
	reader->err = err;
	return 0;
}

/* Bytes from yajl: those within the text stay there, decoded escapes are copied. */
static bool keep_bytes(struct reader *reader, const void *at, size_t size, struct span *kept)
{
	const uint8_t *bytes = at, *begin = reader->text.at;
	*kept = span_of(bytes, size);
	if (bytes >= begin && bytes <= begin + reader->text.size) return true;
	uint8_t *copy = arena_take(reader->arena, size ? size : 1);
	if (!copy) return false;
	memcpy(copy, bytes, size);
	kept->at = copy;
	return true;
}

/* Called at the end of each value; the root's end is checked after the parse. yajl counts consumed bytes, and
 * restarts from 0 once it is notified of the end of input: then a number has ended, with the text. */
static int ended(struct reader *reader)
{
	if (reader->depth == 0 && reader->end == 0) reader->end = yajl_get_bytes_consumed(reader->handle);
	return 1;
}

/* NULL: the reason is in reader->err. */
static struct json *add(struct reader *reader, enum json_kind kind)
{
	struct json *value = NULL;
	if (reader->values++ == JSON_VALUES_MAX)
		reader->err = ERR_PAYLOAD_TOO_LARGE;
	else if (!(value = arena_take(reader->arena, sizeof *value)))
		reader->err = ERR_NO_MEMORY;
	if (!value) return NULL;
	*value = (struct json){.kind = kind};
	if (reader->depth == 0) {
		reader->root = value;
		return value;
	}
	unsigned     top = reader->depth - 1;
	struct json *parent = reader->open[top];
	if (parent->kind == JSON_OBJECT) value->key = reader->key;
	if (reader->last[top])
		reader->last[top]->next = value;
	else
		parent->child = value;
	reader->last[top] = value;
	parent->count++;
	return value;
}

static int add_text(struct reader *reader, enum json_kind kind, const void *at, size_t size)
{
	struct json *value = add(reader, kind);
	if (!value) return 0;
	return keep_bytes(reader, at, size, &value->text) ? ended(reader) : stop(reader, ERR_NO_MEMORY);
}

static int add_container(struct reader *reader, enum json_kind kind)
{
	if (reader->depth == JSON_DEPTH_MAX) return stop(reader, ERR_INVALID_REQUEST);
	struct json *value = add(reader, kind);
	if (!value) return 0;
	reader->open[reader->depth] = value;
	reader->last[reader->depth++] = NULL;
	return 1;
}

static int on_null(void *reader)
{
	return add(reader, JSON_NULL) ? ended(reader) : 0;
}

static int on_boolean(void *reader, int truth)
{
	return add(reader, truth ? JSON_TRUE : JSON_FALSE) ? ended(reader) : 0;
}

static int on_number(void *reader, const char *at, size_t size)
{
	return add_text(reader, JSON_NUMBER, at, size);
}

static int on_string(void *reader, const unsigned char *at, size_t size)
{
	return add_text(reader, JSON_STRING, at, size);
}

static int on_start_object(void *reader)
{
	return add_container(reader, JSON_OBJECT);
}

static int on_key(void *context, const unsigned char *at, size_t size)
{
	struct reader *reader = context;
	return keep_bytes(reader, at, size, &reader->key) ? 1 : stop(reader, ERR_NO_MEMORY);
}

static int on_end_object(void *context)
{
	struct reader *reader = context;
	enum err       err = check_keys(reader, reader->open[--reader->depth]);
	return err ? stop(reader, err) : ended(reader);
}

static int on_start_array(void *reader)
{
	return add_container(reader, JSON_ARRAY);
}

static int on_end_array(void *reader)
{
	((struct reader *)reader)->depth--;
	return ended(reader);
}

static bool is_blank(struct span text, size_t from)
{
	while (from < text.size && text.at[from] && strchr(" \t\r\n", text.at[from]))
		from++;
	return from == text.size;
}

static enum err parse(struct span text, struct arena *arena, struct json **value, struct span *twice)
{
	static const yajl_callbacks callbacks = {
	    .yajl_null = on_null,
	    .yajl_boolean = on_boolean,
	    .yajl_number = on_number,
	    .yajl_string = on_string,
	    .yajl_start_map = on_start_object,
	    .yajl_map_key = on_key,
	    .yajl_end_map = on_end_object,
	    .yajl_start_array = on_start_array,
	    .yajl_end_array = on_end_array,
	};
	if (text.size == 0 || !utf8_is_valid(text) || has_odd_space(text) ||
	    lone_surrogate_at(text) < text.size)
		return ERR_INVALID_REQUEST;
	yajl_alloc_funcs memory = {take_sized, grow_sized, free_nothing, arena};
	struct reader    reader = {.arena = arena, .text = text};
	yajl_handle      handle = yajl_alloc(&callbacks, &memory, &reader);
	if (!handle) return ERR_NO_MEMORY;
	reader.handle = handle;
	yajl_config(handle, yajl_dont_validate_strings, 1); /* done above, and more strictly */
	yajl_status status = yajl_parse(handle, text.at, text.size);
	if (!reader.end) reader.end = text.size; /* no value ended before the text did */
	if (status == yajl_status_ok) status = yajl_complete_parse(handle);
	yajl_free(handle);
	*twice = reader.twice;
	if (reader.err) return reader.err;
	if (status != yajl_status_ok || !reader.root || !is_blank(text, reader.end))
		return ERR_INVALID_REQUEST;
	*value = reader.root;
	return OK;
}

enum err json_parse(struct span text, struct arena *arena, struct json **value)
{
	struct span twice;
	return parse(text, arena, value, &twice);
}

enum err json_parse_told(struct span text, struct arena *arena, struct json **value, const char *called,
                         struct refusal *refusal)
{
	struct span   twice = {NULL, 0};
	struct reason reason = {.field = span_str(called), .most = JSON_VALUES_MAX};
	enum err      err = parse(text, arena, value, &twice);
	if (err == ERR_PAYLOAD_TOO_LARGE) reason.cause = CAUSE_BODY_MANY;
	if (err == ERR_INVALID_REQUEST) json_explain(text, &reason);
	if (err == ERR_INVALID_REQUEST && !reason.cause && twice.at) {
		reason.cause = CAUSE_BODY_TWICE;
		reason.given = twice;
	}
	if (reason.cause) reason_text(&reason, refusal->message);
	return err;
}

const char *json_kind_text(enum json_kind kind)
{
	static const char *const texts[] = {
	    [JSON_NULL] = "null",       [JSON_TRUE] = "a boolean",  [JSON_FALSE] = "a boolean",
	    [JSON_NUMBER] = "a number", [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
	    [JSON_OBJECT] = "an object"};
	return texts[kind];
}

const struct json *json_member(const struct json *object, const char *key)
{
	if (object->kind != JSON_OBJECT) return NULL;
	for (const struct json *member = object->child; member; member = member->next)
		if (span_is(member->key, key)) return member;
	return NULL;
}

bool json_integer(const struct json *value, int64_t *integer)
{
	if (value->kind != JSON_NUMBER) return false;
	bool    negative = value->text.at[0] == '-';
	int64_t sum = 0; /* accumulated negatively: that range is larger */
	for (size_t i = negative; i < value->text.size; i++) {
		uint8_t c = value->text.at[i];
		if (c < '0' || c > '9') return false; /* a fraction or an exponent */
		if (__builtin_mul_overflow(sum, INT64_C(10), &sum)) return false;
		if (__builtin_sub_overflow(sum, (int64_t)(c - '0'), &sum)) return false;
	}
	if (!negative && sum == INT64_MIN) return false;
	*integer = negative ? sum : -sum;
	return true;
}

/* --- writing --- */

/* Escapes a byte that must not stand in a string. */
static void put_escaped(uint8_t c, struct buffer *out)
{
	static const char digits[] = "0123456789abcdef";
	static const char letters[] = "btn?fr"; /* for 8 to 13; 11 has none */
	char              escape[6] = {'\\', (char)c};
	size_t            size = 2;
	if (c >= 8 && c <= 13 && c != 11) {
		escape[1] = letters[c - 8];
	} else if (c < 0x20) {
		memcpy(escape, "\\u00", 4);
		escape[4] = digits[c >> 4];
		escape[5] = digits[c & 15];
		size = 6;
	}
	buffer_append(out, escape, size);
}

void json_quote(struct span text, struct buffer *out)
{
	size_t begin = 0;
	if (!text.at) text = span_str(""); /* arithmetic on a null pointer is undefined */
	buffer_byte(out, '"');
	for (;;) {
		struct span rest = span_of(text.at + begin, text.size - begin);
		size_t      run = plain_run(rest, '"', '\\');
		buffer_append(out, rest.at, run);
		if (run == rest.size) break;
		put_escaped(rest.at[run], out);
		begin += run + 1;
	}
	buffer_byte(out, '"');
}

void json_error(enum err err, struct span message, struct span field, struct span request_id,
                struct buffer *out)
{
	if (message.size == 0) message = span_str(field.at ? err_message_of_field(err) : err_message(err));
	buffer_text(out, "{\"code\":");
	json_quote(span_str(err_code(err)), out);
	buffer_text(out, ",\"message\":");
	json_quote(message, out);
	if (field.at) {
		buffer_text(out, ",\"field\":");
		json_quote(utf8_cut(field, ERROR_FIELD_BYTES_MAX), out);
	}
	if (request_id.at) {
		buffer_text(out, ",\"request_id\":");
		json_quote(request_id, out);
	}
	buffer_byte(out, '}');
}

void json_text(const struct json *value, struct buffer *out)
{
	static const char *const words[] = {
	    [JSON_NULL] = "null", [JSON_TRUE] = "true", [JSON_FALSE] = "false"};
	if (value->kind <= JSON_FALSE) {
		buffer_text(out, words[value->kind]);
	} else if (value->kind == JSON_NUMBER) {
		buffer_append(out, value->text.at, value->text.size);
	} else if (value->kind == JSON_STRING) {
		json_quote(value->text, out);
	} else {
		bool object = value->kind == JSON_OBJECT;
		buffer_byte(out, object ? '{' : '[');
		for (const struct json *member = value->child; member; member = member->next) {
			if (member != value->child) buffer_byte(out, ',');
			if (object) json_quote(member->key, out);
			if (object) buffer_byte(out, ':');
			json_text(member, out); /* at most JSON_DEPTH_MAX deep */
		}
		buffer_byte(out, object ? '}' : ']');
	}
}

void json_pack_value(const struct json *value, msgpack_packer *packer, struct buffer *scratch)
{
	if (value->kind == JSON_STRING) {
		pack_str(packer, value->text);
	} else if (value->kind == JSON_NULL) {
		msgpack_pack_nil(packer);
	} else if (value->kind == JSON_NUMBER) {
		pack_bin(packer, value->text);
	} else {
		buffer_clear(scratch);
		json_text(value, scratch);
		pack_bin(packer, buffer_span(scratch));
	}
}

void json_pack_object(const struct json *object, msgpack_packer *packer, struct buffer *scratch)
{
	msgpack_pack_map(packer, object->count);
	for (const struct json *member = object->child; member; member = member->next) {
		pack_str(packer, member->key);
		json_pack_value(member, packer, scratch);
	}
}

static void render_integer(uint64_t magnitude, bool negative, struct buffer *out)
{
	char   digits[21];
	size_t at = sizeof digits;
	do {
		digits[--at] = (char)('0' + magnitude % 10);
		magnitude /= 10;
	} while (magnitude);
	if (negative) digits[--at] = '-';
	buffer_append(out, digits + at, sizeof digits - at);
}

void json_number(int64_t value, struct buffer *out)
{
	render_integer(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, out);
}

static enum err render_map(const msgpack_object_map *map, struct buffer *out)
{
	enum err err = OK;
	buffer_byte(out, '{');
	for (uint32_t i = 0; i < map->size && !err; i++) {
		const msgpack_object_kv *member = &map->ptr[i];
		if (member->key.type != MSGPACK_OBJECT_STR) return ERR_MALFORMED;
		if (i) buffer_byte(out, ',');
		json_quote(span_of(member->key.via.str.ptr, member->key.via.str.size), out);
		buffer_byte(out, ':');
		err = json_render(&member->val, out);
	}
	buffer_byte(out, '}');
	return err;
}

static enum err render_array(const msgpack_object_array *array, struct buffer *out)
{
	enum err err = OK;
	buffer_byte(out, '[');
	for (uint32_t i = 0; i < array->size && !err; i++) {
		if (i) buffer_byte(out, ',');
		err = json_render(&array->ptr[i], out);
	}
	buffer_byte(out, ']');
	return err;
}

/* Recursion is bounded by the depth limit of a frame (FRAME_DEPTH_MAX). */
enum err json_render(const msgpack_object *value, struct buffer *out)
{
	switch (value->type) {
	case MSGPACK_OBJECT_NIL: buffer_text(out, "null"); return OK;
	case MSGPACK_OBJECT_BOOLEAN: buffer_text(out, value->via.boolean ? "true" : "false"); return OK;
	case MSGPACK_OBJECT_POSITIVE_INTEGER: render_integer(value->via.u64, false, out); return OK;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER: render_integer(-(uint64_t)value->via.i64, true, out); return OK;
	case MSGPACK_OBJECT_STR: json_quote(span_of(value->via.str.ptr, value->via.str.size), out); return OK;
	case MSGPACK_OBJECT_BIN: buffer_append(out, value->via.bin.ptr, value->via.bin.size); return OK;
	case MSGPACK_OBJECT_MAP: return render_map(&value->via.map, out);
	case MSGPACK_OBJECT_ARRAY: return render_array(&value->via.array, out);
	default: return ERR_MALFORMED;
	}
}
