/* Keys, printed and parsed by the layout of their table; and the link from tables to their values. */
#include "store/dump_inside.h"

#include "schemas/bytes.h"
#include "schemas/date.h"
#include "schemas/lines.h"

#include <stdlib.h>

enum { HASH_BYTES = 32, SHORT_HASH_BYTES = 16, NUMBER_TEXT = 20 };

static const struct {
	const char    *name, *layout;
	dump_value_fn *value;
} tables[TABLE_END] = {
#define T(id, NAME, text, kind) [id].name = text,
#include "store/tables.def"
#undef T
#define D(NAME, keys, of) [TABLE_##NAME].layout = keys, [TABLE_##NAME].value = dump_##of,
#include "store/dumps.def"
#undef D
};

/* Each table must have a row in dumps.def. */
enum {
#define D(NAME, layout, value) DUMPS_##NAME,
#include "store/dumps.def"
#undef D
};
#define T(id, NAME, name, kind) _Static_assert(DUMPS_##NAME >= 0, "a row in dumps.def");
#include "store/tables.def"
#undef T

enum table dump_table_named(struct span name)
{
	for (unsigned i = 0; i < TABLE_END; i++)
		if (tables[i].name && span_is(name, tables[i].name)) return (enum table)i;
	return TABLE_END;
}

void dump_table_names(struct buffer *out)
{
	const char *between = "";
	for (unsigned i = 0; i < TABLE_END; i++) {
		if (!tables[i].name) continue;
		buffer_text(out, between);
		buffer_text(out, tables[i].name);
		between = ", ";
	}
}

/* Parts ----------------------------------------------------------------------------------------------------- */

struct part {
	char name[24];
	char form;
};

/* Takes the next part off a layout; false: no more. */
static bool next_part(const char **layout, struct part *part)
{
	size_t size = strcspn(*layout, ":");
	if (!size || size >= sizeof part->name) return false;
	memcpy(part->name, *layout, size);
	part->name[size] = 0;
	part->form = (*layout)[size + 1];
	*layout += size + 2;
	*layout += **layout == ' ';
	return true;
}

/* Bytes of a part of that form; 0: variable. */
static size_t size_of(char form)
{
	switch (form) {
	case 'a': return sizeof(struct account_id);
	case 'u': return sizeof(struct uuid);
	case '1': return 1;
	case '2': return 2;
	case '4':
	case 'i': return 4;
	case '8':
	case 't':
	case 'e': return 8;
	case 'h':
	case 'x': return HASH_BYTES;
	case 'k': return SHORT_HASH_BYTES;
	default: return 0;
	}
}

void dump_key_parts(enum table table, struct buffer *out)
{
	const char *layout = tables[table].layout, *between = "";
	struct part part;
	while (next_part(&layout, &part)) {
		buffer_text(out, between);
		buffer_text(out, part.name);
		between = "/";
	}
}

/* Showing --------------------------------------------------------------------------------------------------- */

/* Takes a text up to a 0 off `left`; false: there is no 0. */
static bool show_text(struct buffer *out, const char *name, struct span *left)
{
	const uint8_t *end = left->size ? memchr(left->at, 0, left->size) : NULL;
	if (!end) return false;
	size_t size = (size_t)(end - left->at);
	dump_span(out, name, span_of(left->at, size));
	*left = span_of(end + 1, left->size - size - 1);
	return true;
}

static void show_bytes(struct buffer *out, const struct part *part, const uint8_t *at)
{
	struct account_id account;
	struct uuid       uuid;
	char              text[ACCOUNT_ID_TEXT];
	memcpy(account.b, at, part->form == 'a' ? sizeof account : 0);
	memcpy(uuid.b, at, part->form == 'u' ? sizeof uuid : 0);
	switch (part->form) {
	case 'a':
		account_id_text(account, text);
		dump_word(out, part->name, text);
		return;
	case 'u': dump_uuid(out, part->name, uuid); return;
	case '1': dump_count(out, part->name, at[0]); return;
	case '2': dump_count(out, part->name, get_be16(at)); return;
	case '4': dump_count(out, part->name, get_be32(at)); return;
	case 'i': dump_count(out, part->name, ~get_be32(at)); return;
	case '8': dump_count(out, part->name, get_be64(at)); return;
	case 'h': dump_hex(out, part->name, span_of(at, HASH_BYTES)); return;
	case 'x': dump_hidden(out, part->name, HASH_BYTES); return;
	case 'k': dump_hidden(out, part->name, SHORT_HASH_BYTES); return;
	case 'e':
		if (get_be64(at) == INT64_MAX) {
			dump_time(out, part->name, (wall_us){0});
			return;
		}
		/* fall through */
	default: dump_time(out, part->name, (wall_us){(int64_t)get_be64(at)}); return;
	}
}

/* Prints one part and takes it off `left`; false: it is missing. */
static bool show_part(struct buffer *out, const struct part *part, struct span *left)
{
	size_t size = size_of(part->form);
	if (part->form == 'z') return show_text(out, part->name, left);
	if (part->form == 'b' && !left->size) return true; /* the first row */
	if (part->form == 'b') {
		if (!show_text(out, part->name, left) || left->size != 4) return false;
		dump_count(out, "pass", get_be32(left->at));
		size = left->size;
	} else if (part->form == 's') {
		dump_span(out, part->name, *left);
		size = left->size;
	} else {
		if (left->size < size) return false;
		show_bytes(out, part, left->at);
	}
	*left = span_of(left->at + size, left->size - size);
	return true;
}

bool dump_key(enum table table, struct span key, struct buffer *out)
{
	const char *layout = tables[table].layout;
	struct span left = key;
	struct part part;
	size_t      began = out->size;
	bool        fits = true;
	buffer_byte(out, '{');
	while (fits && next_part(&layout, &part))
		fits = show_part(out, &part, &left);
	fits = fits && !left.size;
	if (!fits) {
		/* Malformed. Its bytes may be ones that are hidden elsewhere. */
		out->size = out->failed ? out->size : began;
		buffer_byte(out, '{');
		dump_word(out, "damaged", "not of the form of its table");
		dump_count(out, "hidden_bytes", key.size);
	}
	buffer_byte(out, '}');
	return fits;
}

bool dump_value(enum table table, struct span key, struct span value, struct buffer *out)
{
	size_t began = out->size;
	buffer_byte(out, '{');
	bool fits = tables[table].value(out, key, value);
	if (!fits) {
		out->size = out->failed ? out->size : began;
		buffer_byte(out, '{');
		dump_word(out, "damaged", "not of the form of its table");
		dump_count(out, "hidden_bytes", value.size);
	}
	buffer_byte(out, '}');
	return fits;
}

/* Writing --------------------------------------------------------------------------------------------------- */

static bool read_number(struct span text, uint64_t max, uint64_t *number)
{
	*number = 0;
	if (!text.size || text.size > NUMBER_TEXT - 1) return false;
	for (size_t i = 0; i < text.size; i++) {
		if (text.at[i] < '0' || text.at[i] > '9') return false;
		*number = *number * 10 + text.at[i] - '0';
	}
	return *number <= max;
}

static bool write_number(const struct part *part, struct span text, uint8_t *at)
{
	uint64_t number, max = part->form == '8'   ? UINT64_MAX
	                       : part->form == '1' ? UINT8_MAX
	                       : part->form == '2' ? UINT16_MAX
	                                           : UINT32_MAX;
	if (!read_number(text, max, &number)) return false;
	if (part->form == '1') at[0] = (uint8_t)number;
	if (part->form == '2') put_be16(at, (uint16_t)number);
	if (part->form == '4') put_be32(at, (uint32_t)number);
	if (part->form == 'i') put_be32(at, ~(uint32_t)number);
	if (part->form == '8') put_be64(at, number);
	return true;
}

static bool write_part(const struct part *part, struct span text, uint8_t *at)
{
	struct account_id account;
	struct uuid       uuid;
	wall_us           time;
	switch (part->form) {
	case 'a':
		if (!account_id_read(text, &account)) return false;
		memcpy(at, account.b, sizeof account);
		return true;
	case 'u':
		if (!uuid_read(text, &uuid)) return false;
		memcpy(at, uuid.b, sizeof uuid);
		return true;
	case 't':
	case 'e':
		if (!rfc3339_read(text, &time)) return false;
		put_be64(at, (uint64_t)time.v);
		return true;
	case 'h': return hex_read(text, at, HASH_BYTES);
	case 'x':
	case 'k': return false; /* a hidden value cannot be given */
	default: return write_number(part, text, at);
	}
}

enum err dump_prefix(enum table table, struct span text, struct row_key *prefix)
{
	const char *layout = tables[table].layout;
	struct part part;
	*prefix = (struct row_key){.size = 0};
	while (text.size) {
		if (!next_part(&layout, &part)) return ERR_INVALID_INPUT;
		const uint8_t *slash = memchr(text.at, '/', text.size);
		size_t         size = size_of(part.form), taken = text.size;
		if (size && slash) taken = (size_t)(slash - text.at);
		if (!size) size = taken; /* a text, or its beginning: the rest */
		if (size > sizeof prefix->bytes - prefix->size) return ERR_INVALID_INPUT;
		if (size_of(part.form)) {
			if (!write_part(&part, span_of(text.at, taken), prefix->bytes + prefix->size))
				return ERR_INVALID_INPUT;
		} else {
			memcpy(prefix->bytes + prefix->size, text.at, size);
		}
		prefix->size += size;
		taken += taken < text.size; /* the slash */
		text = span_of(text.at + taken, text.size - taken);
	}
	return OK;
}
